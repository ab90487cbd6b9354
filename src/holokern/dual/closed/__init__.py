"""Closed forms: polynomials, exponentials, error functions, and piecewise polynomials as hinges."""
