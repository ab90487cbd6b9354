"""Quadrature between the breaks of σ, with an error for each value."""
