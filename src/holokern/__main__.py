"""``python -m holokern``: the command line, where the script ``holokern`` is not on the path."""

from holokern.cli import main

if __name__ == "__main__":
    main(prog_name="holokern")
