"""Piecewise polynomial functions as a polynomial and hinges, and their expectations on a line.

Near zero σ is a polynomial; beyond each break b a hinge q(|u| - |b|) is added. Hinges start away from zero, so a
function that is linear, or zero, near zero keeps its digits when the deviation is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from flint import arb, arb_poly

from holokern.activation import Activation
from holokern.errors import Unsupported
from holokern.numeric import Array, between, legendre_rule, to_ball, working_precision

# moving a polynomial to a break cancels: this leaves all digits of a float for any reasonable degree
_BITS = 160
# 32 nodes give rounding (24 give 2e-9); the others are for higher moments
_NODES = 48
# deviations beyond which z^20 has less than 1e-17 of its square mass, and panels between them on which 48 nodes suffice
_REACH, _PANELS = 16.0, 8


@dataclass(frozen=True)
class Hinge:
    """Σ coefficients[j] (sign·u - at)^j where sign·u > at; ``at`` is not negative."""

    sign: int
    at: float
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class Pieces:
    """A polynomial (lowest coefficient first) and hinges."""

    base: tuple[float, ...]
    hinges: tuple[Hinge, ...]

    @property
    def degree(self) -> int:
        """The largest degree of a hinge."""
        return max((len(hinge.coefficients) - 1 for hinge in self.hinges), default=0)

    def derivative(self) -> Pieces:
        """The derivative between the breaks."""
        hinges = (
            Hinge(h.sign, h.at, tuple(h.sign * j * a for j, a in enumerate(h.coefficients))[1:] or (0.0,))
            for h in self.hinges
        )
        return Pieces(tuple(j * a for j, a in enumerate(self.base))[1:] or (0.0,), tuple(hinges))

    def times_u(self) -> Pieces:
        """The product with u."""
        hinges = []
        for h in self.hinges:
            # u = sign·((sign·u - at) + at)
            raised = np.append(0.0, h.coefficients) + h.at * np.append(h.coefficients, 0.0)
            hinges.append(Hinge(h.sign, h.at, tuple(h.sign * raised)))
        return Pieces((0.0, *self.base), tuple(hinges))

    def expectation(self, other: Pieces, line: Line) -> Array:
        """E[f(cz) g(cz)] for a standard normal z and every c of the line."""
        total = np.zeros(len(line.c))
        for i, a in enumerate(self.base):
            for j, b in enumerate(other.base):
                if (i + j) % 2 == 0 and a and b:
                    total += a * b * line.c ** (i + j) * float(math.prod(range(i + j - 1, 0, -2)))
        for base, hinges in ((self.base, other.hinges), (other.base, self.hinges)):
            for hinge in hinges if any(base) else ():
                total += line.one_sided(_moved(base, hinge.sign * hinge.at, hinge.sign, hinge.coefficients), hinge.at)
        for f in self.hinges:
            for g in other.hinges:
                if f.sign == g.sign:
                    outer, inner = (f, g) if f.at >= g.at else (g, f)
                    product = _moved(inner.coefficients, outer.at - inner.at, 1, outer.coefficients)
                    total += line.one_sided(product, outer.at)
        return total

    def hermite(self, line: Line, count: int) -> Array:
        """E[He_m(z) f(cz)]/√m! for m < count, one row each."""
        result = np.zeros((count, len(line.c)))
        for m in range(count):
            powers = np.polynomial.hermite_e.herme2poly([0.0] * m + [1.0])
            for j, a in enumerate(powers):
                if a:
                    monomial = Pieces((0.0,) * j + (1.0,), ())
                    result[m] += a * line.c ** float(-j) * self.expectation(monomial, line)
            result[m] /= math.sqrt(math.factorial(m))
        return result


@dataclass(frozen=True)
class Line:
    """Deviations c, and the moments of the tails of the normal density that were needed so far."""

    c: Array
    moments: dict[float, Array] = field(default_factory=dict)

    def one_sided(self, coefficients: Array, at: float) -> Array:
        """Σ coefficients[j] E[(cz - at)₊^j]."""
        known = self.moments.get(at)
        if known is None or len(known) < len(coefficients):
            known = tail_moments(at / self.c, max(6, len(coefficients)))
            self.moments[at] = known
        return np.asarray(
            sum(a * self.c**j * known[j] for j, a in enumerate(coefficients) if a) + np.zeros(len(self.c))
        )


def mean_squares(function: Activation, breaks: Array, c: Array) -> Array:
    """E[f(cz)²] of a piecewise polynomial f, panel by panel: no terms cancel, even where σ is bounded and c is large.

    Each value depends on its own deviation alone, to the last bit.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> mean_squares(activation("Abs(u)"), np.zeros(1), np.array([2.0])).round(12).tolist()
    [4.0]
    """
    t, w = legendre_rule(_NODES)
    grid = np.broadcast_to(np.linspace(-_REACH, _REACH, 1 + _PANELS), (len(c), 1 + _PANELS))
    panels = between(np.concatenate([grid, np.clip(np.multiply.outer(1 / c, breaks), -_REACH, _REACH)], axis=1))
    z = panels.start[:, None] + panels.width[:, None] * t
    density = w * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    values = function((c[panels.owner][:, None] * z).ravel()).reshape(z.shape)
    return panels.total(panels.width * np.sum(values**2 * density, axis=1), len(c))


def _moved(polynomial: tuple[float, ...], start: float, sign: int, other: tuple[float, ...]) -> Array:
    """Coefficients in w of polynomial(start + sign·w) other(w)."""
    about = np.zeros(1)
    for a in polynomial[::-1]:
        about = np.convolve(about, np.array([start, sign], dtype=float))
        about[0] += a
    return np.convolve(about, np.asarray(other, dtype=float))


def tail_moments(h: Array, count: int) -> Array:
    """E[(z - h)₊^j] for j < count and h ≥ 0, one row each: φ(h) ∫ τ^j exp(-hτ - τ²/2) dτ, to full relative accuracy.

    Examples
    --------
    >>> tail_moments(np.array([0.0]), 3)[:, 0].round(12).tolist()
    [0.5, 0.398942280401, 0.5]
    """
    t, w = legendre_rule(_NODES)
    reach = np.minimum(12.0, 60.0 / np.maximum(h, 1e-300))
    tau = np.multiply.outer(reach, t)
    density = np.exp(-tau * (h[:, None] + tau / 2)) * w * (reach * np.exp(-h * h / 2) / math.sqrt(2 * math.pi))[:, None]
    return np.stack([np.sum(density * tau**j, axis=1) for j in range(count)])


@lru_cache(maxsize=64)
def pieces_of(activation: Activation) -> Pieces:
    """σ as a polynomial and hinges.

    Raises Unsupported if σ is not piecewise polynomial.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> pieces_of(activation("relu6")).hinges
    (Hinge(sign=1, at=0.0, coefficients=(0.0, 1.0)), Hinge(sign=1, at=6.0, coefficients=(0.0, -1.0)))
    """
    with working_precision(_BITS):
        line = activation.pieces
        found = [piece.polynomial() for piece in line.pieces]
        if any(piece is None for piece in found):
            raise Unsupported(f"{activation} is not piecewise polynomial")
        polynomials = [arb_poly(piece) for piece in found]
        breaks = [to_ball(b) for b in line.breaks]
        hinges = []
        for left, right, b in zip(polynomials, polynomials[1:], breaks, strict=False):
            sign = -1 if b < 0 else 1
            step = (right - left if sign > 0 else left - right)(arb_poly([b, sign]))
            coefficients = tuple(_float(step[k]) for k in range(max(1, len(step))))
            if any(coefficients):
                hinges.append(Hinge(sign, abs(float(b)), coefficients))
        base = polynomials[sum(1 for b in breaks if b < 0)]
        return Pieces(tuple(_float(base[k]) for k in range(max(1, len(base)))), tuple(hinges))


def _float(ball: arb) -> float:
    """The nearest float; a ball around zero is zero."""
    return 0.0 if ball.contains(0) else float(ball)
