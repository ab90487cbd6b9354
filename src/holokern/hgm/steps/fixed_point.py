"""Approximate Taylor coefficients for the rigorous stepper, in fixed point with Python's integers.

They need not be correct, so they need no balls, which makes them much faster.  A complex number is two integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import mul
from typing import Any, TypeAlias

from flint import acb, acb_poly, arb, arb_poly, ctx

from holokern.errors import PrecisionLost

Ball: TypeAlias = Any
"""``arb``, or ``acb`` on a detour: one code serves both, and a union of flint's types has no operators."""

Polynomial: TypeAlias = Any
"""``arb_poly`` or ``acb_poly``, likewise."""

_BLOCK = 16  # terms between two tests whether they are small enough; 4 and 64 cost about the same
_EXTRA_BITS = 24  # bits beyond the working precision: with 8 balls are three times as wide, with 64 no narrower


@dataclass(frozen=True)
class BallRow:
    """One equation D(t) F_i' = Σ_j N_j(t) F_j.

    Attributes
    ----------
    denominator : arb_poly
        D.
    entries : dict from int to arb_poly
        The non-zero N_j.
    """

    denominator: Polynomial
    entries: Mapping[int, Polynomial]

    def mapped(self, change: Callable[[Polynomial], Polynomial]) -> BallRow:
        """The equation with every polynomial changed."""
        return BallRow(change(self.denominator), {j: change(entry) for j, entry in self.entries.items()})


@dataclass(frozen=True)
class Arithmetic:
    """Real or complex balls."""

    number: Callable[..., Ball]
    polynomial: Callable[..., Polynomial]

    def disc(self, radius: arb) -> Ball:
        """A ball around 0."""
        return arb(0, radius) if self.number is arb else acb(arb(0, radius), arb(0, radius))


REAL = Arithmetic(arb, arb_poly)  # along the real line
COMPLEX = Arithmetic(acb, acb_poly)  # round zeros of D that lie on it


def taylor_terms(rows: list[BallRow], start: list[Ball], kind: Arithmetic) -> list[list[Ball]]:
    """Approximate Taylor coefficients by D_0 (m+1) f_(m+1) = Σ_k N_k f_(m-k) - Σ_(k≥1) D_k (m+1-k) f_(m+1-k)."""
    point = ctx.prec + _EXTRA_BITS
    parts = 1 if kind is REAL else 2
    size = parts * len(rows)
    reach = max(len(p.coeffs()) for row in rows for p in (row.denominator, *row.entries.values()))
    plans = [plan for i, row in enumerate(rows) for plan in _plans(row, i, point, parts, (size, size * reach))]
    scale = max(abs(a).upper() for a in start)
    scale = scale if scale > 0 else arb(1)
    now = [part for a in start for part in _fixed(a / scale, point, parts)]
    terms, recent, scaled = [now], [now, *[[0] * size] * (reach - 1)], [[0] * size] * reach
    enough = 1 << _EXTRA_BITS
    while len(terms) % _BLOCK or any(abs(a) > enough for term in recent for a in term):
        m = len(terms)
        if m > 64 + 4 * ctx.prec:
            raise PrecisionLost("the Taylor series of this step converges too slowly; take a shorter step")
        flat = [a for block in (*recent, *scaled) for a in block]
        fresh = [sum(map(mul, factors, [flat[i] for i in places])) >> point for places, factors in plans]
        terms.append([a // m for a in fresh])
        recent, scaled = [terms[-1], *recent[:-1]], [fresh, *scaled[:-1]]
    unit = scale * arb(2) ** -point
    if parts == 1:
        return [[(a * unit).mid() for a in term] for term in terms]
    return [[(acb(a, b) * unit).mid() for a, b in zip(term[::2], term[1::2], strict=True)] for term in terms]


def _plans(row: BallRow, i: int, point: int, parts: int, block: tuple[int, int]) -> list[tuple[list[int], list[int]]]:
    """For each part of one unknown: where the recurrence looks in the list of recent f_n and n f_n, and its factors.

    ``block`` is the length of one f_n in that list, and of all f_n together.
    """
    size, half = block
    lead = row.denominator[0]
    found = [(size * k + parts * j, a / lead) for j, entry in row.entries.items() for k, a in enumerate(entry.coeffs())]
    found += [(half + size * k + parts * i, -a / lead) for k, a in enumerate(row.denominator.coeffs()[1:])]
    fixed = [(place, _fixed(a, point, parts)) for place, a in found]
    if parts == 1:
        kept = [(place, a) for place, (a,) in fixed if a]
        return [([place for place, _ in kept], [a for _, a in kept])]
    places = [p for place, _ in fixed for p in (place, place + 1)]
    real = [factor for _, (a, b) in fixed for factor in (a, -b)]
    imaginary = [factor for _, (a, b) in fixed for factor in (b, a)]
    return [(places, real), (places, imaginary)]


def _fixed(value: Ball, point: int, parts: int) -> tuple[int, ...]:
    """The real and imaginary parts of the midpoint times 2^point, rounded down."""
    if parts == 2:
        return _fixed(value.real, point, 1) + _fixed(value.imag, point, 1)
    mantissa, exponent = value.mid().man_exp()
    shift = int(exponent) + point
    return (int(mantissa) << shift,) if shift >= 0 else (int(mantissa) >> -shift,)
