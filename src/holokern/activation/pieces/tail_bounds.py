"""Proved bounds |f(u)| ≤ K (1+|u|)^p exp(a|u| + b u²) of a smooth piece on one side of the line, |u| ≥ 1.

Only the tail of an integral uses them, so they may be crude, but they must hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_poly, ctx

from holokern.activation.tree.nodes import Call, Node, Number, Power, Product, Sum, Variable, is_constant
from holokern.activation.values.balls import constant_ball
from holokern.errors import Unsupported
from holokern.numeric import to_ball

# integers above |f| on the real line
_BOUNDED = dict.fromkeys(("sin", "cos", "tanh", "erf", "airyai", "besselj", "expit", "sinc"), 1) | {
    "erfc": 2,
    "atan": 2,
}
_HIGHEST_POWER = 64  # larger powers are not expanded: their coefficients alone would take long


_ZERO = arb(0)  # balls do not change, so one serves all


@dataclass(frozen=True, slots=True)
class TailBound:
    """The bound K (1+|u|)^p exp(a|u| + b u²); ``linear`` is at least 0."""

    constant: arb
    power: int = 0
    linear: arb = _ZERO
    square: arb = _ZERO

    def __mul__(self, other: TailBound) -> TailBound:
        return TailBound(
            self.constant * other.constant,
            self.power + other.power,
            self.linear + other.linear,
            self.square + other.square,
        )

    def __add__(self, other: TailBound) -> TailBound:
        return TailBound(
            self.constant + other.constant,
            max(self.power, other.power),
            self.linear.max(other.linear),
            self.square.max(other.square),
        )

    def scaled(self, c: arb) -> TailBound:
        """The bound of f(cz) in z, c > 0."""
        return TailBound(self.constant * c.max(arb(1)) ** self.power, self.power, self.linear * c, self.square * c * c)


def tail_bound(piece: Node, side: int) -> TailBound:
    """Bound a smooth piece for u = ``side``·|u|, |u| ≥ 1.

    Raises Unsupported if no bound of this form is known for a function in the piece.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> tail_bound(read_expression("u*exp(-u)"), 1).power
    1
    """
    if is_constant(piece):
        return TailBound(abs(constant_ball(piece)).upper())
    match piece:
        case Variable():
            return TailBound(arb(1), 1)
        case Sum(terms):
            total = tail_bound(terms[0], side)
            for term in terms[1:]:
                total = total + tail_bound(term, side)
            return total
        case Product(factors):
            product = TailBound(arb(1))
            for factor in factors:
                product = product * tail_bound(factor, side)
            return product
        case Power(base, Number(q)):
            return _power(base, q, side)
        case Call(name, args):
            return _call(name, args, side)
    raise Unsupported("no bound of the growth of the activation is known; use hk.dual(..., method='quadrature')")


def _power(base: Node, q: Fraction, side: int) -> TailBound:
    exponent = to_ball(q)
    if q < 0:
        return TailBound((_distance_from_zero(base, side) ** exponent).upper())
    inner = tail_bound(base, side)
    top = -(-q.numerator // q.denominator)
    return TailBound(
        inner.constant.max(arb(1)) ** exponent, inner.power * top, inner.linear * exponent, inner.square * exponent
    )


def _call(name: str, args: tuple[Node, ...], side: int) -> TailBound:
    argument = args[-1]
    match name:
        case "besselj" if not (isinstance(args[0], Number) and args[0].value.denominator == 1):
            raise Unsupported("no bound of besselj(n, ...) is known unless n is an integer")
        case _ if name in _BOUNDED:
            return TailBound(arb(_BOUNDED[name]))
        case "exp":
            return _exponential(argument, side, 1)
        case "expm1" | "exprel":
            # (exp(x) - 1)/x lies between 0 and 1 + exp(x)
            return TailBound(arb(1)) + _exponential(argument, side, 1)
        case "sinh" | "cosh":
            return _exponential(argument, side, 1) + _exponential(argument, side, -1)
        case "asinh" | "softplus" | "airyaiprime":
            # |asinh x| ≤ |x|, log(1 + exp(x)) ≤ 1 + |x|, |Ai'(x)| ≤ 1 + |x| on the real line
            return TailBound(arb(1)) + tail_bound(argument, side)
        case "log" | "log1p":
            shift = int(name == "log1p")
            low = _distance_from_zero(argument, side) + shift
            inner = tail_bound(argument, side) + TailBound(arb(shift))
            start = abs(low.log()) + inner.constant.max(arb(1)).log()
            # p log(1+|u|) + a|u| + b u² ≤ (p + a + max(b, 0)) (1+|u|)²
            slope = inner.power + inner.linear + inner.square.max(arb(0))
            return TailBound((start + slope).upper(), 2)
    raise Unsupported(f"no bound of the growth of {name} is known; use hk.dual(..., method='quadrature')")


def _exponential(argument: Node, side: int, sign: int) -> TailBound:
    """Bound exp(±p): p is a polynomial that ends downwards or has degree at most 2, or has an evident sign."""
    coefficients = polynomial_in_u(argument)
    if coefficients is None:
        known = _signed_size(argument, side)
        if known is None or known[0] * sign > 0:
            raise Unsupported(
                "no bound of the growth of an exponential is known; use hk.dual(..., method='quadrature')"
            )
        return TailBound((-known[1]).exp().upper())
    values = [sign * a * side**k for k, a in enumerate(coefficients)]
    while len(values) > 3 and values[-1] <= 0:
        values.pop()
    if len(values) > 3:
        raise Unsupported("an exponential of a polynomial of degree above 2 outgrows the normal density")
    values += [arb(0)] * (3 - len(values))
    return TailBound(values[0].exp().upper(), 0, values[1].max(arb(0)).upper(), values[2].upper())


def _distance_from_zero(node: Node, side: int) -> arb:
    known = _signed_size(node, side)
    if known is None or not known[1] > 0:
        raise Unsupported("no bound is known where a denominator or logarithm may vanish; use method='quadrature'")
    return known[1].lower()


def _signed_size(node: Node, side: int) -> tuple[int, arb] | None:
    """A sign s and a bound m ≥ 0 with s·f(u) ≥ m for |u| ≥ 1 on this side; None when that is not evident."""
    if is_constant(node):
        value = constant_ball(node)
        return None if value.contains(0) and not value.is_zero() else ((1 if value >= 0 else -1), abs(value).lower())
    match node:
        case Variable():
            return side, arb(1)
        case Sum(terms):
            parts = [_signed_size(term, side) for term in terms]
            signs = {part[0] for part in parts if part is not None}
            if None in parts or len(signs) != 1:
                return None
            return signs.pop(), sum((part[1] for part in parts if part is not None), arb(0))
        case Product(factors):
            sign, low = 1, arb(1)
            for factor in factors:
                known = _signed_size(factor, side)
                if known is None:
                    return None
                sign, low = sign * known[0], low * known[1]
            return sign, low
        case Power(base, Number(q)) if q > 0 and q.denominator == 1:
            known = _signed_size(base, side)
            if known is None:
                return (1, arb(0)) if q.numerator % 2 == 0 else None
            return known[0] ** q.numerator, known[1] ** q.numerator
        case Call("exp" | "expit" | "softplus" | "exprel" | "erfc", _):
            return 1, arb(0)
        case Call("cosh", _):
            return 1, arb(1)
    return None


def polynomial_in_u(node: Node) -> list[arb] | None:
    """The coefficients of a polynomial in u with constant coefficients, lowest first; None for anything else."""
    found = _polynomial(node)
    return None if found is None else [found[k] for k in range(len(found))]


def _polynomial(node: Node) -> arb_poly | None:
    if is_constant(node):
        return arb_poly([constant_ball(node, ctx.prec)])
    match node:
        case Variable():
            return arb_poly([0, 1])
        case Sum(parts) | Product(parts):
            total = arb_poly([int(isinstance(node, Product))])
            for part in parts:
                polynomial = _polynomial(part)
                if polynomial is None:
                    return None
                total = total * polynomial if isinstance(node, Product) else total + polynomial
            return total
        case Power(base, Number(q)) if q.denominator == 1 and 0 <= q.numerator <= _HIGHEST_POWER:
            polynomial = _polynomial(base)
            return None if polynomial is None else polynomial**q.numerator
    return None
