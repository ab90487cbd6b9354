"""The vector of a Pfaffian system where u and v are independent: products of one-dimensional moments.

With z standard normal, E[∂^n σ(cz)] c^n = E[He_n(z) σ(cz)], deltas at breaks included, because He_n φ is the n-th
derivative of the normal density φ up to sign.  By Price's theorem the dependence on the correlation r follows:

    c1^i c2^j E[∂_u^i ∂_v^j σ(u)σ(v)] = Σ_n a_(i+n)(c1) a_(j+n)(c2) r^n / n!,   a_n(c) = E[He_n(z) σ(cz)],

which also starts a transport away from r = 0 [Price1958].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holokern.activation import Activation
from holokern.dual.quadrature.profile import profile_of
from holokern.dual.quadrature.sides import DENSITY, Side, gauss_nodes
from holokern.hgm import Numbers
from holokern.numeric import EPS, Array, between

# deviations: √2 times 9, since the weight of a Hermite function is the root of the density
_REACH = 12.5
# deviations; a Hermite function of degree 64 makes about six half waves on a panel
_PANEL = 2.5
# two rules, whose difference is the error
_NODES = (22, 28)


@dataclass(frozen=True)
class HermiteMoments:
    """E[He_n(z) σ(cz)]/√n! for several c, with errors."""

    deviations: Array  # (number of c,)
    # values, errors: (number of c, count)
    values: Array
    errors: Array

    def correlated(
        self, c1: Array, c2: Array, exponents: Sequence[tuple[int, int]], r: Numbers
    ) -> tuple[Numbers, Array]:
        """c1^i c2^j E[∂_u^i ∂_v^j σ(u)σ(v)] for each (i, j), and errors: two arrays (points, exponents).

        The correlations r may be complex, with |r| well below 1.
        """
        one, other = np.searchsorted(self.deviations, c1), np.searchsorted(self.deviations, c2)
        i, j = np.array(exponents, dtype=np.intp).T
        count = self.values.shape[1] - int(max(i.max(), j.max()))
        n = np.arange(count)
        weight = _roots_of_factorials(self.values.shape[1])
        values, errors = [], []
        for p, q in zip(i, j, strict=True):
            powers = r[:, None] ** n * (weight[n + p] / weight[n]) * (weight[n + q] / weight[n])
            left, right = self.values[one][:, n + p], self.values[other][:, n + q]
            terms = left * right * powers
            size = np.abs(powers) * (
                self.errors[one][:, n + p] * np.abs(right) + np.abs(left) * self.errors[other][:, n + q]
            )
            values.append(terms.sum(axis=1))
            errors.append(size.sum(axis=1) + EPS * np.abs(terms).sum(axis=1) + 4 * np.abs(terms[:, -2:]).max(axis=1))
        return np.stack(values, axis=1), np.stack(errors, axis=1)


def hermite_moments(activation: Activation, c: Array, count: int) -> HermiteMoments:
    """E[He_n(z) σ(cz)]/√n! for n < ``count`` by Gauss–Legendre panels between the breaks, at two resolutions.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> hermite_moments(activation("relu"), np.array([1.0]), 3).values.round(12).tolist()
    [[0.398942280401, 0.5, 0.282094791774]]
    """
    deviations = np.unique(c)
    side = Side.of(profile_of(activation), deviations)
    low, high = -_REACH - side.left[:, None], _REACH + side.right[:, None]
    grid = _PANEL * np.arange(np.floor(low.min() / _PANEL), np.ceil(high.max() / _PANEL) + 1)
    splits = np.concatenate([low, high, side.breaks, side.smoothness.ends, np.tile(grid, (len(deviations), 1))], axis=1)
    panels = between(np.clip(splits, low, high))
    coarse, fine = (np.zeros((len(deviations), count)) for _ in _NODES)
    size = np.zeros((len(deviations), count))
    for total, nodes in ((coarse, _NODES[0]), (fine, _NODES[1])):
        for part, z, weight in gauss_nodes(panels, nodes):
            # half of the exponent goes with the Hermite functions, which then do not overflow
            weighted = weight * DENSITY * np.exp(-z * z / 4) * side.value(z, part.owner)
            before, now = np.zeros_like(z), np.exp(-z * z / 4)
            for n in range(count):
                terms = weighted * now
                total[:, n] += part.total(terms.sum(axis=1), len(deviations))
                if total is fine:
                    size[:, n] += part.total(np.abs(terms).sum(axis=1), len(deviations))
                before, now = now, (z * now - np.sqrt(n) * before) / np.sqrt(n + 1)
    return HermiteMoments(deviations, fine, np.abs(fine - coarse) + 2 * EPS * size)


def _roots_of_factorials(count: int) -> Array:
    return np.asarray(np.sqrt(np.cumprod(np.concatenate([[1.0], np.arange(1.0, count)]))))
