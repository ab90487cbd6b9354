"""Values of trees: floats without cancellation, proved balls, exact constants."""
