"""Sectors of the plane between the zeros of u and v: E[f(c1 x) f(c2 y)] for all pairs of deviations at once.

In polar coordinates the four sectors between the lines u = 0 and v = 0 have the angles π - θ and θ. In the sector of
angle α the points are u = ±ρ sin t, v = ±ρ sin(α - t) with 0 < t < α. So the values of f at one set of points, seen
forwards for u and backwards for v, give the whole matrix over (c1, c2) by one product. A function that is smooth on
either side of zero is smooth in every sector, for every θ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from holokern.dual.compiled_table import Table
from holokern.errors import PrecisionLost
from holokern.numeric.gauss import legendre_rule
from holokern.numeric.panels import Array

__all__ = ["SectorRule", "first_rule", "probes", "settle", "settled_rule"]

_MOST_NODES = 4_000_000
_WIDE = 16
_SETTLED = 2e-14
_ROUNDED = 1e-12


@dataclass(frozen=True)
class SectorRule:
    """Gauss–Legendre panels, graded dyadically towards the zeros of u, v and ρ.

    Attributes
    ----------
    reach
        Largest radius, in standard deviations.
    levels
        How often the panel next to a zero is halved.
    nodes
        Nodes on the longest panel; half of them on short ones.
    """

    reach: float
    levels: int = 0
    nodes: int = 16

    @property
    def finer(self) -> SectorRule:
        """A rule with a third more nodes."""
        return replace(self, nodes=-(-4 * self.nodes // 3))

    def radial_panels(self) -> list[tuple[Array, Array]]:
        """Radii ρ and weights of the one-dimensional measure dρ, panel by panel."""
        return _panels(_graded(self.reach, self.levels + 1, False), self.nodes)

    def radial(self) -> tuple[Array, Array]:
        """All radii and weights."""
        return _joined(self.radial_panels())

    def angular(self, alpha: float) -> tuple[Array, Array]:
        """Angles in (0, α), symmetric about the middle, and weights."""
        return _joined(_panels(_graded(alpha, self.levels, True), self.nodes))

    def sectors(self, function: Table, c1: Array, c2: Array, alpha: float) -> tuple[Array, Array]:
        """Both parts of E[f(c1 x) f(c2 y)] in the sector of angle α, as matrices over (c1, c2).

        The first is for u and v of one sign, the second for opposite signs.
        """
        from holokern.dual.compiled_lookup import sector_sums

        rho, radial_weight = self.radial()
        t, angular_weight = self.angular(alpha)
        masses = radial_weight * rho * np.exp(-rho * rho / 2) / (2 * np.pi)
        same, opposite = np.empty((len(c1), len(c2))), np.empty((len(c1), len(c2)))
        grid = (c1, c2, c2 is c1, np.sin(t), angular_weight, rho, masses)
        sector_sums(function.rows, 1 / function.width, function.half, *grid, same, opposite)
        return same, opposite

    def pairs(self, function: Table, c1: Array, c2: Array, theta: Array) -> Array:
        """E[f(c1 x) f(c2 y)] for all c1, c2 and every angle θ; shape (len(c1), len(c2), len(theta)).

        One array for both sets of deviations takes half the work.
        """
        mirrored = len(theta) > 1 and np.allclose(theta + theta[::-1], np.pi, rtol=0, atol=1e-14)
        here = [self.sectors(function, c1, c2, float(angle)) for angle in theta]
        there = here[::-1] if mirrored else [self.sectors(function, c1, c2, float(np.pi - angle)) for angle in theta]
        return np.stack([a[0] + b[1] for a, b in zip(there, here, strict=True)], axis=2)

    def on_line(self) -> tuple[Array, Array]:
        """Positive points and weights of the normal density on half a line."""
        x, w = _joined(_panels(_graded(self.reach, self.levels + 3, False), 2 * self.nodes + 16))
        return x, w * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)

    def norms(self, function: Table, c: Array) -> Array:
        """E[f(cx)²]^(1/2) for every c; 1 where it vanishes, as it serves to divide by."""
        x, w = self.on_line()
        u = np.multiply.outer(c, x)
        # The density first: squares of exponentials would overflow.
        root = np.sqrt(w)
        result = np.sqrt(np.sum((function(u) * root) ** 2 + (function(-u) * root) ** 2, axis=-1))
        return np.where(result > 0, result, 1.0)


def settled_rule(functions: tuple[Table, ...], c: Array, reach: float, label: str) -> SectorRule:
    """The rule that `settle` finds at these deviations and a few angles."""
    theta = np.array([0.02, 0.9, 2.2, 3.1])
    first = first_rule(reach, float(c[-1]) / _WIDE)
    bounds = [np.multiply.outer(scale, scale)[:, :, None] for scale in (first.norms(f, c) for f in functions)]

    def values(rule: SectorRule) -> Array:
        return np.stack([rule.pairs(f, c, c, theta) / bound for f, bound in zip(functions, bounds, strict=True)])

    return settle(values, first, float(c[-1]), label)


def probes(c1: Array, c2: Array) -> Array:
    """The lowest, the middle and the highest of all deviations: what suffices there suffices for all."""
    low, high = min(np.min(c1), np.min(c2)), max(np.max(c1), np.max(c2))
    return np.unique([low, np.sqrt(low * high), high])


def first_rule(reach: float, stretch: float) -> SectorRule:
    """The coarsest rule worth trying when panels may not be longer than 1/stretch of the largest one near zero."""
    return SectorRule(reach, levels=int(np.ceil(np.log2(max(1.0, stretch)))))


def settle(values: Callable[[SectorRule], Array], rule: SectorRule, high: float, label: str) -> SectorRule:
    """The coarsest rule whose values a finer one confirms.

    Raises
    ------
    PrecisionLost
        If no rule of bearable size settles.
    """
    now, last = values(rule), np.inf
    while True:
        finer = rule.finer
        fine = values(finer)
        moved = float(np.max(np.abs(fine - now)))
        # At large deviations σ(u) itself has rounding errors, of oscillations above all, that no finer rule removes.
        if moved <= _SETTLED or last / 2 < moved <= _ROUNDED:
            return rule
        rule, now, last = finer, fine, moved
        if len(rule.radial()[0]) * len(rule.angular(1.0)[0]) > _MOST_NODES:
            raise PrecisionLost(
                f"{label}: no sector rule settles up to deviation {high:.4g} (change {moved:.1e}); rescale the data, "
                "or use method='quadrature'"
            )


def _graded(length: float, levels: int, both: bool) -> Array:
    """Ends of panels on [0, length], halved towards 0, or towards both ends."""
    towards = length * 0.5 ** np.arange(levels, -1, -1.0)
    if not both:
        return np.concatenate([[0.0], towards])
    half = towards / 2
    return np.concatenate([[0.0], half, length - half[-2::-1], [length]])


def _panels(ends: Array, nodes: int) -> list[tuple[Array, Array]]:
    """Nodes and weights of each panel."""
    widths = np.diff(ends)
    counts = np.ceil(nodes * np.maximum(0.5, widths / np.max(widths)) - 1e-9).astype(int)
    rules = [legendre_rule(int(count)) for count in counts]
    return [(a + width * t, width * w) for a, width, (t, w) in zip(ends[:-1], widths, rules, strict=True)]


def _joined(panels: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    points, weights = zip(*panels, strict=True)
    return np.concatenate(points), np.concatenate(weights)
