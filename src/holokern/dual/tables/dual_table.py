"""`DualTable`: k and k′ of one activation over a range of deviations, ready for evaluation in bulk.

With ℓ = log c, n(c) = k(c, c, θ=0)^(1/2), d(c) = k′(c, c, θ=0)^(1/2) and δ = ℓ1 - ℓ2 the functions of the table are

    k = n1 n2 (1 - δ² W(ℓ1, ℓ2) - θ^p H(ℓ1, ℓ2, θ)),    k′ = d1 d2 K(ℓ1, ℓ2, θ),

with p = 2, or p = 1 when σ jumps. So 1 - k/(n1 n2), from which the next layer has its angle, keeps its digits for
points that nearly coincide. Near θ = 0, H comes from K by [Price1958]: k(0) - k(θ) = c1 c2 ∫ k′ sin over (0, θ).
"""

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
from holokern.dual.tables.rows import Rows, blurred_rows, by_quadrature, checking_rows, hermite_rows, mesh_rows
from holokern.errors import BadInput, PrecisionLost
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

SMALLEST = (0.4, 0.2, 0.1, 0.0)
"""Smallest angles of tables. Few data need small ones, and those cost more, so they are made when they are met. All but
the first and the last serve angles up to the one before: they take half a second at any deviation, where a table for
all angles takes half a minute at deviations of some thousands."""

SMALLEST_AWAY = (0.4, 0.2, 0.1, 0.05, 0.025)
"""The same for σ with a break other than zero. All but the first serve angles up to the one before; each takes about
twice as many deviations and four times as long, so that the next one would take longer than most pairs are worth."""

_SERIES_FROM = 0.1
"""From here on tables for all angles use Hermite coefficients: 7300 of them, and four times as many at half of it."""

_WIDEST = 0.4
"""The first panel ends here, or earlier if σ(cx) varies on a smaller scale."""

_COUNTS = (16, 24, 36, 54)
"""Terms in the angle that are tried."""

_TAIL = 2e-14
"""The size of the last terms in the angle that counts as negligible."""

_NEGLIGIBLE = 1e-16
"""Eigenvalues of W and singular values of tensors below this, relative to the largest, are left out."""

_MANY = 200
"""Terms in log c from which on it pays to look for functions that do not count."""

_ARRAYS = 3
"""Of all samples of a panel, in memory at a time: values, coefficients, and those of the mirrored panel."""

_OF_SINE = 18
"""Terms that the sine adds to a product."""

_WRONG = 1e-11
"""A table with a larger error is refused."""


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
        edges = self.edges()
        made = DualTable(
            activation=sigma,
            homogeneity=self.homogeneity,
            fold=fold_of(sigma),
            power=self.power,
            log_norm=Series(span, to_series(np.log(rows.norms))),
            log_slope=Series(span, to_series(np.log(safe))),
            mean=Series(span, to_series(rows.means / rows.norms)),
            table=Table(span, edges, self.panels(edges), flat=1),
            error=np.nan,
        )
        error = self.measured_error(made)
        if not error <= _WRONG:
            raise PrecisionLost(
                f"{sigma}: the table for deviations from {span.ends[0]:.4g} to {span.ends[1]:.4g} is off by "
                f"{error:.1e}; rescale the data, or use method='quadrature'"
            )
        return replace(made, error=error)

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

    def panels(self, edges: Array) -> tuple[tuple[Tensor, ...] | None, ...]:
        count, folded = len(edges) - 1, fold_of(self.sigma) != 0
        found: dict[int, tuple[Tensor, ...]] = {}
        half = [t for t in range(count) if edges[t] < np.pi / 2 - 1e-9]
        gap = Tensor(*self.gap())
        functions = self.rows.nodes.series(self.rows.functions)
        start = np.zeros(())
        # Tables for some of the small angles have one panel.
        last = 1.5 * self.smallest if 0 < self.smallest < SMALLEST[0] else np.inf
        for t in half:
            if edges[t] < self.smallest - 1e-12 or edges[t] > last:
                continue
            here, there = self.fitted(edges[t], edges[t + 1])
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

    def fitted(self, low: float, high: float) -> tuple[list[Array], list[Array]]:
        """H, and K unless σ jumps, on a panel and on its mirror image."""
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
        coefficients, settled = fit_angles(sample, low, high, _COUNTS, negligible)
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
        series, alone = rows.nodes.series, len(rows.nodes.panels) == 1
        # Series have smaller errors than values at the nodes, but there are many terms on several panels.
        values = series(series(values).T) if alone else values
        sizes, vectors = np.linalg.eigh((values + values.T) / 2)
        kept = np.abs(sizes) > _NEGLIGIBLE * np.max(np.abs(sizes))
        basis = vectors[:, kept] if alone else series(vectors[:, kept])
        return basis, np.diag(sizes[kept])[:, :, None]

    def measured_error(self, made: DualTable) -> float:
        """The largest difference to a finer mesh or to quadrature, at points that were not used."""
        random = np.random.default_rng(20261)
        span = self.rows.nodes.range
        # The ends of the range are where errors are largest.
        inside = [0.0] if span.is_point else [0.0, *random.random(1 if self.is_blurred else 3), 1.0]
        c = np.exp(span.low + (span.high - span.low) * np.array(inside))
        check = by_quadrature(self.sigma, c) if self.is_blurred else checking_rows(self.sigma, c, self.smallest).at
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
