"""Kernels of `sklearn.gaussian_process`."""
