"""Instructions for lines of pairs: G and Θ after an activation from a series of correlations, or from chords.

A line has one first variable, whose numbers begin at ``own`` in an array, and many second ones. The numbers of these
are rows that are `ROW` apart, from the second `SIDE` on: c, 1/c, log c, n, gn, d, c²/2 and n²/2; E[σ(cz)] and the
functions of the series times gn; and those of chords. G and Θ begin at ``at`` in their arrays. Vectors go beyond the
end of a line; what is there stays as it is.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from holokern.numeric import machine

GIVEN, KNOWN = 6, 8
"""Numbers of a deviation before its functions: those that are given, and with half the squares of c and n."""

TERMS, RANK = 52, 48
"""The most functions of a series, with the mean and the two of high powers, and of chords."""

WIDTH = 128
"""Pairs of a line at a time, so that their numbers and functions stay in the nearest cache."""

ROW = WIDTH + 8
"""Numbers between two rows: a line of the cache more, so that rows do not push each other out of it."""

SIDE = (KNOWN + TERMS + RANK) * ROW
"""Numbers of all first variables, or of all second ones."""

SOME = 2
"""Vectors at a time: sums of one would wait for each other's results."""

_ROUNDING = 2.0**-51
"""Of a difference of squares, relative to the squared distance, as in `machine.loss_of`."""


def _vectors(it: machine.Vectors) -> Any:
    """How many times `SOME` vectors there are behind those that are left out."""
    left = it.builder.sub(it.integer("width"), it.times(it.integer("skipped"), machine.LANES))
    return it.builder.sdiv(it.place(left, SOME * machine.LANES - 1), it.place(SOME * machine.LANES))


class _Line:
    """Numbers of the pairs of a line, which both kinds of instructions need."""

    def __init__(self, it: machine.Vectors) -> None:
        self.it, self.arrays = it, {name: it.array(name) for name in ("numbers", "first", "gap", "tangent")}
        self.c, self.inverse, self.log, self.n, self.small, self.d, self.half, self.half_norm, self.mean = (
            self.own(place) for place in range(KNOWN + 1)
        )

    def go_to(self, vector: Any) -> list[Any]:
        """Where vectors begin in the line, from now on."""
        it = self.it
        start = it.place(it.times(vector, SOME * machine.LANES), it.times(it.integer("skipped"), machine.LANES))
        self.begins = [it.place(start, v * machine.LANES) for v in range(SOME)]
        return self.begins

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

    def keep(self, v: int, lanes: Any, gap: machine.Vector, slope: machine.Vector) -> None:
        """Write G and, from k′, Θ in some lanes."""
        it = self.it
        it.store(gap.where(lanes, self.given(v)), self.arrays["gap"], self._place(v))
        kind, value = it.given["with_slope"]
        with it.builder.if_then(it.context.is_true(it.builder, kind, value)):
            before = it.load(self.arrays["tangent"], self._place(v))
            it.store((before * slope).where(lanes, before), self.arrays["tangent"], self._place(v))


def _keep_sums(line: _Line, correlations: list[machine.Vector], lanes: list[Any]) -> None:
    """Pairs by the series: Horner's rule for even and for odd powers of the correlation.

    Every coefficient has a share of the product of two functions that stand for higher powers.
    """
    it, sums = line.it, [line.it.variables(4) for _ in range(SOME)]
    y = [r * r for r in correlations]
    for some in sums:
        it.clear(some)
    for parity, name in enumerate(("evens", "odds")):
        before = it.integer("evens") if parity else it.place(0)
        start, high = it.place(KNOWN + 1, before), it.place(KNOWN + 1 + parity, it.integer("evens"), it.integer("odds"))
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
        r, inverse = correlations[v], line.inverse * line.other(1, v)
        k = line.mean * line.other(KNOWN, v) + (y[v] * even + r * odd)
        slope = r * (even + y[v] * even_change) * 2.0 + (odd + y[v] * odd_change * 2.0)
        line.keep(v, lanes[v], line.half_norm + line.other(7, v) - k, slope * inverse)


