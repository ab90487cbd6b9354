"""Correlations of functions of two normal variables, all pairs at once: meshes, the density on them, Hermite sums."""
