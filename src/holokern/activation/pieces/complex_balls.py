"""One smooth piece of an activation, continued into the complex plane and evaluated on flint's complex balls."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import add, mul

from flint import acb

from holokern.activation.tree.nodes import Call, Node, Number, Power, Product, Sum, Variable, is_constant
from holokern.activation.values.balls import constant_ball
from holokern.errors import Unsupported

Continuation = Callable[[acb, bool], acb]
"""``f(x, analytic)``: when ``analytic`` the result is not finite unless f is analytic on all of the ball x."""


def continuation(piece: Node, precision: int) -> Continuation:
    """Compile a smooth piece for evaluation on complex balls, with its constants at so many bits.

    ``piece``: a tree without cases, as from :func:`holokern.activation.tree.resolve.resolve`; it may be stabilised.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> continuation(read_expression("u^2"), 53)(acb(0, 1), False)
    -1.00000000000000
    """
    if is_constant(piece):
        value = acb(constant_ball(piece, precision))
        return lambda x, analytic: value
    match piece:
        case Variable():
            return lambda x, analytic: x
        case Sum(parts):
            terms = [continuation(part, precision) for part in parts]
            return lambda x, analytic: reduce(add, [term(x, analytic) for term in terms])
        case Product(parts):
            factors = [continuation(part, precision) for part in parts]
            return lambda x, analytic: reduce(mul, [factor(x, analytic) for factor in factors])
        case Power(base, Number(q)):
            return _power(continuation(base, precision), q, precision)
        case Power(base, exponent):
            low, high = continuation(base, precision), continuation(exponent, precision)
            return lambda x, analytic: low(x, analytic).pow(high(x, analytic), analytic=analytic)
        case Call(name, args):
            return _call(name, [continuation(arg, precision) for arg in args])
    raise Unsupported("a smooth piece has no cases; resolve them at a point of the piece first")


def _power(base: Continuation, q: Fraction, precision: int) -> Continuation:
    if q.denominator == 1:
        return lambda x, analytic: base(x, analytic) ** q.numerator
    if q.denominator == 2:
        return lambda x, analytic: base(x, analytic).sqrt(analytic=analytic) ** q.numerator
    exponent = acb(constant_ball(Number(q), precision))
    return lambda x, analytic: base(x, analytic).pow(exponent, analytic=analytic)


def _call(name: str, args: list[Continuation]) -> Continuation:
    inner = args[-1]
    if name in _LOGARITHMS:
        before = _LOGARITHMS[name]
        return lambda x, analytic: before(inner(x, analytic)).log(analytic=analytic)
    if name in {"atan", "asinh"}:
        function = _ENTIRE_OR_MEROMORPHIC[name]
        return lambda x, analytic: _with_cuts(function, inner(x, analytic), analytic)
    if name == "besselj":
        return lambda x, analytic: inner(x, analytic).bessel_j(args[0](x, analytic))
    if name in _ENTIRE_OR_MEROMORPHIC:
        function = _ENTIRE_OR_MEROMORPHIC[name]
        return lambda x, analytic: function(inner(x, analytic))
    raise Unsupported(f"{name} has no evaluation on complex balls; use hk.dual(..., method='quadrature')")


def _with_cuts(function: Callable[[acb], acb], x: acb, analytic: bool) -> acb:
    """The function, cut along the rays from ±i to ±i∞: undefined where the ball may touch them."""
    touches = bool(x.real.contains(0)) and not abs(x.imag) < 1
    return acb("nan", "nan") if analytic and touches else function(x)


# functions that are a logarithm of something, with its cut
_LOGARITHMS: dict[str, Callable[[acb], acb]] = {
    "log": lambda x: x,
    "log1p": lambda x: 1 + x,
    "softplus": lambda x: 1 + x.exp(),
}
# functions without cuts (poles make flint's result infinite), and atan and asinh, whose cuts are looked after
_ENTIRE_OR_MEROMORPHIC: dict[str, Callable[[acb], acb]] = {
    **{name: getattr(acb, name) for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(acb, name) for name in ("erf", "erfc", "erfi", "atan", "asinh")},
    "airyai": acb.airy_ai,
    "expm1": acb.expm1,
    "expit": lambda x: 1 / (1 + (-x).exp()),
    "sinc": acb.sinc,
    "exprel": lambda x: x.hypgeom_1f1(1, 2) if x.contains(0) else x.expm1() / x,
    "airyaiprime": lambda x: x.airy_ai(derivative=1),
}
