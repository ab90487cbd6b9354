"""Exact one-sided expansions Σ c s^e log(s)^k, s = |u - point|, of ring elements at rational points."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import TypeAlias

from flint import fmpq, fmpq_series

from holokern.activation.ring.element import Atom, Element, FunctionMonomial
from holokern.activation.ring.quotient import Quotient
from holokern.activation.values.constant_values import function_value
from holokern.activation.values.constants import ExactReal, exact, named_constant
from holokern.errors import BadInput, Unsupported
from holokern.numeric import series_length, to_fmpq, to_fraction

LocalSeries: TypeAlias = dict[tuple[Fraction, int], ExactReal]
"""Maps (exponent e, power k of log s) to the coefficient; terms with e above the order are cut off."""

_ONE: LocalSeries = {(Fraction(0), 0): exact(1)}  # the series of 1
_ZERO = Fraction(0)  # the exponent of a constant


def expand(element: Element, point: Fraction, side: int, order: int) -> LocalSeries:
    """The expansion of ``element`` at ``point`` from the right (``side`` 1) or the left (-1), up to s^order.

    Raises BadInput when an exponential grows without bound there; Unsupported when the function oscillates infinitely
    fast there, as sin(1/u) does at 0.

    >>> from holokern.activation.ring.element import wave
    >>> u = Quotient.variable()
    >>> expand(wave("sin", u) * (1 / u), Fraction(0), 1, 2)
    {(Fraction(0, 1), 0): 1, (Fraction(2, 1), 0): -1/6}
    """
    total: LocalSeries = {}
    for (constant, monomial), coefficient in element.terms.items():
        low, _ = coefficient.laurent(point, 1)
        needed = order - min(low, 0)
        with series_length(needed + 1):
            inner = _monomial(monomial, point, side, needed)
        if inner is None:
            continue
        outer = _rational(coefficient, point, side, order)
        scale = ExactReal({constant: Fraction(1)})
        for key, c in _product(outer, inner, order).items():
            total[key] = total.get(key, exact(0)) + c * scale
    return {key: c for key, c in sorted(total.items()) if c}


def _sign(side: int, power: int) -> int:
    """``side ** power``, also for negative powers."""
    return side if power % 2 else 1


def _product(a: LocalSeries, b: LocalSeries, order: int) -> LocalSeries:
    result: LocalSeries = {}
    for (e1, k1), x in a.items():
        for (e2, k2), y in b.items():
            if e1 + e2 <= order:
                key = (e1 + e2, k1 + k2)
                result[key] = result.get(key, exact(0)) + x * y
    return result


def _rational(function: Quotient, point: Fraction, side: int, order: int) -> LocalSeries:
    low, _ = function.laurent(point, 1)
    if low > order:
        return {}
    low, coefficients = function.laurent(point, order - low + 1)
    signed = ((i, to_fraction(c) * _sign(side, i)) for i, c in enumerate(coefficients, low) if c != 0)
    return {(Fraction(i), 0): exact(c) for i, c in signed}


def _monomial(monomial: FunctionMonomial, point: Fraction, side: int, order: int) -> LocalSeries | None:
    """The expansion of a function monomial; None when it is flat, as exp(-1/u²) is at 0."""
    result = _ONE
    if monomial.exponent:
        low, (lead,) = monomial.exponent.laurent(point, 1)
        if low < 0 and lead * _sign(side, low) < 0:
            return None
        if low < 0:
            raise BadInput(f"exp({monomial.exponent}) grows without bound near u = {point}: not locally integrable")
        value, rest = _split(monomial.exponent, point, order)
        result = _taylor(rest.exp(), side, order, function_value("exp", exact(value)))
    if monomial.wave:
        result = _product(result, _wave(monomial, point, side, order), order)
    for atom, power in monomial.atoms:
        if atom.kind == "power":
            result = _product(result, _algebraic(atom, power, point, side, order), order)
            continue
        inner = _atom(atom, point, side, order)
        for _ in range(int(power)):
            result = _product(result, inner, order)
    return result


def _split(function: Quotient, point: Fraction, order: int) -> tuple[Fraction, fmpq_series]:
    """A function regular at the point as (value, series in t = u - point of the rest)."""
    low, coefficients = function.laurent(point, order + 1)
    padded = [fmpq(0)] * low + coefficients[: order + 1 - low]
    return to_fraction(padded[0]), fmpq_series([0, *padded[1:]], prec=order + 1)


def _taylor(series: fmpq_series, side: int, order: int, factor: ExactReal) -> LocalSeries:
    coefficients = [to_fraction(series[i]) * _sign(side, i) for i in range(order + 1)]
    return {(Fraction(i), 0): factor * c for i, c in enumerate(coefficients) if c}


def _require_regular(function: Quotient, point: Fraction, name: str) -> None:
    if function and function.laurent(point, 1)[0] < 0:
        raise Unsupported(
            f"{name}({function}) has an essential singularity at u = {point}, which is not served exactly"
        )


def _wave(monomial: FunctionMonomial, point: Fraction, side: int, order: int) -> LocalSeries:
    _require_regular(monomial.angle, point, monomial.wave)
    value, rest = _split(monomial.angle, point, order)
    sine, cosine = (function_value(name, exact(value)) for name in ("sin", "cos"))
    if monomial.wave == "cos":
        sine, cosine = cosine, -sine
    return _sum(_taylor(rest.cos(), side, order, sine), _taylor(rest.sin(), side, order, cosine))


def _sum(a: LocalSeries, b: LocalSeries) -> LocalSeries:
    result = dict(a)
    for key, c in b.items():
        result[key] = result.get(key, exact(0)) + c
    return {key: c for key, c in result.items() if c}


def _algebraic(atom: Atom, power: Fraction, point: Fraction, side: int, order: int) -> LocalSeries:
    value, rest = _split(atom.argument, point, order)
    if not value:
        # monic up to sign, irreducible and positive on this side: the argument is s itself
        return {(power, 0): exact(1)} if power <= order else {}
    series = ((1 + rest / fmpq_series([to_fmpq(value)])).log() * fmpq_series([to_fmpq(power)])).exp()
    return _taylor(series, side, order, exact(value).to_power(power))


def _atom(atom: Atom, point: Fraction, side: int, order: int) -> LocalSeries:
    if atom.kind in ("besselj", "airyai", "airyprime"):
        return _composed(atom, point, side, order)
    if atom.kind == "log":
        value, rest = _split(atom.argument, point, order)
        if not value:
            return {(_ZERO, 1): exact(1)}
        series = (1 + rest / fmpq_series([to_fmpq(value)])).log()
        return _sum({(_ZERO, 0): function_value("log", exact(value))}, _taylor(series, side, order, exact(1)))
    slopes = expand(atom.derivative(), point, side, max(order - 1, 0))
    result: LocalSeries = {(_ZERO, 0): _limit(atom, point, side)}
    for (e, k), c in slopes.items():
        if k or e <= -1:
            raise Unsupported(f"{atom.kind}({atom.argument}) is not served exactly near u = {point}")
        result = _sum(result, {(e + 1, 0): c * (side / (e + 1))})
    return {key: c for key, c in result.items() if c and key[0] <= order}


def _limit(atom: Atom, point: Fraction, side: int) -> ExactReal:
    """The value of an erf, atan or asinh atom at the point; one-sided at a pole of its argument."""
    low, (lead,) = atom.argument.laurent(point, 1)
    root_pi = named_constant("pi").to_power(Fraction(1, 2))
    if low < 0:
        sign = 1 if lead * _sign(side, low) > 0 else -1
        if atom.kind == "atan":
            return named_constant("pi") * Fraction(sign, 2)
        if atom.kind == "erf" and atom.parameter > 0:
            return root_pi * exact(atom.parameter).to_power(Fraction(-1, 2)) * Fraction(sign, 2)
        raise BadInput(f"{atom.kind}({atom.argument}) grows without bound near u = {point}")
    value = exact(atom.argument.at(point) or 0)
    if atom.kind != "erf":
        return function_value(atom.kind, value)
    root = exact(abs(atom.parameter)).to_power(Fraction(1, 2))
    name = "erf" if atom.parameter > 0 else "erfi"
    return function_value(name, root * value) * root_pi * root.to_power(Fraction(-1)) * Fraction(1, 2)


def _composed(atom: Atom, point: Fraction, side: int, order: int) -> LocalSeries:
    """Bessel and Airy functions: their Taylor coefficients at the value of the argument, composed with the argument."""
    _require_regular(atom.argument, point, atom.kind)
    value, rest = _split(atom.argument, point, order)
    result: LocalSeries = {}
    step = fmpq_series([1], prec=order + 1)
    for coefficient in _outer_taylor(atom.kind, atom.parameter, value, order):
        result = _sum(result, _taylor(step, side, order, coefficient))
        step = step * rest
    return result


@lru_cache(maxsize=256)
def _outer_taylor(kind: str, parameter: Fraction, point: Fraction, order: int) -> tuple[ExactReal, ...]:
    """Taylor coefficients at ``point`` of the function itself, by its differential equation."""
    if kind == "besselj" and point == 0:
        n = int(parameter)
        values = [Fraction(0)] * (order + 1)
        for k in range((order - n) // 2 + 1):
            values[2 * k + n] = Fraction((-1) ** k, 2 ** (2 * k + n) * factorial(k) * factorial(k + n))
        return tuple(exact(value) for value in values)
    current = Element.atom(Atom(kind, Quotient.variable(), parameter))
    result = []
    for k in range(order + 1):
        total = exact(0)
        for (_, monomial), c in current.terms.items():
            ((atom, _power),) = monomial.atoms
            name = "airyaiprime" if atom.kind == "airyprime" else atom.kind
            args = (exact(atom.parameter), exact(point)) if name == "besselj" else (exact(point),)
            total = total + function_value(name, *args) * (c.at(point) or Fraction(0))
        result.append(total * Fraction(1, factorial(k)))
        current = current.derivative()
    return tuple(result)
