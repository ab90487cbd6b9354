"""Rigorous Taylor expansions of an expression without cases: the numerical twin of the exact ring."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import mul

from flint import arb, arb_series, ctx

from holokern.activation.tree.nodes import Call, Cases, Node, Number
from holokern.activation.values.arithmetic import Arithmetic
from holokern.errors import Unsupported
from holokern.numeric import series_length, to_ball, working_precision


def ball_at(node: Node, point: Fraction | arb, precision: int = 53) -> arb:
    """The value at a Fraction or ``arb`` as a ball; not finite where the expression is not."""
    return taylor(node, point, 1, precision)[0]


def taylor(node: Node, point: Fraction | arb, terms: int, precision: int = 53) -> list[arb]:
    """Balls for the first Taylor coefficients at a Fraction or ``arb``.

    >>> from holokern.activation.tree.constructors import U, call
    >>> [float(c) for c in taylor(call("exp", U), Fraction(0), 3)]
    [1.0, 1.0, 0.5]
    """
    with working_precision(precision), series_length(terms):
        series = SERIES.value(node, arb_series([to_ball(point), 1], prec=terms))
        return [series[i] for i in range(terms)]


class _SeriesArithmetic(Arithmetic[arb_series]):
    """Power series with balls for coefficients."""

    def number(self, value: Fraction, x: arb_series) -> arb_series:
        return arb_series([to_ball(value)])

    def constant(self, name: str, x: arb_series) -> arb_series:
        return arb_series([arb.pi() if name == "pi" else arb.const_e()])

    def power(self, base: Node, exponent: Node, x: arb_series) -> arb_series:
        series = self.value(base, x)
        if not isinstance(exponent, Number) or exponent.value.denominator != 1:
            return (series.log() * self.value(exponent, x)).exp()
        result = reduce(mul, [series] * abs(int(exponent.value)), arb_series([1]))
        return result if exponent.value >= 0 else _ratio(arb_series([1]), result)

    def call(self, node: Call, x: arb_series) -> arb_series:
        return call_series(node, self.value(node.args[-1], x))

    def cases(self, node: Cases, x: arb_series) -> arb_series:
        raise Unsupported("no Taylor expansion of cases here; resolve them first")


SERIES = _SeriesArithmetic()
"""It has no state, so one serves all."""


def call_series(node: Call, x: arb_series) -> arb_series:
    """The function that the node calls, of a series as its last argument."""
    name = node.name
    if name == "besselj" and isinstance(node.args[0], Number) and node.args[0].value.denominator == 1:
        return _bessel(int(node.args[0].value), x)
    if name in ("exp", "log", "sin", "cos", "tan", "erf", "erfc", "erfi", "atan"):
        found: arb_series = getattr(x, name)()
        return found
    if name in ("sinh", "cosh"):
        up, down = x.exp(), (-x).exp()
        return (up - down if name == "sinh" else up + down) / 2
    if name == "tanh":
        # the form that does not overflow
        decay = (-2 * x).exp() if x[0] > 0 else (2 * x).exp()
        return _ratio(1 - decay, 1 + decay) if x[0] > 0 else _ratio(decay - 1, decay + 1)
    if name == "asinh":
        slope = _ratio(x.derivative(), (1 + x * x).sqrt())
        return arb_series([x[0].asinh()]) + slope.integral()
    if name in ("airyai", "airyaiprime"):
        return x.airy_ai() if name == "airyai" else x.airy_ai_prime()
    raise Unsupported(f"no Taylor expansion of {name} here")


def _ratio(numerator: arb_series, denominator: arb_series) -> arb_series:
    """The quotient; a pole, or what may be one, has no series: not finite, as for balls that touch it."""
    first = denominator[0]
    return numerator / denominator if first.is_finite() and not first.contains(0) else arb_series([arb("nan")])


def _bessel(order: int, x: arb_series) -> arb_series:
    """J_n(x) by Taylor coefficients of J_n at x₀ from 2 J_n' = J_{n-1} - J_{n+1}, composed with x - x₀."""
    terms = ctx.cap
    values = {n: x[0].bessel_j(arb(n)) for n in range(order - terms, order + terms + 1)}
    shift = arb_series(x.coeffs())
    shift[0] = arb(0)
    total, step, factorial = arb_series([0]), arb_series([1]), arb(1)
    for k in range(terms):
        total = total + step * arb_series([values[order] / factorial])
        values = {n: (values[n - 1] - values[n + 1]) / 2 for n in list(values)[1:-1]}
        step, factorial = step * shift, factorial * (k + 1)
    return total
