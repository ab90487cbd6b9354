"""What the methods that transport a Pfaffian system share: the system in polar form, its start, and results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from holokern.activation import Activation
from holokern.dual.degenerate import limits
from holokern.dual.methods.initial import HermiteMoments, hermite_moments
from holokern.dual.value import Estimate
from holokern.errors import HolokernError
from holokern.hgm import AnglePath, Arrival, Numbers, PolarTable, polar_table
from holokern.numeric import EPS, Array, Index
from holokern.pfaffian import pfaffian

COLUMNS = 4
"""H and the perturbations that are carried along to see how errors grow."""

# the start above π/2 has |cos θ| = sinh 0.45 = 0.47, and 0.47^64 = 1e-21
_SERIES_TERMS = 64
# a zero of D so close to the way makes real steps short; the detour passes it at the height 0.45
_STRIP = 0.35


@lru_cache(maxsize=64)
def polar_system(activation: Activation) -> PolarTable:
    """The Pfaffian system of an activation in polar form; the most recent ones are kept."""
    return polar_table(pfaffian(activation), activation.jump_order)


def cannot_transport(activation: Activation) -> str | None:
    """Why the activation has no Pfaffian system, or None."""
    try:
        polar_system(activation)
    except HolokernError as error:
        return f"{error} (method='quadrature' serves every activation)"
    return None


def crosses(path: AnglePath) -> NDArray[np.bool_]:
    """Which tracks must pass an apparent singularity, so that they cannot stay on the real line."""
    roots = path.roots
    known = ~np.isnan(roots)
    close = known & (np.abs(roots.imag) < _STRIP) & (roots.real > -_STRIP) & (roots.real < np.pi + _STRIP)
    return np.asarray(np.any(close, axis=1))


@dataclass(frozen=True)
class Start:
    """The vector H near independence, for any of a set of deviations."""

    table: PolarTable
    moments: HermiteMoments

    @classmethod
    def of(cls, activation: Activation, c1: Array, c2: Array, *, far: bool) -> Start:
        """Integrate the moments; ``far`` if angles away from π/2 will be asked for."""
        table = polar_system(activation)
        highest = max(max(pair) for pair in table.exponents)
        extra = _SERIES_TERMS if far else 4
        return cls(table, hermite_moments(activation, np.concatenate([c1, c2]), highest + 1 + extra))

    def states(self, c1: Array, c2: Array, angle: Numbers, side: Array | float = 1.0) -> Numbers:
        """H at one angle for each pair of deviations, and perturbations as large as its errors: (pairs, rank, COLUMNS).

        With ``side`` -1 the angle is the distance from θ = π.
        """
        # the float next to π/2 is not π/2, and an entry of H may be smaller than what that makes
        value, error = self.moments.correlated(c1, c2, self.table.exponents, side * np.cos(angle))
        gauge = np.sin(angle)[:, None] ** np.array(self.table.weights)
        signs = np.random.default_rng(7).choice([-1.0, 1.0], size=(*error.shape, COLUMNS - 1))
        columns = (error * np.abs(gauge))[..., None] * signs
        return np.concatenate([(value * gauge)[..., None], columns], axis=2)


@dataclass(frozen=True)
class Tracks:
    """Points sorted into tracks: equal deviations, and the same side of θ = π/2."""

    # c1, c2, side: ``side`` is 1 for the tracks towards θ = 0, -1 for those towards π
    c1: Array
    c2: Array
    side: Array
    owner: Index  # (points,)

    @classmethod
    def of(cls, c1: Array, c2: Array, theta: Array) -> Tracks:
        """Find the tracks of points."""
        rows = np.stack([c1, c2, np.where(theta <= np.pi / 2, 1.0, -1.0)], axis=1)
        different, owner = np.unique(rows, axis=0, return_inverse=True)
        return cls(different[:, 0], different[:, 1], different[:, 2], owner.reshape(-1))

    def some(self, index: Index) -> Tracks:
        """Some of the tracks; the points are left out."""
        return Tracks(self.c1[index], self.c2[index], self.side[index], np.zeros(0, dtype=np.intp))


def ends_of(activation: Activation, tracks: Tracks, tolerance: float) -> list[dict[int, float]]:
    """For each track the entries of H that are known at its end r = ±1, by integrals in one variable."""
    table = polar_system(activation)
    end = np.where(tracks.side > 0, 0.0, np.pi)
    found = limits(activation, tracks.c1, tracks.c2, end, tolerance)
    first, second = table.outputs
    result = []
    for k, slope in zip(found.k, found.kdot * tracks.c1 * tracks.c2, strict=True):
        known = {first: float(k)}
        if second >= 0 and not table.weights[second] and np.isfinite(slope):
            known[second] = float(slope)
        result.append(known)
    return result


def arrived(arrival: Arrival, outputs: tuple[int, int]) -> Estimate:
    """Both k and c1c2k′ sin^m of an arrival; its perturbations and the tails of its series become errors."""
    first, second = outputs
    columns = arrival.value[:, first], (arrival.slope if second < 0 else arrival.value[:, second])
    tails = arrival.tail[:, first], (arrival.slope_tail if second < 0 else arrival.tail[:, second])
    values = [column[:, 0] for column in columns]
    together = np.abs(values[0]) + np.abs(values[1])
    errors = []
    for value, column, tail in zip(values, columns, tails, strict=True):
        spread = np.sqrt(np.mean(column[:, 1:] ** 2, axis=1))
        floor = EPS * (2 * np.abs(value) + 0.3 * together)
        errors.append(np.nan_to_num(5 * spread + 6 * tail + floor, nan=np.inf))
    return Estimate(*values, *errors)


def unscaled(found: Estimate, table: PolarTable, c1: Array, c2: Array, theta: Array) -> Estimate:
    """The estimate of k and k′ from that of k and c1c2k′ sin^m, the factors of which make it bounded."""
    power = table.weights[table.outputs[1]] if table.outputs[1] >= 0 else 0
    factor = c1 * c2 * np.sin(theta) ** power
    kdot = found.kdot / factor
    # θ itself is rounded: k moves by c1c2k′ sin θ, and the factor of k′ by its logarithmic derivative
    rounded = 2 * EPS * theta
    k_error = found.k_error + rounded * np.sin(theta) * np.abs(c1 * c2 * kdot)
    kdot_error = found.kdot_error + power * np.abs(found.kdot) * rounded / np.abs(np.tan(theta))
    return Estimate(found.k, kdot, k_error, kdot_error / factor)
