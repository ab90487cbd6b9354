"""What commands share: kinds of options and arguments, points from files, output files."""