def _look_at(line: _Line, v: int, rest: Any, far: machine.Vector) -> Any:
    """Pairs that coincide are done, and what is left has chords and panels; the result are these lanes."""
    it, builder, e, given = line.it, line.it.builder, line.other(0, v), line.given(v)
    inverse, apart = line.inverse * line.other(1, v), (line.c - e) * (line.c - e) * 0.5
    found, noise = (given - apart) * inverse, given * inverse * _ROUNDING
    is_apart = found.is_(">", noise)
    same = builder.and_(rest, builder.and_(e.is_("==", line.c), builder.not_(is_apart)))
    line.keep(v, same, it.number(0.0), line.d * line.other(5, v))
    left, (chords, owners, edges) = builder.and_(rest, builder.not_(same)), map(it.array, ("chord", "owner", "edges"))
    loss = it.number(2.0).where((found + noise).is_(">", 2.0), found.where(is_apart, 0.0))
    is_near, j = loss.is_("<=", 1.0), line.begins[v]
    it.store((loss.where(is_near, it.number(2.0) - loss) * 0.5).root(), chords, j)
    it.store(it.number(0.0).where(is_near, far).where(left, -1.0), owners, j)
    with it.loop(it.place(it.length("edges"), -2)) as number:
        edge = it.broadcast(it.at(edges, it.place(number.index, 1)))
        more = it.number(1.0).where(it.load(chords, j).is_(">=", edge), 0.0)
        it.store((it.load(owners, j) + more).where(left, -1.0), owners, j)
    return left


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
    The first vectors may be ``skipped``.
    """
    names = (
        "first own numbers limit more again evens odds shares gap tangent at with_slope width skipped edges far chord "
        "owner"
    )

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = machine.Vectors(names, context, builder, signature, arguments)
        owners, width, (found,), line = it.array("owner"), it.integer("width"), it.integers(1), _Line(it)
        builder.store(it.place(0), found)

        def note(bit: int, lanes: list[Any]) -> None:
            there = builder.select(it.any_of(lanes), it.place(bit), it.place(0))
            builder.store(builder.or_(builder.load(found), there), found)

        with it.loop(_vectors(it)) as vector:
            correlations, sizes, served, rest = list[machine.Vector](), list[machine.Vector](), list[Any](), list[Any]()
            for v, j in enumerate(line.go_to(vector.index)):
                waits = builder.or_(it.equal("again").is_("==", 0.0), it.load(owners, j).is_(">=", 0.0))
                waits = builder.and_(waits, it.below(j, width))
                r = (line.half + line.other(6, v) - line.given(v)) * (line.inverse * line.other(1, v))
                correlations.append(r)
                sizes.append(r.where(r.is_(">=", 0.0), r * -1.0))
                is_served = sizes[v].is_("<=", it.equal("limit"))
                served.append(builder.and_(waits, is_served))
                rest.append(builder.and_(waits, builder.not_(is_served)))
            with builder.if_then(it.any_of(served)):
                _keep_sums(line, correlations, served)
                note(4, served)
            for j in line.begins:
                it.store(it.number(-1.0), owners, j)
            with builder.if_then(it.any_of(rest)):
                left = [_look_at(line, v, lanes, it.equal("far")) for v, lanes in enumerate(rest)]
                note(2, left)
                more = it.equal("more")
                note(1, [builder.and_(lanes, size.is_("<=", more)) for lanes, size in zip(left, sizes, strict=True)])
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
    it, builder, m = line.it, line.it.builder, line.other(3, v)
    product, both, e = line.n * m, line.small * line.other(4, v), line.other(0, v)
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
    slope = (slope * -1.0).where(builder.and_(is_obtuse, fold.is_("==", 1.0)), slope)
    line.keep(v, lanes, (line.n - m) * (line.n - m) * 0.5 + lost, slope * (line.inverse * line.other(1, v)))


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
        terms, sums, line = [it.variables(4) for _ in range(SOME)], [it.variables(2) for _ in range(SOME)], _Line(it)
        with it.loop(_vectors(it)) as vector:
            mine = [it.load(it.array("owner"), j).is_("==", it.equal("panel")) for j in line.go_to(vector.index)]
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
