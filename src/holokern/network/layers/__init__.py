"""The layers of networks, with the names of neural-tangents where it has them.

Examples
--------
>>> from holokern import Network, layers as L
>>> block = L.Serial(L.FanOut(2), L.Parallel(L.Identity(), L.Serial(L.Activation("relu"), L.Conv(3))), L.Sum())
>>> net = Network(L.Serial(L.Conv(3), block, L.Flatten(), L.Dense()))
"""

from holokern.network.architecture.inputs import Graphs
from holokern.network.layers.combine import Concat, FanOut, Identity, Parallel, Product, Serial, Sum
from holokern.network.layers.layer import Layer, deviations, with_deviations
from holokern.network.layers.mixing import Aggregate, Index, LinearMap
from holokern.network.layers.pointwise import Activation, Dropout, LayerNorm
from holokern.network.layers.pooling import AvgPool, Flatten, GlobalAvgPool, GlobalSumPool, SumPool
from holokern.network.layers.recurrent import Recurrent
from holokern.network.layers.weights import Conv, ConvTranspose, Dense

__all__ = [
    "Activation",
    "Aggregate",
    "AvgPool",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "FanOut",
    "Flatten",
    "GlobalAvgPool",
    "GlobalSumPool",
    "Graphs",
    "Identity",
    "Index",
    "Layer",
    "LayerNorm",
    "LinearMap",
    "Parallel",
    "Product",
    "Recurrent",
    "Serial",
    "Sum",
    "SumPool",
    "deviations",
    "with_deviations",
]
