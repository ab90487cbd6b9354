"""Hermite coefficients by difference equations, and series of dual activations from them."""
