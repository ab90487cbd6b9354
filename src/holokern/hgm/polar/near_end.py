"""A system close to r = ±1, where its matrices must be known to full relative accuracy.

The numerators vanish there to some order, and a sum of powers of cos θ would lose that in rounding.  With the distance
φ of θ from the end and q = 1 - cos φ = 2 sin²(φ/2), exact arithmetic gives them as polynomials in q and sin φ without
such cancellation, for deviations that are exactly the given floats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from flint import fmpq, fmpq_poly

from holokern.errors import PrecisionLost
from holokern.hgm.polar.tables import PolarTable, Terms
from holokern.hgm.steps.series import Array
from holokern.numeric import to_fmpq


@dataclass(frozen=True)
class NearEnd:
    """D, N and S of D H' = N H, S H = D c1c2k′, at one pair of deviations, as functions of the distance φ from an end.

    The derivative is by φ, towards the middle.
    """

    table: PolarTable
    sign: int  # 1 for the end θ = 0, -1 for θ = π
    rows: Array  # (n, degree + 1): coefficients in q
    # sines, places: (n,): the power of sin φ of each row, and the place of the entry that it is a summand of
    sines: Array
    places: Array

    @classmethod
    def of(cls, table: PolarTable, c1: float, c2: float, sign: int) -> NearEnd:
        """Expand exactly.

        >>> from holokern.pfaffian import pfaffian
        >>> from holokern.hgm.polar.tables import polar_table
        >>> end = NearEnd.of(polar_table(pfaffian("relu", cache=False), 1), 1.0, 1.0, 1)
        >>> d, n, _ = end.at(np.array([0.5]))
        >>> (n[0] / d[0]).round(6).tolist()
        [[0.0, -0.479426], [-2.08583, 1.830488]]
        """
        first, second = (cache(_exact(c * k).__pow__) for c, k in zip((c1, c2), table.scale, strict=True))
        turned = fmpq_poly([sign, -sign])
        found = []
        for place, terms in enumerate(table.exact):
            for sine, polynomial in _in_cosine(terms, first, second).items():
                found.append((place, sine, polynomial(turned)))
        degree = max((p.degree() for _, _, p in found), default=0)
        rows = np.zeros((len(found), degree + 1), dtype=np.longdouble)
        for i, (_, _, polynomial) in enumerate(found):
            for k in range(polynomial.degree() + 1):
                rows[i, k] = _long(polynomial[k])
        sines, places = (np.array([entry[k] for entry in found], dtype=np.intp) for k in (1, 0))
        return cls(table, sign, rows, sines, places)

    def at(self, phi: Array) -> tuple[Array, Array, Array]:
        """D (points,), N (points, rank, rank) and S (points, rank), in the precision of ``phi``."""
        q, sine = 2 * np.sin(phi / 2) ** 2, np.sin(phi)
        rows = self.rows.astype(phi.dtype)
        parts = (q[:, None] ** np.arange(rows.shape[1])) @ rows.T * sine[:, None] ** self.sines
        values = np.zeros((len(phi), len(self.table.exact)), dtype=phi.dtype)
        for place, part in zip(self.places, parts.T, strict=True):
            values[:, place] += part
        rank = self.table.rank
        rows, columns = self.table.places[0]
        top, slope = (np.zeros(shape, dtype=phi.dtype) for shape in ((len(phi), rank, rank), (len(phi), rank)))
        # at θ = π the distance grows as θ falls
        top[:, rows, columns] = self.sign * values[:, 1 : 1 + len(rows)]
        slope[:, self.table.slope[1]] = values[:, 1 + len(rows) :]
        return values[:, 0], top, slope


def _exact(value: float) -> fmpq:
    return fmpq(*float(value).as_integer_ratio())


def _long(value: fmpq) -> np.longdouble:
    """A rational number, rounded to the longest floats that numpy has."""
    try:
        high = int(value.p) / int(value.q)
    except OverflowError:
        raise PrecisionLost(
            "the system next to the end has numbers beyond floats at these deviations; rescale them, or use "
            "method='quadrature'"
        ) from None
    rest = value - _exact(high)
    return np.longdouble(high) + np.longdouble(int(rest.p) / int(rest.q))


def _in_cosine(terms: Terms, first: Callable[[int], fmpq], second: Callable[[int], fmpq]) -> dict[int, fmpq_poly]:
    """The polynomial in cos θ that goes with each power of sin θ, from the powers of the deviations."""
    collected: dict[int, dict[int, fmpq]] = {}
    for (a, b, k, e), value in terms.items():
        row = collected.setdefault(e, {})
        row[k] = row.get(k, fmpq(0)) + first(a) * second(b) * to_fmpq(value)
    return {e: fmpq_poly([row.get(k, fmpq(0)) for k in range(max(row) + 1)]) for e, row in collected.items()}
