"""Sums and products that involve an activation given by its ODE."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import comb, factorial
from typing import TypeAlias

from holokern.activation.named import read_rational
from holokern.activation.ode.annihilator import annihilator_of, minimal_operator, product_operator, sum_operator
from holokern.activation.ode.branches import Branch, Value, plus, scaled, times
from holokern.activation.ode.continuation import LinearOde
from holokern.activation.ode.ode_activation import OdeActivation, assembled, taylor_at
from holokern.activation.ring.element import Element
from holokern.activation.ring.expansions import expand
from holokern.activation.ring.pieces import pieces_of
from holokern.activation.ring.relation import D1
from holokern.activation.tree.nodes import Node
from holokern.activation.values.constants import ExactReal, exact
from holokern.errors import Unsupported
from holokern.weyl import Operator

_BITS = 400
Combination: TypeAlias = Callable[[list[Value], list[Value]], list[Value]]


def add(left: OdeActivation, right: object) -> OdeActivation:
    """The sum with another activation or a rational number."""
    other = _coerced(right)
    equation = sum_operator(left.equation, other.equation)
    return _combined(left, other, equation, lambda f, g: [plus(a, b) for a, b in zip(f, g, strict=True)])


def multiply(left: OdeActivation, right: object) -> OdeActivation:
    """The product with another activation or a rational number."""
    if not isinstance(right, OdeActivation) and not hasattr(right, "tree"):
        factor = read_rational(right, "the factor")
        branches = tuple(
            Branch(b.low, b.high, b.point, tuple(scaled(y, factor) for y in b.values) if factor else ())
            for b in left.branches
        )
        return OdeActivation(left.operators if factor else (D1.one,), branches)
    other = _coerced(right)
    return _combined(left, other, product_operator(left.equation, other.equation), _leibniz)


def ode_of_tree(tree: Node) -> OdeActivation:
    """An expression as the solution of its ODE, with exact data on each piece.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> ode_of_tree(read_expression("Heaviside(u)*sin(u)")).operators
    (u*D^2 + u,)
    """
    pieces = pieces_of(tree)
    if pieces.scale != 1:
        raise Unsupported(f"the activation needs the scale {pieces.scale}; give it with rational arguments instead")
    ode = LinearOde(minimal_operator(pieces.elements).polynomials())
    ends: list[Fraction | None] = [None, *pieces.breaks, None]
    branches = []
    for (low, high), element in zip(pairwise(ends), pieces.elements, strict=True):
        inner = [(end, side) for end, side in ((low, 1), (high, -1)) if end is not None]
        place, side = next(
            ((end, side) for end, side in inner if _is_analytic(element, end, side)),
            (_ordinary_point((ode,), low, high, ()), 1),
        )
        count = max(ode.determining_terms(place), 1)
        series = expand(element, place, side, count - 1)
        values = [series.get((Fraction(n), 0), exact(0)) * (factorial(n) * side**n) for n in range(count)]
        branches.append(Branch(low, high, place, tuple(values) if element else ()))
    return OdeActivation(annihilator_of(pieces).operators, tuple(branches))


def _is_analytic(element: Element, point: Fraction, side: int) -> bool:
    """Whether the one-sided expansion at the point is a Taylor series, and not of a flat function."""
    if any(function.at(point) is None for _, monomial in element.terms for function in monomial.arguments()):
        return False
    return all(e >= 0 and e.denominator == 1 and k == 0 for e, k in expand(element, point, side, 2))


def _coerced(value: object) -> OdeActivation:
    if isinstance(value, OdeActivation):
        return value
    tree = getattr(value, "tree", None)
    if tree is not None:
        return ode_of_tree(tree)
    constant = exact(read_rational(value, "the other operand"))
    return OdeActivation((D1("D"),), (Branch(None, None, Fraction(0), (constant,) if constant else ()),))


def _combined(left: OdeActivation, right: OdeActivation, equation: Operator, combine: Combination) -> OdeActivation:
    """The activation whose derivatives at a point are ``combine`` of those of both operands."""
    breaks = sorted({*left.breaks, *right.breaks})
    ends: list[Fraction | None] = [None, *breaks, None]
    ode = LinearOde(equation.polynomials())
    branches = []
    for low, high in pairwise(ends):
        parts = [(function, _index(function, low)) for function in (left, right)]
        point = _common_point(parts, low, high)
        if point is None:
            odes = (ode, *(function.solution(index).flow for function, index in parts))
            known = tuple(function.branches[index].point for function, index in parts)
            point = _ordinary_point(odes, low, high, known)
        count = max(ode.determining_terms(point), 1)
        values = combine(*(_derivatives(function, index, point, count) for function, index in parts))
        exact_zero = all(isinstance(value, ExactReal) and not value for value in values)
        branches.append(Branch(low, high, point, () if exact_zero else tuple(values)))
    return assembled(equation, tuple(branches))


def _index(function: OdeActivation, low: Fraction | None) -> int:
    """The branch that contains the interval from ``low`` on."""
    return sum(1 for point in function.breaks if low is not None and point <= low)


def _common_point(
    parts: list[tuple[OdeActivation, int]], low: Fraction | None, high: Fraction | None
) -> Fraction | None:
    """A point where both operands have exact data, an end of the interval if possible."""
    live = [function.branches[index] for function, index in parts if not function.solution(index).is_zero]
    points = {branch.point for branch in live if branch.is_exact}
    if len(points) != 1 or not all(branch.is_exact for branch in live):
        return None
    (point,) = points
    return point if (low is None or point >= low) and (high is None or point <= high) else None


def _ordinary_point(
    odes: tuple[LinearOde, ...], low: Fraction | None, high: Fraction | None, preferred: tuple[Fraction, ...]
) -> Fraction:
    """A point of the closed interval where all equations are ordinary; ends and preferred points come first."""
    inside = [p for p in preferred if (low is None or p >= low) and (high is None or p <= high)]
    ends = [end for end in (low, high) if end is not None]
    for point in [*inside, *ends]:
        if all(ode.is_ordinary(point) for ode in odes):
            return point
    for k in range(1, 200):
        step = Fraction(k, k + 1) if k % 2 else Fraction(1, k + 1)
        if low is not None and high is not None:
            point = low + (high - low) * step
        elif low is None and high is None:
            point = Fraction(k // 2 if k % 2 else -k // 2)
        else:
            point = low + 2 * step if low is not None else high - 2 * step  # type: ignore[operator]
        if all(ode.is_ordinary(point) for ode in odes):
            return point
    raise Unsupported("no ordinary point of the equations was found in an interval")


def _derivatives(function: OdeActivation, index: int, point: Fraction, count: int) -> list[Value]:
    """σ, σ', … at the point: exact at the point of the data, enclosed elsewhere."""
    known = point == function.branches[index].point
    coefficients = taylor_at(function.solution(index, None if known else _BITS), point, count)
    return [scaled(c, factorial(n)) for n, c in enumerate(coefficients)]


def _leibniz(f: list[Value], g: list[Value]) -> list[Value]:
    result: list[Value] = []
    for n in range(len(f)):
        total: Value = exact(0)
        for k in range(n + 1):
            total = plus(total, scaled(times(f[k], g[n - k]), comb(n, k)))
        result.append(total)
    return result
