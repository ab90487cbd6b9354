"""Solutions of a system that is known on curves only, continued along the segments of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb

from holokern.errors import BadInput
from holokern.hgm.lines.ball_lines import radius
from holokern.hgm.lines.carry import carry_along, floats_along
from holokern.hgm.lines.initial import Scalar, as_complex, exactly, row_values, start_vector
from holokern.hgm.steps.fixed_point import Ball
from holokern.hgm.steps.series import Array
from holokern.pfaffian import PfaffianSystem, UnexpandedSystem

Segment = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]


@dataclass(frozen=True)
class LineTask:
    """The system is pulled back to each segment, where its matrices are small, and solved there."""

    system: UnexpandedSystem
    # start, values, corners, side, outputs: as for :func:`holokern.hgm.solve`
    start: Sequence[Scalar]
    values: object
    corners: Sequence[Sequence[Scalar]]
    side: str | None
    outputs: Sequence[object] | None
    _known: dict[Segment, PfaffianSystem] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.start, Sequence) or any(isinstance(x, str) and x in ("oo", "inf") for x in self.start):
            raise BadInput(f"expected a rational start for a system that is not expanded, got {self.start!r}")

    def _segments(self, end: Sequence[object]) -> list[PfaffianSystem]:
        """The system on each segment of the way, as one in t from 0 to 1."""
        stops = [tuple(exactly(x) for x in stop) for stop in (self.start, *self.corners, end)]
        found = []
        for a, b in pairwise(stops):
            if a == b:
                continue
            if (a, b) not in self._known:
                way = {name: f"({p}) + ({q - p})*t" for name, p, q in zip(self.system.variables, a, b, strict=True)}
                self._known[a, b] = self.system.pull_back(way, "t")
            found.append(self._known[a, b])
        return found

    def floats(self, ends: list[list[object]]) -> tuple[Array, Array]:
        """Values and errors at the targets."""
        first = start_vector(self.system, self.start, self.values)
        begin = np.array([[as_complex(x) for x in first]])
        radii = np.array([[float(radius(x)) for x in first]])
        rows, errors = [], []
        for end in ends:
            vector, error = (begin if np.any(begin.imag) else begin.real), radii
            for segment in self._segments(end):
                stops = [np.zeros((1, 1)), np.ones((1, 1))]
                vector, error = floats_along(segment, stops, vector, self.side, error)
                if self.side is None and not np.any(begin.imag):
                    vector, error = vector.real, error + np.abs(vector.imag)
            if self.outputs is not None:
                matrix = np.array([[float(a) for a in row_values(self.system, P, end)] for P in self.outputs])  # type: ignore[arg-type]
                vector, error = vector @ matrix.T, error @ np.abs(matrix.T)
            rows.append(vector[0])
            errors.append(error[0])
        return np.array(rows), np.array(errors)

    def balls(self, end: list[object]) -> list[Ball]:
        """F, or what is asked for, at one target, at flint's working precision."""
        vector = start_vector(self.system, self.start, self.values)
        for segment in self._segments(end):
            (vector,) = carry_along(segment, [[arb(0)], [arb(1)]], [vector], self.side)
        if self.outputs is None:
            return vector
        rows = [row_values(self.system, P, end) for P in self.outputs]  # type: ignore[arg-type]
        return [sum((a * f for a, f in zip(row, vector, strict=True)), arb(0)) for row in rows]
