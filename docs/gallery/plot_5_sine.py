r"""
Learning sin πx
===============

The paper's experiment: kernel regression with the NTK of ReLU, GELU and ReSin on 15 points of sin πx.
"""

import matplotlib.pyplot as plt
import numpy as np

import holokern as hk

# %%
# Two hidden layers, bias 1/2, ridge 0.01. The paper does not give its bias; this is ours.

x = np.linspace(-1, 1, 15)[:, None]
y = np.sin(np.pi * x[:, 0])
fine = np.linspace(-1, 1, 201)[:, None]
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name in ("relu", "gelu_paper", "resin"):
    model = hk.NTKRegressor(name, depth=2, bias=0.5, alpha=0.01).fit(x, y)
    found = model.predict(fine)
    axis.plot(fine[:, 0], found, label=name)
    print(f"{name:11} mean square error {np.mean((found - np.sin(np.pi * fine[:, 0])) ** 2):.1e}")
axis.plot(x[:, 0], y, "k.", label="data")
axis.legend()
plt.show()

# %%
# The same networks as Gaussian processes: the NNGP kernel gives a mean and a standard deviation.

model = hk.NNGPRegressor("resin", depth=2, bias=0.5, alpha=1e-4).fit(x[::2], y[::2])
wide = np.linspace(-2, 2, 201)[:, None]
mean, deviation = model.predict(wide, return_std=True)
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.fill_between(wide[:, 0], mean - 2 * deviation, mean + 2 * deviation, alpha=0.3, label="two deviations")
axis.plot(wide[:, 0], mean, label="mean")
axis.plot(x[::2, 0], y[::2], "k.", label="data")
axis.legend()
plt.show()
