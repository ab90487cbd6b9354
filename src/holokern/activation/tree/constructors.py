"""Activations as expression trees: immutable nodes and the constructors that keep them tidy.

A tree is a real function of one variable u.  The constructors fold numbers, flatten sums and products and collect
equal terms, and nothing more, so a tree stays close to what was written.  Values at the single point of a break are
the symmetric ones, ``Heaviside(0) = 1/2`` and ``sign(0) = 0``; no kernel depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from flint import fmpz

from holokern.activation.tree import nodes
from holokern.activation.tree.nodes import Condition, Node
from holokern.errors import BadInput, TooLarge

MAX_EXPONENT = 200

U = nodes.Variable()
ZERO = nodes.Number(Fraction(0))
ONE = nodes.Number(Fraction(1))
MINUS_ONE = nodes.Number(Fraction(-1))
HALF = nodes.Number(Fraction(1, 2))
_ONE_AT_ZERO = nodes.EVEN | {"exp", "erfc"}  # f(0) = 1
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}  # what holds where a relation does not


def number(value: int | Fraction) -> nodes.Number:
    """The exact number as a node."""
    exact = Fraction(value)
    check_bits(exact)
    return nodes.Number(exact)


def add(*terms: Node) -> Node:
    """The sum, flattened (also c*(a + b)), with equal terms collected in the order in which they first appear.

    >>> add(U, ONE, U) == nodes.Sum((multiply(number(2), U), ONE))
    True
    """
    collected: dict[Node, Fraction] = {}
    for term in _flatten_sum(terms):
        coefficient, rest = _split_coefficient(term)
        if coefficient:
            collected[rest] = collected.get(rest, Fraction(0)) + coefficient
    result = tuple(multiply(nodes.Number(value), rest) for rest, value in collected.items() if value)
    if not result:
        return ZERO
    return result[0] if len(result) == 1 else nodes.Sum(result)


def subtract(left: Node, right: Node) -> Node:
    """``left - right``."""
    return add(left, negate(right))


def negate(node: Node) -> Node:
    """``-node``."""
    return multiply(MINUS_ONE, node)


def multiply(*factors: Node) -> Node:
    """The product, flattened: the rational factor, other factors, divisors; integer powers of equal bases collected."""
    coefficient = Fraction(1)
    exponents: dict[Node, Fraction] = {}
    for factor in _flatten_product(factors):
        if isinstance(factor, nodes.Number):
            coefficient *= factor.value
            continue
        base, exponent = _split_exponent(factor)
        exponents[base] = exponents.get(base, Fraction(0)) + exponent
    if not coefficient:
        return ZERO
    numerator: list[Node] = []
    denominator: list[Node] = []
    for base, exponent in exponents.items():
        factor = power(base, nodes.Number(exponent))
        if isinstance(factor, nodes.Number):
            coefficient *= factor.value
        else:
            (denominator if is_reciprocal(factor) else numerator).append(factor)
    check_bits(coefficient)
    result = [*numerator, *denominator]
    if coefficient != 1 or not result:
        result.insert(0, nodes.Number(coefficient))
    if len(result) == 1:
        return result[0]
    return (
        multiply(*result)
        if any(isinstance(factor, nodes.Product) for factor in result)
        else nodes.Product(tuple(result))
    )


def divide(left: Node, right: Node) -> Node:
    """``left / right``."""
    return multiply(left, power(right, MINUS_ONE))


def power(base: Node, exponent: Node) -> Node:
    """The power, with rational powers of rationals taken where they are rational.

    Raises BadInput for a division by zero or a root that is not real; TooLarge for a rational exponent beyond
    ``MAX_EXPONENT``.
    """
    if base == nodes.Constant("E") and exponent != ONE:
        return call("exp", exponent)
    if (rate := _exponent_of_e(base)) is not None and isinstance(exponent, nodes.Number):
        return call("exp", nodes.Number(rate * exponent.value))
    if not isinstance(exponent, nodes.Number):
        return ONE if base == ONE else nodes.Power(base, exponent)
    value = exponent.value
    if isinstance(base, nodes.Power) and isinstance(base.exponent, nodes.Number):
        inner = base.exponent.value
        if _powers_merge(base.base, inner, value):
            return power(base.base, nodes.Number(inner * value))
    if abs(value) > MAX_EXPONENT:
        raise TooLarge(f"the exponent {shown(value)} is too large; exponents up to {MAX_EXPONENT} are read")
    if value == 0:
        return ONE
    if value == 1:
        return base
    if isinstance(base, nodes.Number):
        return _rational_power(base.value, value)
    if isinstance(base, nodes.Product) and value.denominator == 1:
        return multiply(*(power(factor, exponent) for factor in base.factors))
    return nodes.Power(base, exponent)


def sqrt(node: Node) -> Node:
    """The square root."""
    return power(node, HALF)


def call(name: str, *args: Node) -> Node:
    """The function applied, with its value where that is an obvious rational."""
    if name in ("Max", "Min"):
        return _extreme(name, args)
    if name in ("Heaviside", "sign", "Abs") and isinstance(args[0], nodes.Number):
        value = args[0].value
        sign = (value > 0) - (value < 0)
        return number({"sign": Fraction(sign), "Heaviside": Fraction(1 + sign, 2), "Abs": abs(value)}[name])
    if args[0] == ZERO and name in nodes.ODD:
        return ZERO
    if args[0] == ZERO and name in _ONE_AT_ZERO:
        return ONE
    if name == "exp" and args[0] == ONE:
        return nodes.Constant("E")
    if name == "log" and args[0] in (ONE, nodes.Constant("E")):
        return ZERO if args[0] == ONE else ONE
    return nodes.Call(name, args)


def cases(*branches: tuple[Node, Condition]) -> Node:
    """The function by cases, without branches that are never reached."""
    kept: list[tuple[Node, Condition]] = []
    for value, condition in branches:
        if condition == nodes.Always(False):
            continue
        kept.append((value, condition))
        if condition == nodes.Always(True):
            break
    if not kept:
        raise BadInput("a Piecewise needs a branch whose condition can hold; end it with (expression, True)")
    return kept[0][0] if kept[0][1] == nodes.Always(True) else nodes.Cases(tuple(kept))


def relation(left: Node, sign: str, right: Node) -> Condition:
    """The comparison, decided when both sides are rational."""
    if isinstance(left, nodes.Number) and isinstance(right, nodes.Number):
        return nodes.Always(nodes.COMPARE[sign](left.value, right.value))
    return nodes.Relation(left, sign, right)


def both(*parts: Condition) -> Condition:
    """The conjunction."""
    return _joined(parts, nodes.And, True)


def either(*parts: Condition) -> Condition:
    """The disjunction."""
    return _joined(parts, nodes.Or, False)


def negation(part: Condition) -> Condition:
    """The opposite condition."""
    match part:
        case nodes.Always(truth):
            return nodes.Always(not truth)
        case nodes.Relation(left, sign, right):
            return nodes.Relation(left, _OPPOSITE[sign], right)
        case nodes.Not(inner):
            return inner
    return nodes.Not(part)


def mapped(node: Node, change: Callable[[Node], Node]) -> Node:
    """The same operation on changed operands, those of conditions too; a leaf stays as it is.

    >>> mapped(call("sin", U), negate) == call("sin", negate(U))
    True
    """
    match node:
        case nodes.Sum(parts):
            return add(*map(change, parts))
        case nodes.Product(parts):
            return multiply(*map(change, parts))
        case nodes.Power(base, exponent):
            return power(change(base), change(exponent))
        case nodes.Call(name, args):
            return call(name, *map(change, args))
        case nodes.Cases(branches):
            return cases(*((change(value), _mapped_condition(test, change)) for value, test in branches))
    return node


def _mapped_condition(test: Condition, change: Callable[[Node], Node]) -> Condition:
    match test:
        case nodes.Relation(left, sign, right):
            return relation(change(left), sign, change(right))
        case nodes.And(parts):
            return both(*(_mapped_condition(part, change) for part in parts))
        case nodes.Or(parts):
            return either(*(_mapped_condition(part, change) for part in parts))
        case nodes.Not(part):
            return negation(_mapped_condition(part, change))
    return test


def substitute(node: Node, replacement: Node) -> Node:
    """The tree with u replaced.

    >>> substitute(call("sin", U), add(U, ONE)) == call("sin", add(U, ONE))
    True
    """
    if U in (node, replacement):
        return replacement if node == U else node
    return mapped(node, lambda part: substitute(part, replacement))


def _flatten_sum(terms: tuple[Node, ...]) -> Iterator[Node]:
    for term in terms:
        match term:
            case nodes.Sum(inner):
                yield from inner
            case nodes.Product((nodes.Number() as scale, nodes.Sum(inner))):
                yield from (multiply(scale, part) for part in inner)
            case _:
                yield term


def _flatten_product(factors: tuple[Node, ...]) -> Iterator[Node]:
    for factor in factors:
        yield from factor.factors if isinstance(factor, nodes.Product) else (factor,)


def _joined(parts: tuple[Condition, ...], kind: type[nodes.And] | type[nodes.Or], neutral: bool) -> Condition:
    """The conjunction or disjunction, flattened; ``neutral`` is the truth value that changes nothing in it."""
    if nodes.Always(not neutral) in parts:
        return nodes.Always(not neutral)
    flat: dict[Condition, None] = {}
    for part in parts:
        inner = part.parts if isinstance(part, kind) else (part,)
        flat.update(dict.fromkeys(item for item in inner if not isinstance(item, nodes.Always)))
    kept = tuple(flat)
    return nodes.Always(neutral) if not kept else kept[0] if len(kept) == 1 else kind(kept)


def _split_coefficient(term: Node) -> tuple[Fraction, Node]:
    """A term as (rational coefficient, rest)."""
    if isinstance(term, nodes.Number):
        return term.value, ONE
    if isinstance(term, nodes.Product) and isinstance(term.factors[0], nodes.Number):
        rest = term.factors[1:]
        return term.factors[0].value, rest[0] if len(rest) == 1 else nodes.Product(rest)
    return Fraction(1), term


def _split_exponent(factor: Node) -> tuple[Node, Fraction]:
    """A factor as (base, rational exponent), where adding exponents of equal bases is valid on the whole line."""
    if isinstance(factor, nodes.Power) and isinstance(factor.exponent, nodes.Number):
        always_positive = isinstance(factor.base, nodes.Number | nodes.Constant)
        if always_positive or factor.exponent.value.denominator == 1:
            return factor.base, factor.exponent.value
    rate = _exponent_of_e(factor)
    return (factor, Fraction(1)) if rate is None else (nodes.Constant("E"), rate)


def _exponent_of_e(node: Node) -> Fraction | None:
    """The q of exp(q) for a rational q, else None."""
    if isinstance(node, nodes.Call) and node.name == "exp" and isinstance(node.args[0], nodes.Number):
        return node.args[0].value
    return None


def is_reciprocal(factor: Node) -> bool:
    """Whether it is a power with a negative number as exponent."""
    return isinstance(factor, nodes.Power) and isinstance(factor.exponent, nodes.Number) and factor.exponent.value < 0


def _powers_merge(base: Node, inner: Fraction, outer: Fraction) -> bool:
    """Whether ``(x^inner)^outer = x^(inner*outer)`` with the same real domain."""
    if isinstance(base, nodes.Number | nodes.Constant):
        return True
    return outer.denominator == 1 and (inner.denominator == 1 or (inner * outer).denominator != 1)


def _rational_power(base: Fraction, exponent: Fraction) -> Node:
    if base == 0 and exponent < 0:
        raise BadInput("the expression divides by zero")
    if base < 0 and exponent.denominator != 1:
        raise BadInput(f"the power ({shown(base)})^({exponent}) is not real; only real functions are activations")
    check_bits(base, abs(exponent.numerator))
    raised = base**exponent.numerator
    if exponent.denominator == 1:
        return nodes.Number(raised)
    top, bottom = (exact_root(part, exponent.denominator) for part in (raised.numerator, raised.denominator))
    if top is not None and bottom is not None:
        return nodes.Number(Fraction(top, bottom))
    whole = int(exponent)
    root = nodes.Power(nodes.Number(base), nodes.Number(exponent - whole))
    return multiply(nodes.Number(base**whole), root) if whole else root


def _extreme(name: str, args: tuple[Node, ...]) -> Node:
    """Max or Min: flattened, without repetitions, with at most one number."""
    flat: dict[Node, None] = {}
    for arg in args:
        flat.update(dict.fromkeys(arg.args if isinstance(arg, nodes.Call) and arg.name == name else (arg,)))
    numbers = [arg for arg in flat if isinstance(arg, nodes.Number)]
    if numbers:
        best = (max if name == "Max" else min)(numbers, key=lambda item: item.value)
        for item in numbers:
            if item != best:
                del flat[item]
    kept = tuple(flat)
    return kept[0] if len(kept) == 1 else nodes.Call(name, kept)


_MAX_BITS = 1_320  # at most 400 digits, so that every number that is printed can be read again


def check_bits(value: Fraction, times: int = 1) -> None:
    """Raise :class:`~holokern.errors.TooLarge` when the power ``value^times`` would be too long to print."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) * times > _MAX_BITS:
        raise TooLarge("a number of the expression becomes too long; use smaller numbers or exponents")


def shown(value: Fraction) -> str:
    """The number for a message, never longer than a line."""
    if value.numerator.bit_length() + value.denominator.bit_length() > 120:
        return "of many digits"
    return str(value)


def exact_root(value: int, degree: int) -> int | None:
    """The integer root of a non-negative integer, if there is one.

    >>> exact_root(27, 3), exact_root(28, 3)
    (3, None)
    """
    root = int(fmpz(value).root(degree))
    return root if root**degree == value else None
