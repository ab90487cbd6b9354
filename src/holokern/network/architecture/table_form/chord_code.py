"""Instructions for lines of pairs: G and Θ after an activation from a series of correlations, or from chords.

A line has one first variable, whose numbers begin at ``own`` in an array, and many second ones. The numbers of these
are rows that are `ROW` apart, from the second `SIDE` on: c, 1/c, log c, n, gn and d, E[σ(cz)]/n and the functions of
the series, and those of chords. G and Θ begin at ``at`` in their arrays. Vectors go beyond the end of a line; what is
there stays as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba.core import types

from holokern.numeric import machine

GIVEN = 6
"""Numbers of a deviation before its functions."""

TERMS, RANK = 52, 48
"""The most functions of a series, with the mean and the two of high powers, and of chords."""

WIDTH = 128
"""Pairs of a line at a time, so that their numbers and functions stay in the nearest cache."""

ROW = WIDTH + 8
"""Numbers between two rows: a line of the cache more, so that rows do not push each other out of it."""

SIDE = (GIVEN + TERMS + RANK) * ROW
"""Numbers of all first variables, or of all second ones."""

SOME = 2
"""Vectors at a time: sums of one would wait for each other's results."""

_ROUNDING = 2.0**-51
"""Of a difference of squares, relative to the squared distance, as in `machine.loss_of`."""


def _vectors(it: machine.Vectors) -> Any:
    """How many times `SOME` vectors there are, without those that are left out."""
    count = it.builder.sdiv(it.place(it.integer("width"), SOME * machine.LANES - 1), it.place(SOME * machine.LANES))
    return it.builder.sub(count, it.integer("skipped"))


class _Line:
    """Numbers of the pairs of a line, which both kinds of instructions need."""

    def __init__(self, it: machine.Vectors, vector: Any) -> None:
        self.it, self.arrays = it, {name: it.array(name) for name in ("numbers", "first", "gap", "tangent")}
        start = it.times(it.place(vector, it.integer("skipped")), SOME * machine.LANES)
        self.begins = [it.place(start, v * machine.LANES) for v in range(SOME)]
        self.c, self.inverse, self.log, self.n, self.small, self.d, self.mean = (
            self.own(place) for place in range(GIVEN + 1)
        )

    def own(self, place: Any) -> machine.Vector:
        """A number of the first variable."""
        return self.it.broadcast(self.it.at(self.arrays["first"], self.it.place(self.it.integer("own"), place)))

    def other(self, row: Any, v: int) -> machine.Vector:
        """A row of numbers of the second variables."""
        return self.it.load(self.arrays["numbers"], self.it.place(self.it.times(row, ROW), self.begins[v], SIDE))

    def _place(self, v: int) -> Any:
        return self.it.place(self.it.integer("at"), self.begins[v])

    def given(self, v: int) -> machine.Vector:
        """G before."""
        return self.it.load(self.arrays["gap"], self._place(v))

    def keep(self, v: int, lanes: Any, lost: machine.Vector, slope: machine.Vector) -> None:
        """Write G and Θ in some lanes, from n₁n₂ - k and c₁c₂k′."""
        it, m = self.it, self.other(3, v)
        gap = (self.n - m) * (self.n - m) * 0.5 + lost
        it.store(gap.where(lanes, self.given(v)), self.arrays["gap"], self._place(v))
        kind, value = it.given["with_slope"]
        with it.builder.if_then(it.context.is_true(it.builder, kind, value)):
            before = it.load(self.arrays["tangent"], self._place(v))
            after = before * (slope * (self.inverse * self.other(1, v)))
            it.store(after.where(lanes, before), self.arrays["tangent"], self._place(v))


class _Kinds(NamedTuple):
    """1 - cos θ and |cos θ| of pairs; which of them coincide, which do so or the series serves, and which are left."""

    loss: machine.Vector
    size: machine.Vector
    same: Any
    done: Any
    rest: Any


def _kinds(line: _Line, v: int, waits: Any, limit: machine.Vector) -> _Kinds:
    """What kinds of pairs a vector has, of those that wait."""
    it, builder, e, given = line.it, line.it.builder, line.other(0, v), line.given(v)
    inverse, apart = line.inverse * line.other(1, v), (line.c - e) * (line.c - e) * 0.5
    found, noise = (given - apart) * inverse, given * inverse * _ROUNDING
    is_apart = found.is_(">", noise)
    loss = it.number(2.0).where((found + noise).is_(">", 2.0), found.where(is_apart, 0.0))
    r = it.number(1.0) - loss
    same = builder.and_(e.is_("==", line.c), builder.not_(is_apart))
    size = r.where(r.is_(">=", 0.0), r * -1.0)
    served = builder.or_(same, size.is_("<=", limit))
    return _Kinds(loss, size, same, builder.and_(waits, served), builder.and_(waits, builder.not_(served)))


