"""Infinitely wide networks: NNGP and NTK matrices of layers, tiled."""

from holokern.network import layers
from holokern.network.arrays.kernel import ArrayKernel
from holokern.network.criticality import CriticalPoint, EdgePart, critical, edge_of_chaos
from holokern.network.network import Network
from holokern.network.tiled_product import KernelProduct, by_length

__all__ = [
    "ArrayKernel",
    "CriticalPoint",
    "EdgePart",
    "KernelProduct",
    "Network",
    "by_length",
    "critical",
    "edge_of_chaos",
    "layers",
]
