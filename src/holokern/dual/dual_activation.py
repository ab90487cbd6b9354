"""`DualActivation`: everything that networks ask of an activation, as functions of deviations and angles.

For normal u, v with deviations c1, c2 and correlation cos θ it knows k = E[σ(u)σ(v)] and k′ = E[σ′(u)σ′(v)]: at points,
on grids, as tables over a range of deviations, and where a deviation is zero.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from holokern.activation import Activation
from holokern.activation import activation as as_activation
from holokern.dual.closed.hinges import Pieces, pieces_of
from holokern.dual.closed.method import closed_moments
from holokern.dual.closed.wedge import HingedActivation, HingeSide, hinge_sides
from holokern.dual.defined import check_defined
from holokern.dual.dual import dual
from holokern.dual.forms.form import DistanceForm, LineForm
from holokern.dual.forms.gaussian_form import gaussian_form
from holokern.dual.forms.pair_form import PairForm, pair_form
from holokern.dual.forms.wave_form import wave_form
from holokern.dual.methods.initial import hermite_moments
from holokern.dual.quadrature.line import mean
from holokern.dual.quadrature.method import norms
from holokern.dual.quadrature.profile import Limits, limit_at_zero, profile_of
from holokern.dual.quadrature.sides import Side
from holokern.dual.roughness import fold_of, has_infinite_slope, is_rough_at_ends
from holokern.dual.tables.build import build_table
from holokern.dual.tables.direct import grid_values, losses
from holokern.dual.tables.dual_table import SMALLEST, SMALLEST_AWAY, DualTable
from holokern.dual.tables.kept_rows import KeptRows
from holokern.dual.tables.kept_tables import KeptTables, stored_number
from holokern.dual.tables.samples import between_breaks, moments_of_many
from holokern.dual.value import DualValue
from holokern.errors import BadInput, PrecisionLost, Unsupported
from holokern.numeric import Array, Range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRID = 4
"""Tables end at multiples of a quarter of an octave, so that later data meet tables that are there."""

_STRAIN = 2e4
"""How many times larger than n1 n2 the terms of hinges may be: k/(n1 n2) was off by 1e-11 then."""

_DEGREES = 12
"""Degrees of homogeneous activations that are looked for are multiples of 1/12, such as 1, 1/2 and 2/3."""

_LOWEST, _HIGHEST = -690.0, 690.0
"""Logarithms of deviations whose squares are floats."""


@dataclass(frozen=True, eq=False)
class DualActivation:
    """The dual of an activation; make it with `dual_activation`.

    Examples
    --------
    >>> d = dual_activation("relu")
    >>> d.homogeneity, d.fold, d.norms(np.array([2.0])).round(6).tolist()
    (1.0, 0, [1.414214])
    """

    activation: Activation

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, DualActivation) and self.activation == other.activation

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Hashing an expression walks its tree, and networks are looked up often.
        return hash(self.activation)

    def __reduce__(self) -> tuple[object, ...]:
        return dual_activation, (self.activation,)

    @cached_property
    def fold(self) -> int:
        """+1 if k is even in the correlation, -1 if it is odd, else 0."""
        return fold_of(self.activation)

    @cached_property
    def jumps(self) -> bool:
        """Whether σ jumps or is as steep as a root; then k′ is infinite on the diagonal: there is no tangent kernel."""
        return has_infinite_slope(self.activation)

    def require_tangent(self) -> None:
        """Refuse σ without a tangent kernel.

        Raises Unsupported if σ jumps, or is as steep as a root.
        """
        if self.jumps:
            reason = "jumps" if self.activation.jump_order == 0 else "is as steep as a root"
            raise Unsupported(
                f"the NTK of a network with {self.activation} does not exist: the activation {reason}, so k′ is "
                "infinite on the diagonal; use nngp, or a continuous activation with a bounded slope"
            )

    @cached_property
    def kinks(self) -> bool:
        """Whether σ has a break anywhere."""
        return len(self.activation.breaks) > 0

    @cached_property
    def is_rough(self) -> bool:
        """Whether k is not smooth next to θ = 0 and π: σ breaks away from zero, or like a fractional power at zero."""
        return is_rough_at_ends(self.activation)

    @cached_property
    def homogeneity(self) -> float | None:
        """The p with σ(λu) = λ^p σ(u) for all λ > 0 at sample points, to rounding; None if there is none.

        It is kept on disk: to evaluate an error function, scipy takes longer to load than a table to read.
        """
        found = stored_number("homogeneity", self.activation, self._power)
        return None if np.isnan(found) else found

    def _power(self) -> float:
        """The same, or NaN."""
        sigma = self.activation
        u = np.concatenate([-np.geomspace(0.01, 30, 23)[::-1], np.geomspace(0.01, 30, 23)])
        with np.errstate(all="ignore"):
            base, doubled, other = sigma(u), sigma(2.0 * u), sigma(0.37 * u)
        if not np.all(np.isfinite([base, doubled, other])) or not np.any(base):
            return np.nan
        p = float(np.round(_DEGREES * np.log2(np.max(np.abs(doubled)) / np.max(np.abs(base))))) / _DEGREES
        same = all(
            np.all(np.abs(scaled - factor**p * base) <= 1e-14 * np.abs(factor**p * base))
            for factor, scaled in ((2.0, doubled), (0.37, other))
        )
        return p if same and p >= 0 else np.nan

    @cached_property
    def hinges(self) -> Pieces | None:
        """σ as a polynomial and hinges if it is piecewise polynomial with a break other than zero, else None."""
        try:
            return pieces_of(self.activation) if self.is_rough else None
        except Unsupported:
            return None

    @cached_property
    def pair_form(self) -> PairForm | None:
        """The closed form of k and k′ in distances, which needs no table; None if σ has no such form."""
        return pair_form(self.activation, self.homogeneity)

    @cached_property
    def line_form(self) -> LineForm | None:
        """The closed form that takes lines of pairs through σ without tables; None if σ has no such form."""
        return self.pair_form or wave_form(self.activation) or gaussian_form(self.activation)

    @cached_property
    def smooth_form(self) -> DistanceForm | None:
        """The closed form of a smooth σ that serves all pairs in place of tables; None if there is none."""
        form = self.line_form
        if isinstance(form, PairForm):
            return form if form.is_smooth else None
        return form if isinstance(form, DistanceForm) else None

    @cached_property
    def limits(self) -> Limits:
        """The limits as the deviation goes to zero.

        Examples
        --------
        >>> dual_activation("sigmoid").limits
        Limits(norm=0.5, slope=0.25, mean=0.5, mean_slope=0.25)
        """
        limit, ends = limit_at_zero(self.activation), np.array([1.0, -1.0])
        right, left = (float(v) for v in limit.value(ends))
        slopes = np.asarray(limit.slope(ends), dtype=float)
        # A jump has no slope; a slope that is infinite at zero leaves the limit without its first-order term.
        slopes = slopes if not self.jumps and np.all(np.isfinite(slopes)) else np.zeros(2)
        root = float(np.sqrt((right**2 + left**2) / 2))
        return Limits(root, float(np.sqrt(np.mean(slopes**2))), (right + left) / 2, float(np.mean(slopes)))

    def norms(self, c: Array) -> Array:
        """n(c) = E[σ(cz)²]^(1/2) for deviations c > 0."""
        return self._rows.moments(c, 0, lambda some: self._moment(some, 0))

    def slope_norms(self, c: Array) -> Array:
        """d(c) = E[σ′(cz)²]^(1/2); 1 where σ jumps."""
        if self.jumps:
            return np.ones(len(c))
        return self._rows.moments(c, 1, lambda some: self._moment(some, 1))

    def means(self, c: Array) -> Array:
        """E[σ(cz)]."""
        return self._rows.moments(c, 2, lambda some: self._moment(some, 2))

    def _moment(self, c: Array, which: int) -> Array:
        """The norms, those of the slope or the means: by formulas where they keep their digits, else by integrals."""
        found: Array = closed_moments(self.activation, c)[which]
        rest = np.isnan(found)
        if np.any(rest):
            some, sigma = c[rest], self.activation
            found[rest] = mean(Side.of(profile_of(sigma), some)) if which == 2 else norms(sigma, some, slope=which == 1)
        return found

    def moments_in_range(self, c: Array) -> tuple[Array, Array, Array]:
        """Norms, norms of the slope and means, quicker for many deviations; the last bits depend on all of them."""
        form = self.smooth_form
        if form is not None:
            return form.norms(c), form.slope_norms(c), form.means(c)
        with suppress(PrecisionLost):
            return moments_of_many(self.activation, c)
        return self._moment(c, 0), np.ones(len(c)) if self.jumps else self._moment(c, 1), self._moment(c, 2)

    @cached_property
    def unit_norm(self) -> float:
        """E[σ(z)²]^(1/2) for a standard normal z, which every network needs; it is kept on disk.

        Examples
        --------
        >>> round(dual_activation("relu").unit_norm ** 2, 12)
        0.5
        """
        return stored_number("norm", self.activation, lambda: float(self.norms(np.ones(1))[0]))

    @cached_property
    def _rows(self) -> KeptRows:
        return KeptRows(self.activation)

    def hermite(self, c: Array, count: int) -> Array:
        """E[σ(cz) h_n(z)] with normalised Hermite polynomials h_n for n < ``count``, one row for each deviation.

        Examples
        --------
        >>> dual_activation("relu").hermite(np.array([1.0]), 3).round(6).tolist()
        [[0.398942, 0.5, 0.282095]]
        """
        return np.asarray(between_breaks(count, self.activation, c)[0][0])

    def mean_slopes(self, c: Array) -> Array:
        """E[σ′(cz)]."""
        return np.asarray(hermite_moments(self.activation, c, 2).values[:, 1] / c)

    def values(self, c1: Array, c2: Array, theta: Array) -> DualValue:
        """The values of k and k′ with errors at points, by the method that `dual` chooses."""
        return dual(self.activation, c1, c2, theta=theta)

    def grid(self, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
        """Both k and k′ for all pairs of deviations and all angles, of shape (len(c1), len(c2), len(theta)).

        k′ is NaN when σ jumps.

        Examples
        --------
        >>> c = np.array([1.0, 2.0])
        >>> k, kdot = dual_activation("relu").grid(c, c, np.array([np.pi / 3]))
        >>> k[:, :, 0].round(6).tolist(), kdot[0, 0].round(12).tolist()
        ([[0.304499, 0.608998], [0.608998, 1.217996]], [0.333333333333])
        """
        return grid_values(self.activation, self._rows.at, c1, c2, theta)

    def losses(self, c1: Array, c2: Array, theta: Array) -> tuple[Array, Array]:
        """1 - |k|/(n1 n2) and k′ pair by pair; the first keeps its digits for points that nearly coincide.

        For an even or odd σ the angle counts from the nearer of 0 and π, and k′ is that of the folded angle.
        """
        return losses(self.activation, self._rows.at, (self.norms(c1), self.norms(c2)), c1, c2, theta)

    def hinge_sides(
        self, first: Array, second: Array, rounding: tuple[Array, Array] | None = None
    ) -> tuple[HingeSide, HingeSide]:
        """What the machine code of piecewise polynomials needs to know of two sets of deviations.

        ``rounding`` is by how much true deviations exceed these, relative to them.
        """
        if self.hinges is None:
            raise Unsupported(f"{self.activation} is not piecewise polynomial with a break other than zero")
        sides = hinge_sides(self.activation, self.hinges, (first, second), rounding)
        return sides[0], sides[1]

    def hinge_tile(self, theta: Array, first: HingeSide, second: HingeSide) -> tuple[Array, Array]:
        """1 - |k|/(n1 n2) and k′ of a tile of a piecewise polynomial σ, in closed form; rows and columns are sides.

        The first is NaN for pairs whose terms cancel too much: those of large deviations if σ is bounded.
        """
        from holokern.dual.closed.wedge_sums import wedge_tile

        lost, slope = np.empty_like(theta), np.empty_like(theta)
        sigma = HingedActivation(self.fold, self.jumps, self._mirrored, first.jumps)
        wedge_tile(sigma, theta, first.arrays, second.arrays, lost, slope)
        if np.max(first.strain) * np.max(second.strain) > _STRAIN:
            lost[np.multiply.outer(first.strain, second.strain) > _STRAIN] = np.nan
        return lost, slope

    @cached_property
    def _mirrored(self) -> bool:
        """Whether the hinges on one side of zero are mirror images of the others."""
        hinges = {(h.at, h.sign) for h in (self.hinges.hinges if self.hinges else ())}
        return self.fold != 0 and all(at > 0 and (at, -sign) in hinges for at, sign in hinges)

    def plot(self, c1: float = 1.0, c2: float = 1.0, ax: Axes | None = None) -> Axes:
        """Draw k and k′ against the correlation with matplotlib, into ``ax`` or into a new figure."""
        from holokern.dual.plot import plot

        return plot(self.activation, c1, c2, ax)

    @property
    def smallest_angles(self) -> tuple[float, ...]:
        """The smallest angles that tables can serve, the cheapest table first."""
        return SMALLEST_AWAY if self.is_rough else SMALLEST

    def table(self, low: float, high: float, smallest: float = 0.0) -> DualTable:
        """A table for deviations in [low, high] and angles between ``smallest`` and its supplement.

        If the table already exists in memory or on disk, it is used again.

        Raises
        ------
        Unsupported
            If σ has a break other than zero, or a fractional power at zero, and small angles are wanted.
        PrecisionLost
            If σ is too rough for a table on this range.

        Examples
        --------
        >>> table = dual_activation("relu").table(0.5, 2.0)
        >>> k, kdot = table(np.array([1.0]), np.array([2.0]), np.array([np.pi / 3]))
        >>> k.round(6).tolist(), kdot.round(12).tolist(), table.error < 1e-13
        ([0.608998], [0.333333333333], True)
        """
        found = self._table(low, high, smallest, False)
        assert found is not None
        return found

    def short_table(self, low: float, high: float, smallest: float = 0.0) -> DualTable | None:
        """The same table, or None if it has so many terms that sums over them are long.

        This is known long before the table is finished.

        Examples
        --------
        >>> dual_activation("tanh").short_table(1.0, 2.0) is dual_activation("tanh").table(1.0, 2.0)
        True
        """
        return self._table(low, high, smallest, True)

    def _table(self, low: float, high: float, smallest: float, short: bool) -> DualTable | None:
        if not 0 < low <= high < np.inf:
            raise BadInput(f"[{low}, {high}] is not a range of standard deviations; pass 0 < low <= high")
        if not smallest and self.is_rough:
            raise Unsupported(
                f"{self.activation} has a break other than zero or a root at zero, so k is not smooth next to θ = 0; "
                f"ask for smallest={self.smallest_angles[-1]}, or for values pair by pair"
            )
        if smallest not in self.smallest_angles:
            raise BadInput(f"smallest = {smallest}; choose one of {self.smallest_angles}")
        span = self._rounded(low, high)
        build = partial(build_table, self.activation, span, self.homogeneity, smallest, short)
        return _tables.get(self.activation, span, smallest, build, short)

    def _rounded(self, low: float, high: float) -> Range:
        if self.homogeneity is not None:
            return Range(0.0, 0.0)
        if high <= low * (1 + 1e-9):
            return Range(float(np.log(low)), float(np.log(low)))
        step = np.log(2) / _GRID
        ends = np.floor(np.log(low) / step - 0.05) * step, np.ceil(np.log(high) / step + 0.05) * step
        return Range(float(max(ends[0], _LOWEST)), float(min(ends[1], _HIGHEST)))


@lru_cache(maxsize=256)
def _made(sigma: Activation, _shown: str) -> DualActivation:
    """One object for each activation and way to print it, since activations of different names may be equal."""
    return DualActivation(sigma)


def dual_activation(activation: object) -> DualActivation:
    """The dual of an activation, a name, an expression …; equal activations give the same object.

    Raises
    ------
    BadInput
        If σ is not real, or E[σ²] is infinite.

    Examples
    --------
    >>> dual_activation("gelu") is dual_activation("gelu")
    True
    """
    sigma = as_activation(activation)
    check_defined(sigma)
    return _made(sigma, repr(sigma))


_tables = KeptTables()
