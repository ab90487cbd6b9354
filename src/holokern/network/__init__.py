"""Infinitely wide networks: NNGP and NTK matrices of layers, tiled."""

from holokern.network import layers
from holokern.network.network import Network

__all__ = ["Network", "layers"]
