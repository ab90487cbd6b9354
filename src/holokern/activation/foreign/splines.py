"""Piecewise polynomials and splines of SciPy as exact expressions: every float is a binary fraction."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpq_poly
from numpy.typing import NDArray

from holokern.activation.tree.constructors import U, add, cases, multiply, number, power, relation, subtract
from holokern.activation.tree.nodes import Always, Node, Number, check_size
from holokern.errors import BadInput, Unsupported
from holokern.numeric import to_fmpq, to_fraction

_MOST_PIECES = 300  # a spline with more pieces than this would make expressions that nobody can work with


def is_spline(source: object) -> bool:
    """Whether it is a piecewise polynomial of SciPy, or a class derived from one.

    >>> from scipy.interpolate import CubicSpline
    >>> is_spline(CubicSpline([0, 1, 2], [0, 1, 0])), is_spline(abs)
    (True, False)
    """
    return _kind(source) is not None


def spline_tree(source: Any) -> Node:
    """The expression of a piecewise polynomial: the outer pieces go on to infinity, as SciPy evaluates it.

    Raises Unsupported for a periodic function, one that is undefined outside its range, and one with several
    components; BadInput for coefficients that are not finite real numbers.

    >>> from scipy.interpolate import PPoly
    >>> from holokern.activation.tree.printing import to_text
    >>> to_text(spline_tree(PPoly([[0, 1], [0.25, 0.25]], [-1, 0, 1])))
    'Piecewise((1/4, u < 0), (1/4 + u, True))'
    """
    kind = _kind(source)
    name = type(source).__name__
    if kind == "BPoly":
        raise Unsupported("a BPoly is converted by SciPy: pass scipy.interpolate.PPoly.from_bernstein_basis(...) of it")
    if source.extrapolate == "periodic":
        raise Unsupported(f"the {name} is periodic, so it has infinitely many breaks; make it with extrapolate=True")
    if not source.extrapolate:
        raise Unsupported(f"the {name} is undefined outside its knots; make it with extrapolate=True")
    _check(np.asarray(source.c), name, 1 if kind == "BSpline" else 2)
    places, pieces = _of_bspline(source) if kind == "BSpline" else _of_ppoly(source)
    if len(pieces) > _MOST_PIECES:
        raise Unsupported(f"the {name} has {len(pieces)} pieces; at most {_MOST_PIECES} are served: take fewer knots")
    conditions = [*(relation(U, "<", Number(end)) for end in places[1 : len(pieces)]), Always(True)]
    tree = cases(*((piece, condition) for piece, condition in zip(pieces, conditions, strict=True)))
    check_size(tree)
    return tree


def _kind(source: object) -> str | None:
    names = [kind.__name__ for kind in type(source).__mro__ if kind.__module__.startswith("scipy.interpolate")]
    return next((name for name in names if name in ("PPoly", "BPoly", "BSpline")), None)


def _check(coefficients: NDArray[np.float64], name: str, dimension: int) -> None:
    if coefficients.ndim != dimension:
        raise Unsupported(
            f"the {name} has values of shape {coefficients.shape[dimension:]}; an activation has one value"
        )
    if coefficients.dtype.kind not in "fiu" or not np.isfinite(coefficients).all():
        raise BadInput(f"the {name} has coefficients that are not finite real numbers")


def _of_ppoly(source: Any) -> tuple[list[Fraction], list[Node]]:
    """Ends, and on each interval the sum of c[i] (u - end)^(k-i), as it is stored."""
    places = [Fraction(float(x)) for x in source.x]
    columns = [[Fraction(float(c)) for c in column[::-1]] for column in np.asarray(source.c).T]
    if places[0] > places[-1]:
        raise Unsupported("the piecewise polynomial has decreasing breakpoints; give them in increasing order")
    found = [
        (low, _shifted(column, low))
        for (low, high), column in zip(pairwise(places), columns, strict=True)
        if low < high
    ]
    return [low for low, _ in found], [piece for _, piece in found]


def _of_bspline(source: Any) -> tuple[list[Fraction], list[Node]]:
    """The polynomial of each knot interval by de Boor's recurrence, in fractions."""
    knots = [Fraction(float(t)) for t in source.t]
    values = [Fraction(float(c)) for c in np.asarray(source.c)]
    degree = int(source.k)
    found = [
        (knots[j], _de_boor(knots, values, degree, j))
        for j in range(degree, len(knots) - degree - 1)
        if knots[j] < knots[j + 1]
    ]
    return [low for low, _ in found], [piece for _, piece in found]


def _de_boor(knots: list[Fraction], values: list[Fraction], degree: int, j: int) -> Node:
    """The polynomial on [t_j, t_{j+1}], in powers of u - t_j."""
    start = knots[j]
    row = [fmpq_poly([to_fmpq(values[j - degree + i])]) for i in range(degree + 1)]
    for r in range(1, degree + 1):
        for i in range(degree, r - 1, -1):
            low, high = knots[i + j - degree], knots[i + 1 + j - r]
            # (1 - w) row[i-1] + w row[i] with w = (u - low)/(high - low)
            weight = fmpq_poly([to_fmpq((start - low) / (high - low)), to_fmpq(1 / (high - low))])
            row[i] = row[i - 1] + weight * (row[i] - row[i - 1])
    return _shifted([to_fraction(c) for c in row[degree].coeffs()], start)


def _shifted(coefficients: list[Fraction], start: Fraction) -> Node:
    """The polynomial in powers of u - start, which keeps the digits of SciPy's own evaluation."""
    step = subtract(U, Number(start))
    terms = (multiply(Number(c), power(step, number(n))) for n, c in enumerate(coefficients) if c)
    return add(Number(Fraction(0)), *terms)
