"""Activations as other libraries have them: modules, functions, splines and parameter names."""
