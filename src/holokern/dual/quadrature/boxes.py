"""E[f(x) g(y)] of functions with many panels: a fast Gauss transform on boxes [GreengardStrain1991].

The density of two standard normal variables with correlation cos θ > 0 is, up to a factor,

    exp(-(x² + y²)/(2 (1 + cos θ))) · exp(-(x - y)² cos θ/(2 sin² θ)),

so the double integral is a convolution with a normal density.  On boxes as wide as that density it is a polynomial of
low degree, so that few moments of f and g on every box are enough.  The work grows with the sum of the numbers of
panels of f and g, where nested integrals take their product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holokern.dual.quadrature.profile import HALF_RANGE
from holokern.dual.quadrature.sides import gauss_nodes, normal
from holokern.numeric import Array, Index, between, chebyshev_matrix, chebyshev_nodes, how_many_fit

Sampled = Callable[[Array], Array]
"""Several functions at a row of points, one row of values each."""

_TERMS = 18
"""Chebyshev polynomials on a box; 16 leave 2e-17 of a normal density as wide as the box."""

_WIDEST = 1.0
"""The widest box, in deviations of x: so that the other factor of the density is smooth on it as well."""

_ARRAYS = 10
"""Of all moments, in memory at a time: those of two functions on both sides, their products, and some to spare."""

_AT_ONCE = 1 << 17
"""Nodes at a time: their polynomials take 20 megabytes."""


def box_count(theta: Array, reach: Array) -> Array:
    """How many boxes `pair_on_boxes` takes, roughly."""
    return np.asarray(2 * reach / np.minimum(_WIDEST, np.sin(theta)))


def pair_on_boxes(f: Sampled, g: Sampled, theta: float, ends: tuple[Array, Array], nodes: int) -> tuple[Array, Array]:
    """E[f_i(x) g_i(y)] for several functions f_i and g_i at one angle 0 < θ < π, and (E[f_i²] E[g_i²])^(1/2).

    ``f``, ``g``: take a row of points and give one row of values for each function.
    ``theta``: the angle.
    ``ends``: the increasing ends of the panels of f and of those of g, on which they are smooth.
    ``nodes``: nodes of a panel.

    Examples
    --------
    >>> relu = lambda x: np.maximum(x, 0.0)[None]
    >>> ends = np.array([-9.0, 0.0, 9.0])
    >>> [round(float(value[0]), 12) for value in pair_on_boxes(relu, relu, np.pi / 3, (ends, ends), 30)]
    [0.304498890522, 0.5]
    """
    cos, sin = abs(float(np.cos(theta))), float(np.sin(theta))
    turned = np.cos(theta) < 0
    # the deviation of the convolution, or less
    width = float(min(_WIDEST, sin / np.sqrt(max(cos, 1e-3))))
    second, other = (-ends[1][::-1], lambda y: g(-y)) if turned else (ends[1], g)
    first = int(np.floor(min(ends[0][0], second[0]) / width))
    count = int(np.ceil(max(ends[0][-1], second[-1]) / width)) - first + 1
    how_many_fit(8 * _ARRAYS * _TERMS * count, 1, f"a fast Gauss transform at θ = {theta:.3g} on {count} boxes")
    found = [_moments(f, ends[0], cos, width, first, count, nodes)] * 2
    if g is not f or turned or not np.array_equal(*ends):
        found[1] = _moments(other, second, cos, width, first, count, nodes)
    moments, norms = zip(*found, strict=True)
    # one matrix for each distance of two boxes that matters
    rate = cos / (2 * sin**2)
    farthest = count - 1 if rate == 0 else min(count - 1, int(np.ceil(HALF_RANGE / (np.sqrt(2 * rate) * width))) + 1)
    t, to_terms = chebyshev_nodes(_TERMS), chebyshev_matrix(_TERMS)
    total = np.zeros(len(moments[0]))
    for apart in range(-farthest, farthest + 1):
        distance = (apart + (t[None, :] - t[:, None]) / 2) * width
        kernel = to_terms @ np.exp(-rate * distance**2) @ to_terms.T
        here = moments[0][:, max(0, -apart) : count - max(0, apart)]
        there = moments[1][:, max(0, apart) : count - max(0, -apart)]
        total += np.sum((here @ kernel) * there, axis=(1, 2))
    return np.asarray(total / (2 * np.pi * sin)), norms[0] * norms[1]


def _moments(
    f: Sampled, ends: Array, cos: float, width: float, first: int, count: int, nodes: int
) -> tuple[Array, Array]:
    """∫ f(x) exp(-x²/(2(1 + cos θ))) T_k on every box: (functions, boxes, terms); and E[f(x)²]^(1/2)."""
    edges = width * np.arange(np.ceil(ends[0] / width), np.floor(ends[-1] / width) + 1)
    panels = between(np.clip(np.concatenate([ends, edges]), ends[0], ends[-1])[None])
    result, squares = np.zeros((0, count, _TERMS)), np.zeros(0)
    for part, x, weight in gauss_nodes(panels, nodes, _AT_ONCE):
        box: Index = np.clip(np.floor((part.start + part.width / 2) / width).astype(np.intp) - first, 0, count - 1)
        values = f(x.ravel()).reshape(-1, *x.shape)
        if not len(result):
            result, squares = np.zeros((len(values), count, _TERMS)), np.zeros(len(values))
        squares += np.sum(values**2 * (weight * normal(x)), axis=(1, 2))
        values = values * (weight * np.exp(-x * x / (2 * (1 + cos))))
        place = 2 * (x / width - (box + first)[:, None]) - 1
        before, now = place, np.ones_like(place)
        for term in range(_TERMS):
            sums = (values * now).sum(axis=2)
            for row, column in enumerate(sums):
                result[row, :, term] += np.bincount(box, weights=column, minlength=count)
            before, now = now, 2 * place * now - before
    return result, np.sqrt(squares)
