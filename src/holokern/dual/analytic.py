"""One smooth piece of an activation, continued into the complex plane and evaluated on flint's complex balls."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import add, mul

from flint import acb, arb, fmpq

from holokern.activation.arithmetic import Arithmetic
from holokern.activation.nodes import Call, Cases, Node, Number
from holokern.errors import Unsupported

__all__ = ["complex_ball"]


def complex_ball(piece: Node, x: acb, analytic: bool = False) -> acb:
    """The value of a smooth piece on a complex ball.

    Parameters
    ----------
    piece : Node
        A tree without cases, as from :func:`holokern.activation.resolve.resolve`; it may be stabilised.
    x : acb
    analytic : bool
        Return a ball that is not finite unless the piece is analytic on all of ``x``.
    """
    return (_ANALYTIC if analytic else _PLAIN).value(piece, x)


class _ComplexBalls(Arithmetic[acb]):
    def __init__(self, analytic: bool) -> None:
        self.analytic = analytic

    def number(self, value: Fraction, x: acb) -> acb:
        return acb(fmpq(value.numerator, value.denominator))

    def constant(self, name: str, x: acb) -> acb:
        return acb(arb.pi() if name == "pi" else arb.const_e())

    def total(self, terms: list[acb]) -> acb:
        return reduce(add, terms)

    def product(self, factors: tuple[Node, ...], x: acb) -> acb:
        return reduce(mul, (self.value(factor, x) for factor in factors))

    def power(self, base: Node, exponent: Node, x: acb) -> acb:
        value = self.value(base, x)
        if isinstance(exponent, Number):
            q = exponent.value
            if q.denominator == 1:
                return value**q.numerator
            if q.denominator == 2:
                return value.sqrt(analytic=self.analytic) ** q.numerator
        return value.pow(self.value(exponent, x), analytic=self.analytic)

    def call(self, node: Call, x: acb) -> acb:
        args = [self.value(arg, x) for arg in node.args]
        if node.name in _LOGARITHMS:
            return _LOGARITHMS[node.name](args[0]).log(analytic=self.analytic)
        if node.name in {"atan", "asinh"} and self.analytic and _meets_imaginary_cuts(args[0]):
            return acb("nan", "nan")
        if node.name == "besselj":
            return args[1].bessel_j(args[0])
        if node.name in _ENTIRE_OR_MEROMORPHIC:
            return _ENTIRE_OR_MEROMORPHIC[node.name](args[0])
        raise Unsupported(f"{node.name} has no evaluation on complex balls; use hk.dual(..., method='quadrature')")

    def cases(self, node: Cases, x: acb) -> acb:
        raise Unsupported("a smooth piece has no cases; resolve them at a point of the piece first")


def _meets_imaginary_cuts(x: acb) -> bool:
    """Whether the ball may touch the rays from ±i to ±i∞, where atan and asinh are cut."""
    return bool(x.real.contains(0)) and not abs(x.imag) < 1


def _exprel(x: acb) -> acb:
    return x.hypgeom_1f1(1, 2) if x.contains(0) else x.expm1() / x


_LOGARITHMS: dict[str, Callable[[acb], acb]] = {
    "log": lambda x: x,
    "log1p": lambda x: 1 + x,
    "softplus": lambda x: 1 + x.exp(),
}
_ENTIRE_OR_MEROMORPHIC: dict[str, Callable[[acb], acb]] = {
    **{name: getattr(acb, name) for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(acb, name) for name in ("erf", "erfc", "erfi", "atan", "asinh")},
    "airyai": acb.airy_ai,
    "expm1": acb.expm1,
    "expit": lambda x: 1 / (1 + (-x).exp()),
    "sinc": acb.sinc,
    "exprel": _exprel,
    "airyaiprime": lambda x: x.airy_ai(derivative=1),
}
_ANALYTIC = _ComplexBalls(analytic=True)
_PLAIN = _ComplexBalls(analytic=False)
