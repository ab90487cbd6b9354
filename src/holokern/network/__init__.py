"""Infinitely wide networks: NNGP and NTK matrices of layers, tiled."""

from holokern.network import layers
from holokern.network.criticality import CriticalPoint, EdgePart, critical, edge_of_chaos
from holokern.network.network import Network

__all__ = ["CriticalPoint", "EdgePart", "Network", "critical", "edge_of_chaos", "layers"]
