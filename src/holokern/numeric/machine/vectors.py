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


class _Vectors:
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

    def broadcast(self, number: Any) -> Any:
        """A vector of equal numbers."""
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, undefined, places)

    def equal(self, name: str) -> Any:
        """An argument as a vector of equal numbers."""
        kind, value = self.given[name]
        return self.broadcast(self.context.cast(self.builder, value, kind, types.float64))

    def at(self, array: Any, place: Any) -> Any:
        """One number of an array."""
        return self.builder.load(self.builder.gep(array, [place]))

    def _place(self, array: Any, place: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(array, [place]), _VECTOR.as_pointer())

    def load(self, array: Any, place: Any) -> Any:
        """A vector from an array."""
        found = self.builder.load(self._place(array, place))
        found.align = 8
        return found

    def store(self, vector: Any, array: Any, place: Any) -> None:
        """A vector into an array."""
        self.builder.store(vector, self._place(array, place)).align = 8

    def times_plus(self, one: Any, two: Any, three: Any) -> Any:
        """A product and a sum, fused where the processor can."""
        return self.builder.fadd(self.builder.fmul(one, two, flags=FAST), three, flags=FAST)

    def variables(self, count: int) -> list[Any]:
        """Vectors that change; they stay in registers."""
        return [cgutils.alloca_once(self.builder, _VECTOR) for _ in range(count)]  # type: ignore[no-untyped-call]

    def add_four_sums(self, terms: list[Any], factors: Any, start: Any, functions: Any, begin: Any, rows: Any) -> None:
        """Add Σ_q factors[start + 4q + m] functions[begin + q · apart] to the m-th of four variables, for fours of q.

        ``rows`` are how many fours there are, and apart.
        """
        builder, (fours, apart) = self.builder, rows
        with cgutils.for_range(builder, fours, intp=_INTEGER) as four:
            line = builder.add(start, builder.mul(four.index, _number(_BLOCK)))
            source = builder.add(begin, builder.mul(builder.mul(four.index, _number(_GROUP)), apart))
            for q in range(_GROUP):
                here = self.load(functions, source)
                for m, term in enumerate(terms):
                    factor = self.broadcast(self.at(factors, builder.add(line, _number(_GROUP * q + m))))
                    builder.store(self.times_plus(factor, here, builder.load(term)), term)
                source = builder.add(source, apart)

    def clear(self, variables: list[Any]) -> None:
        """Make them zero."""
        for one in variables:
            self.builder.store(_ZERO, one)


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
        it = _Vectors(names, context, builder, signature, arguments)
        values, fours, own, lines = (it.array(name) for name in ("values", "fours", "own", "lines"))
        row, halves = it.integer("row"), _BLOCK // LANES
        begins, sums = it.apart("begin", "step"), [it.variables(halves) for _ in range(LINES)]
        source, shift = (cgutils.alloca_once(builder, _INTEGER) for _ in range(2))  # type: ignore[no-untyped-call]
        builder.store(it.integer("start"), source)
        builder.store(_number(0), shift)
        with cgutils.for_range(builder, it.integer("groups"), intp=_INTEGER) as group:
            count = it.at(fours, builder.add(row, group.index))
            with cgutils.for_range(builder, count, intp=_INTEGER):
                for some in sums:
                    it.clear(some)
                with cgutils.for_range(builder, builder.mul(count, _number(_GROUP)), intp=_INTEGER) as p:
                    place = builder.load(source)
                    here = [it.load(values, builder.add(place, _number(half * LANES))) for half in range(halves)]
                    for some, first in zip(sums, begins, strict=True):
                        factor = it.broadcast(it.at(own, builder.add(first, p.index)))
                        for one, part in zip(some, here, strict=True):
                            builder.store(it.times_plus(factor, part, builder.load(one)), one)
                    builder.store(builder.add(place, _number(_BLOCK)), source)
                place = builder.load(shift)
                for some, first in zip(sums, it.apart("to", "beyond"), strict=True):
                    for half, one in enumerate(some):
                        at = builder.add(builder.add(first, place), _number(half * LANES))
                        it.store(builder.load(one), lines, at)
                builder.store(builder.add(place, _number(_BLOCK)), shift)
        return context.get_dummy_value()

    return types.void(values, start, fours, row, groups, own, begin, step, lines, to, beyond), code


