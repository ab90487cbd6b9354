"""Kernels of arrays that are not numpy's: JAX, torch and dask."""
