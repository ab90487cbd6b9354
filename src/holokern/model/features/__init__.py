"""Features whose inner products are kernels."""
