"""How tables are made: samples of all pairs of deviations at some angles, panel by panel, and a check of the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev

from holokern.activation import Activation
from holokern.dual.roughness import fold_of, has_infinite_slope, is_rough_at_ends
from holokern.dual.sampling.blur import BlurredRows
from holokern.dual.sampling.correlation import Correlation
from holokern.dual.sampling.mehler import HermiteRows, coefficients_on_mesh, terms_needed
from holokern.dual.tables.dual_table import SMALLEST, SMALLEST_AWAY, DualTable
from holokern.dual.tables.rows import Rows, blurred_rows, by_quadrature, checking_rows, hermite_rows, mesh_rows
from holokern.errors import PrecisionLost
from holokern.numeric import (
    MANY_TERMS,
    Array,
    Range,
    Series,
    Table,
    Tensor,
    chebyshev_basis,
    chebyshev_matrix,
    chebyshev_nodes,
    compressed_together,
    fit_angles,
    graded_edges,
    how_many_fit,
    legendre_rule,
)

_SERIES_FROM = 0.1
"""From here on tables for all angles use Hermite coefficients: 7300 of them, and four times as many at half of it."""

_WIDEST = 0.4
"""The first panel ends here, or earlier if σ(cx) varies on a smaller scale."""

_COUNTS: tuple[int, ...] = (16, 24, 36, 54)
"""Terms in the angle that are tried."""

_TAIL = 2e-14
"""The size of the last terms in the angle that counts as negligible."""

_NEGLIGIBLE, _ROUNDING = 1e-16, 1e-15
"""Singular values of tensors, and eigenvalues of W, below this, relative to the largest, are left out."""

_MANY = 200
"""Terms in log c from which on it pays to look for functions that do not count."""

_ARRAYS = 3
"""Of all samples of a panel, in memory at a time: values, coefficients, and those of the mirrored panel."""

_OF_SINE = 18
"""Terms that the sine adds to a product."""

_WRONG = 1e-11
"""A table with a larger error is refused."""


def build_table(
    sigma: Activation, span: Range, homogeneity: float | None, smallest: float, short: bool = False
) -> DualTable | None:
    """Make a table for angles between ``smallest`` and its supplement; None if it must be short and cannot be.

    Raises PrecisionLost if the activation is too rough on this range.
    """
    span = Range(0.0, 0.0) if homogeneity is not None else span
    key = sigma, span, smallest
    rows = _too_many.pop(key, None)
    _too_many.clear()
    if rows is None:
        rows = _sampled(*key)
    if short and len(rows.functions) > MANY_TERMS:
        _too_many[key] = rows
        return None
    return _Builder(sigma, rows, homogeneity, smallest).build()


_too_many: dict[tuple[Activation, Range, float], Rows] = {}
"""The rows of the last table that was too long: it is often asked for next. Tables are made one at a time."""


def _sampled(sigma: Activation, span: Range, smallest: float) -> Rows:
    if smallest == 0:
        return mesh_rows(sigma, span)
    is_blurred = smallest < SMALLEST_AWAY[0] and is_rough_at_ends(sigma)
    return (blurred_rows if is_blurred else hermite_rows)(sigma, span, smallest)


@dataclass(frozen=True, eq=False)
class _Builder:
    sigma: Activation
    rows: Rows
    homogeneity: float | None
    smallest: float

    def build(self) -> DualTable:
        rows, sigma = self.rows, self.sigma
        to_series, span = rows.nodes.series, rows.nodes.range
        safe = np.where(rows.slopes > 0, rows.slopes, 1.0)
        gap, edges = Tensor(*self.gap()), self.edges()
        if isinstance(rows.correlation, Correlation):
            # This is known long before the panels.
            self.require(self.gap_error(gap))
        made = DualTable(
            activation=sigma,
            homogeneity=self.homogeneity,
            fold=fold_of(sigma),
            power=self.power,
            log_norm=Series(span, to_series(np.log(rows.norms))),
            log_slope=Series(span, to_series(np.log(safe))),
            mean=Series(span, to_series(rows.means / rows.norms)),
            table=Table(span, edges, self.panels(edges, gap), flat=1),
            error=np.nan,
        )
        return replace(made, error=self.require(self.measured_error(made)))

    def require(self, error: float) -> float:
        """An error that is small enough.

        Raises PrecisionLost if it is not.
        """
        if error <= _WRONG:
            return error
        ends = self.rows.nodes.range.ends
        raise PrecisionLost(
            f"{self.sigma}: the table for deviations from {ends[0]:.4g} to {ends[1]:.4g} is off by "
            f"{error:.1e}; rescale the data, or use method='quadrature'"
        )

    @property
    def jumps(self) -> bool:
        return has_infinite_slope(self.sigma)

    @property
    def power(self) -> int:
        return 1 if self.jumps else 2

    @property
    def is_blurred(self) -> bool:
        """Whether σ breaks away from zero and the table is for small angles."""
        return isinstance(self.rows.correlation, BlurredRows)

    def edges(self) -> Array:
        """Panels that double from the smallest angle, or from the scale on which the mesh resolves σ(cx)."""
        scale = self.smallest or self.rows.scale
        halvings = max(0, int(np.ceil(np.log2(_WIDEST / scale) - 1e-9)))
        return graded_edges(_WIDEST * 0.5**halvings, fold_of(self.sigma) != 0)

    def panels(self, edges: Array, gap: Tensor) -> tuple[tuple[Tensor, ...] | None, ...]:
        count, folded = len(edges) - 1, fold_of(self.sigma) != 0
        found: dict[int, tuple[Tensor, ...]] = {}
        half = [t for t in range(count) if edges[t] < np.pi / 2 - 1e-9]
        functions = self.rows.nodes.series(self.rows.functions)
        start, counts = np.zeros(()), _COUNTS
        # Tables for some of the small angles have one panel.
        last = 1.5 * self.smallest if 0 < self.smallest < SMALLEST[0] else np.inf
        for t in half:
            if edges[t] < self.smallest - 1e-12 or edges[t] > last:
                continue
            here, there = self.fitted(edges[t], edges[t + 1], counts)
            # The next panel looks the same to functions that are half as wide.
            counts = tuple(count for count in _COUNTS if count >= here[-1].shape[2])
            if self.smallest == 0 and not self.jumps:
                here[0], start = self.bend(here[1], edges[t], edges[t + 1], start)
            found[t] = (gap, *(Tensor(functions, part).trimmed() for part in here))
            # The panel in the middle is its own mirror image.
            if not folded and t != half[-1]:
                found[count - 1 - t] = (gap, *(Tensor(functions, part).trimmed() for part in there))
        if len(functions) > _MANY:
            # Away from θ = 0 and π fewer functions count than were sampled.
            found = dict(zip(found, compressed_together(list(found.values()), 1, _NEGLIGIBLE), strict=True))
        return tuple(found.get(t) for t in range(count))

    def fitted(self, low: float, high: float, counts: tuple[int, ...]) -> tuple[list[Array], list[Array]]:
        """H, and K unless σ jumps, on a panel and on its mirror image, with one of these numbers of terms."""
        start, power, functions = self.at_zero(), self.power, 1 + (not self.jumps)

        def sample(theta: Array) -> Array:
            shape = (2, functions, *start.shape, len(theta))
            what = f"{self.sigma} at {len(start)} deviations and {len(theta)} angles"
            how_many_fit(8 * _ARRAYS * float(np.prod(shape)), 1, what)
            result = np.empty(shape)
            for j, t in enumerate(theta):
                pair = self.correlated(min(float(t), float(np.pi - t)))
                for side, angle in enumerate((t, np.pi - t)):
                    group = pair[int(angle > np.pi / 2)]
                    result[side, 0, :, :, j] = (start - group[0]) / angle**power
                    result[side, 1:, :, :, j] = group[1:]
            return result

        # The functions are of order one, and the core has as much weight as there are nodes. H counts with the power
        # of θ; on tables that begin at zero it is made anew from K.
        negligible = np.full((1, functions, 1, 1, 1), _TAIL * len(self.rows.functions))
        negligible[:, 0] *= high**-power if self.jumps or self.smallest else np.inf
        coefficients, settled = fit_angles(sample, low, high, counts, negligible)
        if not settled:
            raise PrecisionLost(
                f"{self.sigma}: {_COUNTS[-1]} terms do not resolve angles from {low:.3g} to {high:.3g}; rescale the "
                "data, or use method='quadrature'"
            )
        # A mirrored panel runs backwards, so its odd terms change sign.
        turned = coefficients[1] * (-1.0) ** np.arange(coefficients.shape[-1])
        return list(coefficients[0]), list(turned)

    def correlated(self, theta: float) -> tuple[Array, Array]:
        """Correlations at θ and π - θ; by the series where it is quicker."""
        series = self.series if theta >= _SERIES_FROM else None
        return (self.rows.correlation if series is None else series).at(theta)

    @cached_property
    def series(self) -> HermiteRows | None:
        """The Hermite coefficients of rows on a mesh, None for other rows."""
        rows = self.rows.correlation
        if not isinstance(rows, Correlation):
            return None
        return HermiteRows(coefficients_on_mesh(rows.mesh, rows.values, terms_needed(_SERIES_FROM)))

    def at_zero(self) -> Array:
        """What k is subtracted from: k at θ = 0, or n1 n2 if W is left out."""
        rows = self.rows.correlation
        if isinstance(rows, Correlation):
            return np.asarray(rows.aligned()[0][0])
        return np.multiply.outer(self.rows.constant, self.rows.constant)

    def bend(self, slope: Array, low: float, high: float, start: Array) -> tuple[Array, Array]:
        """H from K on a panel: c1 c2 ∫ k′ sin over (0, θ), divided by n1 n2 θ²; and that integral to the panel's end.

        ``start`` is the integral up to the panel.
        """
        count = slope.shape[2]
        finer = count + _OF_SINE
        theta = (low + high + (high - low) * chebyshev_nodes(finer)) / 2
        if low == 0:
            s, w = legendre_rule(finer)
            at = np.multiply.outer(np.append(theta, high), s)
            basis = chebyshev_basis(2 * at / high - 1, count)
            means = np.einsum("pqm,tsm,ts->pqt", slope, basis, w * s * np.sinc(at / np.pi), optimize=True)
            values, end = means[:, :, :-1], means[:, :, -1] * high**2
        else:
            basis = chebyshev_basis(chebyshev_nodes(finer), count)
            product = (slope @ (basis * np.sin(theta)[:, None]).T) @ chebyshev_matrix(finer).T * (high - low) / 2
            integral = chebyshev.chebint(product, lbnd=-1, axis=2)
            total = start[..., None] + integral @ chebyshev_basis(np.append(chebyshev_nodes(finer), 1.0), finer + 1).T
            values, end = total[:, :, :-1] / theta**2, total[:, :, -1]
        coefficients = values @ chebyshev_matrix(finer).T
        functions = self.rows.functions
        factor = np.exp(self.rows.nodes.logs) * self.rows.slopes / self.rows.norms
        moved = functions.T @ (factor[:, None] * functions)
        return np.einsum("pa,qb,abm->pqm", moved, moved, coefficients, optimize=True), end

    def gap(self) -> tuple[Array, Array]:
        """W = ½E[((s1 - s2)/δ)²] for s = σ(cx)/n(c), by the derivative in ℓ where δ = 0."""
        rows, count = self.rows, len(self.rows.functions)
        if count == 1 or not isinstance(rows.correlation, Correlation):
            # Away from θ = 0 all of 1 - k/(n1 n2) is in H.
            return np.ones((1, 1)), np.zeros((1, 1, 1))
        logs = rows.nodes.logs
        aligned = rows.correlation.aligned()[0][0]
        sizes, vectors = np.linalg.eigh((aligned + aligned.T) / 2)
        points = rows.functions @ (vectors * np.sqrt(np.maximum(sizes, 0.0)))
        rate = rows.nodes.derivative(points)
        delta = logs[:, None] - logs + np.eye(count)
        values = np.empty((count, count))
        for a in range(count):
            quotient = (points[a] - points) / delta[a][:, None]
            quotient[a] = rate[a]
            values[a] = np.sum(quotient**2, axis=1) / 2
        # On the diagonal W grows like the square of c if σ oscillates, and errors should not: W is c₁c₂ times another.
        scale = np.sqrt(np.diagonal(values))
        values = values / np.multiply.outer(scale, scale)
        sizes, vectors = np.linalg.eigh((values + values.T) / 2)
        kept = np.abs(sizes) > _ROUNDING * np.max(np.abs(sizes))
        basis = rows.nodes.series(scale[:, None] * vectors[:, kept])
        return basis, np.diag(sizes[kept])[:, :, None]

    @cached_property
    def tested(self) -> Array:
        """Deviations at which the table is checked; the ends of the range are where errors are largest."""
        span, random = self.rows.nodes.range, np.random.default_rng(20261)
        inside = [0.0] if span.is_point else [0.0, *random.random(1 if self.is_blurred else 3), 1.0]
        return np.exp(span.low + (span.high - span.low) * np.array(inside))

    @cached_property
    def checking(self) -> Correlation | HermiteRows:
        """Their rows, on a finer mesh."""
        return checking_rows(self.sigma, self.tested, self.smallest)

    def gap_error(self, gap: Tensor) -> float:
        """The largest error of k/(n1 n2) at θ = 0."""
        assert isinstance(self.checking, Correlation)
        exact, logs = self.checking.aligned()[0][0], np.log(self.tested)
        norms = np.sqrt(np.diagonal(exact))
        basis = chebyshev_basis(self.rows.nodes.range.place(logs), len(gap.functions)) @ gap.functions
        lost = (logs[:, None] - logs) ** 2 * (basis @ gap.core[:, :, 0] @ basis.T)
        return float(np.max(np.abs(1 - lost - exact / np.multiply.outer(norms, norms))))

    def measured_error(self, made: DualTable) -> float:
        """The largest difference to a finer mesh or to quadrature, at points that were not used."""
        random, c = np.random.default_rng(20262), self.tested
        check = by_quadrature(self.sigma, c) if self.is_blurred else self.checking.at
        angles = []
        for t, tensors in enumerate(made.table.panels):
            if tensors is not None and made.table.edges[t] < np.pi / 2 - 1e-9:
                low, high = made.table.edges[t], min(made.table.edges[t + 1], np.pi / 2)
                angles.append(float(low + (high - low) * random.random()))
        index = np.indices((len(c), len(c))).reshape(2, -1)
        scales = [made.norms(c), made.slope_norms(c)]
        worst = 0.0
        for theta in angles:
            for angle, exact in zip((theta, np.pi - theta), check(theta), strict=True):
                found = made(c[index[0]], c[index[1]], np.full(index.shape[1], angle))
                for got, true, scale in zip(found, exact, scales, strict=False):
                    difference = np.abs(got.reshape(true.shape) - true) / scale[:, None] / scale
                    worst = max(worst, float(np.max(difference)))
        return worst