@instructions
def polynomials(
    _: Any, lines: Any, end: Any, fours: Any, row: Any, groups: Any, functions: Any, begin: Any, apart: Any,
    middle: Any, panel: Any, panels: Any, places: Any, value: Any, change: Any, vectors: Any,
) -> Any:  # fmt: skip
    """Values of polynomials and of their derivatives by Horner's rule, for the pairs that belong to a panel.

    ``lines`` are what `put_in` found, up to ``end``, ψ_q of pair j is functions[begin + q · apart + j], and x is
    places - middle. Where ``panels`` is not ``panel``, value and change stay; vectors without it are left out.
    """
    names = "lines end fours row groups functions begin apart middle panel panels places value change vectors"

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = _Vectors(names, context, builder, signature, arguments)
        lines, fours, functions, places = (it.array(name) for name in ("lines", "fours", "functions", "places"))
        outs, owners, apart = (it.array("value"), it.array("change")), it.array("panels"), it.integer("apart")
        groups, row, begin = it.integer("groups"), it.integer("row"), it.integer("begin")
        middle, panel = it.equal("middle"), it.equal("panel")
        terms, sums = it.variables(_GROUP), it.variables(2)
        end = cgutils.alloca_once(builder, _INTEGER)  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, it.integer("vectors"), intp=_INTEGER) as vector:
            j = builder.mul(vector.index, _number(LANES))
            is_own = builder.fcmp_ordered("==", it.load(owners, j), panel)
            any_own = builder.icmp_unsigned("!=", builder.bitcast(is_own, ir.IntType(LANES)), ir.IntType(LANES)(0))
            with builder.if_then(any_own):
                x = builder.fsub(it.load(places, j), middle, flags=FAST)
                it.clear(sums)
                builder.store(it.integer("end"), end)
                with cgutils.for_range(builder, groups, intp=_INTEGER) as group:
                    # From the highest powers on
                    g = builder.sub(builder.sub(groups, _number(1)), group.index)
                    count = it.at(fours, builder.add(row, g))
                    start = builder.sub(builder.load(end), builder.mul(count, _number(_BLOCK)))
                    builder.store(start, end)
                    it.clear(terms)
                    it.add_four_sums(terms, lines, start, functions, builder.add(begin, j), (count, apart))
                    for term in reversed(terms):
                        total, slope = (builder.load(one) for one in sums)
                        builder.store(it.times_plus(slope, x, total), sums[1])
                        builder.store(it.times_plus(total, x, builder.load(term)), sums[0])
                for found, out in zip(sums, outs, strict=True):
                    it.store(builder.select(is_own, builder.load(found), it.load(out, j)), out, j)
        return context.get_dummy_value()

    given = lines, end, fours, row, groups, functions, begin, apart, middle, panel, panels, places
    return types.void(*given, value, change, vectors), code


@instructions
def weighted_rows(
    _: Any, weights: Any, start: Any, fours: Any, rows: Any, begin: Any, apart: Any, out: Any, beyond: Any,
    columns: Any, vectors: Any,
) -> Any:  # fmt: skip
    """Sums of rows: out[q · beyond + j] is Σ_m weights[q, m] rows[begin + m · apart + j], for fours of q and of m.

    From ``start`` on ``weights`` has 16 numbers, m before q, for four m after the other, and so for four ``columns`` q
    after the other.
    """
    names = "weights start fours rows begin apart out beyond columns vectors"

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        it = _Vectors(names, context, builder, signature, arguments)
        weights, rows, out, terms = it.array("weights"), it.array("rows"), it.array("out"), it.variables(_GROUP)
        fours, beyond = it.integer("fours"), it.integer("beyond")
        with cgutils.for_range(builder, it.integer("vectors"), intp=_INTEGER) as vector:
            j = builder.mul(vector.index, _number(LANES))
            source = builder.add(it.integer("begin"), j)
            with cgutils.for_range(builder, it.integer("columns"), intp=_INTEGER) as column:
                start = builder.add(it.integer("start"), builder.mul(column.index, builder.mul(fours, _number(_BLOCK))))
                it.clear(terms)
                it.add_four_sums(terms, weights, start, rows, source, (fours, it.integer("apart")))
                place = builder.add(j, builder.mul(column.index, builder.mul(beyond, _number(_GROUP))))
                for term in terms:
                    it.store(builder.load(term), out, place)
                    place = builder.add(place, beyond)
        return context.get_dummy_value()

    return types.void(weights, start, fours, rows, begin, apart, out, beyond, columns, vectors), code
