"""`Table`: functions of two deviations and an angle as Chebyshev series, panel by panel in the angle.

With ℓ = log c the functions are smooth in (ℓ1, ℓ2, θ), but they may change fast next to θ = 0 and θ = π. So [0, π] is
cut into panels that are graded towards both ends. On each panel a function is

    Σ core[p, q, m] b_p(ℓ1) b_q(ℓ2) T_m(θ)

with few functions b of one deviation, themselves Chebyshev series. The same tables serve one layer and whole networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from holokern.numeric.chebyshev import chebyshev_basis, chebyshev_nodes, left_singular
from holokern.numeric.panels import Array

_AT_ONCE = 4096
"""Points that are evaluated at a time, to bound the memory."""

_FEW = 64
"""A panel with a smaller share of the pairs has each of them evaluated by itself, which takes longer a pair."""

_SAME = 1e-12
"""Angles so near to the end of a panel are on it; the polynomials do not change that fast."""

MANY_TERMS = 400
"""Terms in ℓ beyond which a table is not cut into cells."""

_NEGLIGIBLE = 2e-16
"""Coefficients below this, relative to values of order one, are rounding errors."""


@dataclass(frozen=True)
class Range:
    """A range of logarithms ℓ = log c of deviations."""

    low: float
    high: float

    @property
    def is_point(self) -> bool:
        """Whether the range is a single deviation."""
        return self.high <= self.low

    @property
    def width(self) -> float:
        """The difference of the ends."""
        return self.high - self.low

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest deviation."""
        return float(np.exp(self.low)), float(np.exp(self.high))

    def nodes(self, count: int) -> Array:
        """The logarithms of Chebyshev nodes."""
        return (self.low + self.high + (self.high - self.low) * chebyshev_nodes(count)) / 2

    def place(self, logs: Array) -> Array:
        """ℓ mapped to [-1, 1]."""
        if self.is_point:
            return np.zeros_like(logs)
        return np.clip((2 * logs - self.low - self.high) / (self.high - self.low), -1.0, 1.0)

    @property
    def rate(self) -> float:
        """The derivative of `place`."""
        return 0.0 if self.is_point else 2 / (self.high - self.low)

    def covers(self, other: Range) -> bool:
        """Whether another range lies inside, but for rounding."""
        slack = 1e-12 * (1 + abs(self.low) + abs(self.high))
        return self.low - slack <= other.low and other.high <= self.high + slack


@dataclass(frozen=True, eq=False)
class Series:
    """A function of one deviation as a Chebyshev series in ℓ."""

    range: Range
    coefficients: Array

    def __call__(self, logs: Array) -> Array:
        """The values at logarithms of deviations."""
        return np.asarray(chebyshev.chebval(self.range.place(logs), self.coefficients))

    def derivative(self, logs: Array) -> Array:
        """The derivative in ℓ."""
        inner = chebyshev.chebval(self.range.place(logs), chebyshev.chebder(self.coefficients))
        return np.asarray(self.range.rate * inner)


@dataclass(frozen=True, eq=False)
class Tensor:
    """One function on one panel."""

    functions: Array  # Chebyshev coefficients in ℓ of the functions b, one column each
    core: Array  # coefficients, of shape (b, b, terms in the angle)

    @cached_property
    def along_logs(self) -> Array:
        """The derivatives of the functions in ℓ, for a range that is [-1, 1]."""
        return _derived(self.functions, 0)

    @cached_property
    def along_angle(self) -> Array:
        """The core of the derivative in the angle, for a panel that is [-1, 1]."""
        return _derived(self.core, 2)

    def trimmed(self) -> Tensor:
        """Without terms in the angle that are rounding errors."""
        sizes = np.max(np.abs(self.core), axis=(0, 1))
        keep = 1 + int(np.max(np.nonzero(sizes > _NEGLIGIBLE * max(1.0, float(np.max(sizes))))[0], initial=0))
        return Tensor(self.functions, np.ascontiguousarray(self.core[:, :, :keep]))

    def compressed(self, dropped: float) -> Tensor:
        """With fewer functions: without singular values below ``dropped``, relative to the largest."""
        return compressed_together([(self,)], 0, dropped)[0][0]


