"""`DualTable`: k and k′ of one activation over a range of deviations, ready for evaluation in bulk.

With ℓ = log c, n(c) = k(c, c, θ=0)^(1/2), d(c) = k′(c, c, θ=0)^(1/2) and δ = ℓ1 - ℓ2 the functions of the table are

    k = n1 n2 (1 - δ² W(ℓ1, ℓ2) - θ^p H(ℓ1, ℓ2, θ)),    k′ = d1 d2 K(ℓ1, ℓ2, θ),

with p = 2, or p = 1 when σ jumps. So 1 - k/(n1 n2), from which the next layer has its angle, keeps its digits for
points that nearly coincide. Near θ = 0, H comes from K by [Price1958]: k(0) - k(θ) = c1 c2 ∫ k′ sin over (0, θ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holokern.activation import Activation
from holokern.errors import BadInput
from holokern.numeric import Array, Range, Series, Table

SMALLEST = (0.4, 0.2, 0.1, 0.0)
"""Smallest angles of tables. Few data need small ones, and those cost more, so they are made when they are met. All but
the first and the last serve angles up to the one before: they take half a second at any deviation, where a table for
all angles takes two seconds at deviations of some thousands, and many times that if σ oscillates."""

SMALLEST_AWAY = (0.4, 0.2, 0.1, 0.05, 0.025)
"""The same for σ with a break other than zero. All but the first serve angles up to the one before; each takes about
twice as many deviations and four times as long, so that the next one would take longer than most pairs are worth."""


@dataclass(frozen=True, eq=False)
class DualTable:
    """k and k′ of one activation for deviations in a range.

    Attributes
    ----------
    activation
        The activation.
    homogeneity
        The degree p of σ(λu) = λ^p σ(u) for λ > 0, or None; then the range is a single deviation and serves all.
    fold
        +1 if k is even in r, -1 if it is odd (then θ runs over [0, π/2] only), else 0.
    power
        The power of θ that was split off: 2, or 1 when σ jumps.
    log_norm, log_slope, mean
        Series of log n, log d and E[σ(cz)]/n.
    table
        The functions W, H and, unless σ jumps, K.
    error
        The largest error of k/(n1 n2) and k′/(d1 d2) at points on which the table was not built.
    """

    activation: Activation
    homogeneity: float | None
    fold: int
    power: int
    log_norm: Series
    log_slope: Series
    mean: Series
    table: Table
    error: float

    @property
    def has_slope(self) -> bool:
        """Whether k′ is a function on all of [0, π]; it is not when σ jumps."""
        return self.power == 2

    @property
    def range(self) -> Range:
        """The range of log c; everything for a homogeneous σ."""
        return Range(-np.inf, np.inf) if self.homogeneity is not None else self.table.range

    @property
    def smallest(self) -> float:
        """The smallest angle that the table serves."""
        panels = zip(self.table.edges, self.table.panels, strict=False)
        return next(float(edge) for edge, panel in panels if panel is not None)

    def norms(self, c: Array) -> Array:
        """n(c) = E[σ(cz)²]^(1/2)."""
        return self._radical(self.log_norm, c, 0)

    def slope_norms(self, c: Array) -> Array:
        """d(c) = E[σ′(cz)²]^(1/2)."""
        return self._radical(self.log_slope, c, -1)

    def means(self, c: Array) -> Array:
        """E[σ(cz)]."""
        return np.asarray(self.mean(np.log(c)) * self.norms(c))

    def _radical(self, series: Series, c: Array, shift: int) -> Array:
        if self.homogeneity is not None:
            return np.asarray(np.exp(series.coefficients[0]) * c ** (self.homogeneity + shift))
        self._check(c)
        return np.asarray(np.exp(series(np.log(c))))

    def _check(self, c: Array) -> None:
        if len(c) and not self.range.covers(Range(float(np.log(np.min(c))), float(np.log(np.max(c))))):
            raise BadInput(
                f"the table of {self.activation} is for deviations in [{np.exp(self.range.low):.6g}, "
                f"{np.exp(self.range.high):.6g}] and was asked for [{np.min(c):.6g}, {np.max(c):.6g}]; ask for a table "
                "of the wider range"
            )

    def __call__(self, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
        """Both k and k′ for flat arrays; k′ is NaN when σ jumps, both are NaN where a panel is missing."""
        self._check(c1)
        self._check(c2)
        far = (theta > np.pi / 2) if self.fold else np.zeros(len(theta), dtype=bool)
        angle = np.where(far, np.pi - theta, theta)
        logs = np.log(c1), np.log(c2)
        parts = self.table(*logs, angle)
        lost = (logs[0] - logs[1]) ** 2 * parts[0] + angle**self.power * parts[1]
        k = self.norms(c1) * self.norms(c2) * (1 - lost)
        k = np.where(far, self.fold * k, k)
        if not self.has_slope:
            return k, np.full(len(theta), np.nan)
        kdot = self.slope_norms(c1) * self.slope_norms(c2) * parts[2]
        return k, np.where(far, -self.fold * kdot, kdot)
