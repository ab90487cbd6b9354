"""Evaluation of stabilised trees on arrays of doubles, each part only where it matters."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import and_, or_
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holokern.activation.tree.nodes import COMPARE, Always, And, Call, Cases, Condition, Node, Not, Number, Or, Relation
from holokern.activation.values.airy import airy
from holokern.activation.values.arithmetic import Arithmetic
from holokern.activation.values.cancellation import is_gate
from holokern.activation.values.double_floats import ExtendedArithmetic
from holokern.numeric import Array, two_product

Mask = NDArray[np.bool_]
_HALF = Fraction(1, 2)  # the exponent of a square root


class FloatArithmetic(Arithmetic[Array]):
    """One-dimensional arrays of doubles."""

    def __init__(self) -> None:
        self._extended = ExtendedArithmetic(self.value)

    def number(self, value: Fraction, x: Array) -> Array:
        """The rational, rounded once."""
        return np.full_like(x, _rounded(value))

    def constant(self, name: str, x: Array) -> Array:
        """The constant, rounded once."""
        return np.full_like(x, np.pi if name == "pi" else np.e)

    def product(self, factors: tuple[Node, ...], x: Array) -> Array:
        """A gate that is closed (0) decides alone: the other factors are not looked at there."""
        gates = tuple(factor for factor in factors if is_gate(factor))
        others = tuple(factor for factor in factors if not is_gate(factor))
        if not gates:
            return super().product(factors, x)
        result = super().product(gates, x)
        open_ = result != 0
        if open_.all():
            return result * super().product(others, x) if others else result
        result[open_] *= super().product(others, x[open_]) if others else 1.0
        return result

    def power(self, base: Node, exponent: Node, x: Array) -> Array:
        """Real powers; NaN where there is none."""
        value = self.value(base, x)
        if not isinstance(exponent, Number):
            return np.asarray(value ** self.value(exponent, x))
        if exponent.value == _HALF:
            return np.asarray(np.sqrt(value))
        return np.asarray(value ** float(exponent.value))

    def call(self, node: Call, x: Array) -> Array:
        """The function, with the argument to twice the precision where that shows."""
        if node.name in CORRECTED:
            hi, lo = self._extended.pair(node.args[0], x)
            return np.asarray(CORRECTED[node.name](hi, lo)) + np.zeros_like(x)
        return np.asarray(_FUNCTIONS[node.name](*(self.value(arg, x) for arg in node.args)))

    def cases(self, node: Cases, x: Array) -> Array:
        """Every branch only where its condition is the first that holds."""
        result = np.full_like(x, np.nan)
        left = np.ones(x.shape, dtype=bool)
        for branch, test in node.cases:
            here = left & self.holds(test, x)
            result[here] = self.value(branch, x[here])
            left &= ~here
        return result

    def holds(self, test: Condition, x: Array) -> Mask:
        """Where a condition holds."""
        match test:
            case Always(truth):
                return np.full(x.shape, truth)
            case Relation(left, sign, right):
                return np.asarray(COMPARE[sign](self.value(left, x), self.value(right, x)))
            case And(parts):
                return reduce(and_, [self.holds(part, x) for part in parts])
            case Or(parts):
                return reduce(or_, [self.holds(part, x) for part in parts])
            case Not(part):
                return ~self.holds(part, x)


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _special() -> ModuleType:
    """scipy.special, imported when first needed because it is slow to load."""
    import scipy.special

    return scipy.special  # type: ignore[no-any-return]


def _logistic(x: Array) -> Array:
    """1/(1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, small, 1.0) / (1.0 + small))


def _expit(hi: Array, lo: Array) -> Array:
    value = _logistic(hi)
    return np.asarray(value + value * _logistic(-hi) * lo)


def _softplus(hi: Array, lo: Array) -> Array:
    # log(1 + exp(p)) = Max(p, 0) + log(1 + exp(-|p|)), of which one part is always small
    tail = np.log1p(np.exp(-np.abs(hi)))
    return np.asarray(np.maximum(hi, 0.0) + (tail + _logistic(hi) * lo))


def _erfc(hi: Array, lo: Array) -> Array:
    """Erfc = exp(-p^2) erfcx(p) on the right, where p^2 is taken to twice the precision."""
    special = _special()
    value = np.asarray(special.erfc(hi))
    right = (hi > 0.5) & (hi < 30.0)
    p, rest = hi[right], lo[right]
    square, error = two_product(p, p)
    factor = 1.0 - (error + 2.0 * p * rest)
    value[right] = special.erfcx(p) * np.exp(-square) * factor
    return value


def _over_argument(value: Array, hi: Array) -> Array:
    """f(p)/p for f with f(0) = 0 and f'(0) = 1."""
    return np.where(hi == 0, 1.0, value / hi)


def _moved(value: Array, slope: Array, lo: Array) -> Array:
    """The value at hi + lo to first order; where the slope overflows the value has overflowed too."""
    step = slope * lo
    return np.where(np.isfinite(step), value + step, value)


# functions at hi + lo: their values at hi, moved by the small lo
CORRECTED: dict[str, Callable[[Array, Array], Array]] = {
    "exp": lambda hi, lo: np.exp(hi) * (1.0 + lo),
    "expm1": lambda hi, lo: _moved(np.expm1(hi), np.exp(hi), lo),
    "sin": lambda hi, lo: _moved(np.sin(hi), np.cos(hi), lo),
    "cos": lambda hi, lo: _moved(np.cos(hi), -np.sin(hi), lo),
    "sinh": lambda hi, lo: _moved(np.sinh(hi), np.cosh(hi), lo),
    "cosh": lambda hi, lo: _moved(np.cosh(hi), np.sinh(hi), lo),
    "erfi": lambda hi, lo: _moved(_special().erfi(hi), (2 / np.sqrt(np.pi)) * np.exp(hi * hi), lo),
    "erfc": _erfc,
    "expit": _expit,
    "softplus": _softplus,
    "exprel": lambda hi, lo: _over_argument(CORRECTED["expm1"](hi, lo), hi),
    "sinc": lambda hi, lo: _over_argument(CORRECTED["sin"](hi, lo), hi),
}

# functions for which a rounded argument is good enough
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": np.log,
    "log1p": np.log1p,
    "tan": np.tan,
    "tanh": np.tanh,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "sign": np.sign,
    "Abs": np.abs,
    "Heaviside": lambda x: np.heaviside(x, 0.5),
    "Max": lambda *args: reduce(np.maximum, args),
    "Min": lambda *args: reduce(np.minimum, args),
    "erf": lambda x: _special().erf(x),
    "besselj": lambda order, x: _special().jv(order, x),
    "airyai": lambda x: airy(x)[0],
    "airyaiprime": lambda x: airy(x)[1],
}

FLOATS = FloatArithmetic()
