"""Machine code with explicit vectors: sums of products that stay in registers, which loops of scalars do not.

Coefficients a[p, q, m] of polynomials Σ a[p, q, m] φ_p ψ_q x^m come in groups of four powers m. In group g, q and p
both run over four times ``fours[g]`` functions. First the φ of one line are put in, then many ψ and x.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numpy.typing import NDArray

from holokern.numeric.machine.compiled import FAST, WIDE, instructions, read_ahead

LANES = 8
"""Numbers of a vector: 512 bits. Processors with shorter ones take two for it."""

LINES = 4
"""Lines that `put_in` prepares together: what is read for one serves all."""

_GROUP, _BLOCK = 4, 16
"""Powers of a group, and numbers for four functions and four powers."""

_FLOAT = ir.DoubleType()
_INTEGER = ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, LANES)
_ZERO = ir.Constant(_VECTOR, [0.0] * LANES)


class Rows(NamedTuple):
    """Rows in a flat array: where the first one begins, and how far the next one is behind."""

    numbers: NDArray[np.float64]
    begin: int
    apart: int


class Fours(NamedTuple):
    """Coefficients in a flat array, in groups of fours.

    Attributes
    ----------
    values, begin
        The array, and where the first group begins.
    lengths, row
        How many fours groups have, and the place of the first group there.
    groups
        The number of groups.
    """

    values: NDArray[np.float64]
    begin: int
    lengths: NDArray[np.int64]
    row: int
    groups: int


@numba.njit(inline="always")
def left_out(unwanted: Any, line: Any) -> Any:
    """Vectors left out at the beginning of a line, as many for `LINES` together.

    The first line begins with so many ``unwanted`` numbers, and each next one with one more.
    """
    return max(0, unwanted + line // LINES * LINES) // LANES


@numba.njit(inline="always")
def longest(fours: Any) -> Any:
    """How many fours the longest group has; numba's own maximum takes half a second to compile."""
    found = 0
    for group in range(fours.row, fours.row + fours.groups):
        found = max(found, fours.lengths[group])
    return found


def _number(value: int) -> Any:
    return ir.Constant(_INTEGER, value)


class Vector:
    """A vector in machine code: arithmetic with others and with numbers writes instructions."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _other(self, other: Vector | float) -> Any:
        return other.value if isinstance(other, Vector) else ir.Constant(_VECTOR, [float(other)] * LANES)

    def _made(self, write: Any, other: Vector | float) -> Vector:
        return Vector(self.builder, write(self.value, self._other(other), flags=FAST))

    def __add__(self, other: Vector | float) -> Vector:
        return self._made(self.builder.fadd, other)

    def __sub__(self, other: Vector | float) -> Vector:
        return self._made(self.builder.fsub, other)

    def __mul__(self, other: Vector | float) -> Vector:
        return self._made(self.builder.fmul, other)

    def is_(self, relation: str, other: Vector | float) -> Any:
        """Which lanes are <, <=, ==, >= or > another's."""
        return self.builder.fcmp_ordered(relation, self.value, self._other(other))

    def where(self, lanes: Any, other: Vector | float) -> Vector:
        """These numbers in some lanes, another's in the others."""
        return Vector(self.builder, self.builder.select(lanes, self.value, self._other(other)))

    def root(self) -> Vector:
        """Square roots."""
        kind, name = ir.FunctionType(_VECTOR, [_VECTOR]), f"llvm.sqrt.v{LANES}f64"
        code = cgutils.get_or_insert_function(self.builder.module, kind, name)  # type: ignore[no-untyped-call]
        return Vector(self.builder, self.builder.call(code, [self.value]))


