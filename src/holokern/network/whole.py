"""A whole network as one expansion: NNGP and NTK as functions of two deviations and an angle, whatever the depth.

With ℓ = log c of the first deviations and θ the angle of two points, both kernels divided by the roots of their
diagonals are smooth functions of (ℓ1, ℓ2, θ). The range of ℓ is cut into panels, and [0, π] into a few intervals; on
each box a tensor of Chebyshev coefficients is found from samples, its size by its tails. Near θ = 0 the kernels are not
smooth in (ℓ1, ℓ2, θ) if a layer after the first has a kink, nor near 0 and π if σ breaks away from zero: those
intervals are left out, and their pairs are computed layer by layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise

import numpy as np
from numpy.typing import NDArray

from holokern import progress
from holokern.dual.compiled import breaks_away, homogeneity
from holokern.errors import PrecisionLost
from holokern.network.layer_spec import LayerSpec
from holokern.network.whole_samples import Track, samples
from holokern.numeric.chebyshev import chebyshev_matrix, chebyshev_nodes
from holokern.numeric.panels import Array

__all__ = ["Boxes", "Scope", "boxes_of", "measured_error", "scale_free"]

_PANEL = 0.75
_MOST_PANELS = 24
_GRID = np.log(2) / 8
_RANKS = (14, 20, 28)
_DEGREES = (16, 24, 32, 48)
_NEAR, _MIDDLE = 0.4, 1.0
_TAIL, _ENOUGH, _NOISE, _WRONG = 4e-15, 1e-13, 1e-12, 1e-11


Panel = tuple[float, float]


@dataclass(frozen=True)
class Scope:
    """The deviations on which a network is expanded: equal scopes give equal bits."""

    low: float
    high: float

    @classmethod
    def around(cls, low: float, high: float) -> Scope:
        """A little more than [low, high], so that similar data share an expansion; a single deviation stays one."""
        if high <= low * (1 + 1e-12):
            return cls(low, low)
        bottom, top = np.floor(np.log(low) / _GRID - 0.05), np.ceil(np.log(high) / _GRID + 0.05)
        return cls(float(np.exp(_GRID * bottom)), float(np.exp(_GRID * top)))


@dataclass(frozen=True)
class _Tail:
    """The size of the last coefficients of an expansion with ``count`` terms."""

    count: int
    size: float
    final: bool

    def settled(self, before: _Tail | None) -> bool:
        """Whether they are negligible, or are rounding errors, which more terms did not make smaller."""
        if self.size <= (_ENOUGH if self.final else _TAIL):
            return True
        return before is not None and self.count > before.count and before.size / 4 < self.size <= _NOISE


class _TooRough(Exception):
    """One of two panels is too wide for an expansion."""

    def __init__(self, *panels: Panel) -> None:
        self.panels = panels


@dataclass(frozen=True)
class Boxes:
    """Tensors of Chebyshev coefficients on boxes.

    Attributes
    ----------
    ends
        Ends of the panels in ℓ; a single number when nothing depends on ℓ but the scale.
    edges
        Ends of the intervals in θ; folded at π/2 if ``fold`` is not 0.
    fold
        The sign that both kernels take when θ becomes π - θ, or 0 if there is no such rule.
    tensors
        For panels p <= q and an interval the tensors of both kernels; those left out are not there.
    scales
        For each panel and kernel a, b of the scale exp(a + bℓ) by which the entries were divided on either side.
    diagonals
        For each panel and kernel, Chebyshev coefficients in ℓ of the diagonal divided by the scale twice.
    scale_free
        Whether the kernels of scaled points are scaled kernels.
    """

    ends: Array
    edges: Array
    fold: int
    tensors: dict[tuple[int, int, int], tuple[Array, Array]]
    scales: Array
    diagonals: list[Array]
    scale_free: bool

    @property
    def panels(self) -> int:
        """The number of panels in ℓ."""
        return max(1, len(self.ends) - 1)

    def place(self, length: Array) -> tuple[NDArray[np.intp], Array]:
        """The panel of each deviation, and its place there in [-1, 1]."""
        if len(self.ends) == 1:
            return np.zeros(len(length), dtype=np.intp), np.zeros(len(length))
        at = np.log(length)
        panel = np.clip(np.searchsorted(self.ends, at, side="right") - 1, 0, self.panels - 1)
        low, high = self.ends[panel], self.ends[panel + 1]
        return panel, np.clip((2 * at - low - high) / (high - low), -1.0, 1.0)

    def scale(self, length: Array, panel: NDArray[np.intp]) -> Array:
        """The scales of points in their panels, one row a kernel."""
        with np.errstate(divide="ignore"):
            at = np.log(length)
        return np.asarray(np.exp(self.scales[panel, :, 0].T + self.scales[panel, :, 1].T * at))

    def entry(self, c1: float, c2: float, theta: float) -> tuple[float, float] | None:
        """Both kernels for two deviations and an angle, or None where there is no expansion."""
        far = bool(self.fold) and theta > np.pi / 2
        angle = np.pi - theta if far else theta
        t = min(int(np.searchsorted(self.edges, angle, side="right")) - 1, len(self.edges) - 2)
        length = np.sort([c1, c2])
        panel, place = self.place(length)
        tensors = self.tensors.get((int(panel[0]), int(panel[1]), t))
        if tensors is None:
            return None
        low, high = self.edges[t], self.edges[t + 1]
        at = (*place, (2 * angle - low - high) / (high - low))
        scale = np.prod(self.scale(length, panel), axis=1)
        values = [
            scale[kernel] * (self.fold if far else 1) * np.einsum("pqm,p,q,m->", tensor, *map(_basis, at, tensor.shape))
            for kernel, tensor in enumerate(tensors)
        ]
        return float(values[0]), float(values[1])

    def diagonal(self, panel: NDArray[np.intp], place: Array) -> Array:
        """The entries of points with themselves, divided by their scales twice, one row a kernel."""
        result = np.empty((2, len(place)))
        for p, coefficients in enumerate(self.diagonals):
            here = panel == p
            result[:, here] = np.polynomial.chebyshev.chebval(place[here], coefficients.T)
        return result


def _basis(x: float, count: int) -> Array:
    return np.asarray(np.polynomial.chebyshev.chebvander([x], count - 1)[0])


@lru_cache(maxsize=16)
def boxes_of(specs: tuple[LayerSpec, ...], scope: Scope) -> Boxes | None:
    """The expansion of a network, or None if no bearable one was found."""
    bottom, top = np.log(scope.low), np.log(scope.high)
    if scale_free(specs):
        panels = [(0.0, 0.0)]
    elif scope.low == scope.high:
        panels = [(bottom, bottom)]
    else:
        ends = np.linspace(bottom, top, 1 + int(np.ceil((top - bottom) / _PANEL)))
        panels = [(float(low), float(high)) for low, high in pairwise(ends)]
    known: dict[tuple[Panel, Panel], dict[int, tuple[Array, Array]]] = {}
    while len(panels) <= _MOST_PANELS:
        try:
            boxes = _built(specs, panels, known)
            return boxes if measured_error(specs, boxes) <= _WRONG else None
        except _TooRough as error:
            at = panels.index(max(error.panels, key=lambda panel: panel[1] - panel[0]))
            low, high = panels[at]
            panels[at : at + 1] = [(low, (low + high) / 2), ((low + high) / 2, high)]
        except PrecisionLost:
            break
    return None


def measured_error(specs: tuple[LayerSpec, ...], boxes: Boxes) -> float:
    """The largest error at points on which the tensors were not built, relative to the roots of the diagonals."""
    random = np.random.default_rng(20261)
    low, high = boxes.ends[0], boxes.ends[-1]
    tracks = [Track.of(specs, np.exp(low + (high - low) * random.random(2))) for _ in range(2)]
    angles = np.pi * random.random(4)
    exact = samples(specs, tracks[0], tracks[1], np.broadcast_to(angles, (2, 2, 4)).copy())
    worst = 0.0
    for a, b, m in np.ndindex(2, 2, 4):
        found = boxes.entry(float(tracks[0].deviations[0][a]), float(tracks[1].deviations[0][b]), float(angles[m]))
        if found is not None:
            roots = [(track.nngp[i], track.tangent[i]) for track, i in zip(tracks, (a, b), strict=True)]
            differences = [
                abs(found[kernel] / (roots[0][kernel] * roots[1][kernel]) - exact[kernel][a, b, m])
                for kernel in range(2)
            ]
            worst = max(worst, *(float(d) for d in differences if not np.isnan(d)))
    return worst


def scale_free(specs: tuple[LayerSpec, ...]) -> bool:
    """Whether the kernels of scaled points are scaled kernels."""
    if any(spec.bias for spec in specs):
        return False
    degrees = {homogeneity(spec.activation) for spec in specs}
    return degrees == {1.0} if any(spec.residual for spec in specs) else None not in degrees


def _fold(specs: tuple[LayerSpec, ...]) -> int:
    if specs[0].activation.parity == "even" and not specs[0].residual:
        return 1
    odd = all(spec.activation.parity == "odd" and not spec.bias for spec in specs)
    return -1 if odd else 0


def _built(
    specs: tuple[LayerSpec, ...],
    panels: list[Panel],
    known: dict[tuple[Panel, Panel], dict[int, tuple[Array, Array]]],
) -> Boxes:
    """The expansion on these panels; ``known`` keeps the boxes that were found.

    Raises
    ------
    _TooRough
        If a panel is too wide.
    """
    fold, single = _fold(specs), panels[0][0] == panels[0][1]
    edges = np.array([0.0, _NEAR, _MIDDLE, np.pi / 2])
    if not fold:
        edges = np.concatenate([edges[:3], np.pi - edges[2::-1]])
    intervals = [t for t in range(len(edges) - 1) if not _left_out(specs, single, t, len(edges) - 2, fold)]
    builder = _Builder(specs, edges)
    # Panels with themselves first: they are the roughest.
    pairs = sorted(combinations_with_replacement(range(len(panels)), 2), key=lambda pair: pair[1] - pair[0])
    for done, (p, q) in enumerate(pairs):
        if (panels[p], panels[q]) not in known:
            progress.report("expansion of the network", done, len(pairs))
            known[panels[p], panels[q]] = dict(builder.box(panels[p], panels[q], intervals))
    tensors = {(p, q, t): tensor for p, q in pairs for t, tensor in known[panels[p], panels[q]].items()}
    ends = np.array([panels[0][0]] if single else [panels[0][0], *(high for _, high in panels)])
    scales = np.array([builder.scales(panel) for panel in panels])
    return Boxes(ends, edges, fold, tensors, scales, list(map(builder.diagonals, panels)), scale_free(specs))


def _left_out(specs: tuple[LayerSpec, ...], single: bool, t: int, last: int, fold: int) -> bool:
    """Whether an interval of angles ends where the kernels are not smooth."""
    away = any(breaks_away(spec.activation) for spec in specs)
    kinks = away or any(len(spec.activation.breaks) > 0 for spec in specs[1:])
    if t == 0:
        return (kinks and not single) or (away and bool(fold))
    return t == last and not fold and away


@dataclass(frozen=True)
class _Builder:
    specs: tuple[LayerSpec, ...]
    edges: Array
    known: dict[bytes, Track] = field(default_factory=dict)

    @property
    def with_tangent(self) -> bool:
        return all(spec.activation.jump_order != 0 for spec in self.specs)

    def track(self, panel: Panel, rank: int) -> Track:
        """The deviations of Chebyshev nodes of a panel through the layers."""
        return self.followed((panel[0] + panel[1] + (panel[1] - panel[0]) * chebyshev_nodes(rank)) / 2)

    def followed(self, logarithms: Array) -> Track:
        """Deviations through the layers; kept, as several tensors need them."""
        key = logarithms.tobytes()
        if key not in self.known:
            self.known[key] = Track.of(self.specs, np.exp(logarithms))
        return self.known[key]

    def scales(self, panel: Panel) -> Array:
        """a, b of the scale for each kernel: the power of c that meets the roots of the diagonal at both ends."""
        low, high = (0.0, 1.0) if scale_free(self.specs) else panel
        first, last = np.log(self.roots(self.followed(np.array([low, high])))).T
        slope = (last - first) / (high - low) if high > low else np.zeros(2)
        return np.stack([first - slope * low, slope], axis=1)

    def roots(self, track: Track) -> Array:
        """The roots of the diagonals of both kernels, that of the NTK replaced by 1 where there is none."""
        return np.stack([track.nngp, track.tangent if self.with_tangent else np.ones(len(track.nngp))])

    def relative(self, panel: Panel, track: Track) -> Array:
        """The roots of the diagonals divided by the scales."""
        scales = self.scales(panel)
        return self.roots(track) / np.exp(scales[:, :1] + scales[:, 1:] * np.log(track.deviations[0]))

    def diagonals(self, panel: Panel) -> Array:
        """Chebyshev coefficients of the diagonals divided by the scales twice."""
        rank = 1 if panel[0] == panel[1] else _RANKS[-1]
        return np.asarray(self.relative(panel, self.track(panel, rank)) ** 2 @ chebyshev_matrix(rank).T)

    def box(self, p: Panel, q: Panel, intervals: list[int]) -> Iterator[tuple[int, tuple[Array, Array]]]:
        """The tensors for two panels, by interval of angles."""
        ranks = iter((1,) if p[0] == p[1] else _RANKS)
        rank, todo = next(ranks), dict.fromkeys(intervals, _DEGREES[0])
        tails: dict[int, tuple[_Tail, _Tail]] = {}
        while todo:
            found = self._tensors(p, q, rank, todo)
            wider = False
            for t, pair in found.items():
                whole = np.maximum(np.abs(pair[0]), np.abs(pair[1]))
                ends = max(float(whole[-2:].max()), float(whole[:, -2:].max())) if rank > 1 else 0.0
                across = _Tail(rank, ends, rank in (1, _RANKS[-1]))
                along = _Tail(todo[t], float(whole[:, :, -2:].max()), todo[t] == _DEGREES[-1])
                before = tails.get(t, (None, None))
                settled = across.settled(before[0]), along.settled(before[1])
                tails[t] = across, along
                if all(settled):
                    del todo[t]
                    yield t, pair
                    continue
                wider = wider or not settled[0]
                if not settled[1] and (settled[0] or along.size > across.size / 4):
                    self._longer(t, todo, (p, q))
            if todo and wider:
                rank = next(ranks, 0)
                if not rank:
                    raise _TooRough(p, q)

    def _longer(self, t: int, todo: dict[int, int], panels: tuple[Panel, Panel]) -> None:
        """Raise a degree; at the last one leave out an interval that ends at 0 or π, others need narrower panels."""
        degree = next((degree for degree in _DEGREES if degree > todo[t]), None)
        if degree is not None:
            todo[t] = degree
        elif t in (0, len(self.edges) - 2):
            del todo[t]
        else:
            raise _TooRough(*panels)

    def _tensors(self, p: Panel, q: Panel, rank: int, degrees: dict[int, int]) -> dict[int, tuple[Array, Array]]:
        angles = [
            self.edges[t] + (self.edges[t + 1] - self.edges[t]) * (chebyshev_nodes(m) + 1) / 2
            for t, m in degrees.items()
        ]
        first, second = (self.track(panel, rank) for panel in (p, q))
        ratios = self.relative(p, first), self.relative(q, second)
        theta = np.broadcast_to(np.concatenate(angles), (rank, rank, sum(map(len, angles))))
        both = samples(self.specs, first, second, np.ascontiguousarray(theta))
        result, start = {}, 0
        across = chebyshev_matrix(rank)
        for t, m in degrees.items():
            along = chebyshev_matrix(m)
            some = slice(start, start + m)
            parts = [
                np.einsum(
                    *("pa,a,qb,b,nm,abm->pqn", across, ratios[0][kernel], across, ratios[1][kernel]),
                    *(along, both[kernel][:, :, some]),
                    optimize=True,
                )
                for kernel in range(1 + self.with_tangent)
            ]
            result[t] = parts[0], parts[-1]
            start += m
        return result
