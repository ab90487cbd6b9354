"""`bulk`: k and k̇ of one activation for all pairs of two sets of deviations, many angles each.

The cheapest exact method is taken: formulas, hinges of piecewise polynomials, series of cosines for smooth functions,
Chebyshev series for functions with a break at zero, and quadrature for the rest. Nothing is interpolated in the
deviations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holokern.activation import activation as as_activation
from holokern.dual.bulk_sectors import sector_series, unit_angles
from holokern.dual.bulk_waves import wave_series
from holokern.dual.closed.hinged import hinged_grid
from holokern.dual.closed.method import closed
from holokern.dual.closed.terms import closed_terms
from holokern.dual.compiled import breaks_away, cannot_compile
from holokern.dual.compiled_table import tables_of
from holokern.dual.dual import dual
from holokern.errors import BadInput, PrecisionLost
from holokern.numeric.panels import Array
from holokern.progress import report

__all__ = ["bulk"]

_TOLERANCE = 1e-13
_SLICE = 4096
_AT_ONCE = 512
_NEARLY_ALIKE = 1e-9
_SMALLEST = 1e-290


def bulk(activation: Any, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    """Both k and k̇ for all pairs of deviations and every angle.

    Parameters
    ----------
    activation
        An activation, a name, an expression in u, or a SymPy expression.
    c1, c2
        Deviations above 0. Passing one array twice saves work.
    theta
        Angles in [0, π], of shape (len(c1), len(c2), any number).

    Returns
    -------
    tuple
        k and k̇, both of the shape of ``theta``; k̇ is NaN when σ jumps. The errors are about 1e-13 of
        (k(c1, c1, θ=0) k(c2, c2, θ=0))^(1/2), of k̇ alike.

    Examples
    --------
    >>> c = np.array([1.0, 2.0])
    >>> k, kdot = bulk("relu", c, c, np.full((2, 2, 1), np.pi / 3))
    >>> k[:, :, 0].round(6).tolist(), kdot[0, 0].round(12).tolist()
    ([[0.304499, 0.608998], [0.608998, 1.217996]], [0.333333333333])
    """
    sigma = as_activation(activation)
    c1, c2, theta = _checked(c1, c2, theta)
    k, kdot = np.full(theta.shape, np.nan), np.full(theta.shape, np.nan)
    if not theta.size:
        return k, kdot
    todo = np.ones(theta.shape[:2], dtype=bool)
    if _has_quick_formulas(sigma):
        todo = _by_formulas(sigma, c1, c2, theta, k, kdot)
    if np.any(todo):
        rows, columns = np.any(todo, axis=1), np.any(todo, axis=0)
        block = np.ix_(rows, columns)
        first = c1[rows]
        second = first if c1 is c2 and np.array_equal(rows, columns) else c2[columns]
        for result, found in zip((k, kdot), _by_rules(sigma, first, second, theta[block]), strict=True):
            result[block] = np.where(todo[block][:, :, None], found, result[block])
    if sigma.jump_order == 0:
        kdot[:] = np.nan
    return k, kdot


def _checked(c1: Array, c2: Array, theta: Array) -> tuple[Array, Array, Array]:
    first = np.ascontiguousarray(c1, dtype=float)
    second = first if c2 is c1 else np.ascontiguousarray(c2, dtype=float)
    angles = np.ascontiguousarray(theta, dtype=float)
    if first.ndim != 1 or second.ndim != 1 or angles.ndim != 3 or angles.shape[:2] != (len(first), len(second)):
        raise BadInput(
            f"deviations of shapes {first.shape}, {second.shape} do not go with angles of shape {angles.shape}; pass "
            "two vectors, and angles of shape (len(c1), len(c2), any number)"
        )
    for c in (first, second):
        if not np.all((c > 0) & (c < np.inf)):
            raise BadInput("a deviation is not a positive number; pass deviations above 0")
    if not np.all((angles >= 0) & (angles <= np.pi)):
        raise BadInput("an angle is outside [0, π]; pass arccos of the correlations")
    return first, second, angles


def _has_quick_formulas(sigma: Any) -> bool:
    """Whether σ has closed forms that are quicker than rules: those with exponentials on half-lines are not."""
    terms = closed_terms(sigma)
    return not isinstance(terms, str) and not (terms.family == "halves" and any(t.rate for t in terms.value))


def _by_formulas(sigma: Any, c1: Array, c2: Array, theta: Array, k: Array, kdot: Array) -> NDArray[np.bool_]:
    """Fill k and k̇ by closed forms; which pairs they do not give well enough."""
    with np.errstate(all="ignore"):
        # Not zero, where the formulas of k̇ divide by the sine.
        first, second, angle = _flat(c1, c2, np.maximum(theta, _SMALLEST))
        # In slices, as the formulas hold many arrays at a time.
        slices = [slice(start, start + _SLICE) for start in range(0, len(angle), _SLICE)]
        parts = [closed(sigma, first[some], second[some], angle[some], _TOLERANCE) for some in slices]
        found = [np.concatenate(kind) for kind in zip(*parts, strict=True)]
        scales = [np.multiply.outer(a, b) for a, b in zip(_norms(sigma, c1), _norms(sigma, c2), strict=True)]
    rough = np.zeros(theta.shape[:2], dtype=bool)
    kinds = (0,) if sigma.jump_order == 0 else (0, 1)
    for kind in kinds:
        (k, kdot)[kind][:] = found[kind].reshape(theta.shape)
        error = found[2 + kind].reshape(theta.shape)
        rough |= ~np.all(error <= _TOLERANCE * scales[kind][:, :, None], axis=2)
    return rough


def _norms(sigma: Any, c: Array) -> tuple[Array, Array]:
    """About k(c, c, 1)^(1/2) and k̇(c, c, 1)^(1/2), by formulas."""
    k, kdot, _, _ = closed(sigma, c, c, np.full(len(c), _NEARLY_ALIKE / max(1.0, float(np.max(c)))), _TOLERANCE)
    return np.sqrt(k), np.sqrt(kdot)


def _by_rules(sigma: Any, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    if breaks_away(sigma):
        if cannot_compile(sigma) is None:
            return hinged_grid(sigma, c1, c2, theta)
        return _by_quadrature(sigma, c1, c2, theta)
    try:
        return _by_series(sigma, c1, c2, theta)
    except PrecisionLost:
        return _by_quadrature(sigma, c1, c2, theta)


def _by_series(sigma: Any, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    from holokern.dual.bulk_sums import sum_cosines

    value, slope, reach = tables_of(sigma, np.unique(np.concatenate([c1, c2])))
    smooth = not sigma.breaks
    functions = (value,) if sigma.jump_order == 0 else (value, slope)
    series = (wave_series if smooth else sector_series)(functions, c1, c2, reach, str(sigma))
    angles = (theta if smooth else unit_angles(theta)).reshape(-1, theta.shape[2])
    results = []
    for coefficients in series:
        results.append(np.empty(angles.shape))
        sum_cosines(coefficients.reshape(len(angles), -1), angles, results[-1])
    return results[0].reshape(theta.shape), results[-1].reshape(theta.shape)


def _by_quadrature(sigma: Any, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
    first, second, angle = _flat(c1, c2, theta)
    k, kdot = np.empty(theta.size), np.empty(theta.size)
    for some in _parts(theta.size):
        report("integrating", some.start, theta.size)
        found = dual(sigma, first[some], second[some], theta=angle[some])
        k[some], kdot[some] = found.k, found.kdot
    return k.reshape(theta.shape), kdot.reshape(theta.shape)


def _flat(c1: Array, c2: Array, theta: Array) -> tuple[Array, Array, Array]:
    first, second, angle = np.broadcast_arrays(c1[:, None, None], c2[None, :, None], theta)
    return first.ravel(), second.ravel(), angle.ravel()


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, start + _AT_ONCE) for start in range(0, count, _AT_ONCE))
