"""Restarts with more bits until balls are narrow enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from flint import acb, arb

from holokern.errors import PrecisionLost
from holokern.hgm.steps.fixed_point import Ball
from holokern.numeric import working_precision

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
