"""Machine code with explicit vectors: sums of products that stay in registers, which loops of scalars do not.

Coefficients a[p, q, m] of polynomials Σ a[p, q, m] φ_p ψ_q x^m come in groups of four powers m. In group g, q and p
both run over four times ``fours[g]`` functions. First the φ of one line are put in, then many ψ and x.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types

from holokern.numeric.machine.compiled import FAST, WIDE, instructions

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
    """Instructions on vectors, for the arguments of an intrinsic by their names."""

    def __init__(self, names: str, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder = context, builder
        self.given = {
            name: (kind, value) for name, kind, value in zip(names.split(), signature.args, arguments, strict=True)
        }
        set.add(builder.function.attributes, WIDE)

    def array(self, name: str) -> Any:
        """A pointer to the first number of an array."""
        kind, value = self.given[name]
        return self.context.make_array(kind)(self.context, self.builder, value).data

    def length(self, name: str) -> Any:
        """The length of a flat array."""
        kind, value = self.given[name]
        return self.context.make_array(kind)(self.context, self.builder, value).nitems

    def number(self, value: float) -> Vector:
        """A vector of equal constants."""
        return Vector(self.builder, ir.Constant(_VECTOR, [value] * LANES))

    def integer(self, name: str) -> Any:
        """An integer of 64 bits."""
        kind, value = self.given[name]
        return self.context.cast(self.builder, value, kind, types.int64)

    def apart(self, first: str, step: str) -> list[Any]:
        """Where `LINES` lines begin."""
        found = [self.integer(first)]
        for _ in range(LINES - 1):
            found.append(self.builder.add(found[-1], self.integer(step)))
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
def put_in(
    _: Any, values: Any, start: Any, fours: Any, row: Any, groups: Any, own: Any, begin: Any, step: Any,
    lines: Any, to: Any, beyond: Any,
) -> Any:  # fmt: skip
    """Coefficients of ψ_q x^m of `LINES` lines.

    For line i, lines[to + i · beyond …] becomes Σ_p own[begin + i · step + p] values[start …].
    ``values`` has 16 numbers, q before m, for one p after the other, for four q after the other, group by group.
    """
    names = "values start fours row groups own begin step lines to beyond"

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = Vectors(names, context, builder, signature, arguments)
        values, fours, own, lines = (it.array(name) for name in ("values", "fours", "own", "lines"))
        halves, begins = _BLOCK // LANES, it.apart("begin", "step")
        sums, (source, shift) = [it.variables(halves) for _ in range(LINES)], it.integers(2)
        builder.store(it.integer("start"), source)
        builder.store(_number(0), shift)
        with it.loop(it.integer("groups")) as group:
            count = it.at(fours, it.place(it.integer("row"), group.index))
            with it.loop(count):
                for some in sums:
                    it.clear(some)
                with it.loop(it.times(count, _GROUP)) as p:
                    place = builder.load(source)
                    here = [it.load(values, it.place(place, half * LANES)) for half in range(halves)]
                    for some, first in zip(sums, begins, strict=True):
                        factor = it.broadcast(it.at(own, it.place(first, p.index)))
                        for one, part in zip(some, here, strict=True):
                            it.put(factor * part + it.get(one), one)
                    builder.store(it.place(place, _BLOCK), source)
                place = builder.load(shift)
                for some, first in zip(sums, it.apart("to", "beyond"), strict=True):
                    for half, one in enumerate(some):
                        it.store(it.get(one), lines, it.place(first, place, half * LANES))
                builder.store(it.place(place, _BLOCK), shift)
        return context.get_dummy_value()

    return types.void(values, start, fours, row, groups, own, begin, step, lines, to, beyond), code


@instructions
def weighted_rows(
    _: Any, weights: Any, start: Any, fours: Any, row: Any, rows: Any, apart: Any, out: Any, to: Any, beyond: Any,
    columns: Any, vectors: Any,
) -> Any:  # fmt: skip
    """Sums of rows: out[to + q · beyond + j] is Σ_m weights[q, m] rows[m · apart + j], for fours of q and of m.

    From ``start`` on ``weights`` has 16 numbers, m before q, for four m after the other, and so for four q after the
    other. There are ``columns`` fours of q, whose fours of m ``fours`` tells from ``row`` on, and ``vectors`` pairs of
    vectors.
    """
    names = "weights start fours row rows apart out to beyond columns vectors"

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = Vectors(names, context, builder, signature, arguments)
        weights, rows, out = it.array("weights"), it.array("rows"), it.array("out")
        terms, (start,), beyond = [it.variables(_GROUP) for _ in range(2)], it.integers(1), it.integer("beyond")
        with it.loop(it.integer("vectors")) as vector:
            j = it.times(vector.index, 2 * LANES)
            builder.store(it.integer("start"), start)
            with it.loop(it.integer("columns")) as column:
                here, fours = builder.load(start), it.at(it.array("fours"), it.place(it.integer("row"), column.index))
                for some in terms:
                    it.clear(some)
                it.add_four_sums(terms, weights, here, rows, j, (fours, it.integer("apart")))
                builder.store(it.place(here, it.times(fours, _BLOCK)), start)
                place = it.place(it.integer("to"), j, it.times(column.index, it.times(beyond, _GROUP)))
                for m in range(_GROUP):
                    for v, some in enumerate(terms):
                        it.store(it.get(some[m]), out, it.place(place, v * LANES))
                    place = it.place(place, beyond)
        return context.get_dummy_value()

    return types.void(weights, start, fours, row, rows, apart, out, to, beyond, columns, vectors), code


@instructions
def chebyshev_rows(_: Any, places: Any, fours: Any, rows: Any, apart: Any, vectors: Any) -> Any:
    """Chebyshev polynomials at places: rows[m · apart + j] is T_m(places[j]), for fours of m and pairs of vectors."""
    names = "places fours rows apart vectors"

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = Vectors(names, context, builder, signature, arguments)
        places, rows, apart = it.array("places"), it.array("rows"), it.integer("apart")
        kept = [it.variables(2) for _ in range(2)]
        with it.loop(it.integer("vectors")) as vector:
            begins = [it.place(it.times(vector.index, 2 * LANES), v * LANES) for v in range(2)]
            x = [it.load(places, j) for j in begins]
            for (even, odd), place in zip(kept, x, strict=True):
                it.put(it.number(1.0), even)
                it.put(place, odd)
            with it.loop(it.times(it.integer("fours"), _GROUP // 2)) as two:
                row = it.times(it.times(two.index, 2), apart)
                for (even, odd), place, j in zip(kept, x, begins, strict=True):
                    one, other, twice = it.get(even), it.get(odd), place * 2.0
                    it.store(one, rows, it.place(row, j))
                    it.store(other, rows, it.place(row, apart, j))
                    one = twice * other - one
                    it.put(one, even)
                    it.put(twice * one - other, odd)
        return context.get_dummy_value()

    return types.void(places, fours, rows, apart, vectors), code
