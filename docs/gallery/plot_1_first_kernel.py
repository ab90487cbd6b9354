r"""
A first kernel
==============

The dual activation of ReLU as a function of the correlation, and the kernels of a network with three layers.
"""

import matplotlib.pyplot as plt
import numpy as np

import holokern as hk

# %%
# :math:`k = E[\sigma(u)\sigma(v)]` and :math:`k' = E[\sigma'(u)\sigma'(v)]` for standard normal u, v with
# correlation r. Every value comes with an estimate of its error.

r = np.linspace(-1, 1, 201)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for name in ("relu", "gelu", "erf", "resin"):
    value = hk.dual(name, 1, 1, r)
    axes[0].plot(r, value.k, label=name)
    axes[1].plot(r, value.kdot, label=name)
    print(f"{name:6} by {value.method:20} largest error of k {np.max(value.error):.0e}")
axes[0].set(title="k", xlabel="correlation r")
axes[1].set(title="derivative kernel", xlabel="correlation r")
axes[0].legend()
plt.show()

# %%
# A network stacks such maps. On the circle its two kernels depend only on the angle between the points.

angle = np.linspace(0, np.pi, 181)
circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharex=True)
for depth in (1, 2, 4):
    nngp, ntk = hk.Network("relu", depth=depth).both(circle[:1], circle)
    axes[0].plot(angle, nngp[0], label=f"depth {depth}")
    axes[1].plot(angle, ntk[0] / ntk[0, 0], label=f"depth {depth}")
axes[0].set(title="NNGP", xlabel="angle")
axes[1].set(title="NTK, scaled to 1 at angle 0", xlabel="angle")
axes[0].legend()
plt.show()
