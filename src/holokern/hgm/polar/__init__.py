"""Paths and tables in the coordinates of dual activations."""