def compressed_together(panels: list[tuple[Tensor, ...]], flat: int, dropped: float) -> list[tuple[Tensor, ...]]:
    """Panels with fewer functions of ℓ, which all tensors share but for the first ``flat`` ones of each panel.

    A panel that needs few functions has the first ones, so that its sums are short.
    """
    bent = [np.concatenate([one.core.reshape(len(one.core), -1) for one in panel[flat:]], axis=1) for panel in panels]
    left, sizes = left_singular(np.concatenate(bent, axis=1))
    basis = left[:, : max(1, int(np.sum(sizes > dropped * sizes[0])))]
    if len(panels) > 1:
        basis = basis @ _nested([basis.T @ one for one in bent], dropped * sizes[0])
    functions = panels[0][flat].functions @ basis

    def moved(tensor: Tensor) -> Tensor:
        return Tensor(functions, np.einsum("pa,qb,pqm->abm", basis, basis, tensor.core, optimize=True)).trimmed()

    return [(*panel[:flat], *map(moved, panel[flat:])) for panel in panels]


def _nested(matrices: list[Array], negligible: float) -> Array:
    """An orthogonal matrix: its first columns span those of the matrix of lowest rank, then of the next, and so on."""
    ranked = sorted(matrices, key=lambda one: int(np.sum(left_singular(one)[1] > negligible)))
    basis = np.empty((len(matrices[0]), 0))
    for one in ranked:
        left, sizes = left_singular(one - basis @ (basis.T @ one))
        basis = np.concatenate([basis, left[:, sizes > negligible]], axis=1)
    return np.asarray(np.linalg.qr(np.concatenate([basis, np.eye(len(basis))], axis=1))[0])


@dataclass(frozen=True, eq=False)
class Jet:
    """A function with its derivatives in ℓ1, ℓ2 and θ."""

    value: Array
    first: Array
    second: Array
    angle: Array

    def along(self, logs: Array, angle: Array) -> Array:
        """The derivative when the ℓ of the points and the angles of the pairs move at these rates."""
        return np.asarray(self.first * logs[:, None] + self.second * logs + self.angle * angle)


