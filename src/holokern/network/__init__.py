"""Infinitely wide networks: NNGP and NTK matrices of layers, tiled."""

from holokern.network import layers
from holokern.network.arrays.kernel import pair_matrices, point_diagonals
from holokern.network.arrays.layer import ArrayLayer
from holokern.network.criticality import CriticalPoint, EdgePart, critical, edge_of_chaos
from holokern.network.hidden_layer import HiddenLayer
from holokern.network.network import Network
from holokern.network.tangent import require_tangent
from holokern.network.tiled_product import KernelProduct, by_length

__all__ = [
    "ArrayLayer",
    "CriticalPoint",
    "EdgePart",
    "HiddenLayer",
    "KernelProduct",
    "Network",
    "by_length",
    "critical",
    "edge_of_chaos",
    "layers",
    "pair_matrices",
    "point_diagonals",
    "require_tangent",
]