def _keep_sums(line: _Line, kinds: list[_Kinds]) -> None:
    """Pairs that coincide, and pairs by the series: Horner's rule for even and for odd powers of the correlation.

    Every coefficient has a share of the product of two functions that stand for higher powers.
    """
    it, sums = line.it, [line.it.variables(4) for _ in range(SOME)]
    r = [it.number(1.0) - one.loss for one in kinds]
    y = [one * one for one in r]
    for some in sums:
        it.clear(some)
    for parity, name in enumerate(("evens", "odds")):
        before = it.integer("evens") if parity else it.place(0)
        start, high = it.place(GIVEN + 1, before), it.place(GIVEN + 1 + parity, it.integer("evens"), it.integer("odds"))
        shared = [line.own(high) * line.other(high, v) for v in range(SOME)]
        with it.loop(it.integer(name)) as term:
            row = it.place(start, term.index)
            mine, share = line.own(row), it.broadcast(it.at(it.array("shares"), it.place(before, term.index)))
            for v, some in enumerate(sums):
                value, change = some[2 * parity : 2 * parity + 2]
                total = it.get(value)
                it.put(it.get(change) * y[v] + total, change)
                it.put(total * y[v] + (share * shared[v] + mine * line.other(row, v)), value)
    for v, some in enumerate(sums):
        even, even_change, odd, odd_change = (it.get(one) for one in some)
        both, product = line.small * line.other(4, v), line.n * line.other(3, v)
        slope = r[v] * (even + y[v] * even_change) * 2.0 + odd + y[v] * odd_change * 2.0
        lost = product - product * (line.mean * line.other(6, v)) - (y[v] * even + r[v] * odd) * both
        steep, same = line.d * line.other(5, v) * (line.c * line.other(0, v)), kinds[v].same
        line.keep(v, kinds[v].done, it.number(0.0).where(same, lost), steep.where(same, slope * both))


def _leave(line: _Line, kinds: list[_Kinds], far: machine.Vector) -> None:
    """Chords and panels of pairs that are left."""
    it, (chords, owners, edges) = line.it, (line.it.array(name) for name in ("chord", "owner", "edges"))
    for one, j in zip(kinds, line.begins, strict=True):
        is_near = one.loss.is_("<=", 1.0)
        it.store((one.loss.where(is_near, it.number(2.0) - one.loss) * 0.5).root(), chords, j)
        it.store(it.number(0.0).where(is_near, far).where(one.rest, -1.0), owners, j)
    with it.loop(it.place(it.length("edges"), -2)) as number:
        edge = it.broadcast(it.at(edges, it.place(number.index, 1)))
        for one, j in zip(kinds, line.begins, strict=True):
            more = it.number(1.0).where(it.load(chords, j).is_(">=", edge), 0.0)
            it.store((it.load(owners, j) + more).where(one.rest, -1.0), owners, j)


@machine.instructions
def by_series(
    _: Any, first: Any, own: Any, numbers: Any, limit: Any, more: Any, again: Any, evens: Any, odds: Any, shares: Any,
    gap: Any, tangent: Any, at: Any, with_slope: Any, width: Any, skipped: Any, edges: Any, far: Any, chord: Any,
    owner: Any,
) -> Any:  # fmt: skip
    """The pairs whose correlation is at most ``limit``, and those that coincide.

    For the others it finds their chords and the panels of these, which ``edges`` end; those beyond π/2 are ``far``
    panels further. The panel of a pair that is done is -1; a line that comes ``again`` leaves these out. The result is
    1 if some that are left have a correlation up to ``more``, plus 2 if any are left, plus 4 if the series served some.
    The first vectors may be ``skipped``, so many times `SOME`.
    """
    names = (
        "first own numbers limit more again evens odds shares gap tangent at with_slope width skipped edges far chord "
        "owner"
    )

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = machine.Vectors(names, context, builder, signature, arguments)
        owners, width, (found,) = it.array("owner"), it.integer("width"), it.integers(1)
        builder.store(it.place(0), found)
        with it.loop(_vectors(it)) as vector:
            line, kinds = _Line(it, vector.index), list[_Kinds]()
            for v, j in enumerate(line.begins):
                waits = builder.or_(it.equal("again").is_("==", 0.0), it.load(owners, j).is_(">=", 0.0))
                kinds.append(_kinds(line, v, builder.and_(it.below(j, width), waits), it.equal("limit")))
            with builder.if_then(it.any_of([one.done for one in kinds])):
                _keep_sums(line, kinds)
            for one, j in zip(kinds, line.begins, strict=True):
                it.store(it.number(0.0).where(one.rest, -1.0), owners, j)
            lanes = (
                [builder.and_(one.rest, one.size.is_("<=", it.equal("more"))) for one in kinds],
                [one.rest for one in kinds],
                [builder.and_(one.done, builder.not_(one.same)) for one in kinds],
            )
            for bit, some in enumerate(lanes):
                there = builder.select(it.any_of(some), it.place(1 << bit), it.place(0))
                builder.store(builder.or_(builder.load(found), there), found)
            with builder.if_then(it.any_of(lanes[1])):
                _leave(line, kinds, it.equal("far"))
        return builder.load(found)

    given = first, own, numbers, limit, more, again, evens, odds, shares, gap, tangent, at, with_slope, width, skipped
    return types.int64(*given, edges, far, chord, owner), code


