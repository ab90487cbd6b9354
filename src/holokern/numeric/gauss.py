"""Gauss rules with correctly rounded nodes and weights."""

from __future__ import annotations

from functools import lru_cache

import flint
import numpy as np

from holokern.numeric.panels import Array
from holokern.numeric.precision import working_precision

_BITS = 96
"""More than a float holds, so that 1 - x keeps all of its digits next to x = 1."""


@lru_cache(maxsize=64)
def legendre_rule(count: int) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss–Legendre rule with ``count`` nodes on [0, 1], correct to the last bit or two.

    Examples
    --------
    >>> t, w = legendre_rule(3)
    >>> bool(abs(w @ t**5 - 1 / 6) < 1e-16)
    True
    """
    # Roots as balls: numpy's own rule is off by several units in the last place of the small weights.
    with working_precision(_BITS):
        pairs = [flint.arb.legendre_p_root(count, k, weight=True) for k in range(count)]
        nodes = np.array([float((1 - x) / 2) for x, _ in pairs])
        weights = np.array([float(w / 2) for _, w in pairs])
    return _frozen(nodes), _frozen(weights)


@lru_cache(maxsize=64)
def hermite_rule(count: int) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss–Hermite rule for the standard normal density.

    Nodes are the eigenvalues of the Jacobi matrix; the weights come from normalised Hermite functions, which do not
    overflow at any degree; those that underflow are zero.

    Examples
    --------
    >>> x, w = hermite_rule(5)
    >>> round(float(w @ x**4), 12)
    3.0
    """
    nodes = np.linalg.eigvalsh(np.diag(np.sqrt(np.arange(1.0, count)), 1), UPLO="U")
    nodes = (nodes - nodes[::-1]) / 2
    before, now = np.zeros(count), np.exp(-(nodes**2) / 4)
    for n in range(count - 1):
        before, now = now, (nodes * now - np.sqrt(n) * before) / np.sqrt(n + 1)
    # w = 1/(n p²) with p the orthonormal polynomial of degree n-1; the exponential was carried by p.
    return _frozen(nodes), _frozen(np.exp(-(nodes**2) / 2) / (count * now**2))


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
