"""Five hundred random enclosures: every proof that answers overlaps every other, and contains what `dual` finds."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import holokern as hk
from holokern.errors import HolokernError

EXPRESSIONS = [
    "relu", "gelu", "elu", "selu", "erf", "sin", "step", "hardtanh", "Max(Min(u,1),-1/2)", "Max(u-1,Min(u+1,0))",
    "log(1+Abs(u))", "Abs(u-1/3)", "u^3", "exp(u/2)", "Heaviside(u)*sin(2*u)", "Heaviside(u-1)*exp(-u)", "sin(u)/u",
    "sqrt(1+u^2)-1", "u*exp(-u^2/2)+Heaviside(u-1)*(u-1)*exp(-u)", "1/(1+u^2)", "erfc(u+3)", "cos(3*u)*exp(-Abs(u))",
]  # fmt: skip
DEVIATIONS = ["0", "1e-8", "1e-3", "1/7", "1", "2", "7/2"]
CORRELATIONS = ["0", "1", "-1", "2/5", "-7/10", "9/10", "-99/100", "999999/1000000"]
METHODS = ["hermite", "taylor", "integral"]


def proofs(expression, *numbers):
    """Every enclosure that there is of one value."""
    found = []
    for method in ["auto", *METHODS]:
        try:
            found.append(hk.enclose(expression, *numbers, digits=20, method=method))
        except HolokernError:
            continue
    return found


def check(count, seed):
    """How many of so many random points had an enclosure; each is compared with all others and with `dual`."""
    pick = random.Random(seed)
    answered = 0
    for _ in range(count):
        expression, r = pick.choice(EXPRESSIONS), Fraction(pick.choice(CORRELATIONS))
        c1, c2 = (Fraction(pick.choice(DEVIATIONS)) for _ in range(2))
        found = proofs(expression, c1, c2, r)
        answered += bool(found)
        for one, other in combinations(found, 2):
            assert one.k.overlaps(other.k), (expression, c1, c2, r)
            assert one.kdot.overlaps(other.kdot) or not one.kdot.is_finite(), (expression, c1, c2, r)
        value = hk.dual(expression, float(c1), float(c2), float(r))
        for ball in found:
            pairs = (ball.k, value.k, value.error), (ball.kdot, value.kdot, value.kdot_error)
            for exact, near, error in pairs:
                if exact.is_finite() and np.isfinite(near):
                    # c1, c2 and r are rounded for dual
                    off = abs(float(exact.mid()) - near) - float(exact.rad())
                    assert off <= 5 * error + 1e-9 * abs(near) + 1e-300, (expression, c1, c2, r, exact, near)
    return answered


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10))
def test_five_hundred(seed):
    assert check(50, seed) > 35


def test_a_sample():
    assert check(6, 11) > 3
