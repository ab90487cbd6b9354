"""Where an expression may change its formula: roots of everything that a case, a root or a logarithm depends on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations, pairwise
from math import lcm
from typing import TypeAlias, cast

from flint import acb, fmpq_poly

from holokern.activation.ring.construct import element_of
from holokern.activation.ring.element import Element
from holokern.activation.ring.expansions import expand
from holokern.activation.ring.quotient import Quotient, common_denominator
from holokern.activation.ring.taylor import ball_at
from holokern.activation.tree import nodes
from holokern.activation.tree.constructors import call, subtract
from holokern.activation.tree.nodes import Condition, Node
from holokern.activation.tree.resolve import CHOICES, resolve
from holokern.activation.values.constant_values import function_value, polynomial_root
from holokern.activation.values.constants import ConstantMonomial, ExactReal, exact
from holokern.errors import HolokernError, NotHolonomic, TooLarge
from holokern.numeric import to_fmpq, to_fraction

Break: TypeAlias = Fraction | ExactReal | float
"""A Fraction, an irrational exact constant, or a float for a root that was found numerically only."""

_REACH, _GRID = 60, 2_400  # far beyond what a normal variable reaches, with 20 points a unit
_MAX_NUMERICAL = 60  # one in two units on average: a function that changes its sign so often does so for ever
# every two arguments of Max or Min are compared: 64 of them make 2016 pairs and take about a second
_MAX_ARGUMENTS = 64
_MAX_CANDIDATES = 2_000  # points where formulas may change; each is compared with all others
_MAX_DENOMINATOR = 1000  # breaks that somebody typed have small denominators
_ODD_INCREASING = nodes.ODD - {"sin", "tan"}  # sin and tan do not increase everywhere
_SPLIT = Fraction(2027, 4099)  # an unlikely ratio, so that a sample is not a root or pole of what somebody typed


def break_candidates(node: Node | Condition) -> list[Break]:
    """All points where the formula of ``node`` may change, sorted; there may be harmless extra ones.

    Raises NotHolonomic when there are infinitely many, as for Max(sin(u), 0); TooLarge when there are too many to be
    compared with each other.
    """
    found: list[Break] = []
    for child in nodes.children(node):
        if not nodes.is_constant(child):
            found += break_candidates(child)
    for switch in _switches(node):
        inner = merged(break_candidates(switch))
        for low, high, sample in intervals(inner):
            found += (point for point in _roots(resolve(switch, sample), sample) if inside(point, low, high))
        if len(found) > _MAX_CANDIDATES:
            raise TooLarge(
                f"the formula may change at more than {_MAX_CANDIDATES} points; give a function of numpy arrays instead"
            )
    return merged(found)


def samples(breaks: Iterable[Break]) -> list[Fraction]:
    """One rational point in each open interval between the sorted breaks."""
    return [sample for _, _, sample in intervals(list(breaks))]


def intervals(breaks: list[Break]) -> Iterator[tuple[Break | None, Break | None, Fraction]]:
    """The open intervals between breaks, as (low, high, sample point)."""
    ends: list[Break | None] = [None, *breaks, None]
    for low, high in pairwise(ends):
        yield low, high, _between(low, high)


def comparable(point: Break) -> ExactReal:
    """A break as an exact constant; a float stands for itself."""
    return point if isinstance(point, ExactReal) else exact(Fraction(point))


def merged(points: Iterable[Break]) -> list[Break]:
    """Sorted, without repetitions; exact points win over floats next to them."""
    kept: list[Break] = []
    exact_first = sorted(points, key=lambda point: isinstance(point, float))
    for point in exact_first:
        tidy: Break = point
        if isinstance(point, ExactReal) and point.rational is not None:
            tidy = point.rational
        if not any(_same(tidy, other) for other in kept):
            kept.append(tidy)
    return sorted(kept, key=comparable)


def _same(a: Break, b: Break) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return abs(float(a) - float(b)) <= 1e-12 * max(1.0, abs(float(a)))
    return comparable(a) == comparable(b)


def _between(low: Break | None, high: Break | None) -> Fraction:
    if low is None and high is None:
        return _SPLIT
    if low is None or high is None:
        end = float(high if low is None else low)  # type: ignore[arg-type]
        start = Fraction(round(end))
        return start - 1 - _SPLIT if low is None else start + 1 + _SPLIT
    a, b = (point if isinstance(point, Fraction) else Fraction(float(point)) for point in (low, high))
    return a + (b - a) * _SPLIT


def inside(point: Break, low: Break | None, high: Break | None) -> bool:
    """Whether a point lies strictly between two others; None is infinite."""
    value = comparable(point)
    return (low is None or value > comparable(low)) and (high is None or value < comparable(high))


def _switches(node: Node | Condition) -> list[Node]:
    """The expressions whose sign changes may change the formula of this very node."""
    switches: list[Node] = []
    match node:
        case nodes.Call(name, args) if name in CHOICES:
            if len(args) > _MAX_ARGUMENTS:
                raise TooLarge(
                    f"{name} has {len(args)} arguments, and at most {_MAX_ARGUMENTS} are compared; nest several of them"
                )
            switches = [subtract(a, b) for a, b in combinations(args, 2)] if name in ("Max", "Min") else [args[0]]
        case nodes.Relation(left, _, right):
            switches = [subtract(left, right)]
        case nodes.Call("log", (argument,)):
            switches = [argument]
        case nodes.Call(_, args):
            # a function of something with a pole may jump there, as tanh(1/u) does
            switches = [base for arg in args for base in denominators(arg)]
        case nodes.Power(base, nodes.Number(value)) if value.denominator != 1:
            switches = [base]
    return [_stripped(switch) for switch in switches if not nodes.is_constant(switch)]


def denominators(tree: Node) -> list[Node]:
    """What something is divided by somewhere in the tree."""
    found: dict[Node, None] = {}
    for node in nodes.walk(tree):
        match node:
            case nodes.Power(base, nodes.Number(q)) if q < 0 and not nodes.is_constant(base):
                found[base] = None
            case nodes.Call("tan", (argument,)):
                found[call("cos", argument)] = None
    return list(found)


def _stripped(switch: Node) -> Node:
    """An expression with the same sign: odd increasing functions keep the sign of their argument."""
    while isinstance(switch, nodes.Call) and switch.name in _ODD_INCREASING:
        switch = switch.args[0]
    return switch


# -- roots -----------------------------------------------------------------------------------------------------------


def _roots(node: Node, sample: Fraction) -> list[Break]:
    """The real zeros and poles of an expression without cases: exactly if the ring allows, else numerically."""
    try:
        element = element_of(node, sample)
    except HolokernError:
        return list(_numerical_roots(node))
    exact_roots = _element_roots(element)
    if exact_roots is not None:
        return exact_roots
    return [_snapped(element, point) for point in _numerical_roots(node)]


def _snapped(element: Element, point: float) -> Break:
    """The rational number next to a numerical root, if the element vanishes there exactly."""
    near = Fraction(point).limit_denominator(_MAX_DENOMINATOR)
    if abs(near - Fraction(point)) > Fraction(1, 10**12):
        return point
    try:
        vanishes = all(e > 0 for e, _ in expand(element, near, 1, 0))
    except HolokernError:
        return point
    return near if vanishes else point


def _element_roots(element: Element) -> list[Break] | None:
    if not element:
        return []
    parts = element.coefficients
    if parts is not None:
        return _coefficient_roots(parts)
    if len(element.terms) == 1:
        return _monomial_roots(element)
    return _exponential_roots(element)


def _coefficient_roots(parts: dict[ConstantMonomial, Quotient]) -> list[Break] | None:
    """Roots of Σ constant · rational function."""
    common = common_denominator(parts.values())
    found = polynomial_roots(common)
    if len(parts) == 1:
        (function,) = parts.values()
        return found + polynomial_roots(function.num)
    rows: dict[int, ExactReal] = {}
    for key, function in parts.items():
        for i, number in enumerate((function.num * (common // function.den)).coeffs()):
            rows[i] = rows.get(i, exact(0)) + ExactReal({key: to_fraction(number)})
    rows = {i: c for i, c in rows.items() if c}
    low, high = min(rows), max(rows)
    if low:
        found.append(Fraction(0))
    degree = high - low
    if degree == 0:
        return found
    if set(rows) == {low, high}:
        return found + _binomial_roots(-rows[low] / rows[high], degree)
    if degree == 2:
        a, b, c = (rows.get(low + i, exact(0)) for i in (2, 1, 0))
        discriminant = b * b - a * c * 4
        if discriminant.sign() < 0:
            return found
        root = discriminant.to_power(Fraction(1, 2)) if discriminant else exact(0)
        return [*found, (-b - root) / (a * 2), (-b + root) / (a * 2)]
    return None


def _binomial_roots(value: ExactReal, degree: int) -> list[Break]:
    """The real solutions of x^degree = value, value not zero."""
    sign = value.sign()
    if sign < 0 and degree % 2 == 0:
        return []
    size = (value * sign).to_power(Fraction(1, degree))
    return [-size, size] if degree % 2 == 0 else [size * sign]


def polynomial_roots(polynomial: fmpq_poly) -> list[Break]:
    """The real roots of a polynomial over Q, exactly."""
    found: list[Break] = []
    for p, _ in polynomial.numer().factor()[1]:
        # flint's types say that it gives the roots alone, and it gives pairs with multiplicities
        balls = cast("list[tuple[acb, int]]", p.complex_roots())
        count = sum(root.imag == 0 for root, _ in balls)
        found += [polynomial_root(p, index) for index in range(count)]
    return found


def _monomial_roots(element: Element) -> list[Break] | None:
    """Zeros of a constant times a rational function times a function monomial."""
    (((_, monomial), function),) = element.terms.items()
    found = polynomial_roots(function.num) + polynomial_roots(function.den)
    if monomial.wave or any(atom.kind in ("besselj", "airyai", "airyprime") for atom, _ in monomial.atoms):
        raise _infinite("oscillates, so it changes sign infinitely often")
    for atom, _ in monomial.atoms:
        q = atom.argument
        found += polynomial_roots(q.num) + polynomial_roots(q.den)
        if atom.kind == "log":
            found += polynomial_roots((q - 1).num)
    return found


def _exponential_roots(element: Element) -> list[Break] | None:
    """Roots of a polynomial in y = exp(p) with rational coefficients: p = log y."""
    exponents: list[Quotient] = []
    for (constant, monomial), c in element.terms.items():
        if constant or monomial.wave or monomial.atoms or c.rational is None:
            return None
        exponents.append(monomial.exponent)
    base = next(p for p in exponents if p)
    multiples = [(p / base).rational for p in exponents]
    if None in multiples:
        return None
    scale = 1
    for multiple in multiples:
        assert multiple is not None
        scale = lcm(scale, multiple.denominator)
    powers = [int(multiple * scale) for multiple in multiples if multiple is not None]
    low = min(powers)
    coefficients = [Fraction(0)] * (max(powers) - low + 1)
    if len(coefficients) > 200:
        return None
    for power, c in zip(powers, element.terms.values(), strict=True):
        coefficients[power - low] = c.rational or Fraction(0)
    found: list[Break] = []
    polynomial = fmpq_poly([to_fmpq(c) for c in coefficients])
    for y in polynomial_roots(polynomial):
        if comparable(y).sign() <= 0:
            continue
        level = function_value("log", comparable(y)) * scale
        shifted = {key: Quotient.constant(-c) for key, c in level.terms.items()}
        shifted[()] = shifted.get((), Quotient.constant(0)) + base
        roots = _coefficient_roots(shifted)
        if roots is None:
            return None
        found += roots
    return found


def _numerical_roots(node: Node) -> list[float]:
    """Sign changes on a grid over [-60, 60], refined by bisection; floats, because they are not exact."""
    points = [Fraction(2 * _REACH * k, _GRID) - _REACH + _SPLIT / _GRID for k in range(_GRID + 1)]
    signs = [_sign(node, point) for point in points]
    found: list[float] = []
    for (a, sa), (b, sb) in pairwise(zip(points, signs, strict=True)):
        if sa * sb < 0:
            found.append(_bisected(node, a, b, sa))
    if len(found) > _MAX_NUMERICAL or (_oscillates(node) and len(found) > 4):
        raise _infinite("changes sign very often")
    return found


def _oscillates(node: Node) -> bool:
    return any(
        isinstance(part, nodes.Call) and part.name in ("sin", "cos", "tan", "besselj", "airyai")
        for part in nodes.walk(node)
    )


def _sign(node: Node, point: Fraction) -> int:
    for bits in (53, 400):
        value = ball_at(node, point, bits)
        if value > 0 or value < 0:
            return 1 if value > 0 else -1
    return 0


def _bisected(node: Node, a: Fraction, b: Fraction, sign: int) -> float:
    for _ in range(60):
        middle = (a + b) / 2
        if _sign(node, middle) == sign:
            a = middle
        else:
            b = middle
    return 0.0 if abs(a) < 1e-15 else float(a)


def _infinite(reason: str) -> NotHolonomic:
    return NotHolonomic(
        f"a case of the activation depends on a function that {reason}: infinitely many break points, and a holonomic "
        "function has finitely many; give a function of numpy arrays and the breaks: hk.activation(f, breaks=[…])"
    )
