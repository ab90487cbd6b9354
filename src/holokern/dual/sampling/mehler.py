"""Correlations of functions by Mehler's formula: E[f(x) g(y)] = Σ f_n g_n cosⁿθ with Hermite coefficients f_n, g_n.

The coefficients f_n = E[f(x) h_n(x)] belong to the normalised Hermite polynomials h_n [Mehler1866]. For angles away
from 0 and π few of them count, whatever the breaks of the functions, and a matrix product gives all pairs of functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from holokern.dual.sampling.mesh import Mesh
from holokern.numeric import Array, Index

_LOST = 36.7
"""Terms below exp(-36.7) = 1e-16 are left out."""

_PHASE = 6.0
"""Radians of a Hermite function on a panel: together with a polynomial of degree 15 they are one of degree 31."""

_AT_ONCE = 64
"""Hermite functions that are made at a time, an even number: about what the second cache holds."""

_MACHINE_CODE = 1 << 20
"""Values of Hermite functions from which on machine code is quicker, though it takes a moment to load."""


def terms_needed(theta: float) -> int:
    """How many Hermite coefficients correlations at θ need; an even number.

    Examples
    --------
    >>> terms_needed(0.4), terms_needed(0.1)
    (448, 7328)
    """
    return 2 * int(np.ceil(_LOST / -np.log(np.cos(theta)) / 2))


def hermite_sums(values: Array, x: Array, weights: Array, count: int) -> Array:
    """Σ values[a, x] weights[x] φ(x) h_n(x) over points x, for n < count: shape (rows, count).

    ``weights`` are those of dx. The square root of the density stays with the Hermite functions, which do not overflow.
    """
    heavy, result = values * (weights * _root_density(x)), np.empty((len(values), count))
    for some, functions in _hermite_functions(x, count):
        result[:, some] = heavy @ functions.T
    return result


def _root_density(x: Array) -> Array:
    return np.asarray(np.exp(-x * x / 4) / (2 * np.pi) ** 0.25)


def _hermite_functions(x: Array, count: int) -> Iterator[tuple[slice, Array]]:
    """√φ h_n at points x for n < count, one row each; some rows at a time from an even n on, in the same memory."""
    rows, spare = np.empty((_AT_ONCE, len(x))), np.empty_like(x)
    before = now = np.zeros_like(x)
    for start in range(0, count, _AT_ONCE):
        some = slice(start, min(start + _AT_ONCE, count))
        for n, row in enumerate(rows[: some.stop - start], start):
            if n == 0:
                row[:] = _root_density(x)
            else:
                np.multiply(x, now, out=row)
                np.divide(row, np.sqrt(n), out=row)
                np.subtract(row, np.multiply(before, np.sqrt((n - 1) / n), out=spare), out=row)
            before, now = now, row
        yield some, rows[: some.stop - start]


def hermite_sums_of_rows(values: Array, x: Array, weights: Array, ends: Index, count: int) -> Array:
    """The same for rows that have nodes of their own: shape (functions, rows, count).

    Row i of the result takes the nodes from ``ends[i]`` to ``ends[i + 1]``; ``values`` holds one row for each function.

    Examples
    --------
    >>> from holokern.numeric import legendre_rule
    >>> t, w = legendre_rule(24)
    >>> x, ends = np.concatenate([9 * t, -9 * t]), np.array([0, 24, 48])
    >>> hermite_sums_of_rows(np.ones((1, 48)), x, np.tile(9 * w, 2), ends, 2).round(10).tolist()
    [[[0.5, 0.3989422804], [0.5, -0.3989422804]]]
    """
    if len(x) * count < _MACHINE_CODE:
        parts = [slice(a, b) for a, b in pairwise(ends)]
        return np.stack([hermite_sums(values[:, part], x[part], weights[part], count) for part in parts], axis=1)
    from holokern.dual.sampling.hermite_loop import add_up

    root = _root_density(x)
    n, heavy = np.arange(float(count)), np.ascontiguousarray(values * (weights * root))
    result = np.empty((len(values), len(ends) - 1, count))
    add_up(heavy, x, root, ends, 1 / np.sqrt(n + 1), np.sqrt(n / (n + 1)), result)
    return result


def coefficients_on_mesh(mesh: Mesh, values: Array, count: int) -> Array:
    """Hermite coefficients, along the last axis, of functions that are given by their values on a mesh along it.

    Examples
    --------
    >>> mesh = Mesh(np.linspace(0.0, 9.0, 19))
    >>> coefficients_on_mesh(mesh, mesh.nodes[None] ** 2, 4).round(12).tolist()
    [[1.0, 0.0, 1.414213562373, 0.0]]
    """
    fine = mesh.split(_PHASE / np.sqrt(count))
    x, w = fine.right
    rows = values.reshape(-1, values.shape[-1])
    everywhere = rows if fine.edges.shape == mesh.edges.shape else mesh.values_at(rows, fine.nodes)
    right, left = everywhere[:, len(x) :], everywhere[:, len(x) - 1 :: -1]
    # Hermite polynomials are even or odd: half of the line is enough.
    heavy, result = w * _root_density(x), np.empty((len(rows), count))
    parts = (right + left) * heavy, (right - left) * heavy
    for some, functions in _hermite_functions(x, count):
        for parity, part in enumerate(parts):
            result[:, some][:, parity::2] = part @ functions[parity::2].T
    return result.reshape(*values.shape[:-1], count)


@dataclass(frozen=True, eq=False)
class HermiteRows:
    """Hermite coefficients of groups of functions, of shape (groups, functions, terms)."""

    coefficients: Array

    def at(self, theta: float) -> tuple[Array, Array]:
        """E[f_a(x) f_b(y)] at the angles θ and π - θ, for θ ≤ π/2, of shape (groups, functions, functions)."""
        r = max(float(np.cos(theta)), 1e-300)
        count = min(2 * int(_LOST / -np.log(r) / 2 + 1), self.coefficients.shape[2])
        some = self.coefficients[..., :count]
        heavy = some * r ** np.arange(float(count))
        even, odd = (heavy[..., k::2] @ np.swapaxes(some[..., k::2], 1, 2) for k in range(2))
        return even + odd, even - odd
