"""Chebyshev collocation of D H' = N H towards det Σ = 0, panel by panel.

Where solutions that die out fast make Taylor steps short (σ breaks away from zero), or the entries of H become nearly
dependent, polynomials that satisfy the equation at Chebyshev points still follow the solution.  The last panel ends on
r = ±1 itself: only solutions that are smooth there can be polynomials, so no value is needed at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from holokern.hgm.least_squares import ChebyshevBasis, Constraint, fit_system, gauss_nodes
from holokern.hgm.polar.near_end import NearEnd
from holokern.hgm.steps.series import Array
from holokern.numeric import EPS

DEGREES = (26, 32)
"""Two resolutions; the finer one is returned, the difference is an error."""

MORE = (44, 52)
"""The same for a panel between known values where the usual ones are too few."""

CONVERGED = 1e-3
"""Of the height of a solution: what two resolutions that converge differ by is less."""

# halvings of the distance: 2^-30 of it is closer to the end than any target needs; 10 sufficed for ordinary ones
_LAST = 30
_LARGEST = 800  # unknowns of a least-squares fit: a dense QR of this size takes about a tenth of a second
# one is not enough (errors ten times as large for σ that breaks away from 0), two are; the others are spare
_REFINEMENTS = 4
# uneven, so that perturbations of opposite sign do not cancel, and above 1, to be on the safe side
_WEIGHTS = np.array([4.0, 2.6, 1.7])
_ENOUGH = 1e-14  # relative change at which panels have settled; rounding is a tenth of it


@dataclass(frozen=True)
class Panel:
    """H and c1c2k′ as Chebyshev series from φ = start to φ = stop: coefficients (degree + 1, rank + 1)."""

    start: float
    stop: float
    coefficients: Array

    def at(self, phi: Array) -> Array:
        """Values, (points, rank + 1)."""
        x = 2 * (phi - self.start) / (self.stop - self.start) - 1
        return np.asarray(np.polynomial.chebyshev.chebval(x, self.coefficients).T, dtype=float)

    @property
    def end(self) -> Array:
        """H at the stop."""
        return np.asarray(self.coefficients[:, :-1].sum(axis=0))


def collocate(system: NearEnd, start: float, stop: float, state: Array, degree: int) -> Panel:
    """Solve from φ = ``start`` with H = ``state`` to φ = ``stop``, which may be 0.

    >>> from holokern.pfaffian import pfaffian
    >>> from holokern.hgm.polar.tables import polar_table
    >>> end = NearEnd.of(polar_table(pfaffian("relu", cache=False), 1), 1.0, 1.0, 1)
    >>> panel = collocate(end, np.pi / 2, 0.0, np.array([0.5 / np.pi, 0.25]), 24)
    >>> panel.at(np.array([0.0]))[0, :2].round(12).tolist()
    [0.5, 0.5]
    """
    value, slope = _basis(degree, stop == 0.0)
    nodes = _nodes(degree, stop == 0.0)
    phi = start + (stop - start) * (nodes + 1) / 2
    bottom, top, row = system.at(phi)
    rank = system.table.rank
    speed = 2 / np.longdouble(stop - start)
    left = -top[:, :, None, :] * value[:, None, :, None]
    left[:, np.arange(rank), :, np.arange(rank)] += (bottom * speed)[:, None] * slope
    left = left.reshape(degree * rank, degree * rank)
    right = (top @ state).reshape(degree * rank)
    size = np.max(np.abs(left), axis=1)
    size[size == 0] = 1.0
    found = _refined(left / size[:, None], right / size).reshape(degree, rank)
    # the basis functions T_j - T_j(-1) vanish at the start, so the state is met exactly
    signs = (-1.0) ** np.arange(1, degree + 1)
    coefficients = np.concatenate([(state - signs @ found)[None], found])
    derived = np.einsum("ir,ir->i", row, state + value @ found) / bottom
    fitted = np.zeros(degree + 1)
    fitted[:degree] = np.linalg.solve(
        np.polynomial.chebyshev.chebvander(nodes.astype(float), degree - 1), derived.astype(float)
    )
    return Panel(start, stop, np.concatenate([coefficients, fitted[:, None]], axis=1))


def _refined(left: Array, right: Array) -> Array:
    """Solve with residuals in long floats: the rows are nearly dependent close to det Σ = 0."""
    try:
        rough = np.linalg.inv(left.astype(float))
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)
    found = np.zeros_like(right)
    for _ in range(_REFINEMENTS):
        found = found + rough @ (right - left @ found).astype(float)
    return found


def approach(
    system: NearEnd,
    start: float,
    states: Array,
    phi: Array,
    *,
    outputs: Array,
    limit: Mapping[int, float] | None = None,
) -> tuple[Array, Array]:
    """Carry H from the distance ``start`` to smaller distances φ ≥ 0 from the end.

    Parameters
    ----------
    system : NearEnd
    start : float
    states : array, (rank, columns)
        H and perturbations of it.
    phi : array, (targets,)
    outputs : array of int
        The entries of (H, c1c2k′) that matter.
    limit : mapping from int to float, optional
        Entries of H that are known at φ = 0; the last panel then meets them, in least squares.

    Returns
    -------
    values, errors : arrays, (targets, len(outputs))
        Errors are differences of two independent runs at two resolutions, the coarser of which started from a
        perturbed state.
    """
    best = _Best(phi, outputs)
    long = states.astype(np.longdouble)
    # several perturbations at once: one alone may be antisymmetric, which k does not see
    pair = [long[:, 0] + long[:, 1:] @ _WEIGHTS[: long.shape[1] - 1], long[:, 0]]
    here = start
    least, worse = np.inf, 0
    many = bool(limit) and system.table.rank * MORE[1] <= _LARGEST
    for _ in range(_LAST):
        todo = np.nonzero(phi <= here)[0]
        if not len(todo):
            break
        now = np.inf
        for degrees in (DEGREES, MORE) if many and here == start else (DEGREES,):
            panels = [_last_panel(system, here, s, n, limit) for s, n in zip(pair, degrees, strict=True)]
            # values pinned at both ends hide part of what the two resolutions differ by
            now = min(now, best.improve(panels, todo, 8.0 if limit else 3.0))
            if now <= _ENOUGH:
                break
        least, worse = (now, 0) if now < least else (least, worse + 1)
        if least <= _ENOUGH or worse >= 3:
            break
        panels = [collocate(system, here, here / 2, s, n) for s, n in zip(pair, DEGREES, strict=True)]
        inside = np.nonzero((phi <= here) & (phi >= here / 2))[0]
        if len(inside):
            best.improve(panels, inside, 3.0)
        pair, here = [panel.end for panel in panels], here / 2
    return best.values, best.errors


class _Best:
    """The best values so far at the targets."""

    def __init__(self, phi: Array, outputs: Array) -> None:
        self.phi, self.outputs = phi, outputs
        self.values, self.errors = np.full((len(phi), len(outputs)), np.nan), np.full((len(phi), len(outputs)), np.inf)

    def improve(self, panels: list[Panel], some: Array, caution: float) -> float:
        """Put in the finer panel's values where they are better; the largest relative difference is returned."""
        coarse, fine = (panel.at(self.phi[some])[:, self.outputs] for panel in panels)
        moved = np.nan_to_num(caution * np.abs(fine - coarse), nan=np.inf)
        # two panels may agree somewhere by chance: their differences elsewhere count too
        grid = panels[1].start + (panels[1].stop - panels[1].start) * np.linspace(0.1, 1.0, 10)
        elsewhere = np.abs(panels[1].at(grid) - panels[0].at(grid))[:, self.outputs]
        elsewhere = np.nan_to_num(0.5 * caution * np.max(elsewhere, axis=0), nan=np.inf)
        height = np.max(np.abs(panels[1].coefficients[:, self.outputs]), axis=0).astype(float)
        moved = np.maximum(moved, elsewhere) + EPS * (np.abs(fine) + 0.5 * height)
        # polynomials that differ so much have not converged: what they differ by says next to nothing
        apart = np.any(moved > CONVERGED * height, axis=1, keepdims=True)
        errors = np.where(apart, moved / CONVERGED + height, moved)
        better = np.max(errors, axis=1) < np.max(self.errors[some], axis=1)
        self.values[some[better]], self.errors[some[better]] = fine[better], errors[better]
        scale = np.max(np.abs(fine), axis=0)
        return float(np.max(moved / np.where(scale > 0, scale, 1.0)))


