"""How far floats are from the true values of a tree: a running error analysis, to first order [Higham2002, Sec. 3.3].

Every node carries its value and a bound of its absolute error.  A sum adds the errors of its terms to its own rounding,
so cancellation shows as an error that is large beside the value.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, reduce
from typing import TypeAlias

import numpy as np

from holokern.activation.tree.nodes import Call, Cases, Constant, Node, Number, Power, Product, Sum, Variable
from holokern.activation.values.airy import FAR
from holokern.activation.values.arithmetic import Arithmetic
from holokern.activation.values.double_floats import MOST_PRODUCTS
from holokern.activation.values.floats import CORRECTED, FLOATS
from holokern.numeric import Array

Noisy: TypeAlias = tuple[Array, Array]

_UNIT = float(np.finfo(float).eps) / 2  # half the distance from 1 to the next float
# units in the last place that numpy's and scipy's functions may be off: estimates on the safe side, not bounds
_ULPS = {"besselj": 16.0, "airyai": 48.0, "airyaiprime": 48.0, "erfc": 8.0, "erfi": 8.0, "expit": 6.0}
_FEW_ULPS = 4.0  # of functions that are not named above


def noisy(stable: Node, x: Array) -> Noisy:
    """Values of a stabilised tree at a row of floats, and bounds of their errors; infinite where nothing is known.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> value, error = noisy(read_expression("u - tanh(u)"), np.array([1e-4, 1.0]))
    >>> bool(error[0] > 1e-9 * value[0]), bool(error[1] < 1e-14)
    (True, True)
    """
    with np.errstate(all="ignore"):
        value, error = _NOISE.value(stable, (x, np.zeros_like(x)))
        value, error = (np.array(np.broadcast_to(part, x.shape)) for part in (value, error))
        error[~np.isfinite(value) | np.isnan(error)] = np.inf
    return value, error


class _NoiseArithmetic(Arithmetic[Noisy]):
    """Pairs (value, bound of the error)."""

    def number(self, value: Fraction, x: Noisy) -> Noisy:
        rounded = FLOATS.number(value, x[0])
        exact = np.isfinite(rounded[:1]).all() and rounded.size > 0 and Fraction(float(rounded[0])) == value
        return rounded, np.zeros_like(rounded) if exact else _UNIT * np.abs(rounded)

    def constant(self, name: str, x: Noisy) -> Noisy:
        rounded = FLOATS.constant(name, x[0])
        return rounded, _UNIT * np.abs(rounded)

    def total(self, terms: list[Noisy]) -> Noisy:
        def plus(a: Noisy, b: Noisy) -> Noisy:
            value = a[0] + b[0]
            return value, a[1] + b[1] + _UNIT * np.abs(value)

        return reduce(plus, terms)

    def product(self, factors: tuple[Node, ...], x: Noisy) -> Noisy:
        def times(a: Noisy, b: Noisy) -> Noisy:
            value = a[0] * b[0]
            error = np.abs(a[0]) * b[1] + a[1] * np.abs(b[0]) + a[1] * b[1] + _UNIT * np.abs(value)
            # a closed gate wins over a factor that is undefined there
            closed = ((a[0] == 0) & (a[1] == 0)) | ((b[0] == 0) & (b[1] == 0))
            return np.where(closed, 0.0, value), np.where(closed, 0.0, error)

        return reduce(times, [self.value(factor, x) for factor in factors])

    def power(self, base: Node, exponent: Node, x: Noisy) -> Noisy:
        value, error = self.value(base, x)
        size = np.abs(value)
        if not isinstance(exponent, Number):
            power, spread = self.value(exponent, x)
            result = value**power
            relative = np.abs(power) * error / size + np.abs(np.log(size)) * spread
            return result, np.abs(result) * (relative + 2 * _UNIT)
        q = float(exponent.value)
        result = np.sqrt(value) if q == 0.5 else value**q
        # nothing is known of a root or reciprocal next to zero
        unknown = (error > 0) & (error >= size) & (q < 1)
        slope = abs(q) * (size + error if q > 1 else size) ** (q - 1)
        spread = np.where(unknown, np.inf, np.where(error > 0, slope * error, 0.0))
        return result, spread + 2 * _UNIT * np.abs(result)

    def call(self, node: Call, x: Noisy) -> Noisy:
        arguments = [self.value(arg, x) for arg in node.args]
        if node.name in ("Max", "Min"):
            pick = np.maximum if node.name == "Max" else np.minimum
            return reduce(pick, [a for a, _ in arguments]), _error_of_choice(pick, arguments)
        value, error = FLOATS.call(node, x[0]), arguments[-1][1]
        if node.name in ("sign", "Heaviside"):
            return value, np.where(error < np.abs(arguments[0][0]), 0.0, np.where(error > 0, 1.0, 0.0))
        if node.name in CORRECTED and _is_polynomial(node.args[0]):
            # the argument is known to twice the precision
            error = np.zeros_like(error)
        slope = np.abs(_SLOPES[node.name](arguments[-1][0], value))
        own = 0.0 if node.name == "Abs" else _ULPS.get(node.name, _FEW_ULPS) * _UNIT * np.abs(value)
        if node.name in _PHASES:
            own = own + _UNIT * _PHASES[node.name](arguments[-1][0], np.abs(value))
        return value, np.where(error > 0, slope * error, 0.0) + own

    def cases(self, node: Cases, x: Noisy) -> Noisy:
        value = np.full_like(x[0], np.nan)
        error = np.zeros_like(x[0])
        left = np.ones(x[0].shape, dtype=bool)
        for branch, test in node.cases:
            here = left & FLOATS.holds(test, x[0])
            if here.any():
                value[here], error[here] = self.value(branch, (x[0][here], x[1][here]))
            left &= ~here
        return value, error


def _error_of_choice(pick: Callable[[Array, Array], Array], arguments: list[Noisy]) -> Array:
    """The error of a maximum or minimum: that of each argument which may be the one."""
    value = reduce(pick, [a for a, _ in arguments])
    spread = reduce(np.maximum, [e for _, e in arguments])
    return reduce(np.maximum, [np.where(np.abs(a - value) <= e + spread, e, 0.0) for a, e in arguments])


@lru_cache(maxsize=1024)
def _is_polynomial(node: Node) -> bool:
    """Whether double floats evaluate the node to twice the precision."""
    match node:
        case Variable() | Number() | Constant():
            return True
        case Sum(parts) | Product(parts) | Call("Max" | "Min" | "Abs", parts):
            return all(map(_is_polynomial, parts))
        case Power(base, Number(q)):
            return q.denominator == 1 and abs(q) <= MOST_PRODUCTS and _is_polynomial(base)
    return False


def _gauss(x: Array, value: Array) -> Array:
    return np.asarray(2 / np.sqrt(np.pi) * np.exp(-x * x))


# |f'(x)| from x and f(x), or a bound of it
_SLOPES: dict[str, Callable[[Array, Array], Array]] = {
    "exp": lambda x, f: f,
    "expm1": lambda x, f: np.exp(x),
    "log": lambda x, f: 1 / x,
    "log1p": lambda x, f: 1 / (1 + x),
    "sin": lambda x, f: np.cos(x),
    "cos": lambda x, f: np.sin(x),
    "tan": lambda x, f: 1 + f * f,
    "sinh": lambda x, f: np.cosh(x),
    "cosh": lambda x, f: np.sinh(x),
    "tanh": lambda x, f: 1 / np.cosh(x) ** 2,
    "erf": _gauss,
    "erfc": _gauss,
    "erfi": lambda x, f: 2 / np.sqrt(np.pi) * np.exp(x * x),
    "atan": lambda x, f: 1 / (1 + x * x),
    "asinh": lambda x, f: 1 / np.hypot(1, x),
    "expit": lambda x, f: f * (1 - f),
    "softplus": lambda x, f: -np.expm1(-f),
    "exprel": lambda x, f: np.maximum(f, 1.0),
    "sinc": lambda x, f: np.minimum(0.5, 2 / np.abs(x)),
    "Abs": lambda x, f: np.ones_like(x),
    "besselj": lambda x, f: np.ones_like(x),
    "airyai": lambda x, f: FLOATS.call(Call("airyaiprime", (Variable(),)), x),
    "airyaiprime": lambda x, f: x * FLOATS.call(Call("airyai", (Variable(),)), x),
}


def _airy_phase(power: float) -> Callable[[Array, Array], Array]:
    """Of Ai or Ai′, whose amplitude on the left is |x|^power: far out the phase is exact, nearer it is scipy's."""

    def units(x: Array, f: Array) -> Array:
        size = np.abs(x)
        with np.errstate(divide="ignore"):
            amplitude = np.where(x < 0, size**power, f)
        return np.where(size > FAR, 8 * amplitude, np.where(x < 0, 2 * size ** (power + 1.5), 4 * size**1.5 * f))

    return units


# functions that oscillate or fall fast: what the rounding of their phase or exponent does to them, in units
_PHASES: dict[str, Callable[[Array, Array], Array]] = {
    "besselj": lambda x, f: 2 * np.sqrt(np.abs(x)),
    "airyai": _airy_phase(-0.25),
    "airyaiprime": _airy_phase(0.25),
}

_NOISE = _NoiseArithmetic()  # it has no state, so one serves all
