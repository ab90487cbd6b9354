"""holokern: exact infinite-width kernels of holonomic activation functions."""
