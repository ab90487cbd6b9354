"""Rigorous evaluation of trees on flint's real balls: the true value lies in the ball that is returned."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import TypeAlias

from flint import arb, fmpq

from holokern.activation.tree.nodes import Always, And, Call, Cases, Condition, Node, Not, Number, Or, Relation
from holokern.activation.values.arithmetic import Arithmetic
from holokern.activation.values.cancellation import is_gate, stabilise
from holokern.errors import BadInput
from holokern.numeric import to_ball, working_precision

Truth: TypeAlias = bool | None


def ball(tree: Node, x: arb | fmpq | Fraction | int, precision: int = 128) -> arb:
    """A ball that contains the value of the tree at every point of ``x``.

    It is not finite where the function is undefined or ``x``, an exact point or a ball, is too wide to tell.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> bool(ball(read_expression("Max(u, 0)"), Fraction(1, 4)) == 0.25)
    True
    """
    if not isinstance(x, arb | fmpq | Fraction | int):
        raise BadInput(
            f"expected an exact number or a flint ball, got {type(x).__name__}; for floats call the activation"
        )
    with working_precision(precision):
        return _BALLS.value(stabilise(tree), to_ball(x))


def constant_ball(tree: Node, precision: int = 128) -> arb:
    """The value of a tree without u."""
    return ball(tree, 0, precision)


class _BallArithmetic(Arithmetic[arb]):
    """Balls; a comparison that the balls leave open takes the hull of what may happen."""

    def number(self, value: Fraction, x: arb) -> arb:
        return to_ball(value)

    def constant(self, name: str, x: arb) -> arb:
        return arb.pi() if name == "pi" else arb.const_e()

    def product(self, factors: tuple[Node, ...], x: arb) -> arb:
        values = []
        for factor in sorted(factors, key=is_gate, reverse=True):
            values.append(self.value(factor, x))
            # a closed gate wins over a factor that is undefined there
            if is_gate(factor) and values[-1].is_zero():
                return arb(0)
        return reduce(mul, values)

    def power(self, base: Node, exponent: Node, x: arb) -> arb:
        value = self.value(base, x)
        if isinstance(exponent, Number):
            q = exponent.value
            if q.denominator != 1:
                value = value.sqrt() if q.denominator == 2 else value.root(q.denominator)
            return _integer_power(value, q.numerator)
        return value ** self.value(exponent, x)

    def call(self, node: Call, x: arb) -> arb:
        return FUNCTIONS[node.name](*(self.value(arg, x) for arg in node.args))

    def cases(self, node: Cases, x: arb) -> arb:
        possible: list[arb] = []
        for branch, test in node.cases:
            holds = self._truth(test, x)
            if holds is False:
                continue
            possible.append(self.value(branch, x))
            if holds:
                return reduce(arb.union, possible)
        return arb.nan()

    def _truth(self, test: Condition, x: arb) -> Truth:
        match test:
            case Always(truth):
                return truth
            case Relation(left, sign, right):
                return _compare(self.value(left, x), sign, self.value(right, x))
            case And(parts):
                found = [self._truth(part, x) for part in parts]
                return False if False in found else None if None in found else True
            case Or(parts):
                found = [self._truth(part, x) for part in parts]
                return True if True in found else None if None in found else False
            case Not(part):
                inner = self._truth(part, x)
                return None if inner is None else not inner


def _compare(left: arb, sign: str, right: arb) -> Truth:
    """True or False when every pair of points of the balls agrees on it."""
    match sign:
        case "<":
            return True if left < right else False if left >= right else None
        case "<=":
            return True if left <= right else False if left > right else None
        case ">" | ">=":
            return _compare(right, "<" if sign == ">" else "<=", left)
        case "==":
            return True if left == right else None if left.overlaps(right) else False
    equal = _compare(left, "==", right)
    return None if equal is None else not equal


def _integer_power(base: arb, exponent: int) -> arb:
    """By products, since arb's own power is undefined on balls around 0."""
    result, square = arb(1), base
    for digit in reversed(bin(abs(exponent))[2:]):
        if digit == "1":
            result *= square
        square *= square
    return result if exponent >= 0 else 1 / result


def _exprel(x: arb) -> arb:
    if x.is_zero():
        return arb(1)
    # (exp(x) - 1)/x is convex and increasing, so over a ball around 0 its end points bound it
    if x.contains(0):
        ends = [x.lower(), x.upper()]
        return reduce(arb.union, [_exprel(end) for end in ends])
    return x.expm1() / x


#: Every function at balls.
FUNCTIONS: dict[str, Callable[..., arb]] = {
    **{name: getattr(arb, name) for name in ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(arb, name) for name in ("erf", "erfc", "erfi", "atan", "asinh", "expm1", "log1p", "sinc")},
    "sign": arb.sgn,
    "Abs": abs,
    "Heaviside": lambda x: (1 + x.sgn()) / 2,
    "Max": lambda *args: reduce(arb.max, args),
    "Min": lambda *args: reduce(arb.min, args),
    "besselj": lambda order, x: x.bessel_j(order),
    "airyai": arb.airy_ai,
    "airyaiprime": lambda x: x.airy_ai(derivative=1),
    "expit": lambda x: 1 / (1 + (-x).exp()),
    "softplus": lambda x: x + (-x).exp().log1p() if x > 0 else x.exp().log1p(),
    "exprel": _exprel,
}
_BALLS = _BallArithmetic()  # it has no state, so one serves all
