"""Instructions for lines of pairs: G and Θ after an activation from a series of correlations, or from chords.

A line has one first variable and many second ones, whose numbers are rows: c, 1/c, log c, n, gn, d, c²/2 and n²/2;
E[σ(cz)] and the functions of the series, in units of those that stand for high powers; these times gn; and those of
chords. Vectors go beyond the end of a line; what is
there stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from numba.core import types

from holokern.numeric import Array, machine

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
"""Vectors of one line at a time: sums of one would wait for each other's results. Or one of each of `machine.LINES`."""

CHORDS = machine.LINES * ROW
"""Chords of as many lines."""

_ROUNDING = 2.0**-51
"""Of a difference of squares, relative to the squared distance, as in `machine.loss_of`."""


class LineArrays(NamedTuple):
    """The arrays of lines, all flat.

    Attributes
    ----------
    first, second
        Numbers of the first variables and, from `SIDE` on, of the second ones, in rows that are `ROW` apart.
    lines
        What `machine.put_in` makes of a line.
    gap, tangent
        G and Θ.
    chord, panel
        The chords of pairs, and the numbers of their panels: -1 if a pair is done. Lines are `ROW` apart.
    """

    first: Array
    second: Array
    lines: Array
    gap: Array
    tangent: Array
    chord: Array
    panel: Array


class LinePlace(NamedTuple):
    """Some lines, or one.

    Attributes
    ----------
    own, at
        The place of the first variable in rows, and where G and Θ begin.
    lines, apart
        How many lines there are, and how far G and Θ of the next one are behind.
    kept
        Where chords begin.
    width, skipped
        The pairs of a line, and vectors left out.
    with_slope
        Whether there is Θ.
    """

    own: int
    at: int
    lines: int
    apart: int
    kept: int
    width: int
    skipped: int
    with_slope: bool


class _First(NamedTuple):
    """What is known of a first variable: in rows one after the other."""

    c: machine.Vector
    inverse: machine.Vector
    log: machine.Vector
    n: machine.Vector
    small: machine.Vector
    d: machine.Vector
    half: machine.Vector
    half_norm: machine.Vector
    mean: machine.Vector


class _Lines:
    """Numbers of the pairs of lines, which both kinds of instructions need."""

    def __init__(self, it: machine.Vectors, count: int) -> None:
        self.it, self.count, self.second = it, count, it.array("arrays.second")
        self.gap, self.tangent = it.array("arrays.gap"), it.array("arrays.tangent")
        # The first line stands for those that are missing, whose results are not kept.
        there = [it.builder.icmp_signed(">", it.integer("line.lines"), it.place(v)) for v in range(count)]
        self.lines = [it.builder.select(one, it.place(v), it.place(0)) for v, one in enumerate(there)]
        made = [_First(*(self.own(place, v) for place in range(KNOWN + 1))) for v in range(count)]
        self.first = made if count > 1 else made * SOME

    def vectors(self) -> Iterator[range]:
        """The vectors at a time: one of each line, or `SOME` of one line and then one if it is left.

        What is written meanwhile is for them.
        """
        it, skipped = self.it, self.it.integer("line.skipped")
        end = it.builder.sdiv(it.place(it.integer("line.width"), machine.LANES - 1), it.place(machine.LANES))
        left, first = it.builder.sub(end, skipped), skipped
        for some in (SOME, 1) if self.count == 1 else (1,):
            number = it.builder.sdiv(left, it.place(some))
            with it.loop(number) as vector:
                start = it.times(it.place(first, it.times(vector.index, some)), machine.LANES)
                self.begins = [it.place(start, v * machine.LANES) for v in range(some)] * self.count
                yield range(len(self.begins))
            first, left = it.place(first, it.times(number, some)), it.builder.srem(left, it.place(some))

    def own(self, place: Any, v: int) -> machine.Vector:
        """A number of the first variable of a vector."""
        it = self.it
        column = it.place(it.integer("line.own"), self.lines[v % self.count])
        return it.broadcast(it.at(it.array("arrays.first"), it.place(column, it.times(place, ROW))))

    def other(self, row: Any, v: int) -> machine.Vector:
        """A row of numbers of the second variables."""
        return self.it.load(self.second, self.it.place(self.it.times(row, ROW), self.begins[v], SIDE))

    def _place(self, v: int) -> Any:
        line = self.it.times(self.it.integer("line.apart"), self.lines[v % self.count])
        return self.it.place(self.it.integer("line.at"), line, self.begins[v])

    def read_ahead(self, v: int) -> None:
        """Begin to read G and Θ of as many lines behind these."""
        place = self.it.place(self._place(v), self.it.times(self.it.integer("line.apart"), self.count))
        for array in (self.gap, self.tangent):
            self.it.read_ahead(array, place)

    def kept(self, v: int) -> Any:
        """Where the chords of a vector are kept."""
        return self.it.place(self.it.integer("line.kept"), v % self.count * ROW, self.begins[v])

    def given(self, v: int) -> machine.Vector:
        """G before."""
        return self.it.load(self.gap, self._place(v))

    def keep(self, v: int, lanes: Any, gap: machine.Vector, slope: machine.Vector) -> None:
        """Write G and, from k′, Θ in some lanes."""
        it = self.it
        it.store(gap.where(lanes, self.given(v)), self.gap, self._place(v))
        kind, value = it.given["line.with_slope"]
        with it.builder.if_then(it.context.is_true(it.builder, kind, value)):
            before = it.load(self.tangent, self._place(v))
            it.store((before * slope).where(lanes, before), self.tangent, self._place(v))