def _add_powers(line: _Line, end: Any, group: Any, terms: list[list[Any]]) -> None:
    """Coefficients of four powers of the chord, from lines that end at ``end``; their beginning is the next end."""
    it = line.it
    count = it.at(it.array("fours"), it.place(it.integer("row"), group))
    start = it.builder.sub(it.builder.load(end), it.times(count, 16))
    it.builder.store(start, end)
    for some in terms:
        it.clear(some)
    functions = it.place(it.times(it.integer("start"), ROW), line.begins[0], SIDE)
    it.add_four_sums(terms, it.array("lines"), start, it.array("numbers"), functions, (count, it.place(ROW)))


def _keep_chords(
    line: _Line, v: int, lanes: Any, s: machine.Vector, bent: machine.Vector, rate: machine.Vector, flat: machine.Vector
) -> None:
    """Pairs from H̃, dH̃/ds, and W or A."""
    it, builder = line.it, line.it.builder
    product, both, e = line.n * line.other(3, v), line.small * line.other(4, v), line.other(0, v)
    apart, square, far = line.log - line.other(2, v), s * s, it.equal("is_far").is_("==", 1.0)
    jumps = it.equal("power").is_("==", 1.0)
    known = (apart * apart).where(builder.or_(jumps, builder.not_(far)), 1.0) * flat
    # what H̃ is multiplied with: 1 - cos θ, of the supplement beyond π/2, or the chord when σ jumps
    factor = (square * -2.0).where(far, square * 2.0)
    rough = (it.number(1.0) - square).where(far, square).root()
    lost = product * known + both * rough.where(jumps, factor) * bent
    slope = (bent + s * rate * 0.5) * both
    # cos θ < 0 means that the distance is larger than that of independent variables
    is_obtuse, fold = (line.given(v) * 2.0).is_(">", line.c * line.c + e * e), it.equal("fold")
    lost = (product * 2.0 - lost).where(builder.and_(is_obtuse, fold.is_("==", -1.0)), lost)
    line.keep(v, lanes, lost, (slope * -1.0).where(builder.and_(is_obtuse, fold.is_("==", 1.0)), slope))


@machine.instructions
def by_chords(
    _: Any, first: Any, own: Any, numbers: Any, start: Any, lines: Any, end: Any, fours: Any, row: Any, groups: Any,
    middle: Any, panel: Any, is_far: Any, power: Any, fold: Any, gap: Any, tangent: Any, at: Any, with_slope: Any,
    width: Any, skipped: Any, chord: Any, owner: Any,
) -> Any:  # fmt: skip
    """The pairs that belong to a panel of chords, from polynomials by Horner's rule.

    ``lines`` are what `machine.put_in` found, up to ``end``; the row ``start`` of the numbers is the first function.
    Before the powers comes what is lost at angle 0, in units of the squared difference of log c, or at π.
    """
    names = (
        "first own numbers start lines end fours row groups middle panel is_far power fold gap tangent at with_slope "
        "width skipped chord owner"
    )

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = machine.Vectors(names, context, builder, signature, arguments)
        groups, (end,) = it.integer("groups"), it.integers(1)
        terms, sums = ([it.variables(count) for _ in range(SOME)] for count in (4, 2))
        with it.loop(_vectors(it)) as vector:
            line = _Line(it, vector.index)
            mine = [it.load(it.array("owner"), j).is_("==", it.equal("panel")) for j in line.begins]
            with builder.if_then(it.any_of(mine)):
                s = [it.load(it.array("chord"), j) for j in line.begins]
                for some in sums:
                    it.clear(some)
                builder.store(it.integer("end"), end)

                def horner(least: int) -> None:
                    for m in reversed(range(least, 4)):
                        for some, (value, change), place in zip(terms, sums, s, strict=True):
                            total, x = it.get(value), place - it.equal("middle")
                            it.put(it.get(change) * x + total, change)
                            it.put(total * x + it.get(some[m]), value)

                # From the highest powers on; the first of the last group is none.
                with it.loop(it.place(groups, -1)) as group:
                    _add_powers(line, end, builder.sub(it.place(groups, -1), group.index), terms)
                    horner(0)
                _add_powers(line, end, it.place(0), terms)
                horner(1)
                for v, (value, change) in enumerate(sums):
                    _keep_chords(line, v, mine[v], s[v], it.get(value), it.get(change), it.get(terms[v][0]))
        return context.get_dummy_value()

    given = first, own, numbers, start, lines, end, fours, row, groups, middle, panel, is_far, power, fold
    return types.void(*given, gap, tangent, at, with_slope, width, skipped, chord, owner), code