def _last_panel(system: NearEnd, start: float, state: Array, degree: int, limit: Mapping[int, float] | None) -> Panel:
    """From ``start`` to the end itself."""
    if not limit or np.any(np.isnan(state)):
        return collocate(system, start, 0.0, state, degree)
    basis = ChebyshevBasis(degree + 1, start, 0.0)
    nodes, weights = gauss_nodes(degree + degree // 2, 0.0, start)
    bottom, top, row = system.at(nodes)
    constraints = [Constraint(start, float(value), 0, i) for i, value in enumerate(state)]
    constraints += [Constraint(0.0, value, 0, i) for i, value in limit.items()]
    fit = fit_system((bottom, top), basis, (nodes, weights), constraints)
    derived = np.einsum("ir,ir->i", row, fit(nodes).reshape(len(nodes), -1)) / bottom
    slope = np.polynomial.chebyshev.chebfit(2 * (nodes - start) / -start - 1, derived, degree)
    return Panel(start, 0.0, np.concatenate([fit.coefficients, slope[:, None]], axis=1))


@lru_cache(maxsize=64)
def _nodes(degree: int, open_end: bool) -> Array:
    """Chebyshev points, none at the start x = -1; one at the stop unless that is a singular point."""
    index = np.arange(degree) + 0.5 if open_end else np.arange(1, degree + 1)
    return np.asarray(-np.cos(np.pi * index / degree), dtype=np.longdouble)


@lru_cache(maxsize=64)
def _basis(degree: int, open_end: bool) -> tuple[Array, Array]:
    """T_j - T_j(-1) and T_j' at the points, for j = 1, …, degree."""
    x, basis = _nodes(degree, open_end), ChebyshevBasis(degree + 1, -1.0, 1.0)
    start = (-1.0) ** np.arange(1, degree + 1)
    return basis.derivative(x, 0)[:, 1:] - start, basis.derivative(x, 1)[:, 1:]
