"""An activation as polynomials of deviations and chords: what pairs of positions are looked up in.

The chord of an angle θ is s = sin(θ/2), or cos(θ/2) beyond π/2. It comes from 1 - cos θ by a square root, and k is as
smooth in it as in the angle. With the names of `DualTable`, for p = 2, or p = 1 when σ jumps,

    θ^p H = (1 - cos θ) H̃,    or s H̃ when σ jumps,

so that no angle has to be computed. Unless σ jumps, beyond π/2 it is 1 - k/(n₁n₂) = A(ℓ₁, ℓ₂) - (1 + cos θ) H̃ with the
value A at π. On both sides the slope is k′ = n₁n₂ (H̃ + s/2 dH̃/ds) / c₁c₂, and H̃ is found from it. With b = cd/n and
g = b/(1 + b²)^¼ it is H̃/(g₁g₂) that is kept: its errors are small beside k and k′ alike. All are sums over few
functions ψ of a deviation,

    Σ core[p, q, m] ψ_p(ℓ₁) ψ_q(ℓ₂) T_m(s),

which a singular value decomposition finds: a third as many as Chebyshev polynomials would be. Panels of chords are so
short that powers of s serve as well as T_m, and Horner's rule gives values and derivatives with two operations a term.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from holokern.dual import DualTable
from holokern.network.architecture.table_form.polynomials import NOISE, Panel, in_fours, polynomials_of
from holokern.network.architecture.table_form.series_terms import Terms
from holokern.numeric import (
    Array,
    Range,
    Series,
    chebyshev_basis,
    chebyshev_matrix,
    chebyshev_nodes,
    left_singular,
)

_GROUPS = 16
"""Groups of four terms in the chord."""

_NEGLIGIBLE = 1e-13
"""The size of the last two terms: if they are larger, a panel is halved."""

_HALVINGS = 10
"""How often a panel that needs more terms is halved."""

_FEW = 8
"""Deviations at which panels are tried first: the ends of the range and some between them."""

_BEYOND = 0.1
"""Polynomials are fitted on so much more of a panel, as derivatives lose digits at the ends."""

_NODES = 128
"""The most deviations of samples: functions that need more of them are too many."""

_LOOKS, _SPARE = 9, 3
"""Angles at which functions of a deviation are looked at, and how many more terms than seen there they get."""

_GROWTH = 100.0
"""By how much powers may be larger than the polynomials that they make up: so many times the rounding error."""


class Chords(NamedTuple):
    """The arrays that the machine code reads.

    Attributes
    ----------
    fold, power
        Those of the `DualTable`.
    rank
        The number of functions ψ, a multiple of four.
    limit, evens, odds, shares
        Those of the series of correlations.
    longest
        The most numbers of a panel that has one deviation put in.
    edges
        Ends of the panels of chords. Unless folded there are as many panels again for the chords beyond π/2.
    middles
        What is taken from chords in a panel: polynomials have powers of the difference.
    groups
        How many groups of four powers a panel has.
    fours
        How many p and q count in a group, in fours: fours[panel, group].
    ends
        The sum of 16 ``fours`` of a panel.
    log, scale
        What is taken from log c, and what the rest is multiplied with: Chebyshev polynomials have this place.
    lengths, columns, begins, series
        A quarter of the terms of four functions of deviations; where other numbers, functions of the series and those
        of chords begin and end, where their coefficients begin, and these in the order of `machine.weighted_rows`.
    starts, values
        Where the coefficients of a panel begin in ``values``, which has them in the order of `machine.put_in`. Before
        the powers comes W, or A where it counts.
    """

    fold: int
    power: int
    rank: int
    limit: float
    evens: int
    odds: int
    shares: Array
    longest: int
    edges: Array
    middles: Array
    groups: NDArray[np.int64]
    fours: NDArray[np.int64]
    ends: NDArray[np.int64]
    log: float
    scale: float
    lengths: NDArray[np.int64]
    columns: NDArray[np.int64]
    begins: NDArray[np.int64]
    series: Array
    starts: NDArray[np.int64]
    values: Array


def chords_of(table: DualTable, terms: Terms, span: Range, first: int, most: int) -> tuple[Chords, Series] | None:
    """The functions of a table for all angles, and a series for deviations in a part of its range.

    The columns of the series are log n, log gn and log d. None if the functions are too rough, or need more than
    ``most`` functions ψ. Functions begin behind ``first`` other numbers.
    """
    if any(tensors is None for tensors in table.table.panels) or table.table.is_rough:
        return None
    part = table.table.range if table.homogeneity is not None else span
    grid = _Grid(table, part).thinned()
    # Few deviations show most of the panels that are too long.
    end = (0.5 - 0.5 * max(0.0, terms.limit)) ** 0.5
    found = _cut(_Grid(table, part, _FEW), [0.0, end])
    found = None if found is None else _cut(grid, found[0])
    return None if found is None else _packed(grid, terms, np.array(found[0]), found[1], first, most)


def _cut(grid: _Grid, edges: list[float]) -> tuple[list[float], list[Panel]] | None:
    """Panels between edges, halved until the terms are enough: their edges and, side by side, the panels."""
    done, sides = edges[:1], list[list[Panel]]([[] for _ in range(1 if grid.table.fold else 2)])
    waiting = [(low, high, 0) for low, high in pairwise(edges)][::-1]
    while waiting:
        low, high, halvings = waiting.pop()
        found: list[Panel] = []
        for far, panels in enumerate(sides):
            made = grid.panel(low, high, bool(far), panels[-1] if panels else None)
            if made is None:
                break
            found.append(made)
        if len(found) == len(sides):
            done.append(high)
            for panels, one in zip(sides, found, strict=True):
                panels.append(one)
        elif halvings > _HALVINGS:
            return None
        else:
            middle = (low + high) / 2
            waiting += [(middle, high, halvings + 1), (low, middle, halvings + 1)]
    return done, [panel for panels in sides for panel in panels]


class _Grid:
    """The functions of a table at pairs of some deviations.

    Attributes
    ----------
    span
        The range of deviations.
    flat
        W.
    """

    def __init__(self, table: DualTable, span: Range, most: int = _NODES) -> None:
        first = table.table.panels[0] or ()
        count = 1 if span.is_point else min(most, max(len(one.functions) for one in first))
        self.table, self.span, self.logs = table, span, span.nodes(count)
        self.flat = self._at(0, 0, np.zeros(1))[:, :, 0]

    def thinned(self) -> _Grid:
        """With as many deviations as their range needs, if it is a small part of that of the table."""
        count = len(self.logs)
        theta = np.linspace(0, np.pi / 2 if self.table.fold else np.pi, _LOOKS)
        looked = self._slopes(theta) if self.table.power == 2 else self._lost(theta)
        values = [looked, self.flat[:, :, None], self.scales().T[:, :, None]]
        sizes = [np.max(np.abs(np.einsum("ca,abm->cbm", chebyshev_matrix(count), one)), axis=(1, 2)) for one in values]
        needed = np.flatnonzero(np.max([size / max(1.0, size[0]) for size in sizes], axis=0) > 0.1 * NOISE)
        return _Grid(self.table, self.span, _SPARE + int(np.max(needed, initial=0)))

    def _at(self, number: int, panel: int, theta: Array) -> Array:
        """A function of the table at angles in one of its panels."""
        given = self.table.table
        tensor = (given.panels[panel] or ())[number]
        basis = chebyshev_basis(given.range.place(self.logs), len(tensor.functions)) @ tensor.functions
        core = tensor.core if number < given.flat else tensor.core @ _angles(given.unit(theta, panel), tensor.core)
        return np.asarray(np.einsum("ap,pqm,bq->abm", basis, core, basis, optimize=True))

    def _function(self, number: int, theta: Array) -> Array:
        """A function of the table at angles."""
        owner = self.table.table.panel_of(theta)
        values = np.empty((len(self.logs), len(self.logs), len(theta)))
        for panel in np.unique(owner):
            values[:, :, owner == panel] = self._at(number, panel, theta[owner == panel])
        return values

    def _lost(self, theta: Array) -> Array:
        """θ^p H; past π/2 of a folded table from its symmetry."""
        table, over = self.table, (theta > np.pi / 2) & (self.table.fold != 0)
        angle = np.where(over, np.pi - theta, theta)
        values = self._function(table.table.flat, angle) * angle**table.power
        if table.fold < 0:
            apart = (self.logs[:, None] - self.logs) ** 2 * self.flat
            values = np.where(over, (2 - 2 * apart)[:, :, None] - values, values)
        return np.asarray(values)

    def panel(self, low: float, high: float, is_far: bool, before: Panel | None) -> Panel | None:
        """H̃ between two chords, if the terms are enough; ``before`` is the panel that ends at the first one."""
        more = _BEYOND * (high - low)
        bottom, top = max(0.0, low - more), high + more
        count = 4 * _GROUPS
        chord = (bottom + top + (top - bottom) * chebyshev_nodes(count)) / 2
        theta = 2 * np.arcsin(chord)
        theta = np.pi - theta if is_far else theta
        if self.table.power == 1:
            found = self._lost(theta) / (np.sqrt(1 - chord**2) if is_far else chord)
        else:
            # H̃ + s/2 dH̃/ds is known at the nodes, and H̃ where the panel begins unless that is zero.
            known, matrix = self._slopes(theta), _with_slope(chord)
            if before is not None:
                known = np.concatenate([known, before.at(low)[:, :, None]], axis=2)
                place = chebyshev_basis(np.array([(2 * low - bottom - top) / (top - bottom)]), count)
                matrix = np.concatenate([matrix, place @ chebyshev_matrix(count)])
            found = known @ np.linalg.pinv(matrix).T
        coefficients = found @ chebyshev_matrix(count).T
        sizes, scale = np.max(np.abs(coefficients), axis=(0, 1)), max(1.0, float(np.max(self._ratios)))
        is_enough = float(np.max(sizes[-2:])) <= _NEGLIGIBLE * scale
        # |T_m| has the sum (1 + √2)^m / 2 of its coefficients
        powers = np.where(sizes > _NEGLIGIBLE * scale, sizes, 0.0) * (1 + 2**0.5) ** np.arange(count) / 2
        is_tame = float(np.sum(powers)) <= _GROWTH * scale
        return Panel(bottom, top, coefficients) if is_enough and is_tame else None

    def _slopes(self, theta: Array) -> Array:
        """k′ c₁c₂ / (n₁n₂ g₁g₂); past π/2 of a folded table from its symmetry."""
        over = (theta > np.pi / 2) & (self.table.fold != 0)
        values = self._function(self.table.table.flat + 1, np.where(over, np.pi - theta, theta))
        signs = np.where(over & (self.table.fold > 0), -1.0, 1.0)
        # b/g = (1 + b²)^¼
        steep = (1 + self._ratios**2) ** 0.25
        return np.asarray(values * signs * np.outer(steep, steep)[:, :, None])

    @cached_property
    def _ratios(self) -> Array:
        """The ratios b = cd/n."""
        c = np.exp(self.logs)
        return np.asarray(c * self.table.slope_norms(c) / self.table.norms(c))

    def scales(self) -> Array:
        """The logarithms of n, of gn and of d; of n and 1 when σ jumps."""
        c = np.exp(self.logs)
        norms, b = np.log(self.table.norms(c)), self._ratios
        if self.table.power == 1:
            return np.stack([norms, norms, 0.0 * norms])
        return np.stack([norms, norms + np.log(b) - 0.25 * np.log1p(b**2), np.log(self.table.slope_norms(c))])

    def at_opposite(self, panel: Panel) -> Array:
        """A, from a far panel with power 2."""
        chord = (panel.low + panel.high) / 2
        small = self._ratios / (1 + self._ratios**2) ** 0.25
        here = panel.at(chord) * np.outer(small, small)
        apart = (self.logs[:, None] - self.logs) ** 2 * self.flat
        return np.asarray(apart + self._lost(np.array([np.pi - 2 * np.arcsin(chord)]))[:, :, 0] + 2 * chord**2 * here)


def _with_slope(chord: Array) -> Array:
    """The matrix from values of a polynomial at Chebyshev nodes to those of H̃ + s/2 dH̃/ds."""
    count, scale = len(chord), 2 / (chord[-1] - chord[0]) * chebyshev_nodes(len(chord))[-1]
    return np.asarray(np.eye(count) + 0.5 * scale * chord[:, None] * _derivatives(count))


@lru_cache(maxsize=4)
def _derivatives(count: int) -> Array:
    """The matrix from values of a polynomial at Chebyshev nodes to those of its derivative."""
    slopes = np.pad(chebyshev.chebder(np.eye(count)), ((0, 1), (0, 0)))
    return np.asarray(chebyshev_basis(chebyshev_nodes(count), count) @ slopes @ chebyshev_matrix(count))


def _angles(x: Array, core: Array) -> Array:
    return chebyshev_basis(x, core.shape[2]).T


def _packed(
    grid: _Grid, terms: Terms, edges: Array, panels: list[Panel], first: int, most: int
) -> tuple[Chords, Series] | None:
    """The functions in terms of few ψ, without the terms that do not count."""
    table, count, span, near = grid.table, len(grid.logs), grid.span, panels[: len(edges) - 1]
    flats = [grid.flat] * len(panels)
    if table.power == 2:
        flats[len(near) :] = (
            [grid.at_opposite(panels[len(near)])] * (len(panels) - len(near)) if panels[len(near) :] else []
        )
    # First the ψ of chords up to π/2, which all pairs of most data have; W is multiplied with squared differences of ℓ.
    psi = _spanned(np.empty((count, 0)), [one.values for one in near])
    wide = [max(1.0, span.width**2) * one[:, :, None] for one in (flats[0], flats[-1])]
    psi = _spanned(psi, [*wide, *(one.values for one in panels[len(near) :])])
    psi = np.sqrt(count) * np.pad(psi, ((0, 0), (0, 4 if psi.shape[1] == 0 else -psi.shape[1] % 4)))
    if psi.shape[1] > most:
        return None
    found = [polynomials_of(one, flat, psi / count) for one, flat in zip(panels, flats, strict=True)]
    ends = np.array([16 * int(np.sum(one.fours)) for one in found])
    weights, lengths = zip(*map(in_fours, (terms.coefficients, chebyshev_matrix(count) @ psi)), strict=True)
    columns = np.cumsum([0, first, *(4 * len(one) for one in lengths)])
    made = Chords(
        fold=table.fold,
        power=table.power,
        rank=psi.shape[1],
        limit=terms.limit,
        evens=terms.evens,
        odds=terms.odds,
        shares=terms.shares,
        longest=int(np.max(ends)),
        edges=edges,
        middles=np.array([(one.low + one.high) / 2 for one in panels]),
        groups=np.array([len(one.fours) for one in found]),
        fours=np.stack([np.pad(one.fours, (0, _GROUPS + 1 - len(one.fours))) for one in found]),
        ends=ends,
        log=(span.low + span.high) / 2,
        scale=span.rate,
        lengths=np.concatenate(lengths),
        columns=columns,
        begins=np.cumsum([0, *map(len, weights[:-1])]),
        series=np.concatenate(weights),
        starts=np.cumsum([0, *(len(one.values) for one in found[:-1])]),
        values=np.concatenate([one.values for one in found]),
    )
    return made, Series(span, chebyshev_matrix(count) @ grid.scales().T)


def _spanned(known: Array, functions: list[Array]) -> Array:
    """Orthonormal columns: the given ones, and what functions of two deviations need besides."""
    # Terms far below what counts need no functions.
    terms = [values[:, :, np.max(np.abs(values), axis=(0, 1)) > 0.1 * NOISE] for values in functions]
    wide = np.concatenate([values.reshape(len(values), -1) for values in terms], axis=1) / len(known)
    left, sizes = left_singular(wide - known @ (known.T @ wide))
    return np.asarray(np.linalg.qr(np.concatenate([known, left[:, sizes > NOISE]], axis=1))[0])
