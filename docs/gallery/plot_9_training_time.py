r"""
Networks during training
========================

Gradient descent on infinitely wide networks has a solution in closed form: at every time the outputs are a Gaussian
process.
"""

import matplotlib.pyplot as plt
import numpy as np

import holokern as hk

# %%
# Mean and standard deviation of the ensemble, from random networks at time 0 to interpolation at time infinity.

x = np.array([-1.5, -1.0, -0.2, 0.4, 1.0, 1.6])[:, None]
y = np.sin(2 * x[:, 0])
wide = np.linspace(-2.2, 2.2, 200)[:, None]
model = hk.GradientDescentEnsemble("relu", depth=2, bias=0.3, learning_rate=1.0).fit(x, y)
figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained", sharey=True)
for axis, time in zip(axes, (0.0, 20.0, np.inf), strict=True):
    mean, deviation = model.predict(wide, return_std=True, time=time)
    axis.fill_between(wide[:, 0], mean - 2 * deviation, mean + 2 * deviation, alpha=0.3)
    axis.plot(wide[:, 0], mean)
    axis.plot(x[:, 0], y, "k.")
    axis.set(title=f"time {time:g}", ylim=(-3, 3))
plt.show()

# %%
# A fixed rate above this diverges:

print(f"largest stable learning rate {model.max_learning_rate_:.3f}")
