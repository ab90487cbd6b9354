"""Holonomic interpolation and extrapolation (HIE) of the dual activation in the angle.

For each pair of deviations the vector H of the Pfaffian system is a combination of basis functions of θ that satisfies
the equation in least squares and the constraints exactly or with a penalty: H at θ = π/2, where u and v are
independent, and k and k′ at the end r = ±1 of the interval, which are one-dimensional integrals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holokern.activation import Activation
from holokern.dual.inputs import from_end
from holokern.dual.methods.polar import Start, Tracks, ends_of, polar_system, unscaled
from holokern.dual.value import Estimate
from holokern.errors import BadInput, UnknownName
from holokern.hgm import (
    CONVERGED,
    Basis,
    ChebyshevBasis,
    Constraint,
    Fit,
    MonomialBasis,
    NearEnd,
    approach,
    fit_system,
    gauss_nodes,
)
from holokern.numeric import EPS, Array

SIZE = 36
"""Functions of the basis, for the finer of two fits."""

MakeBasis = Callable[[int, float, float], Basis]

# functions that the coarser fit lacks: enough for a visible difference
_FEWER = 8
# a second known point, within reach of the Hermite series (cos = sin 0.45 = 0.43)
_SECOND = np.pi / 2 - 0.45
# relative error at which a fit has settled
_GOOD = 1e-13
# unknowns up to which the functions are doubled once more; the last fit then takes about a tenth of a second
_LARGEST = 400
# D relative to its largest value: below, S H/D has lost two digits
_CLEAR = 1e-2


def hie(
    activation: Activation,
    c1: Array,
    c2: Array,
    theta: Array,
    tolerance: float,
    *,
    basis: str | MakeBasis = "chebyshev",
    size: int = SIZE,
    mu: float | None = None,
    ends: bool = True,
) -> tuple[Array, Array, Array, Array]:
    """k, k′ and their errors by least squares in the angle [SakodaTakayama2024, Algorithm 3].

    Parameters
    ----------
    activation, c1, c2, theta, tolerance
        As for every method.
    basis : {"chebyshev", "monomial"} or callable
        The functions: Chebyshev polynomials, powers of θ - π/4, or ``basis(size, low, high)`` giving a
        :class:`~holokern.hgm.least_squares.Basis` for that interval of distances from the end.
    size : int
        How many functions; Chebyshev polynomials are doubled where they are too few.
    mu : float, optional
        The penalty of the constraints; they are exact when it is not given.
    ends : bool
        Whether k and k′ at r = ±1 are constraints too.

    Notes
    -----
    The error is the difference of fits with ``size`` and with fewer functions.  If one fit over the whole interval
    does not converge, as for σ with a break other than zero, Chebyshev panels that halve towards the end replace it.

    Use it for many angles and few pairs of deviations: one fit serves all angles of its pair.
    """
    make = _maker(basis)
    if not (isinstance(size, int) and size >= _FEWER + 4):
        raise BadInput(f"size = {size!r} is too small; hie needs at least {_FEWER + 4} functions")
    if mu is not None and not mu > 0:
        raise BadInput(f"mu = {mu!r} is not positive; leave it out for exact constraints")
    adaptive = basis == "chebyshev" and mu is None
    table = polar_system(activation)
    tracks = Tracks.of(c1, c2, theta)
    start = Start.of(activation, tracks.c1, tracks.c2, far=True)
    count = len(tracks.c1)
    known = ends_of(activation, tracks, tolerance) if ends else [{}] * count
    result = Estimate.empty(len(theta))
    distance = from_end(theta)
    for track in range(count):
        todo = np.nonzero(tracks.owner == track)[0]
        problem = _Problem.of(start, tracks, track, known[track])
        counts = size - _FEWER, size
        while len(todo):
            fits = [problem.fit(make(n, 0.0, np.pi / 2), n, mu) for n in counts]
            result.improve(todo, problem.compare(fits, distance[todo]))
            together = np.abs(result.k[todo]) + np.abs(result.kdot[todo])
            todo = todo[~(result.k_error[todo] + result.kdot_error[todo] <= _GOOD * together)]
            if not adaptive or counts[1] * max(table.rank, 3) > _LARGEST:
                break
            counts = counts[1], 2 * counts[1]
        if len(todo) and adaptive and not problem.singular:
            result.improve(todo, problem.panels(distance[todo]))
    return unscaled(result, table, c1, c2, theta).arrays


def _maker(basis: str | MakeBasis) -> MakeBasis:
    if callable(basis):
        return basis
    known: dict[str, MakeBasis] = {
        "chebyshev": ChebyshevBasis,
        "monomial": lambda size, low, high: MonomialBasis(size, (low + high) / 2),
    }
    if basis not in known:
        raise UnknownName(f"unknown basis {basis!r}; choose 'chebyshev', 'monomial', or pass a function")
    return known[basis]


@dataclass(frozen=True)
class _Problem:
    """One track: the equation, what is known at its ends, whether it is singular at θ = π/2, and c1c2k′ there."""

    system: NearEnd
    states: Array
    known: dict[int, float]
    constraints: list[Constraint]
    singular: bool
    slope: float

    @classmethod
    def of(cls, start: Start, tracks: Tracks, track: int, known: dict[int, float]) -> _Problem:
        """H at θ = π/2 and, where the equation is singular there, at one more angle that the Hermite series reaches."""
        table = start.table
        c1, c2, side = tracks.c1[track : track + 1], tracks.c2[track : track + 1], tracks.side[track]
        system = NearEnd.of(table, float(c1[0]), float(c2[0]), int(side))
        scaled = c1 * table.scale[0], c2 * table.scale[1]
        constant = [factor.at(*scaled)[0, 0][factor.angles[:, 0] == 0] for factor in table.factors]
        singular = any(bool(np.all(np.abs(part) < 1e-9)) for part in constant)
        states, constraints = start.states(c1, c2, np.array([np.pi / 2]), side)[0], []
        for at in (np.pi / 2, _SECOND) if singular else (np.pi / 2,):
            values = start.states(c1, c2, np.array([at]), side)[0, :, 0]
            constraints += [Constraint(at, float(value), 0, i) for i, value in enumerate(values)]
        constraints += [Constraint(0.0, value, 0, i) for i, value in known.items()]
        slope = start.moments.correlated(c1, c2, [(1, 1)], np.zeros(1))[0]
        return cls(system, states, known, constraints, singular, float(slope[0, 0]))

    def fit(self, basis: Basis, count: int, mu: float | None) -> Fit:
        """Least squares on the whole interval."""
        nodes, weights = gauss_nodes(count + count // 2, 0.0, np.pi / 2)
        bottom, top, _ = self.system.at(nodes)
        return fit_system((bottom, top), basis, (nodes, weights), self.constraints, mu)

    def compare(self, fits: list[Fit], distance: Array) -> Estimate:
        """The two outputs by the finer fit, with the difference of the two as error."""
        first, second = self.system.table.outputs
        # two fits may agree somewhere by chance; what they do on the whole interval counts, next to its end as well
        grid = np.concatenate([np.geomspace(1e-5, 0.05, 8), np.linspace(0.08, np.pi / 2, 12)])
        everywhere = np.concatenate([distance, grid])
        found = []
        for fit in fits:
            whole = fit(everywhere).reshape(len(everywhere), -1)
            slope = whole[:, second] if second >= 0 else self._derived(fit, everywhere)
            found.append(np.stack([whole[:, first], slope], axis=1))
        moved = np.abs(found[1] - found[0]) * (1.0 if second >= 0 else np.array([1.0, 6.0]))
        floor = 0.5 * np.max(moved, axis=0)
        fine, height = found[1][: len(distance)], np.max(np.abs(found[1]), axis=0)
        rounding = EPS * (4 * np.abs(fine) + 0.5 * np.sum(np.abs(fine), axis=1, keepdims=True))
        moved = np.maximum(moved[: len(distance)], floor) + rounding
        # fits that differ so much have not converged: what they differ by says next to nothing
        apart = np.any(moved > CONVERGED * height, axis=1, keepdims=True)
        return Estimate(*fine.T, *np.where(apart, moved / CONVERGED + height, moved).T)

    def _derived(self, fit: Fit, distance: Array) -> Array:
        """c1c2k′ = S H/D, and by a polynomial through values elsewhere where D comes close to zero."""
        count = fit.basis.size + 8
        nodes = (1 - np.cos(np.pi * (np.arange(count) + 0.5) / count)) * np.pi / 4
        everywhere = np.concatenate([nodes, distance])
        bottom, _, row = self.system.at(everywhere)
        values = np.einsum("pr,pr->p", row, fit(everywhere).reshape(len(bottom), -1))
        size = np.abs(bottom) / np.max(np.abs(bottom))
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = values / bottom
        direct = size[count:] > _CLEAR
        if np.all(direct):
            return np.asarray(quotient[count:])
        series = np.polynomial.chebyshev.Chebyshev.fit(
            np.append(nodes, np.pi / 2),
            np.append(quotient[:count], self.slope),
            fit.basis.size - 1,
            domain=[0.0, np.pi / 2],
            w=np.append(size[:count], 1.0),
        )
        return np.where(direct, quotient[count:], series(distance))

    def panels(self, distance: Array) -> Estimate:
        """Piece by piece towards the end."""
        first, second = self.system.table.outputs
        outputs = np.array([first, second if second >= 0 else self.system.table.rank])
        values, errors = approach(self.system, np.pi / 2, self.states, distance, outputs=outputs, limit=self.known)
        return Estimate(*values.T, *errors.T)