@dataclass(frozen=True, eq=False)
class Table:
    """Functions on panels."""

    range: Range  # the range of ℓ
    edges: Array  # ends of the panels in θ
    # for each panel the tensors of all functions, or None where the functions are not smooth or were not asked
    # for
    panels: tuple[tuple[Tensor, ...] | None, ...]
    flat: int = 0  # how many functions, the first ones, do not depend on the angle

    def between(self, low: float, high: float) -> Table | None:
        """The same without panels that do not lie in [low, high], as seen from the nearer end; None if none does.

        Examples
        --------
        >>> from holokern.numeric import graded_edges
        >>> flat = (Tensor(np.eye(1), np.ones((1, 1, 1))),)
        >>> table = Table(Range(0.0, 1.0), graded_edges(0.2, True), (flat,) * 4)
        >>> [panel is not None for panel in table.between(0.2, 0.4).panels]
        [False, True, False, False]
        """
        if (low, high) not in self._parts:
            end = np.pi if self.edges[-1] > 2 else np.inf
            near = np.minimum(self.edges[:-1], end - self.edges[1:])
            inside = (near >= low - _SAME) & (near < high - _SAME)
            panels = tuple(one if kept else None for one, kept in zip(self.panels, inside, strict=True))
            part = self if panels == self.panels else Table(self.range, self.edges, panels, self.flat)
            self._parts[low, high] = part if any(panels) else None
        return self._parts[low, high]

    @cached_property
    def _parts(self) -> dict[tuple[float, float], Table | None]:
        """What `between` has found: the cells of a part are kept with it."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Everything as named arrays, for a file."""
        found = {"range": np.array([self.range.low, self.range.high]), "edges": self.edges}
        bases: dict[int, int] = {}
        layout = []
        for index, tensors in enumerate(self.panels):
            for number, tensor in enumerate(tensors or ()):
                basis = bases.setdefault(id(tensor.functions), len(bases))
                found[f"functions{basis}"] = tensor.functions
                found[f"core{index}_{number}"] = tensor.core
                layout.append([index, number, basis])
        found["layout"] = np.array(layout, dtype=float).reshape(-1, 3)
        found["flat"] = np.array([float(self.flat)])
        return found

    @classmethod
    def from_arrays(cls, found: dict[str, Array]) -> Table:
        """The table of `arrays`.

        Raises KeyError or ValueError if the arrays are not those of a table.
        """
        span, edges = Range(*(float(v) for v in found["range"])), found["edges"]
        panels: list[list[Tensor]] = [[] for _ in range(len(edges) - 1)]
        for index, number, basis in found["layout"].astype(int).tolist():
            functions, core = found[f"functions{basis}"], found[f"core{index}_{number}"]
            if core.ndim != 3 or functions.ndim != 2 or core.shape[:2] != (functions.shape[1],) * 2:
                raise ValueError("a core does not go with its functions")
            if not 0 <= index < len(panels) or not np.all(np.isfinite(core)) or not np.all(np.isfinite(functions)):
                raise ValueError("a core is in no panel, or not finite")
            panels[index].append(Tensor(functions, core))
        sizes = {len(panel) for panel in panels if panel}
        flat = int(found["flat"][0])
        if len(sizes) != 1 or not np.all(np.diff(edges) > 0) or not 0 <= flat < min(sizes):
            raise ValueError("panels of different sizes")
        if any(tensor.core.shape[2] != 1 for panel in panels for tensor in panel[:flat]):
            raise ValueError("a flat function depends on the angle")
        return cls(span, edges, tuple(tuple(panel) or None for panel in panels), flat)

    @cached_property
    def is_rough(self) -> bool:
        """Whether there are so many terms in ℓ that cells would have to be too many: σ oscillates on a wide range."""
        return any(len(tensor.functions) > MANY_TERMS for tensors in self.panels for tensor in tensors or ())

    def on_tile(self, first: Array, second: Array, theta: Array) -> Array:
        """All functions for all pairs of ℓ1 and ℓ2 at a matrix of angles, by matrix products; NaN without a panel."""
        owner = self.panel_of(theta)
        result = np.full((self.count, *theta.shape), np.nan)
        for index, tensors in enumerate(self.panels):
            here = owner == index
            if tensors is None or not np.any(here):
                continue
            x = self.unit(theta, index)
            for target, tensor in zip(result, tensors, strict=True):
                left, right = (self._at(tensor.functions, logs) for logs in (first, second))
                np.copyto(target, _summed([(left, tensor.core, right)], x)[0], where=here)
        return result

    @cached_property
    def count(self) -> int:
        """The number of functions."""
        return next((len(panel) for panel in self.panels if panel is not None), 0)

    def panel_of(self, theta: Array) -> NDArray[np.intp]:
        """The panel of each angle; one at the end of a panel that is missing belongs to its neighbour."""
        last = len(self.edges) - 2
        owner = np.clip(np.searchsorted(self.edges, theta, side="right") - 1, 0, last)
        missing = np.array([panel is None for panel in self.panels])
        if np.any(missing[owner]):
            for way, end in ((-1, self.edges[owner]), (1, self.edges[owner + 1])):
                neighbour = np.clip(owner + way, 0, last)
                moved = missing[owner] & ~missing[neighbour] & (np.abs(theta - end) <= _SAME)
                owner = np.where(moved, neighbour, owner)
        return owner

    def unit(self, theta: Array, panel: int) -> Array:
        """Angles mapped from a panel to [-1, 1]."""
        low, high = self.edges[panel], self.edges[panel + 1]
        return np.asarray(np.clip((2 * theta - low - high) / (high - low), -1.0, 1.0))

    def __call__(self, first: Array, second: Array, theta: Array) -> Array:
        """All functions, one row each, at flat arrays of ℓ1, ℓ2 and θ; NaN where a panel is missing."""
        result = np.full((self.count, len(theta)), np.nan)
        owner = self.panel_of(theta)
        for index, tensors in enumerate(self.panels):
            some = np.nonzero(owner == index)[0]
            if tensors is None or not len(some):
                continue
            x = self.unit(theta[some], index)
            for row, tensor in zip(result, tensors, strict=True):
                left, right = (self._at(tensor.functions, logs[some]) for logs in (first, second))
                row[some] = _at_pairs(left, tensor.core, right, x)
        return result

    def jets(self, first: Array, second: Array, theta: Array) -> list[Jet]:
        """All functions with their derivatives for all pairs of ℓ1 and ℓ2, at a matrix of angles."""
        owner = self.panel_of(theta)
        parts = np.full((self.count, 4, *theta.shape), np.nan)
        for index, tensors in enumerate(self.panels):
            rows, columns = np.nonzero(owner == index)
            if tensors is None or not len(rows):
                continue
            terms = []
            for tensor in tensors:
                (left, left_rate), (right, right_rate) = (
                    (self._at(tensor.functions, logs), self.range.rate * self._at(tensor.along_logs, logs))
                    for logs in (first, second)
                )
                angle = 2 / (self.edges[index + 1] - self.edges[index]) * tensor.along_angle
                sides = (left, right), (left_rate, right), (left, right_rate), (left, right)
                cores = (tensor.core, tensor.core, tensor.core, angle)
                terms += [(one, core, other) for core, (one, other) in zip(cores, sides, strict=True)]
            if len(rows) * _FEW < theta.size:
                x = self.unit(theta[rows, columns], index)
                found = [_at_pairs(one[rows], core, other[columns], x) for one, core, other in terms]
            else:
                found = [one[rows, columns] for one in _summed(terms, self.unit(theta, index))]
            for part, values in zip(parts.reshape(-1, *theta.shape), found, strict=True):
                part[rows, columns] = values
        return [Jet(*function) for function in parts]

    def _at(self, functions: Array, logs: Array) -> Array:
        """Functions of ℓ, one column each."""
        return np.asarray(chebyshev_basis(self.range.place(logs), len(functions)) @ functions)


