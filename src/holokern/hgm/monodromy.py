"""How solutions change along a path: transition matrices, monodromy, connection between singular points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import acb, acb_mat, arb

from holokern.errors import BadInput
from holokern.hgm.lines.ball_lines import precisely, radius
from holokern.hgm.lines.carry import SIDES, carry_along, floats_along
from holokern.hgm.lines.frobenius import LocalBasis, frobenius
from holokern.hgm.lines.initial import Holonomic, Point, as_ball, as_complex, read_point, read_system, start_vector
from holokern.hgm.steps.fixed_point import Ball
from holokern.hgm.steps.series import Array
from holokern.pfaffian import PfaffianSystem
from holokern.weyl import LeftIdeal, Operator

_LOOP = 6  # corners of a loop: a hexagon keeps a distance of 0.87 radii


@dataclass(frozen=True)
class Transition:
    """A matrix that takes vectors at the beginning of a path to vectors at its end.

    Attributes
    ----------
    matrix : array, (rank, rank)
        Complex floats, or ``acb`` that are proved to contain the entries.
    error : array of float
        Estimates of the errors of floats; the radii of balls.
    basis : tuple of str
        What the entries of the vectors are.
    """

    matrix: Array
    error: Array
    basis: tuple[str, ...]


def transition(
    system: Holonomic,
    path: Iterable[Point],
    *,
    basis: object = None,
    side: str | None = None,
    balls: bool = False,
    digits: int = 30,
) -> Transition:
    """The matrix M with F(end) = M F(begin) for every solution, along a polygon.

    Parameters
    ----------
    system : left ideal, operator, list of operators or PfaffianSystem
    path : iterable of points
        The corners, the first and the last point included.
    basis, side, balls, digits
        As for :func:`holokern.hgm.solve`.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> turn = transition(weyl_algebra("x").ideal("dx^2 + 1"), [0, 0.5])
    >>> turn.matrix.round(6).tolist()
    [[0.877583, 0.479426], [-0.479426, 0.877583]]
    """
    read = read_system(system, basis)
    corners = [read_point(read, corner, "corner of the path") for corner in path]
    if len(corners) < 2:
        raise BadInput(f"expected at least the begin and the end of a path, got {len(corners)} points")
    if side is not None and side not in SIDES:
        raise BadInput(f"expected side='left' or 'right' of the way, got {side!r}")
    return _transition(read, corners, side, balls, digits)


def _transition(
    system: PfaffianSystem, corners: Sequence[Sequence[object]], side: str | None, balls: bool, digits: int
) -> Transition:
    size = system.rank
    if balls:
        return _proved(lambda: _ball_columns(system, corners, side), digits, system.basis_text)
    stops = [np.tile([as_complex(x) for x in corner], (size, 1)) for corner in corners]
    if not any(np.any(stop.imag) for stop in stops):
        stops = [stop.real for stop in stops]
    value, error = floats_along(system, stops, np.eye(size), side)
    return Transition(value.T, error.T, system.basis_text)


def _proved(entries: Callable[[], list[Ball]], digits: int, basis: tuple[str, ...]) -> Transition:
    """The matrix whose entries, row by row, have so many digits."""
    table = np.array(precisely(entries, digits), dtype=object).reshape(len(basis), len(basis))
    return Transition(table, np.vectorize(lambda a: float(radius(a)), otypes=[float])(table), basis)


def _ball_columns(system: PfaffianSystem, corners: Sequence[Sequence[object]], side: str | None) -> list[Ball]:
    """The entries of the matrix, row by row."""
    size = system.rank
    stops = [[as_ball(x) for x in corner] for corner in corners]
    columns = carry_along(system, stops, [[arb(int(i == j)) for i in range(size)] for j in range(size)], side)
    return [columns[j][i] for i in range(size) for j in range(size)]


def monodromy(
    system: Holonomic,
    loop: Iterable[Point] | None = None,
    *,
    base: Point | None = None,
    around: Point | None = None,
    basis: object = None,
    balls: bool = False,
    digits: int = 30,
) -> Transition:
    """The matrix M that F is multiplied by when it is continued along a loop.

    Parameters
    ----------
    system : left ideal, operator, list of operators or PfaffianSystem
    loop : iterable of points, optional
        The corners of a closed polygon.
    base, around : points, optional
        Instead of a loop, in one variable: a circle through ``base`` that goes around ``around`` once, anticlockwise.
    basis, balls, digits
        As for :func:`holokern.hgm.solve`.

    Raises
    ------
    SingularPath
        If the loop meets the singular locus.

    Examples
    --------
    The square root changes its sign:

    >>> from holokern.weyl import weyl_algebra
    >>> monodromy(weyl_algebra("x").ideal("2*x*dx - 1"), base=1, around=0).matrix.round(12).real.tolist()
    [[-1.0]]
    """
    read = read_system(system, basis)
    if loop is not None:
        corners = [read_point(read, corner, "corner of the loop") for corner in loop]
        if base is not None or around is not None or len(corners) < 3:
            raise BadInput("expected a loop of at least three corners, or base= and around=, not both")
        return _transition(read, [*corners, corners[0]], None, balls, digits)
    if base is None or around is None:
        raise BadInput("expected a loop, or a base point and the point that it goes around")
    if len(read.variables) != 1:
        raise BadInput(f"expected a loop for a system in {', '.join(read.variables)}; a circle needs one variable")
    begin, centre = (as_complex(read_point(read, p)[0]) for p in (base, around))
    arm = begin - centre
    if not arm:
        raise BadInput(f"the base point {base} is the point to go around; give another base")
    inner = [[centre + arm * np.exp(2j * np.pi * k / _LOOP)] for k in range(1, _LOOP)]
    first = read_point(read, base)
    return _transition(read, [first, *inner, first], None, balls, digits)


def connection(
    operator: Operator | LeftIdeal, begin: object, end: object, *, side: str | None = None, digits: int = 30
) -> Transition:
    """The matrix C between the series at two points: the j-th one at ``begin`` is Σ_i C_ij times the i-th at ``end``.

    Both bases are those of :func:`holokern.hgm.frobenius`, with principal logarithms of x - begin and x - end on the
    straight line between the points.  The entries are proved balls.

    Parameters
    ----------
    operator : Operator
        In one variable.
    begin, end : rational numbers or "oo"
        Regular singular or ordinary points; infinity is reached on the ray through the other point, on the positive
        axis from 0.
    side : {"left", "right"}, optional
        The side on which to pass other singular points on the way.
    digits : int

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> print(connection(weyl_algebra("x")("dx^2 - dx"), 0, 1, digits=10).matrix[1, 1].real.str(8, radius=False))
    2.7182818
    """
    first, second = frobenius(operator, begin), frobenius(operator, end)
    system = read_system(first.operator)
    size = system.rank

    def entries() -> list[Ball]:
        a, b = _meeting(first, second)
        starts = [start_vector(system, [a], _taylor(jet)) for jet in first.jets(a)]
        ends = [start_vector(system, [b], _taylor(jet)) for jet in second.jets(b)]
        moved = starts if a is b else carry_along(system, [[a], [b]], starts, side)
        left = acb_mat([[acb(ends[j][i]) for j in range(size)] for i in range(size)])
        right = acb_mat([[acb(moved[j][i]) for j in range(size)] for i in range(size)])
        return list(left.solve(right).entries())

    local = "(1/x)" if isinstance(second.point, str) else f"(x - {second.point})"
    names = tuple(f"{local}^{rho}" + (f" log^{k}" if k else "") for rho, k in second.exponents)
    return _proved(entries, digits, names)


def _meeting(first: LocalBasis, second: LocalBasis) -> tuple[Ball, Ball]:
    """Points on the way from one place to the other where the two bases are known; one point where both are."""
    if isinstance(first.point, str) and isinstance(second.point, str):
        raise BadInput("expected two different points, got infinity twice")
    if isinstance(first.point, str):
        b, a = _meeting(second, first)
        return a, b
    p = as_ball(first.point)
    if isinstance(second.point, str):
        b = second.reach(p)
        return first.reach(b), b
    q = as_ball(second.point)
    a, b = first.reach(q), second.reach(p)
    if abs(complex(acb(a - p))) + abs(complex(acb(b - q))) > abs(complex(acb(q - p))):
        # both discs reach beyond the middle
        a = b = (p + q) / 2
    return a, b


def _taylor(jet: Sequence[Ball]) -> dict[object, Ball]:
    return {(k,): value / arb.fac_ui(k) for k, value in enumerate(jet)}
