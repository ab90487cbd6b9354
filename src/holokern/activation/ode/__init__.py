"""Activations and linear ODEs: annihilators, closure properties, solutions given by their ODE."""
