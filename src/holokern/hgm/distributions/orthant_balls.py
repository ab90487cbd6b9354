"""Orthant probabilities in balls: the Pfaffian system with rational coefficients along the line to the correlations.

With the principal minors p_J of (1 - t) I + t R put Q_J = (2π)^(-|J|/2) p_J^(-1/2) P_J, P_J as in
:mod:`holokern.hgm.distributions.orthant`.  Then no root is left:

    Q_J' = -½ (p_J'/p_J) Q_J + Σ_(i<j) (n' - ½ n (p_(J∪i)'/p_(J∪i) + p_(J∪j)'/p_(J∪j))) / p_J · Q_(J∪{i,j}),

where n is the minor with the rows J ∪ i and the columns J ∪ j.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from flint import arb, arb_poly

from holokern.errors import BadInput
from holokern.hgm.distributions.orthant import MOST
from holokern.hgm.lines.initial import as_ball
from holokern.hgm.lines.precision import precisely
from holokern.hgm.steps.balls import BallSystem, carry_balls
from holokern.hgm.steps.fixed_point import BallRow

Face = tuple[int, ...]


def orthant_ball(covariance: object, digits: int) -> arb:
    """A ball that contains P(x_1 > 0, …, x_d > 0) for x ~ N(0, covariance)."""
    rows = [list(row) for row in covariance] if isinstance(covariance, (Sequence, np.ndarray)) else []
    if not 1 <= len(rows) <= MOST or any(len(row) != len(rows) for row in rows):
        raise BadInput(f"expected one square covariance matrix of size 1 to {MOST} for a ball")
    balls = [[as_ball(entry) for entry in row] for row in rows]
    if any(not isinstance(a, arb) for row in balls for a in row):
        raise BadInput("expected a covariance matrix of real numbers")
    if any(not balls[i][j].overlaps(balls[j][i]) for i in range(len(balls)) for j in range(i)):
        raise BadInput("the covariance matrix is not symmetric; pass (S + S.T)/2 if that is meant")
    floats = np.array([[float(a) for a in row] for row in balls])
    if not np.min(np.linalg.eigvalsh(floats)) > 0:
        raise BadInput("the covariance matrix is not positive definite; drop dependent coordinates")
    # fractions are read anew at every precision
    ball: arb = precisely(lambda: [_Minors([[as_ball(a) for a in row] for row in rows]).probability()], digits)[0]
    return ball


class _Minors:
    """The minors along the line as polynomials, each computed once."""

    def __init__(self, covariance: list[list[arb]]) -> None:
        self.d = len(covariance)
        scale = [covariance[i][i].sqrt() for i in range(self.d)]
        # the diagonal is 1 for every t, the rest grows with t
        self.line = [
            [
                arb_poly([1]) if i == j else arb_poly([0, covariance[i][j] / (scale[i] * scale[j])])
                for j in range(self.d)
            ]
            for i in range(self.d)
        ]
        self.known: dict[tuple[Face, Face], arb_poly] = {((), ()): arb_poly([1])}
        everything = range(self.d)
        self.faces = [face for size in range(0, self.d + 1, 2) for face in combinations(everything, size)]

    def probability(self) -> arb:
        """Q_∅ at t = 1."""
        start = [(2 * arb.pi()) ** (-(len(J) // 2)) * arb(2) ** (len(J) - self.d) for J in self.faces]
        (values,) = carry_balls(BallSystem(tuple(self._row(J) for J in self.faces)), [start])
        probability: arb = values[0]
        return probability

    def _row(self, J: Face) -> BallRow:
        place = {face: k for k, face in enumerate(self.faces)}
        outside = [i for i in range(self.d) if i not in J]
        own = self._minor(J, J)
        larger = {i: self._minor(_with(J, i), _with(J, i)) for i in outside}
        whole = arb_poly([1])
        for minor in larger.values():
            whole = whole * minor
        without = {i: self._product(larger, i) for i in larger}
        entries = {place[J]: own.derivative() * whole * (arb(-1) / 2)} if J else {}
        for i, j in combinations(outside, 2):
            n = self._signed(J, i, j)
            slope = larger[i].derivative() * without[i] + larger[j].derivative() * without[j]
            entries[place[_with(_with(J, i), j)]] = n.derivative() * whole - n * slope * (arb(1) / 2)
        return BallRow(own * whole, entries)

    def _product(self, factors: dict[int, arb_poly], left_out: int) -> arb_poly:
        total = arb_poly([1])
        for i, factor in factors.items():
            if i != left_out:
                total = total * factor
        return total

    def _signed(self, J: Face, i: int, j: int) -> arb_poly:
        """The numerator of the covariance of i and j given J: the determinant with rows (J, i) and columns (J, j)."""
        rows, columns = _with(J, i), _with(J, j)
        # moving i and j from the end to their sorted places
        sign = (-1) ** (len(J) - rows.index(i) + len(J) - columns.index(j))
        minor: arb_poly = self._minor(rows, columns) * sign
        return minor

    def _minor(self, rows: Face, columns: Face) -> arb_poly:
        """A determinant by expansion along its first row."""
        if (rows, columns) not in self.known:
            total = arb_poly([])
            for k, column in enumerate(columns):
                inner = self._minor(rows[1:], columns[:k] + columns[k + 1 :])
                total = total + self.line[rows[0]][column] * inner * (-1) ** k
            self.known[rows, columns] = total
        return self.known[rows, columns]


def _with(J: Face, i: int) -> Face:
    return tuple(sorted((*J, i)))
