r"""
D-modules
=========

From an activation to the differential equations of its kernel, and the same by the paper's method: the Koyama–Takemura
ideal and its restriction.
"""

import matplotlib.pyplot as plt
import numpy as np

import holokern as hk
from holokern.pfaffian import local_exponents, pfaffian_by_restriction, scalar_ode
from holokern.weyl import weyl_algebra, weyl_closure

# %%
# More than one operator annihilates a function. GELU has an operator of order 2, and another one of order 3 that is not
# a multiple of it.

D = weyl_algebra("u", "D")
gelu = D("u^2*D^2 - 2*u*(1 - u^2)*D + 2*(1 - u^2)")
for operator in weyl_closure([gelu]):
    print(operator)

# %%
# With the whole annihilator the holonomic system has a smaller rank.

for name in ("relu", "resin", "gelu_paper"):
    system = hk.pfaffian(name, cache=False)
    print(f"{name:11} rank {system.rank}, basis {', '.join(system.basis_text)}, singular at {system.singular_locus}")
print("with the paper's operator for ReSin: rank", hk.pfaffian(operator="u^2*(D^2 + 1)", cache=False).rank)

# %%
# The paper's method, by D-modules, gives the same matrices.

slow = pfaffian_by_restriction("u*D - 1", basis="1, d12")
quick = hk.pfaffian(operator="u*D - 1", coordinates="x", basis="1, d12", cache=False)
print("equal:", slow.matrices == quick.matrices)

# %%
# For unit variances the kernel of ReLU satisfies an ODE in the correlation t. Its exponents at t = 1 tell how k behaves
# there: like f(t) + g(t) (1 - t)^(3/2) with smooth f and g.

ode = scalar_ode(quick.to_coordinates("sigma").restrict({"S11": 1, "S12": "t", "S22": 1}))
print(ode, "  exponents at 1:", [str(value) for value, _ in local_exponents(ode, 1).exponents])

t = np.linspace(-1, 1, 400)
k = hk.dual("relu", 1, 1, t).k
figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
distance = 1 - t[200:-1]
axis.loglog(distance, np.abs(k[200:-1] - (0.5 - distance / 2)), label="|k - (1/2 - (1 - t)/2)|")
axis.loglog(distance, distance**1.5 * np.sqrt(2) / (3 * np.pi), "--", label="√2 (1 - t)^(3/2)/(3π)")
axis.set(xlabel="1 - t")
axis.legend()
plt.show()
