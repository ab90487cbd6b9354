r"""
Where Gauss–Hermite fails
=========================

Without a closed form, kernels are usually computed by a product Gauss–Hermite rule. It converges fast
for smooth activations and slowly for those with a break, and nothing in its output tells which of the two happened.
"""

import matplotlib.pyplot as plt
import numpy as np

import holokern as hk

# %%
# The true error of the rule, at the worst of 40 angles, against the number of nodes in each direction.

theta = np.linspace(0.05, np.pi - 0.05, 40)
nodes = [8, 16, 32, 64, 128, 256]
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
for name in ("relu", "resin", "tanh", "gelu"):
    truth = hk.dual(name, 1, 1, theta=theta, method="quadrature")
    rough = [hk.dual(name, 1, 1, theta=theta, method="gauss_hermite", degree=n) for n in nodes]
    axes[0].loglog(nodes, [np.max(np.abs(v.k - truth.k)) + 1e-16 for v in rough], "o-", label=name)
    axes[1].loglog(nodes, [np.max(np.abs(v.kdot - truth.kdot)) + 1e-16 for v in rough], "o-", label=name)
axes[0].set(title="error of k", xlabel="nodes")
axes[1].set(title="error of the derivative kernel", xlabel="nodes")
axes[0].legend()
plt.show()

# %%
# Quadrature whose panels end at the breaks of σ does not have this problem. Its error estimate is below the tolerance
# for all four.

for name in ("relu", "resin", "tanh", "gelu"):
    value = hk.dual(name, 1, 1, theta=theta, method="quadrature")
    print(f"{name:6} {np.max(value.error):.0e} {np.max(value.kdot_error):.0e}")
