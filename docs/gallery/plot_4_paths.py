r"""
Paths of the holonomic gradient method
======================================

The HGM solves a differential equation along a path that begins where the answer is known. The coordinates of the path,
and the order in which it visits the points, decide what the method costs.
"""

import matplotlib.pyplot as plt
import numpy as np

import holokern as hk
from holokern.hgm.ordering import length_of, order_of

# %%
# The points of a small training problem: pairs of inputs give pairs of deviations and an angle.

x = np.stack([np.linspace(-1, 1, 12), np.full(12, 0.5)], axis=1)
i, j = np.triu_indices(len(x), 1)
length = np.linalg.norm(x, axis=1)
c1, c2 = length[i], length[j]
theta = np.arctan2(np.abs(x[i, 0] * x[j, 1] - x[i, 1] * x[j, 0]), np.sum(x[i] * x[j], axis=1))

# %%
# One path to each point, or one path through all of them: the same values.

direct = hk.dual("resin", c1, c2, theta=theta, method="hgm")
through = hk.dual("resin", c1, c2, theta=theta, method="all_at_once")
truth = hk.dual("resin", c1, c2, theta=theta, method="quadrature")
for value in (direct, through):
    print(f"{value.method:12} true error {np.max(np.abs(value.k - truth.k)):.0e}, estimated {np.max(value.error):.0e}")

# %%
# The order matters. If the points are sorted by the first coordinate, as in the paper, the path jumps back and forth in
# the others; 2-opt shortens it.

points = np.stack([np.log(c1), np.log(c2), theta], axis=1)
start = np.array([*points[0, :2], np.pi / 2])
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained", sharex=True, sharey=True)
for axis, order in zip(axes, ("sorted", "short"), strict=True):
    tour = points[order_of(points, start, order)]
    axis.plot(tour[:, 1], tour[:, 2], ".-", linewidth=0.7)
    axis.set(title=f"{order}: length {length_of(tour, start):.1f}", xlabel="log c2")
axes[0].set(ylabel="angle")
plt.show()

# %%
# In the correlation r the equation is singular at r = 1; in the angle it is not. So values near r = 1 need no other
# method.

near = 10.0 ** -np.arange(1, 13)
value = hk.dual("resin", 0.7, 1.9, theta=near, method="hgm")
truth = hk.dual("resin", 0.7, 1.9, theta=near, method="quadrature")
figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
axis.loglog(near, np.abs(value.k - truth.k) + 1e-18, "o-", label="true difference")
axis.loglog(near, value.error, "--", label="estimated error of hgm")
axis.set(xlabel="angle", ylim=(1e-18, 1e-10))
axis.legend()
plt.show()
