"""Chebyshev collocation of D H' = N H towards det Σ = 0, panel by panel.

Where solutions that die out fast make Taylor steps short (σ breaks away from zero), or the entries of H become nearly
dependent, polynomials that satisfy the equation at Chebyshev points still follow the solution.  The last panel ends on
r = ±1 itself: only solutions that are smooth there can be polynomials, so no value is needed at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holokern.transport.near_end import NearEnd

__all__ = ["approach", "collocate"]

Array = NDArray[Any]

DEGREES = (26, 32)
"""Two resolutions; the finer one is returned, the difference is an error."""

_LAST = 30
_ENOUGH = 1e-15


@dataclass(frozen=True)
class Panel:
    """H and c1c2k̇ as Chebyshev series from φ = start to φ = stop: coefficients (degree + 1, rank + 1)."""

    start: float
    stop: float
    coefficients: Array

    def at(self, phi: Array) -> Array:
        """Values, (points, rank + 1)."""
        x = 2 * (phi - self.start) / (self.stop - self.start) - 1
        return np.asarray(np.polynomial.chebyshev.chebval(x, self.coefficients).T)

    @property
    def end(self) -> Array:
        """H at the stop."""
        return np.asarray(self.coefficients[:, :-1].sum(axis=0))


def collocate(system: NearEnd, start: float, stop: float, state: Array, degree: int) -> Panel:
    """Solve from φ = ``start`` with H = ``state`` to φ = ``stop``, which may be 0.

    Examples
    --------
    >>> from holokern.pfaffian import pfaffian
    >>> from holokern.transport.tables import polar_table
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
    speed = 2 / (stop - start)
    left = np.einsum("i,ij,rs->irjs", bottom * speed, slope, np.eye(rank)) - np.einsum("irs,ij->irjs", top, value)
    left = left.reshape(degree * rank, degree * rank)
    right = (top @ state).reshape(degree * rank)
    size = np.max(np.abs(left), axis=1)
    size[size == 0] = 1.0
    found = np.linalg.solve(left / size[:, None], right / size).reshape(degree, rank)
    # the basis functions T_j - T_j(-1) vanish at the start, so the state is met exactly
    signs = (-1.0) ** np.arange(1, degree + 1)
    coefficients = np.concatenate([(state - signs @ found)[None], found])
    at_nodes = state + value @ found
    derived = np.einsum("ir,ir->i", row, at_nodes) / bottom
    fitted = np.zeros(degree + 1)
    fitted[:degree] = np.linalg.solve(np.polynomial.chebyshev.chebvander(nodes, degree - 1), derived)
    return Panel(start, stop, np.concatenate([coefficients, fitted[:, None]], axis=1))


def approach(system: NearEnd, start: float, state: Array, phi: Array, outputs: Array) -> tuple[Array, Array]:
    """Carry H from the distance ``start`` to smaller distances φ ≥ 0 from the end.

    Parameters
    ----------
    system : NearEnd
    start : float
    state : array, (rank,)
    phi : array, (targets,)
    outputs : array of int
        The entries of (H, c1c2k̇) that matter.

    Returns
    -------
    values, errors : arrays, (targets, len(outputs))
        Errors are differences of two resolutions that never met on the way.
    """
    values, errors = np.full((len(phi), len(outputs)), np.nan), np.full((len(phi), len(outputs)), np.inf)
    states = [state, state]
    here = start
    best, worse = np.inf, 0
    for _ in range(_LAST):
        left = phi < here / 2 if np.isfinite(best) else phi <= here
        if not np.any(left):
            break
        todo = np.nonzero(phi <= here)[0]
        last = [collocate(system, here, 0.0, s, n).at(phi[todo])[:, outputs] for s, n in zip(states, DEGREES, strict=True)]
        moved = np.abs(last[1] - last[0])
        better = np.max(moved, axis=1) < np.max(errors[todo], axis=1)
        values[todo[better]], errors[todo[better]] = last[1][better], moved[better]
        scale = np.max(np.abs(last[1]), axis=0)
        now = float(np.max(moved / np.where(scale > 0, scale, 1.0)))
        best, worse = (now, 0) if now < best else (best, worse + 1)
        if best <= _ENOUGH * 10 or worse >= 3:
            break
        panels = [collocate(system, here, here / 2, s, n) for s, n in zip(states, DEGREES, strict=True)]
        inside = np.nonzero((phi <= here) & (phi >= here / 2))[0]
        found = [panel.at(phi[inside])[:, outputs] for panel in panels]
        moved = np.abs(found[1] - found[0])
        better = np.max(moved, axis=1, initial=0) < np.max(errors[inside], axis=1, initial=0)
        values[inside[better]], errors[inside[better]] = found[1][better], moved[better]
        states, here = [panel.end for panel in panels], here / 2
    return values, errors


@lru_cache(maxsize=64)
def _nodes(degree: int, open_end: bool) -> Array:
    """Chebyshev points, none at the start x = -1; one at the stop unless that is a singular point."""
    if open_end:
        return np.asarray(-np.cos(np.pi * (np.arange(degree) + 0.5) / degree))
    return np.asarray(-np.cos(np.pi * np.arange(1, degree + 1) / degree))


@lru_cache(maxsize=64)
def _basis(degree: int, open_end: bool) -> tuple[Array, Array]:
    """T_j - T_j(-1) and T_j' at the points, for j = 1, …, degree."""
    x = _nodes(degree, open_end)
    cheb = np.polynomial.chebyshev
    value = cheb.chebvander(x, degree) - (-1.0) ** np.arange(degree + 1)
    slope = np.stack([cheb.chebval(x, cheb.chebder(np.eye(degree + 1)[j])) for j in range(1, degree + 1)], axis=1)
    return np.asarray(value[:, 1:]), slope
