"""Taylor steps of high order for D H' = N H, many tracks at once, in floats or complex floats.

From D and N as power series the coefficients of H follow by

    D_0 (n+1) H_(n+1) = Σ_j N_j H_(n-j) - Σ_(j≥1) D_j (n+1-j) H_(n+1-j).

A step may be as long as the series of H itself converges fast, but no longer than the distance to the nearest zero of
D: rounding errors solve the same recurrence, and theirs converges only so far.  H itself is analytic at many zeros of D
(det Σ = 0 for σ that breaks at zero only, and apparent singularities), so a step may end on one of them.  An apparent
singularity on the way is passed in the complex plane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holokern.hgm.steps.series import Array, Path, SeriesEquation
from holokern.numeric import EPS

TAYLOR_TERMS = 40
"""Terms of a series; more of them make longer steps, and rounding then decides."""

MOST_STEPS = 60
"""Expansions after which a track gives up."""

_TAIL = 1e-17  # last terms of a series relative to its first: below rounding; 1e-15 and 1e-19 give the same errors
# last terms at a target: about two units in the last place; 1e-13 makes errors ten times as large, 1e-17 none smaller
_GOOD = 5e-16
_NOISE = 64.0  # units in the last place of a sum below which its terms may be rounding errors
_CHUNK = 1 << 22  # numbers in the matrices of the tracks that move together: 32 MB
# directions of a step in the complex plane: straight on first, then 15° by 15° to both sides up to a right angle
_TURNS = np.pi / 12 * np.array([0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6])
# the longest step, and a shorter one for where the longest would end close to a zero of D
_REACHES = np.array([1.0, 0.7])


@dataclass(frozen=True)
class Arrival:
    """H and c1c2k′ at the targets, (targets, rank, columns) and (targets, columns), and what the series left out.

    Attributes
    ----------
    value, slope : arrays
    tail, slope_tail : arrays, (targets, rank) and (targets,)
        The size of the last terms.
    steps : array of int, (targets,)
        How many expansions the target's track had needed.
    """

    value: Array
    slope: Array
    tail: Array
    slope_tail: Array
    steps: NDArray[np.intp]


def taylor_coefficients(
    equation: SeriesEquation, state: Array, perturbed: bool = False, order: int | None = None
) -> tuple[Array, Array]:
    """Coefficients of H, (tracks, order + 1, rank, columns), and of c1c2k′, (tracks, order + 1, columns).

    If ``perturbed``, the columns after the first receive the rounding errors of the first.  Where D and N have fewer
    terms than ``order`` asks for, they are polynomials.

    >>> top = np.zeros((1, 4, 1, 1)); top[0, 0] = 1
    >>> bottom = np.array([[1.0, 0.0, 0.0, 0.0]])
    >>> system = SeriesEquation(bottom, top, None)
    >>> (taylor_coefficients(system, np.ones((1, 1, 1)))[0].ravel() * [1, 1, 2, 6]).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    tracks, given, rank, _ = equation.top.shape
    width = given if order is None else order + 1
    columns = state.shape[2]
    kind = np.result_type(equation.top, state)
    # [N_0 … N_n] meets [H_n; …; H_0], so the H are stored backwards and both are plain slices
    wide = np.ascontiguousarray(np.moveaxis(equation.top, 1, 2)).reshape(tracks, rank, given * rank)
    back = np.zeros((tracks, width * rank, columns), dtype=kind)
    scaled = np.zeros((tracks, width, rank * columns), dtype=kind)
    inverse = 1 / equation.bottom[:, :1]
    tail = -equation.bottom[:, None, 1:]
    constant = not np.any(tail)
    back[:, (width - 1) * rank :] = state
    sizes = _Rounding(equation, wide, tail, back, columns) if perturbed else None
    for n in range(width - 1):
        used, first = min(n + 1, given), width - 1 - n
        new = np.matmul(wide[:, :, : used * rank], back[:, first * rank : (first + used) * rank]).reshape(tracks, -1)
        if n and not constant:
            # scaled holds n H_n, backwards too
            used = min(n, given - 1)
            new = new + np.matmul(tail[:, :, :used], scaled[:, first : first + used])[:, 0]
        if sizes is not None:
            new = new + sizes.noise(n, new)
        new = new * inverse
        scaled[:, width - 2 - n] = new
        start = (width - 2 - n) * rank
        found = (new / (n + 1)).reshape(tracks, rank, columns)
        back[:, start : start + rank] = found
        if sizes is not None:
            sizes.add(n, found[:, :, :1])
    value = back.reshape(tracks, width, rank, columns)[:, ::-1]
    return value, _quotient(equation, value) if equation.slope is not None else np.zeros((tracks, width, columns))