def _summed(terms: list[tuple[Array, Array, Array]], x: Array) -> list[Array]:
    """Σ left core_m rightᵀ T_m(x) for each of the terms."""
    totals, now, before = [np.zeros_like(x) for _ in terms], np.ones_like(x), x
    for m in range(max(core.shape[2] for _, core, _ in terms)):
        for k, (left, core, right) in enumerate(terms):
            if m < core.shape[2]:
                totals[k] += (left @ core[:, :, m] @ right.T) * now
        # T_{m+1} = 2x T_m - T_{m-1}, with T_{-1} = T_1
        now, before = 2 * x * now - before, now
    return totals


def _at_pairs(left: Array, core: Array, right: Array, x: Array) -> Array:
    """The same where each x has a row of its own on both sides."""
    result = np.empty(len(x))
    for start in range(0, len(x), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        rows = np.tensordot(left[some], core, axes=1)
        angles = chebyshev_basis(x[some], core.shape[2])
        result[some] = np.einsum("iqm,iq,im->i", rows, right[some], angles, optimize=True)
    return result


def _derived(coefficients: Array, axis: int) -> Array:
    if coefficients.shape[axis] == 1:
        return np.zeros_like(coefficients)
    return np.asarray(chebyshev.chebder(coefficients, axis=axis))
