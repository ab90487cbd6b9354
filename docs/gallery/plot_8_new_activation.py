r"""
A new activation, from expression to accuracy
=============================================

Someone proposes an activation. This is what holokern says about it, and how a wide network with it learns, without
training one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import Normalizer

import holokern as hk

# %%
# The candidate rises like ReLU, oscillates and dies out on the left.

candidate = hk.activation("Piecewise((exp(u)*sin(2*u)/2, u < 0), (u, True))")
u = np.linspace(-5, 3, 400)
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.plot(u, candidate(u), label="candidate")
axis.plot(u, hk.activation("relu")(u), "--", label="relu")
axis.legend()
plt.show()
print("breaks at", *candidate.breaks, "- first derivative that jumps:", candidate.jump_order)
print("annihilator:", *candidate.annihilator, sep="\n  ")

# %%
# Values, with their errors. Two methods that share no code agree.

points = {"c1": [0.5, 1.0, 2.0], "c2": [1.0, 1.0, 0.7], "theta": [0.3, 1.0, 2.5]}
for method in ("quadrature", "hermite"):
    value = hk.dual(candidate, **points, method=method)
    print(f"{method:11} k = {np.round(value.k, 12)}, error below {np.max(value.error):.0e}")

# %%
# Does it keep the inputs of a deep network apart? At the fixed point of unit variance :math:`\chi = k'/k`
# compares it with ReLU, whose χ is 1.

for name in ("relu", candidate, "gelu", "erf"):
    at_one = hk.dual(name, 1, 1, 1.0)
    print(f"{str(name)[:20]:22} χ = {at_one.kdot / at_one.k:.4f}")

# %%
# The accuracy of infinitely wide networks with it, on digits.

X, y = load_digits(return_X_y=True)
X = Normalizer().fit_transform(X)
train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
for depth in (1, 3):
    for name in ("relu", candidate):
        model = hk.NTKClassifier(name, depth=depth, alpha=1e-4).fit(train, y_train)
        print(f"depth {depth}, {str(name)[:9]:9} accuracy {model.score(test, y_test):.4f}")