class _Rounding:
    """Rounding errors of the recurrence, put into the perturbations: a unit in the last place of every product."""

    def __init__(self, equation: SeriesEquation, wide: Array, tail: Array, back: Array, columns: int) -> None:
        self.wide, self.tail, self.lead = np.abs(wide), np.abs(tail), None
        if equation.sizes is not None:
            bottom, top = equation.sizes
            self.wide = np.moveaxis(top, 1, 2).reshape(wide.shape)
            self.tail = bottom[:, None, 1:]
            # how many units in the last place D itself is off
            self.lead = bottom[:, :1, None] / np.maximum(np.abs(equation.bottom[:, :1, None]), 1e-300)
        self.back = np.abs(back[:, :, :1])
        tracks, self.rank, length = wide.shape
        self.given, self.width = length // self.rank, back.shape[1] // self.rank
        self.scaled = np.zeros((tracks, self.width, self.rank))
        shape = (self.width, self.rank, columns)
        self.signs = np.random.default_rng(1).choice([-EPS, EPS], size=shape)
        self.signs[:, :, 0] = 0.0

    def noise(self, n: int, right: Array) -> Array:
        """The errors of the right-hand side number n, (tracks, rank · columns), whose values are given."""
        used, first, rank = min(n + 1, self.given), self.width - 1 - n, self.rank
        size = np.matmul(self.wide[:, :, : used * rank], self.back[:, first * rank : (first + used) * rank])
        if n:
            used = min(n, self.given - 1)
            size[:, :, 0] += np.matmul(self.tail[:, :, :used], self.scaled[:, first : first + used])[:, 0]
        if self.lead is not None:
            size += self.lead * np.abs(right.reshape(*size.shape[:2], -1)[:, :, :1])
        return np.asarray((size * self.signs[n]).reshape(len(size), -1))

    def add(self, n: int, found: Array) -> None:
        start = (self.width - 2 - n) * self.rank
        self.back[:, start : start + self.rank] = np.abs(found)
        self.scaled[:, self.width - 2 - n] = (n + 1) * np.abs(found[:, :, 0])


def _quotient(equation: SeriesEquation, value: Array) -> Array:
    """S H / D by series."""
    assert equation.slope is not None
    tracks, width, rank, columns = value.shape
    wide = equation.slope.reshape(tracks, 1, width * rank)
    back = value[:, ::-1].reshape(tracks, width * rank, columns)
    result = np.zeros((tracks, width, columns), dtype=value.dtype)
    inverse = 1 / equation.bottom[:, :1]
    for n in range(width):
        new = np.matmul(wide[:, :, : (n + 1) * rank], back[:, (width - 1 - n) * rank :])[:, 0]
        if n:
            new = new - np.einsum("pj,pjc->pc", equation.bottom[:, 1 : n + 1], result[:, n - 1 :: -1][:, :n])
        result[:, n] = new * inverse
    return result


