"""An activation as finitely many pieces: exact breaks and an element of the differential ring on each interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, factorial
from typing import Protocol, TypeVar

from flint import arb

from holokern.activation.ring.breaks import (
    Break,
    break_candidates,
    comparable,
    inside,
    intervals,
    merged,
    polynomial_roots,
    samples,
)
from holokern.activation.ring.construct import INSTEAD, IrrationalArgument, element_of
from holokern.activation.ring.element import Element
from holokern.activation.ring.expansions import LocalSeries, expand
from holokern.activation.ring.one_sided import BITS, BallSeries, one_sided
from holokern.activation.ring.quotient import common_denominator
from holokern.activation.tree.constructors import U, multiply, negate, substitute
from holokern.activation.tree.nodes import EVEN, ODD, Call, Node, Number, Power, Product, Sum, Variable, is_constant
from holokern.activation.tree.resolve import resolve
from holokern.activation.values.constants import ExactReal, exact
from holokern.errors import BadInput, HolokernError, Unsupported

ONE = exact(1)
_MAX_SMOOTHNESS = 256  # derivatives that are compared; a junction that is smoother counts as smooth
_NUMERICAL_SMOOTHNESS = 16  # the same for functions outside the ring, in balls
_NUMERICAL_ERROR = 2.0**-50  # of a break that is a float, relative to it


PointT_co = TypeVar("PointT_co", bound=Break, covariant=True)
NumberT_co = TypeVar("NumberT_co", bound=ExactReal | arb, covariant=True)


class Piecewise(Protocol[PointT_co, NumberT_co]):
    """What jumps are computed from: breaks, and expansions from both sides at each of them."""

    @property
    def breaks(self) -> tuple[PointT_co, ...]:
        """The breaks, increasing."""

    def expansions(
        self, index: int, order: int
    ) -> tuple[Mapping[tuple[Fraction, int], NumberT_co], Mapping[tuple[Fraction, int], NumberT_co]]:
        """The expansions at break number ``index`` from the left and from the right in s = |u - break|."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The function σ(u) = τ(``scale`` · u), where τ equals ``elements[i]`` between ``breaks[i-1]`` and ``breaks[i]``.

    The breaks are those of τ.  At each of them τ is not analytic, and elsewhere it is.  The scale is 1 unless
    arguments such as √2·u or π·u need another one to become rational.
    """

    breaks: tuple[Fraction, ...]
    elements: tuple[Element, ...]
    scale: ExactReal = ONE

    def expansions(self, index: int, order: int) -> tuple[LocalSeries, LocalSeries]:
        """The expansions at break number ``index`` from the left and from the right in s = |u - break|."""
        point = self.breaks[index]
        return expand(self.elements[index], point, -1, order), expand(self.elements[index + 1], point, 1, order)


@dataclass(frozen=True, slots=True)
class NumericalPieces:
    """The same of a function outside the exact ring: the formulas on both sides of each break, expanded in balls."""

    breaks: tuple[Break, ...]
    sides: tuple[tuple[Node, Node], ...]

    def expansions(self, index: int, order: int) -> tuple[BallSeries, BallSeries]:
        """The expansions at break number ``index`` from the left and from the right in s = |u - break|."""
        point, (left, right) = self.breaks[index], self.sides[index]
        place = point if isinstance(point, Fraction) else comparable(point).ball(BITS)
        if isinstance(point, float):
            place = arb(point, max(1.0, abs(point)) * _NUMERICAL_ERROR)
        return one_sided(left, place, -1, order), one_sided(right, place, 1, order)


def pieces_of(tree: Node) -> Pieces:
    """The exact pieces of an expression.

    Raises NotHolonomic when a piece satisfies no linear ODE with polynomial coefficients, or there are infinitely many
    breaks; Unsupported when arguments or breaks are irrational and no single scaling of u makes them rational; BadInput
    when the function is not real, not defined or not locally integrable somewhere.

    >>> from holokern.activation.tree.constructors import U, ZERO, add, call
    >>> pieces_of(call("Max", U, ZERO)).breaks
    (Fraction(0, 1),)
    >>> pieces_of(add(call("Max", U, ZERO), call("Min", U, ZERO))).breaks
    ()
    """
    result = _outcome(tree)
    if isinstance(result, HolokernError):
        raise result
    return result


@lru_cache(maxsize=512)
def _outcome(tree: Node) -> Pieces | HolokernError:
    """The pieces or the error that says why there are none, remembered."""
    try:
        return Pieces(*_rational_pieces(tree))
    except IrrationalArgument as error:
        first = error
    except HolokernError as error:
        return error
    for kappa in first.candidates:
        try:
            other = substitute(tree, multiply(kappa.to_power(Fraction(-1)).as_tree(), U))
            return Pieces(*_rational_pieces(other), kappa)
        except HolokernError:
            continue
    return Unsupported(
        f"{first}; exact algebra needs rational arguments and breaks, and no scaling of u gives them; {INSTEAD}"
    )


def _rational_pieces(tree: Node) -> tuple[tuple[Fraction, ...], tuple[Element, ...]]:
    candidates = break_candidates(tree)
    breaks: list[Fraction] = []
    elements: list[Element] = []
    for low, high, sample in intervals(candidates):
        if low is not None:
            breaks.append(_rational_break(low))
        element = element_of(resolve(tree, sample), sample)
        elements.append(element)
        for pole in _poles(element):
            if inside(pole, low, high):
                breaks.append(_rational_break(pole))
                elements.append(element)
    return _tidied(breaks, elements)


def _rational_break(point: Break) -> Fraction:
    if isinstance(point, Fraction):
        return point
    if isinstance(point, float):
        raise Unsupported(f"the break near u = {point:.6g} is known numerically only; {INSTEAD}")
    if point.rational is not None:
        return point.rational
    candidates: tuple[ExactReal, ...] = ()
    if point.single is not None:
        size = ExactReal({point.single[0]: Fraction(1)})
        candidates = ((size if size.sign() > 0 else -size).to_power(Fraction(-1)),)
    raise IrrationalArgument(f"the point u = {point} is irrational", candidates)


def _poles(element: Element) -> list[Break]:
    """The real points where a coefficient or an argument of the element has a pole."""
    functions = (f for (_, monomial), c in element.terms.items() for f in (c, *monomial.arguments()))
    return merged(polynomial_roots(common_denominator(functions)))


def _tidied(breaks: list[Fraction], elements: list[Element]) -> tuple[tuple[Fraction, ...], tuple[Element, ...]]:
    """Merge pieces across points where the function is analytic; refuse what is not locally integrable."""
    kept_breaks: list[Fraction] = []
    kept = [elements[0]]
    for point, element in zip(breaks, elements[1:], strict=True):
        left, right = (expand(part, point, side, 0) for part, side in ((kept[-1], -1), (element, 1)))
        for series in (left, right):
            if any(e <= -1 for e, _ in series):
                raise BadInput(f"the activation is not locally integrable at u = {point}; it needs finite integrals")
        if element != kept[-1] or _is_singular(element, left, right, point):
            kept_breaks.append(point)
            kept.append(element)
    return tuple(kept_breaks), tuple(kept)


def _is_singular(element: Element, left: LocalSeries, right: LocalSeries, point: Fraction) -> bool:
    """Whether an element that stands on both sides is not analytic at the point."""
    if any(function.at(point) is None for _, monomial in element.terms for function in monomial.arguments()):
        return True
    return any(e < 0 or e.denominator != 1 or k for e, k in (*left, *right))


# -- breaks, jumps and parity ----------------------------------------------------------------------------------------


def find_breaks(tree: Node) -> tuple[Break, ...]:
    """The points where σ is not analytic, sorted: Fractions, irrational constants, or floats if found numerically.

    Every expression is served, holonomic or not.  For one outside the exact ring a candidate is kept when balls of the
    expansions from both sides, up to order 16, prove that it is not smooth there, and dropped otherwise.

    Raises NotHolonomic when there are infinitely many.

    >>> from holokern.activation.tree.constructors import U, call, multiply
    >>> find_breaks(multiply(call("Heaviside", U), call("tanh", U)))
    (Fraction(0, 1),)
    """
    pieces = piecewise(tree)
    if not isinstance(pieces, Pieces) or pieces.scale == 1:
        return pieces.breaks
    moved = [exact(point) / pieces.scale for point in pieces.breaks]
    return tuple(point if point.rational is None else point.rational for point in moved)


@lru_cache(maxsize=512)
def piecewise(tree: Node) -> Pieces | NumericalPieces:
    """The exact pieces of an expression, or those in balls if it has none."""
    result = _outcome(tree)
    if not isinstance(result, HolokernError):
        return result
    candidates = break_candidates(tree)
    formulas = [resolve(tree, sample) for sample in samples(candidates)]
    found = NumericalPieces(tuple(candidates), tuple(pairwise(formulas)))
    kept = [index for index, order in enumerate(jump_orders(found)) if order is not None]
    return NumericalPieces(tuple(found.breaks[i] for i in kept), tuple(found.sides[i] for i in kept))


def jumps(pieces: Pieces, n: int) -> tuple[ExactReal, ...]:
    """The jumps of the n-th derivative of τ at the breaks, exactly.

    Raises Unsupported when a one-sided derivative is infinite.

    >>> from holokern.activation.tree.constructors import U, ZERO, call
    >>> jumps(pieces_of(call("Max", U, ZERO)), 1)
    (1,)
    """
    result = []
    for index, point in enumerate(pieces.breaks):
        left, right = pieces.expansions(index, n)
        if any((e.denominator != 1 or e < 0 or k) and e < n + (k > 0) for e, k in (*left, *right)):
            raise Unsupported(f"derivative {n} of the activation is infinite at u = {point}, so it has no jump there")
        key = (Fraction(n), 0)
        result.append((right.get(key, exact(0)) - left.get(key, exact(0)) * (-1) ** n) * factorial(n))
    return tuple(result)


def jump_order(tree: Node) -> int | None:
    """The smallest n such that the n-th derivative is not continuous; None for a smooth function.

    >>> from holokern.activation.tree.constructors import U, ZERO, call
    >>> jump_order(call("Heaviside", U)), jump_order(call("Max", U, ZERO)), jump_order(U)
    (0, 1, None)
    """
    return min((order for order in jump_orders(piecewise(tree)) if order is not None), default=None)


def jump_orders(pieces: Piecewise[Break, ExactReal | arb]) -> list[int | None]:
    """For each break the order of the first derivative that is not continuous there; None if all are continuous."""
    return [_jump_order_at(pieces, index) for index in range(len(pieces.breaks))]


def _jump_order_at(pieces: Piecewise[Break, ExactReal | arb], index: int) -> int | None:
    numerical = isinstance(pieces, NumericalPieces)
    order = 4
    while order <= (_NUMERICAL_SMOOTHNESS if numerical else _MAX_SMOOTHNESS):
        try:
            left, right = pieces.expansions(index, order)
        except Unsupported:
            if not numerical:
                raise
            # nothing is known of it, so it may jump
            return 0
        found = [max(ceil(e), 0) for e, k in (*left, *right) if e.denominator != 1 or e < 0 or k]
        for n in range(order + 1):
            key = (Fraction(n), 0)
            if right.get(key, 0) != left.get(key, 0) * (-1) ** n:
                found.append(n)
                break
        if found:
            return min(found)
        order *= 2
    return None


def parity(tree: Node) -> str | None:
    """``"even"``, ``"odd"`` or None, exactly in the ring and by the rules of signs outside it.

    The zero function counts as even.

    >>> from holokern.activation.tree.constructors import U, call
    >>> parity(call("Abs", U)), parity(call("erf", U)), parity(call("exp", U)), parity(call("tanh", U))
    ('even', 'odd', None, 'odd')
    """
    try:
        original = pieces_of(tree)
        mirrored = pieces_of(substitute(tree, negate(U)))
    except HolokernError:
        return parity_by_rules(tree)
    if original.scale != mirrored.scale or original.breaks != mirrored.breaks:
        return None
    if original.elements == mirrored.elements:
        return "even"
    return "odd" if original.elements == tuple(-element for element in mirrored.elements) else None


def parity_by_rules(node: Node) -> str | None:
    """``"even"`` or ``"odd"`` when the rules prove it, else None.

    >>> from holokern.activation.tree.constructors import U, call, multiply
    >>> parity_by_rules(multiply(U, call("tanh", U)))
    'even'
    """
    if is_constant(node):
        return "even"
    match node:
        case Variable():
            return "odd"
        case Sum(parts):
            kinds = {parity_by_rules(part) for part in parts}
            return kinds.pop() if len(kinds) == 1 else None
        case Product(parts):
            signs = [parity_by_rules(part) for part in parts]
            return None if None in signs else "odd" if signs.count("odd") % 2 else "even"
        case Power(base, Number(value)) if parity_by_rules(base) == "odd":
            return None if value.denominator != 1 else "odd" if value.numerator % 2 else "even"
        case Power(base, exponent):
            return "even" if {parity_by_rules(base), parity_by_rules(exponent)} == {"even"} else None
        case Call(name, args):
            inner = {parity_by_rules(arg) for arg in args}
            if inner == {"even"} or (inner == {"odd"} and name in EVEN | {"Abs"}):
                return "even"
            return "odd" if inner == {"odd"} and name in ODD | {"sign"} else None
    return None
