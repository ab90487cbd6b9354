"""Rigorous Taylor expansions of an expression without cases: the numerical twin of the exact ring."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_series, ctx

from holokern.activation.tree.nodes import Call, Constant, Node, Number, Power, Product, Sum, Variable
from holokern.errors import Unsupported
from holokern.numeric import series_length, to_fmpq, working_precision


def ball_at(node: Node, point: Fraction | arb, precision: int = 53) -> arb:
    """The value at a Fraction or ``arb`` as a ball; not finite where the expression is not."""
    return taylor(node, point, 1, precision)[0]


def taylor(node: Node, point: Fraction | arb, terms: int, precision: int = 53) -> list[arb]:
    """Balls for the first Taylor coefficients at a Fraction or ``arb``.

    Examples
    --------
    >>> from holokern.activation.tree.constructors import U, call
    >>> [float(c) for c in taylor(call("exp", U), Fraction(0), 3)]
    [1.0, 1.0, 0.5]
    """
    with working_precision(precision), series_length(terms):
        series = _series(node, arb_series([_ball(point), 1], prec=terms))
        return [series[i] for i in range(terms)]


def _ball(value: Fraction | int | arb) -> arb:
    return arb(to_fmpq(value)) if isinstance(value, Fraction | int) else value


def _series(node: Node, x: arb_series) -> arb_series:
    match node:
        case Number(value):
            return arb_series([_ball(value)])
        case Constant(name):
            return arb_series([arb.pi() if name == "pi" else arb.const_e()])
        case Variable():
            return x
        case Sum(parts):
            total = arb_series([0])
            for part in parts:
                total = total + _series(part, x)
            return total
        case Product(parts):
            product = arb_series([1])
            for part in parts:
                product = product * _series(part, x)
            return product
        case Power(base, Number(value)):
            return _power(_series(base, x), value)
        case Power(base, exponent):
            return (_series(base, x).log() * _series(exponent, x)).exp()
        case Call("besselj", (Number(order), argument)) if order.denominator == 1:
            return _bessel(int(order), _series(argument, x))
        case Call(name, args):
            return _call(name, _series(args[0], x))
    raise Unsupported(f"no Taylor expansion of {type(node).__name__} here; resolve cases first")


def _power(base: arb_series, exponent: Fraction) -> arb_series:
    if exponent.denominator == 1:
        result = arb_series([1])
        for _ in range(abs(int(exponent))):
            result = result * base
        return result if exponent >= 0 else arb_series([1]) / result
    return (base.log() * arb_series([_ball(exponent)])).exp()


def _call(name: str, x: arb_series) -> arb_series:
    if name in ("exp", "log", "sin", "cos", "tan", "erf", "erfc", "erfi", "atan"):
        found: arb_series = getattr(x, name)()
        return found
    if name in ("sinh", "cosh"):
        up, down = x.exp(), (-x).exp()
        return (up - down if name == "sinh" else up + down) / 2
    if name == "tanh":
        # the form that does not overflow
        decay = (-2 * x).exp() if x[0] > 0 else (2 * x).exp()
        return (1 - decay) / (1 + decay) if x[0] > 0 else (decay - 1) / (decay + 1)
    if name == "asinh":
        slope = x.derivative() / (1 + x * x).sqrt()
        return arb_series([x[0].asinh()]) + slope.integral()
    if name in ("airyai", "airyaiprime"):
        return x.airy_ai() if name == "airyai" else x.airy_ai_prime()
    raise Unsupported(f"no Taylor expansion of {name} here")


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