def transport(
    path: Path,
    start: Array,
    state: Array,
    track: NDArray[np.intp],
    target: Array,
    *,
    order: int = TAYLOR_TERMS,
    detour: bool = False,
    most: int = MOST_STEPS,
    every_entry: bool = False,
    perturbed: bool = True,
) -> Arrival:
    """Carry H from one point of each track to targets on the tracks.

    Parameters
    ----------
    path : Path
    start : array, (tracks,)
        Parameters, complex if ``detour``.
    state : array, (tracks, rank, columns)
        Real, or complex where the path is.  The first column is H; the others are perturbations, to which every step
        adds its own rounding, unless ``perturbed`` is False: then all columns are solutions, real or not.
    track, target : arrays, (targets,)
        The track of each target and its real parameter.
    order : int
        The number of terms.
    detour : bool
        Whether the path may leave the real line.
    most : int
        After this many expansions a target takes the best value that there was, with the tail of its series.
    every_entry : bool
        Whether all of H is wanted at the targets; otherwise only the first entry and c1c2k′ decide what is good enough.

    Returns
    -------
    Arrival
        The tail of a target that was never in reach is infinite.
    """
    count, columns = len(target), state.shape[2]
    kind = complex if detour else float
    # after a detour every value is real again, unless all columns are solutions
    plain = perturbed and (detour or np.isrealobj(state))
    carried = np.result_type(state, kind)
    result = Arrival(
        np.full((count, path.rank, columns), np.nan, dtype=float if plain else carried),
        np.full((count, columns), np.nan, dtype=float if plain else carried),
        np.full((count, path.rank), np.inf),
        np.full(count, np.inf),
        np.zeros(count, dtype=np.intp),
    )
    size = max(1, _CHUNK // ((order + 1) * path.rank**2 * (2 if detour else 1)))
    for first in range(0, len(start), size):
        tracks = np.arange(first, min(first + size, len(start)))
        mine = np.nonzero((track >= tracks[0]) & (track <= tracks[-1]))[0]
        if len(mine):
            walk = _Walk(path, tracks, result, order=order, every_entry=every_entry, perturbed=perturbed)
            walk.at, walk.state = start[tracks].astype(kind), state[tracks].astype(carried)
            walk.run(track[mine] - first, target[mine], mine, most)
    return result


class _Walk:
    """Some tracks that move together, each at its own pace."""

    at: Array
    state: Array

    def __init__(
        self, path: Path, tracks: Array, result: Arrival, *, order: int, every_entry: bool, perturbed: bool
    ) -> None:
        self.path, self.tracks, self.result = path, tracks, result
        self.order, self.every_entry, self.perturbed = order, every_entry, perturbed
        self.solutions = 1 if perturbed else result.value.shape[2]
        # signs of rounding errors: any fixed sequence will do
        self.random = np.random.default_rng(20241031)

    def run(self, owner: Array, target: Array, where: Array, most: int) -> None:
        pending = np.ones(len(target), dtype=bool)
        row = np.zeros(len(self.at), dtype=np.intp)
        for step in range(1, most + 1):
            busy = np.unique(owner[pending])
            if not len(busy):
                return
            row[busy] = np.arange(len(busy))
            with np.errstate(over="ignore", invalid="ignore"):
                equation = self.path.equation_at(self.tracks[busy], self.at[busy], self.order)
                value, slope = taylor_coefficients(equation, self.state[busy], self.perturbed, self.order)
            free = self.path.distance(self.tracks[busy], self.at[busy])
            todo = np.nonzero(pending)[0]
            gap = target[todo] - self.at[owner[todo]]
            reach = np.minimum(free, _reach(value[..., : self.solutions]))
            near = np.abs(gap) <= free[row[owner[todo]]] * (1 + 1e-9)
            series = np.concatenate([value, slope[:, :, None]], axis=2)[row[owner[todo[near]]]]
            done = self._deliver(series, gap[near], where[todo[near]], step)
            done |= np.abs(gap[near]) <= reach[row[owner[todo[near]]]]
            pending[todo[near][done]] = False
            left = np.nonzero(pending)[0]
            if not len(left) or step == most:
                return
            goal = self._goals(owner[left], target[left])
            moving = np.isfinite(goal[busy])
            stuck = self._move(busy[moving], value[moving], reach[moving], goal[busy[moving]])
            pending[np.isin(owner, stuck)] = False

    def _goals(self, owner: Array, target: Array) -> Array:
        """The nearest target that each track has still to reach."""
        goal = np.full(len(self.at), np.inf, dtype=np.result_type(target, float))
        order = np.argsort(-np.abs(target - self.at[owner]), kind="stable")
        goal[owner[order]] = target[order]
        return goal

    def _move(self, busy: Array, value: Array, reach: Array, goal: Array) -> Array:
        """Take a step with each track; those that cannot move are returned."""
        here = self.at[busy]
        gap = goal - here
        ahead = np.where(np.abs(gap) > 0, gap / np.maximum(np.abs(gap), 1e-300), 1.0)
        turns = np.ones(1) if np.isrealobj(here) else np.exp(1j * _TURNS)
        length = np.minimum(reach * 0.95, np.maximum(np.abs(gap), 0.3 * reach)) if np.isrealobj(here) else reach
        moves = np.multiply.outer(ahead, turns)[..., None] * (length[:, None, None] * _REACHES)
        moves = moves.reshape(len(busy), -1)
        there = here[:, None] + moves
        if len(turns) > 1:
            # how many free distances are left to go; the first of equals wins, which is the straight one
            free = self.path.distance(self.tracks[busy], there)
            best = np.argmin(np.abs(goal[:, None] - there) / np.maximum(free, 1e-300), axis=1)
        else:
            best = np.zeros(len(busy), dtype=np.intp)
        step = moves[np.arange(len(busy)), best]
        total, size = _sum(value, step, self.solutions)
        free = np.abs(step) > 1e-13 * np.maximum(np.abs(here), 1e-300)
        free &= np.all(np.isfinite(total), axis=(1, 2))
        moved = busy[free]
        self._round(total, size)
        self.state[moved] = total[free]
        self.at[moved] = (here + step)[free]
        return np.asarray(busy[~free])

    def _round(self, total: Array, size: Array) -> None:
        """Add the rounding of a sum to the perturbations."""
        if self.perturbed:
            signs = self.random.choice([-1.0, 1.0], size=total[:, :, 1:].shape)
            total[:, :, 1:] += signs * EPS * size[:, :, None]

    def _deliver(self, series: Array, gap: Array, where: Array, step: int) -> Array:
        """Give each target in reach a value if it is better than the one it has; say which are good enough."""
        total, size = _sum(series, gap, self.solutions)
        self._round(total, size)
        first = max(0, self.order - 7)
        powers = np.abs(gap)[:, None, None] ** np.arange(first, self.order + 1)[:, None]
        last = np.max(np.abs(series[:, first:, :, : self.solutions]), axis=3) * powers
        tail = np.max(last[:, -4:], axis=1)
        judged = slice(None) if self.every_entry else list(self.path.outputs)
        good = np.max(tail[:, judged], axis=1) <= _GOOD * np.max(size[:, judged], axis=1)
        tail = _rest(np.max(last[:, :-4], axis=1, initial=0.0), tail, EPS * size)
        if np.iscomplexobj(total) and np.isrealobj(self.result.value):
            # the truth is real, so an imaginary part is an error as well
            tail = tail + np.abs(total[:, :, 0].imag)
            total = total.real
        tail = np.where(np.isfinite(tail), tail, np.inf)
        now = np.max(tail[:, judged], axis=1)
        before = np.concatenate([self.result.tail[where], self.result.slope_tail[where, None]], axis=1)
        better = now < np.max(before[:, judged], axis=1)
        at = where[better]
        self.result.value[at], self.result.slope[at] = total[better, :-1], total[better, -1]
        self.result.tail[at], self.result.slope_tail[at] = tail[better, :-1], tail[better, -1]
        self.result.steps[at] = step
        return np.asarray(good)


def _rest(before: Array, last: Array, rounding: Array) -> Array:
    """What a series leaves out, from the largest of four terms and of the last four, which fall by the same ratio.

    Next to a singularity they hardly fall. Terms as small as rounding errors do not tell how they fall.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (last / before) ** 0.25
        rest = np.where(ratio < 1, last / (1 - ratio), np.inf)
    return np.where(last > _NOISE * rounding, rest, last)


def _sum(series: Array, gap: Array, solutions: int) -> tuple[Array, Array]:
    """Values of series, (tracks, order + 1, rank, columns), at one distance each, and the sums of absolute terms."""
    width = series.shape[1]
    powers = gap[:, None] ** np.arange(width)
    total = np.einsum("pn,pnrc->prc", powers, series)
    size = np.einsum("pn,pnr->pr", np.abs(powers), np.max(np.abs(series[..., :solutions]), axis=3))
    return total, size


def _reach(value: Array) -> Array:
    """How far the last terms of the series of H stay below rounding."""
    size = np.max(np.abs(value), axis=(2, 3))
    order = np.arange(size.shape[1] - 4, size.shape[1])
    scale = np.maximum(np.max(size[:, :2], axis=1, keepdims=True), 1e-300)
    with np.errstate(divide="ignore"):
        reach = (_TAIL * scale / size[:, -4:]) ** (1 / order)
    return np.asarray(np.min(reach, axis=1))
