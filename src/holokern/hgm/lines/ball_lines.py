"""Segments in the coordinates of a Pfaffian system for the rigorous stepper: ODEs whose coefficients are balls.

Balls that come out too wide are computed anew with more bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
from flint import acb, acb_poly, arb, arb_poly

from holokern.errors import PrecisionLost
from holokern.hgm.steps.fixed_point import Ball, BallRow, Polynomial
from holokern.numeric import working_precision
from holokern.pfaffian import PfaffianSystem
from holokern.weyl import evaluate_polynomial


def on_segment(system: PfaffianSystem, a: Sequence[Ball], b: Sequence[Ball]) -> list[BallRow]:
    """The system on the segment from ``a`` (t = 0) to ``b`` (t = 1)."""
    kind = acb_poly if any(isinstance(x, acb) for x in (*a, *b)) else arb_poly
    lines = [kind([x, y - x]) for x, y in zip(a, b, strict=True)]
    speeds = [y - x for x, y in zip(a, b, strict=True)]
    factors = [kind([0]) + evaluate_polynomial(f.numerator, lines) for f in system.singular_locus]
    known: dict[str, Polynomial] = {}
    rows = []
    for i in range(system.rank):
        moving = {(v, j): part for (v, row, j), part in system.entries.items() if row == i and speeds[v] != 0}
        highest = [max((powers[k] for _, powers, _ in moving.values()), default=0) for k in range(len(factors))]
        bottom = prod((f**power for f, power in zip(factors, highest, strict=True)), start=kind([1]))
        entries: dict[int, Polynomial] = {}
        for (v, j), (numerator, powers, scale) in moving.items():
            text = str(numerator)
            if text not in known:
                known[text] = kind([0]) + evaluate_polynomial(numerator, lines)
            top = known[text] * (speeds[v] / scale)
            for factor, power, most in zip(factors, powers, highest, strict=True):
                top = top * factor ** (most - power)
            entries[j] = entries[j] + top if j in entries else top
        rows.append(BallRow(bottom, entries))
    return rows


_GUARD_BITS = 64  # bits beyond the digits that are asked for; what a dozen steps lose
_RESTARTS = 6  # the precision is doubled at most so often


def precisely(compute: Callable[[], list[Ball]], digits: int) -> list[Ball]:
    """Compute with more and more bits until balls have the digits, relative to the largest entry."""
    bits = int(digits * 3.33) + _GUARD_BITS
    before = arb("inf")
    for _ in range(_RESTARTS):
        with working_precision(bits):
            try:
                found = compute()
            except PrecisionLost:
                found = None
            if found is not None:
                size = max((abs(acb(entry)).upper() for entry in found), default=arb(1))
                width = max((radius(entry) for entry in found), default=arb(0))
                reached = float(width / size) if size > 0 else float(width)
                if reached <= 10.0**-digits:
                    return found
                # a width that more bits do not change comes from the initial values
                if before * 0.5 < width < before * 2:
                    raise PrecisionLost(
                        f"the initial values determine only {max(0, int(-np.log10(reached)))} digits of the result, "
                        f"not {digits}; give narrower balls, or a function that computes them at any precision"
                    )
                before = width
        bits *= 2
    raise PrecisionLost(f"{bits // 2} bits do not give {digits} digits; choose another path or fewer digits")


def radius(value: Ball) -> arb:
    """The radius of a ball; the larger one of a complex ball's two."""
    return value.rad() if isinstance(value, arb) else value.real.rad().max(value.imag.rad())


def are_balls(values: object) -> bool:
    """Whether initial values are known to some digits only, whatever the precision."""
    given = list(values.values()) if isinstance(values, Mapping) else values
    many = given if isinstance(given, Sequence) else [given]
    return any(isinstance(v, (arb, acb)) and radius(v) != 0 for v in many)
