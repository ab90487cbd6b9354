r"""
The edge of chaos
=================

In a deep random network the variance of the layers settles at a fixed point, and the number :math:`\chi = w\,k'`
there decides whether nearby inputs become alike (below 1) or separate (above 1).
"""

import matplotlib.pyplot as plt
import numpy as np

import holokern as hk

# %%
# On the curve χ = 1 the weight variance is :math:`w = 1/k'(c, c, 1)` and the bias follows from the fixed point,
# :math:`\beta^2 = c^2 - w\,k(c, c, 1)`. So the curve needs no search: c is its parameter.

c = np.linspace(0.02, 4, 200)
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name in ("tanh", "erf", "gelu", "resin", "elu"):
    value = hk.dual(name, c, c, 1.0)
    weight = 1 / value.kdot
    bias = c**2 - weight * value.k
    fine = bias >= 0
    axis.plot(weight[fine], bias[fine], label=name)
axis.plot(2, 0, "ko", label="relu: w = 2, no bias")
axis.set(xlabel="weight variance w", ylabel="bias variance", xlim=(0, 6), ylim=(-0.05, 2))
axis.legend()
plt.show()

# %%
# What depth does to the correlation of two inputs, for erf below, at and above the edge without bias.

start = 0.5
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
edge = np.pi / 4
for weight in (0.9 * edge, edge, 2 * edge):
    deviation, correlation, found = 1.0, start, []
    for _ in range(25):
        between, within = hk.dual("erf", deviation, deviation, [correlation, 1.0]).k
        deviation, correlation = np.sqrt(weight * within + 0.01), (weight * between + 0.01) / (weight * within + 0.01)
        found.append(correlation)
    axis.plot(range(1, 26), found, label=f"w = {weight:.2f}")
axis.set(xlabel="layer", ylabel="correlation", title="erf, bias variance 0.01, inputs with correlation 1/2")
axis.legend()
plt.show()
