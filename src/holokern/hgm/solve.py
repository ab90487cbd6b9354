"""`solve` computes values of a holonomic function from its system and its values at one point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import acb, arb

from holokern.errors import BadInput, PrecisionLost, TooLarge
from holokern.hgm.lines.ball_lines import are_balls, precisely, radius
from holokern.hgm.lines.carry import SIDES, TINY, carry_along, floats_along
from holokern.hgm.lines.frobenius import INFINITE, LocalSeries, same_place
from holokern.hgm.lines.initial import (
    Holonomic,
    Point,
    Scalar,
    Values,
    as_ball,
    as_complex,
    exactly,
    read_point,
    read_system,
    row_values,
    start_vector,
    value_at,
)
from holokern.hgm.lines.power_series import regular_start
from holokern.hgm.lines.rays import Landing, landing
from holokern.hgm.steps.fixed_point import Ball
from holokern.hgm.steps.series import Array
from holokern.numeric import EPS
from holokern.pfaffian import PfaffianSystem, RationalFunction, UnexpandedSystem, ideal_of, unexpanded

Segment = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]


@dataclass(frozen=True)
class Solution:
    """Values of a holonomic function and its derivatives at the targets.

    Attributes
    ----------
    values : array
        One row for each target and one column for each entry of ``basis``; a single target gives one row.  Floats or
        complex floats, or ``arb`` and ``acb`` that are proved to contain the values.
    error : array of float
        Estimates of the absolute errors of floats; the radii of balls.
    basis : tuple of str
        What the entries are.
    """

    values: Array
    error: Array
    basis: tuple[str, ...]

    def __getitem__(self, name: object) -> Array:
        """The values of one entry, by its name."""
        if str(name) not in self.basis:
            raise BadInput(f"expected one of {', '.join(self.basis)}, got {name}")
        # a ball or a number for a single target
        column: Array = self.values[..., self.basis.index(str(name))][()]
        return column


def solve(
    system: Holonomic,
    *,
    start: Point,
    values: Values | LocalSeries,
    targets: object,
    path: Iterable[Point] = (),
    basis: object = None,
    outputs: Sequence[object] | None = None,
    side: str | None = None,
    balls: bool = False,
    digits: int = 30,
    tolerance: float = 1e-8,
) -> Solution:
    """Continue a solution of a holonomic system from a point where it is known to other points.

    Parameters
    ----------
    system : left ideal, operator, list of operators, PfaffianSystem or UnexpandedSystem
        In any number of variables, with polynomial or rational coefficients.  If the matrices of an ideal are too
        large to write down, the path has rational corners, and the system is restricted to its segments first.
    start : number, sequence or mapping
        Where the solution is known.
    values : sequence, mapping, function or LocalSeries
        What is known there: a number or ball for each entry of the basis; a dictionary from operators (``"1"``,
        ``"dx"``, …) or from exponents of Taylor coefficients to numbers; a function without arguments that gives such
        values at flint's working precision; or a series at a singular point, see :func:`holokern.hgm.frobenius`.
        On the singular locus some Taylor coefficients of an analytic solution are enough.
    targets : point or array of points
        Where to evaluate it; coordinates may be complex.  Rational points of the singular locus are allowed where
        solutions have limits: at apparent singularities, and in one variable where no exponent is negative.
    path : iterable of points, optional
        Corners to pass on the way to every target.
    basis : optional
        Another basis of the system, as for :func:`holokern.pfaffian`.
    outputs : sequence of operators, optional
        Operators to apply to the solution at the targets; the basis by default.
    side : {"left", "right"}, optional
        The side on which to pass singular points on the way.  If it is not given, both sides are tried and must agree.
    balls : bool
        Whether to prove the values, in balls; floats with error estimates otherwise.
    digits : int
        How many digits balls should have; they are computed again with more bits until they do.
    tolerance : float
        Floats whose relative error may be larger are computed again in balls, from the same initial values.

    Returns
    -------
    Solution

    Raises
    ------
    NotHolonomic
        If an ideal has infinite rank.
    SingularPath
        If the path meets the singular locus where the solution branches, or begins or ends there.
    BadInput
        If initial values are too few or contradict the system.
    PrecisionLost
        If balls do not reach the requested number of digits.

    Examples
    --------
    Airy's function at 1, from its values at 0:

    >>> from holokern.weyl import weyl_algebra
    >>> airy = weyl_algebra("x").ideal("dx^2 - x")
    >>> at_zero = lambda: [arb(0).airy_ai(), arb(0).airy_ai(derivative=1)]
    >>> solve(airy, start=0, values=at_zero, targets=[1.0, 2.0]).values.round(12).tolist()
    [[0.135292416313, -0.159147441297], [0.034924130423, -0.053090384434]]
    >>> print(solve(airy, start=0, values=at_zero, targets=1, balls=True, digits=20).values[0].str(20, radius=False))
    0.13529241631288141552
    """
    if side is not None and side not in SIDES:
        raise BadInput(f"expected side='left' or 'right' of the way, got {side!r}")
    read = _read(system, basis)
    ends, single = _targets(read, targets)
    corners = [read_point(read, corner, "corner of the path") for corner in path]
    names = read.basis_text if outputs is None else tuple(map(str, outputs))
    begin = read_point(read, start, "start")
    task: _Task | _LineTask
    if isinstance(read, UnexpandedSystem):
        task = _LineTask(read, begin, values, corners, side, outputs)
    else:
        goal = [as_complex(x) for x in (corners[0] if corners else ends[0])]
        rows = [read.row(P) for P in outputs] if outputs is not None else None
        task = _Task(read, *regular_start(read, begin, values, goal), corners, side, rows)
    if balls:
        found = [precisely(lambda end=end: task.balls(end), digits) for end in ends]  # type: ignore[misc]
        table = np.array(found, dtype=object).reshape(len(ends), -1)
        error = np.array([[float(radius(entry)) for entry in row] for row in found]).reshape(table.shape)
    else:
        table, error = task.floats(ends)
        poor = np.nonzero(~(np.max(error, axis=1) <= tolerance * np.max(np.abs(table), axis=1)))[0]
        for k in poor:
            try:
                proved = precisely(lambda end=ends[k]: task.balls(end), 15)  # type: ignore[misc]
            except PrecisionLost:
                if are_balls(task.values) and np.all(np.isfinite(error[k])):
                    continue
                raise
            table[k] = [as_complex(entry) if np.iscomplexobj(table) else float(entry.real) for entry in proved]
            error[k] = [float(radius(entry)) + EPS * abs(complex(acb(entry))) + TINY for entry in proved]
    return Solution(table[0], error[0], names) if single else Solution(table, error, names)


def _read(system: Holonomic, basis: object) -> PfaffianSystem | UnexpandedSystem:
    """The system; unexpanded where its matrices are too large to write down."""
    if isinstance(system, UnexpandedSystem):
        return system if basis is None else unexpanded(system.ideal, basis)
    try:
        return read_system(system, basis)
    except TooLarge:
        return unexpanded(ideal_of(system), basis)


@dataclass(frozen=True)
class _Task:
    system: PfaffianSystem
    start: Sequence[Scalar]
    values: object
    corners: Sequence[Sequence[Scalar]]
    side: str | None
    rows: list[tuple[RationalFunction, ...]] | None
    _landings: dict[tuple[str, ...], Landing | None] = field(default_factory=dict)

    def _landing(self, end: list[object]) -> Landing | None:
        """How to arrive at a target on the singular locus."""
        key = tuple(map(repr, end))
        if key not in self._landings:
            last = self.corners[-1] if self.corners else self.start
            origin = [0j if x in INFINITE else as_complex(x) for x in last]
            self._landings[key] = landing(self.system, end, origin, self.rows)
        return self._landings[key]

    def floats(self, ends: list[list[object]]) -> tuple[Array, Array]:
        """Values and errors at the targets; errors are infinite at those on the singular locus, which need balls."""
        singular = [self._landing(end) for end in ends]
        regular = [end if to is None else to.ray.near for end, to in zip(ends, singular, strict=True)]
        goals = np.array([[as_complex(x) for x in end] for end in regular])
        begin, state, radii = self._float_start(goals)
        stops = [begin, *(np.tile([as_complex(x) for x in c], (len(goals), 1)) for c in self.corners), goals]
        value, error = floats_along(self.system, stops, state, self.side, radii)
        if self.rows is not None:
            point = dict(zip(self.system.variables, goals.T, strict=True))
            matrix = np.stack(
                [np.stack([np.broadcast_to(e.evaluate(point), len(goals)) for e in row], axis=1) for row in self.rows],
                axis=1,
            ).astype(complex)
            value, error = np.einsum("pij,pj->pi", matrix, value), np.einsum("pij,pj->pi", np.abs(matrix), error)
        real = np.isrealobj(begin) and np.isrealobj(state) and not np.any(goals.imag) and self.side is None
        if (real and not any(as_complex(x).imag for c in self.corners for x in c)) or not np.any(value.imag):
            value, error = value.real, error + np.abs(value.imag)
        error[[to is not None for to in singular]] = np.inf
        return value, error

    def _float_start(self, goals: Array) -> tuple[Array, Array, Array]:
        """The start of every target, the vectors there and the radii of their balls."""
        if isinstance(self.values, LocalSeries):
            pairs = [self._near(self.values, list(goal)) for goal in goals]
        else:
            pairs = [(list(self.start), start_vector(self.system, self.start, self.values))]
        point = np.array([[as_complex(x) for x in begin] for begin, _ in pairs])
        vector = np.array([[as_complex(x) for x in values] for _, values in pairs])
        radii = np.array([[float(radius(x)) for x in values] for _, values in pairs])
        if not np.any(vector.imag) and not np.any(point.imag):
            vector, point = vector.real, point.real
        many = len(goals) // len(pairs)
        return np.tile(point, (many, 1)), np.tile(vector, (many, 1)), np.tile(radii, (many, 1))

    def _near(self, series: LocalSeries, goal: Sequence[object]) -> tuple[list[Ball], list[Ball]]:
        """A regular point on the way from a singular one, and F there from the series."""
        first = self.corners[0] if self.corners else goal
        if not same_place(self.start[0], series.point):
            raise BadInput(f"the series is one at {series.point}, and the start is {self.start[0]}; start there")
        where, jet = series.towards(as_ball(first[0]))
        derivatives = {(k,): value / arb.fac_ui(k) for k, value in enumerate(jet)}
        return [where], start_vector(self.system, [where], derivatives)

    def balls(self, end: list[object]) -> list[Ball]:
        """F, or what is asked for, at one target, at flint's working precision."""
        to = self._landing(end)
        end = end if to is None else list(to.ray.near)
        goal = [as_ball(x) for x in end]
        if isinstance(self.values, LocalSeries):
            begin, state = self._near(self.values, end)
        else:
            begin, state = [as_ball(x) for x in self.start], start_vector(self.system, self.start, self.values)
        stops = [begin, *([as_ball(x) for x in corner] for corner in self.corners), goal]
        (vector,) = carry_along(self.system, stops, [state], self.side)
        if to is not None:
            return to.limits(vector)
        if self.rows is None:
            return vector
        return [
            sum((value_at(entry, goal) * f for entry, f in zip(row, vector, strict=True)), arb(0)) for row in self.rows
        ]


@dataclass(frozen=True)
class _LineTask:
    """The system is pulled back to each segment, where its matrices are small, and solved there."""

    system: UnexpandedSystem
    # start, values, corners, side, outputs: as for :func:`holokern.hgm.solve`
    start: Sequence[Scalar]
    values: object
    corners: Sequence[Sequence[Scalar]]
    side: str | None
    outputs: Sequence[object] | None
    _known: dict[Segment, PfaffianSystem] = field(default_factory=dict)

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


def _targets(system: PfaffianSystem | UnexpandedSystem, given: object) -> tuple[list[list[object]], bool]:
    """A list of points, and whether it was a single one."""
    many = isinstance(given, np.ndarray) or (isinstance(given, Sequence) and not isinstance(given, str))
    if not many:
        return [list(read_point(system, given, "target"))], True
    items = list(given)  # type: ignore[call-overload]
    nested = any(isinstance(item, (Sequence, np.ndarray)) and not isinstance(item, str) for item in items)
    if len(system.variables) == 1 or nested or any(hasattr(item, "keys") for item in items):
        if not items:
            raise BadInput("expected at least one target, got an empty list")
        return [list(read_point(system, item, "target")) for item in items], False
    return [list(read_point(system, items, "target"))], True