def _keep_sums(lines: _Lines, correlations: list[machine.Vector], lanes: list[Any]) -> None:
    """Pairs by the series: Horner's rule for even and for odd powers of the correlation.

    Every coefficient is in units of the product of two functions that stand for higher powers, and has a share of it.
    """
    it, sums = lines.it, [lines.it.variables(4) for _ in lanes]
    y = [r * r for r in correlations]
    for some in sums:
        it.clear(some)
    for parity, name in enumerate(("evens", "odds")):
        before = it.integer("chords.evens") if parity else it.place(0)
        with it.loop(it.integer(f"chords.{name}")) as term:
            at = it.place(before, term.index)
            row, share = it.place(KNOWN + 1, at), it.broadcast(it.at(it.array("chords.shares"), at))
            for v, some in enumerate(sums):
                value, change = some[2 * parity : 2 * parity + 2]
                total = it.get(value)
                it.put(it.get(change) * y[v] + total, change)
                it.put(total * y[v] + (lines.own(row, v) * lines.other(row, v) + share), value)
    high = it.place(KNOWN + 1, it.integer("chords.evens"), it.integer("chords.odds"))
    for v, some in enumerate(sums):
        first, units = lines.first[v], [lines.own(row, v) * lines.other(row, v) for row in (high, it.place(high, 1))]
        even, even_change, odd, odd_change = (it.get(one) * units[k // 2] for k, one in enumerate(some))
        r, inverse = correlations[v], first.inverse * lines.other(1, v)
        k = first.mean * lines.other(KNOWN, v) + (y[v] * even + r * odd)
        slope = r * (even + y[v] * even_change) * 2.0 + (odd + y[v] * odd_change * 2.0)
        lines.keep(v, lanes[v], first.half_norm + lines.other(7, v) - k, slope * inverse)


def _look_at(lines: _Lines, v: int, rest: Any) -> Any:
    """Pairs that coincide are done, and what is left has chords and panels; the result are these lanes."""
    it, builder, e, given, first = lines.it, lines.it.builder, lines.other(0, v), lines.given(v), lines.first[v]
    inverse, apart = first.inverse * lines.other(1, v), (first.c - e) * (first.c - e) * 0.5
    found, noise = (given - apart) * inverse, given * inverse * _ROUNDING
    is_apart = found.is_(">", noise)
    same = builder.and_(rest, builder.and_(e.is_("==", first.c), builder.not_(is_apart)))
    lines.keep(v, same, it.number(0.0), first.d * lines.other(5, v))
    left, chords, owners = builder.and_(rest, builder.not_(same)), it.array("arrays.chord"), it.array("arrays.panel")
    panels, edges = it.place(it.length("chords.edges"), -1), it.array("chords.edges")
    # Unless folded, panels of chords beyond π/2 come behind the others.
    far = it.equal("chords.fold").is_("==", 0.0)
    loss = it.number(2.0).where((found + noise).is_(">", 2.0), found.where(is_apart, 0.0))
    is_near, j = loss.is_("<=", 1.0), lines.kept(v)
    it.store((loss.where(is_near, it.number(2.0) - loss) * 0.5).root(), chords, j)
    start = it.number(0.0).where(is_near, it.as_float(panels).where(far, 0.0))
    it.store(start.where(left, -1.0), owners, j)
    with it.loop(it.place(panels, -1)) as number:
        edge = it.broadcast(it.at(edges, it.place(number.index, 1)))
        more = it.number(1.0).where(it.load(chords, j).is_(">=", edge), 0.0)
        it.store((it.load(owners, j) + more).where(left, -1.0), owners, j)
    return left


@machine.instructions
def by_series(_: Any, chords: Any, arrays: Any, line: Any, limit: Any, more: Any, again: Any) -> Any:
    """The pairs of some lines whose correlation is at most ``limit``, and those that coincide.

    For the others it finds their chords and panels. Lines that come ``again`` leave out what is done. The result is
    1 if some that are left have a correlation up to ``more``, plus 2 if any are left, plus 4 if the series served some,
    and eight times as much for each next line.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = machine.Vectors("chords arrays line limit more again", context, builder, signature, arguments)
        lines, (found,) = _Lines(it, machine.LINES), it.integers(1)
        owners, width = it.array("arrays.panel"), it.integer("line.width")
        builder.store(it.place(0), found)

        def note(bit: int, lanes: list[Any]) -> None:
            for v, some in enumerate(lanes):
                there = builder.select(it.any_of([some]), it.place(bit * 8**v), it.place(0))
                builder.store(builder.or_(builder.load(found), there), found)

        for vectors in lines.vectors():
            correlations, sizes, served, rest = list[machine.Vector](), list[machine.Vector](), list[Any](), list[Any]()
            for v in vectors:
                lines.read_ahead(v)
                waits = builder.or_(it.equal("again").is_("==", 0.0), it.load(owners, lines.kept(v)).is_(">=", 0.0))
                waits, first = builder.and_(waits, it.below(lines.begins[v], width)), lines.first[v]
                waits = builder.and_(waits, it.equal("line.lines").is_(">", float(v)))
                r = (first.half + lines.other(6, v) - lines.given(v)) * (first.inverse * lines.other(1, v))
                correlations.append(r)
                sizes.append(r.where(r.is_(">=", 0.0), r * -1.0))
                is_served = sizes[v].is_("<=", it.equal("limit"))
                served.append(builder.and_(waits, is_served))
                rest.append(builder.and_(waits, builder.not_(is_served)))
            with builder.if_then(it.any_of(served)):
                _keep_sums(lines, correlations, served)
                note(4, served)
            for v in vectors:
                it.store(it.number(-1.0), owners, lines.kept(v))
            with builder.if_then(it.any_of(rest)):
                left = [_look_at(lines, v, lanes) for v, lanes in enumerate(rest)]
                note(2, left)
                more = it.equal("more")
                note(1, [builder.and_(lanes, size.is_("<=", more)) for lanes, size in zip(left, sizes, strict=True)])
        return builder.load(found)

    return types.int64(chords, arrays, line, limit, more, again), code


def _add_powers(lines: _Lines, end: Any, group: Any, terms: list[list[Any]]) -> None:
    """Coefficients of four powers of the chord, from lines that end at ``end``; their beginning is the next end."""
    it = lines.it
    row = it.times(it.integer("panel"), it.length("chords.fours", 1))
    count = it.at(it.array("chords.fours"), it.place(row, group))
    start = it.builder.sub(it.builder.load(end), it.times(count, 16))
    it.builder.store(start, end)
    for some in terms:
        it.clear(some)
    functions = it.place(it.times(it.at(it.array("chords.columns"), it.place(2)), ROW), lines.begins[0], SIDE)
    it.add_four_sums(terms, it.array("arrays.lines"), start, lines.second, functions, (count, it.place(ROW)))


def _add_terms(it: machine.Vectors, terms: list[list[Any]], sums: list[list[Any]], x: list[machine.Vector]) -> None:
    """Horner's rule for values and derivatives, from the highest power on."""
    for powers in reversed(list(zip(*terms, strict=True))):
        for term, (value, change), place in zip(powers, sums, x, strict=True):
            total = it.get(value)
            it.put(it.get(change) * place + total, change)
            it.put(total * place + it.get(term), value)


def _keep_chords(lines: _Lines, v: int, lanes: Any, s: machine.Vector, sums: list[machine.Vector]) -> None:
    """Pairs from H̃, dH̃/ds, and W or A."""
    bent, rate, flat = sums
    it, builder, m, first = lines.it, lines.it.builder, lines.other(3, v), lines.first[v]
    product, both, e = first.n * m, first.small * lines.other(4, v), lines.other(0, v)
    apart, square, jumps = first.log - lines.other(2, v), s * s, it.equal("chords.power").is_("==", 1.0)
    far = it.equal("panel").is_(">=", it.as_float(it.place(it.length("chords.edges"), -1)))
    known = (apart * apart).where(builder.or_(jumps, builder.not_(far)), 1.0) * flat
    # what H̃ is multiplied with: 1 - cos θ, of the supplement beyond π/2, or the chord when σ jumps
    factor = (square * -2.0).where(far, square * 2.0)
    rough = (it.number(1.0) - square).where(far, square).root()
    lost = product * known + both * rough.where(jumps, factor) * bent
    slope = (bent + s * rate * 0.5) * both
    # cos θ < 0 means that the distance is larger than that of independent variables
    is_obtuse, fold = (lines.given(v) * 2.0).is_(">", first.c * first.c + e * e), it.equal("chords.fold")
    lost = (product * 2.0 - lost).where(builder.and_(is_obtuse, fold.is_("==", -1.0)), lost)
    slope = (slope * -1.0).where(builder.and_(is_obtuse, fold.is_("==", 1.0)), slope)
    lines.keep(v, lanes, (first.n - m) * (first.n - m) * 0.5 + lost, slope * (first.inverse * lines.other(1, v)))


@machine.instructions
def by_chords(_: Any, chords: Any, arrays: Any, line: Any, panel: Any, end: Any) -> Any:
    """The pairs of a line that belong to a panel of chords, from polynomials by Horner's rule.

    What `machine.put_in` found ends at ``end``. Before the powers comes what is lost at angle 0, in units of the
    squared difference of log c, or at π.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = machine.Vectors("chords arrays line panel end", context, builder, signature, arguments)
        groups, (end,) = it.at(it.array("chords.groups"), it.integer("panel")), it.integers(1)
        middle = it.broadcast(it.at(it.array("chords.middles"), it.integer("panel")))
        lines = _Lines(it, 1)
        for vectors in lines.vectors():
            terms, sums = [it.variables(4) for _ in vectors], [it.variables(2) for _ in vectors]
            mine = [it.load(it.array("arrays.panel"), lines.kept(v)).is_("==", it.equal("panel")) for v in vectors]
            with builder.if_then(it.any_of(mine)):
                s = [it.load(it.array("arrays.chord"), lines.kept(v)) for v in vectors]
                x = [place - middle for place in s]
                for some in sums:
                    it.clear(some)
                builder.store(it.integer("end"), end)

                # From the highest powers on; the first of the last group is none.
                with it.loop(it.place(groups, -1)) as group:
                    _add_powers(lines, end, builder.sub(it.place(groups, -1), group.index), terms)
                    _add_terms(it, terms, sums, x)
                _add_powers(lines, end, it.place(0), terms)
                _add_terms(it, [some[1:] for some in terms], sums, x)
                for v, (value, change) in enumerate(sums):
                    _keep_chords(lines, v, mine[v], s[v], [it.get(one) for one in (value, change, terms[v][0])])
        return context.get_dummy_value()

    return types.void(chords, arrays, line, panel, end), code