class Vectors:
    """Instructions on vectors, for the arguments of an intrinsic by their names, and for fields of structures."""

    def __init__(self, names: str, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder, self.given = context, builder, dict[str, tuple[Any, Any]]()
        for name, kind, value in zip(names.split(), signature.args, arguments, strict=True):
            self.given[name] = kind, value
            for place, field in enumerate(getattr(kind, "fields", ())):
                self.given[f"{name}.{field}"] = kind[place], builder.extract_value(value, place)
        set.add(builder.function.attributes, WIDE)

    def array(self, name: str) -> Any:
        """A pointer to the first number of an array."""
        kind, value = self.given[name]
        return self.context.make_array(kind)(self.context, self.builder, value).data

    def length(self, name: str, axis: int = 0) -> Any:
        """The length of an array along an axis."""
        kind, value = self.given[name]
        return self.builder.extract_value(self.context.make_array(kind)(self.context, self.builder, value).shape, axis)

    def number(self, value: float) -> Vector:
        """A vector of equal constants."""
        return Vector(self.builder, ir.Constant(_VECTOR, [value] * LANES))

    def integer(self, name: str) -> Any:
        """An integer of 64 bits."""
        kind, value = self.given[name]
        return self.context.cast(self.builder, value, kind, types.int64)

    def begins(self, rows: str) -> list[Any]:
        """Where `LINES` rows begin."""
        found = [self.integer(f"{rows}.begin")]
        for _ in range(LINES - 1):
            found.append(self.builder.add(found[-1], self.integer(f"{rows}.apart")))
        return found

    def place(self, *parts: Any) -> Any:
        """A sum of integers."""
        total = _number(0)
        for part in parts:
            total = self.builder.add(total, _number(part) if isinstance(part, int) else part)
        return total

    def times(self, one: Any, other: Any) -> Any:
        """A product of integers."""
        return self.builder.mul(*(_number(part) if isinstance(part, int) else part for part in (one, other)))

    def broadcast(self, number: Any) -> Vector:
        """A vector of equal numbers."""
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return Vector(self.builder, self.builder.shuffle_vector(first, undefined, places))

    def equal(self, name: str) -> Vector:
        """An argument as a vector of equal numbers."""
        kind, value = self.given[name]
        return self.broadcast(self.context.cast(self.builder, value, kind, types.float64))

    def as_float(self, integer: Any) -> Vector:
        """An integer as a vector of equal numbers."""
        return self.broadcast(self.builder.sitofp(integer, _FLOAT))

    def at(self, array: Any, place: Any) -> Any:
        """One number of an array."""
        return self.builder.load(self.builder.gep(array, [place]))

    def _place(self, array: Any, place: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(array, [place]), _VECTOR.as_pointer())

    def load(self, array: Any, place: Any) -> Vector:
        """A vector from an array."""
        found = self.builder.load(self._place(array, place))
        found.align = 8
        return Vector(self.builder, found)

    def read_ahead(self, array: Any, place: Any) -> None:
        """Begin to read a vector that is wanted soon."""
        read_ahead(self.builder, self.builder.gep(array, [place]))

    def store(self, vector: Vector, array: Any, place: Any) -> None:
        """A vector into an array."""
        self.builder.store(vector.value, self._place(array, place)).align = 8

    def variables(self, count: int) -> list[Any]:
        """Vectors that change; they stay in registers."""
        return [cgutils.alloca_once(self.builder, _VECTOR) for _ in range(count)]  # type: ignore[no-untyped-call]

    def get(self, variable: Any) -> Vector:
        """The value of a variable."""
        return Vector(self.builder, self.builder.load(variable))

    def put(self, vector: Vector, variable: Any) -> None:
        """Change a variable."""
        self.builder.store(vector.value, variable)

    def clear(self, variables: list[Any]) -> None:
        """Make them zero."""
        for one in variables:
            self.builder.store(_ZERO, one)

    def below(self, first: Any, end: Any) -> Any:
        """Which lanes of a vector that begins with ``first`` are before an end."""
        kind = ir.VectorType(_INTEGER, LANES)
        left = self.builder.sub(end, first)
        undefined = ir.Constant(kind, ir.Undefined)
        lanes = self.builder.insert_element(undefined, left, ir.Constant(ir.IntType(32), 0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.icmp_signed(
            "<", ir.Constant(kind, list(range(LANES))), self.builder.shuffle_vector(lanes, undefined, places)
        )

    def any_of(self, lanes: list[Any]) -> Any:
        """Whether there are any."""
        kind = ir.IntType(LANES)
        found = kind(0)
        for some in lanes:
            found = self.builder.or_(found, self.builder.bitcast(some, kind))
        return self.builder.icmp_unsigned("!=", found, kind(0))

    def loop(self, count: Any) -> Any:
        """A loop over integers."""
        return cgutils.for_range(self.builder, count, intp=_INTEGER)

    def integers(self, count: int) -> list[Any]:
        """Integers that change."""
        return [cgutils.alloca_once(self.builder, _INTEGER) for _ in range(count)]  # type: ignore[no-untyped-call]

    def add_four_sums(
        self, terms: list[list[Any]], factors: Any, start: Any, functions: Any, begin: Any, rows: Any
    ) -> None:
        """Add Σ_q factors[start + 4q + m] functions[begin + q · apart] to the m-th of four variables, for fours of q.

        This is done for vectors one after the other; ``terms`` are the variables of each. Four sums of one vector would
        wait for each other's results. ``rows`` are how many fours there are, and apart.
        """
        fours, apart = rows
        with self.loop(fours) as four:
            line, source = (
                self.place(start, self.times(four.index, _BLOCK)),
                self.place(begin, self.times(self.times(four.index, _GROUP), apart)),
            )
            for q in range(_GROUP):
                here = [self.load(functions, self.place(source, v * LANES)) for v in range(len(terms))]
                for m in range(_GROUP):
                    factor = self.broadcast(self.at(factors, self.place(line, _GROUP * q + m)))
                    for some, part in zip(terms, here, strict=True):
                        self.put(factor * part + self.get(some[m]), some[m])
                source = self.place(source, apart)


@instructions
def put_in(_: Any, fours: Any, own: Any, lines: Any) -> Any:
    """Coefficients of ψ_q x^m of `LINES` lines, from `Fours` and two `Rows`.

    Row i of ``lines`` becomes Σ_p own[p, i] values[p, q, m], where p counts the rows of ``own``. The values have 16
    numbers, q before m, for one p after the other, for four q after the other, group by group.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = Vectors("fours own lines", context, builder, signature, arguments)
        values, lengths, own, lines = map(it.array, ("fours.values", "fours.lengths", "own.numbers", "lines.numbers"))
        halves, first, apart = _BLOCK // LANES, it.integer("own.begin"), it.integer("own.apart")
        sums, (source, shift) = [it.variables(halves) for _ in range(LINES)], it.integers(2)
        builder.store(it.integer("fours.begin"), source)
        builder.store(_number(0), shift)
        with it.loop(it.integer("fours.groups")) as group:
            count = it.at(lengths, it.place(it.integer("fours.row"), group.index))
            with it.loop(count):
                for some in sums:
                    it.clear(some)
                with it.loop(it.times(count, _GROUP)) as p:
                    place, mine = builder.load(source), it.place(first, it.times(p.index, apart))
                    here = [it.load(values, it.place(place, half * LANES)) for half in range(halves)]
                    for i, some in enumerate(sums):
                        factor = it.broadcast(it.at(own, it.place(mine, i)))
                        for one, part in zip(some, here, strict=True):
                            it.put(factor * part + it.get(one), one)
                    builder.store(it.place(place, _BLOCK), source)
                place = builder.load(shift)
                for some, first in zip(sums, it.begins("lines"), strict=True):
                    for half, one in enumerate(some):
                        it.store(it.get(one), lines, it.place(first, place, half * LANES))
                builder.store(it.place(place, _BLOCK), shift)
        return context.get_dummy_value()

    return types.void(fours, own, lines), code


@instructions
def weighted_rows(_: Any, fours: Any, rows: Any, out: Any, vectors: Any) -> Any:
    """Sums of `Rows`: row q of ``out`` is Σ_m weights[q, m] rows[m], for so many pairs of ``vectors``.

    The weights are `Fours`: 16 numbers, m before q, for four m after the other, and so for four q after the other.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = Vectors("fours rows out vectors", context, builder, signature, arguments)
        weights, rows, out = map(it.array, ("fours.values", "rows.numbers", "out.numbers"))
        terms, (start,), beyond = [it.variables(_GROUP) for _ in range(2)], it.integers(1), it.integer("out.apart")
        with it.loop(it.integer("vectors")) as vector:
            j = it.times(vector.index, 2 * LANES)
            builder.store(it.integer("fours.begin"), start)
            with it.loop(it.integer("fours.groups")) as column:
                here = builder.load(start)
                fours = it.at(it.array("fours.lengths"), it.place(it.integer("fours.row"), column.index))
                for some in terms:
                    it.clear(some)
                source = it.place(it.integer("rows.begin"), j)
                it.add_four_sums(terms, weights, here, rows, source, (fours, it.integer("rows.apart")))
                builder.store(it.place(here, it.times(fours, _BLOCK)), start)
                place = it.place(it.integer("out.begin"), j, it.times(column.index, it.times(beyond, _GROUP)))
                for m in range(_GROUP):
                    for v, some in enumerate(terms):
                        it.store(it.get(some[m]), out, it.place(place, v * LANES))
                    place = it.place(place, beyond)
        return context.get_dummy_value()

    return types.void(fours, rows, out, vectors), code


@instructions
def chebyshev_rows(_: Any, places: Any, fours: Any, rows: Any, vectors: Any) -> Any:
    """Chebyshev polynomials T_m at places as `Rows`, for so many ``fours`` of m and pairs of ``vectors``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = Vectors("places fours rows vectors", context, builder, signature, arguments)
        places, rows, apart = it.array("places"), it.array("rows.numbers"), it.integer("rows.apart")
        kept = [it.variables(2) for _ in range(2)]
        with it.loop(it.integer("vectors")) as vector:
            begins = [it.place(it.times(vector.index, 2 * LANES), v * LANES) for v in range(2)]
            x = [it.load(places, j) for j in begins]
            for (even, odd), place in zip(kept, x, strict=True):
                it.put(it.number(1.0), even)
                it.put(place, odd)
            with it.loop(it.times(it.integer("fours"), _GROUP // 2)) as two:
                row = it.place(it.integer("rows.begin"), it.times(it.times(two.index, 2), apart))
                for (even, odd), place, j in zip(kept, x, begins, strict=True):
                    one, other, twice = it.get(even), it.get(odd), place * 2.0
                    it.store(one, rows, it.place(row, j))
                    it.store(other, rows, it.place(row, apart, j))
                    one = twice * other - one
                    it.put(one, even)
                    it.put(twice * one - other, odd)
        return context.get_dummy_value()

    return types.void(places, fours, rows, vectors), code
