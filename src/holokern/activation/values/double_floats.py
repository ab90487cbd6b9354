"""Arguments of sensitive functions as unevaluated sums hi + lo of two floats.

exp(-u^2/2) at u = 30 turns a rounding of its argument, 450, into a relative error of 450 roundings.  With the argument
to twice the precision the tails keep all their digits.  The error-free sums and products are Dekker's [Dekker1971].
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, reduce
from typing import TypeAlias

import numpy as np

from holokern.activation.tree.nodes import Call, Cases, Constant, Node, Number, Power, is_constant
from holokern.activation.values.arithmetic import Arithmetic
from holokern.activation.values.balls import constant_ball
from holokern.numeric import Array, two_product, two_sum

Pair: TypeAlias = tuple[Array, Array]
MOST_PRODUCTS = 16  # products of one power; larger powers are computed in plain floats


class ExtendedArithmetic(Arithmetic[Pair]):
    """Pairs (hi, lo); whatever is no polynomial or piecewise polynomial in u falls back to plain floats."""

    def __init__(self, plain: Callable[[Node, Array], Array]) -> None:
        self._plain = plain

    def pair(self, node: Node, x: Array) -> Pair:
        """The value at the floats ``x`` as a pair; lo is 0 where hi is not finite."""
        hi, lo = self.value(node, (x, np.zeros_like(x)))
        return hi, np.where(np.isfinite(lo), lo, 0.0)

    def number(self, value: Fraction, x: Pair) -> Pair:
        """The rational to about 106 bits."""
        return _constant(Number(value))

    def constant(self, name: str, x: Pair) -> Pair:
        """The constant to about 106 bits."""
        return _constant(Constant(name))

    def total(self, terms: list[Pair]) -> Pair:
        """The sum, left to right."""
        return reduce(_add, terms)

    def product(self, factors: tuple[Node, ...], x: Pair) -> Pair:
        """The product, left to right."""
        return reduce(_multiply, [self.value(factor, x) for factor in factors])

    def power(self, base: Node, exponent: Node, x: Pair) -> Pair:
        """Small integer powers by products."""
        if not is_constant(base) and isinstance(exponent, Number):
            times = exponent.value
            if times.denominator == 1 and abs(times) <= MOST_PRODUCTS:
                result = reduce(_multiply, [self.value(base, x)] * abs(int(times)))
                return result if times > 0 else _invert(result)
        return self._rounded(Power(base, exponent), x)

    def call(self, node: Call, x: Pair) -> Pair:
        """Max, Min and Abs keep both parts."""
        if node.name in ("Max", "Min"):
            larger = node.name == "Max"
            return reduce(lambda a, b: _choose(a, b, larger), [self.value(arg, x) for arg in node.args])
        if node.name == "Abs":
            hi, lo = self.value(node.args[0], x)
            return np.abs(hi), np.where(hi < 0, -lo, lo)
        return self._rounded(node, x)

    def cases(self, node: Cases, x: Pair) -> Pair:
        """The branch that holds, rounded."""
        return self._rounded(node, x)

    def _rounded(self, node: Node, x: Pair) -> Pair:
        if is_constant(node):
            return _constant(node)
        hi = self._plain(node, x[0])
        return hi, np.zeros_like(hi)


@lru_cache(maxsize=512)
def _constant(node: Node) -> Pair:
    """A number to about 106 bits."""
    exact = constant_ball(node, 200)
    hi = float(exact)
    lo = float(exact - hi) if np.isfinite(hi) else 0.0
    return np.float64(hi), np.float64(lo)  # type: ignore[return-value]


def _normal(hi: Array, lo: Array) -> Pair:
    total = hi + lo
    return total, lo - (total - hi)


def _add(a: Pair, b: Pair) -> Pair:
    hi, error = two_sum(a[0], b[0])
    return _normal(hi, error + (a[1] + b[1]))


def _multiply(a: Pair, b: Pair) -> Pair:
    hi, error = two_product(a[0], b[0])
    return _normal(hi, error + (a[0] * b[1] + a[1] * b[0]))


def _invert(a: Pair) -> Pair:
    """One Newton step from the rounded reciprocal."""
    first = 1.0 / a[0]
    hi, lo = _multiply(a, (first, np.zeros_like(first)))
    return _normal(first, first * ((1.0 - hi) - lo))


def _choose(a: Pair, b: Pair, larger: bool) -> Pair:
    difference = (a[0] - b[0]) + (a[1] - b[1])
    first = difference >= 0 if larger else difference <= 0
    return np.where(first, a[0], b[0]), np.where(first, a[1], b[1])
