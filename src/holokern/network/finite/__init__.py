"""Random networks of finite width, written without any code of the kernels that they check."""

from holokern.network.finite.finite_network import FiniteNetwork

__all__ = ["FiniteNetwork"]
