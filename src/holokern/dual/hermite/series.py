"""The Hermite series of a dual activation with a proved bound of its tail, in balls.

With a_n(c) = E[He_n(z) σ(cz)], k = Σ a_n(c1) a_n(c2) r^n / n! by Mehler's formula, and Parseval's identity
Σ a_n(c)²/n! = E[σ(cz)²] bounds what is left out by Cauchy–Schwarz [Daniely2016].  The derivative of the
series in s = c1c2r is k′, for a σ with jumps too, and its tail is at most sup_(n≥N) n|r|^(n-1) times the same product.
"""

from __future__ import annotations

from math import ceil, log2

from flint import arb

from holokern.dual.enclosure.moments import Number, second_moment
from holokern.dual.hermite.coefficients import HermiteSequence
from holokern.errors import PrecisionLost
from holokern.numeric import to_ball, working_precision

# bounds of tails need few digits
_ROUGH_BITS = 64


def terms_needed(r: arb, bits: int) -> float:
    """About how many terms make |r|^N smaller than 2^-bits; infinite at |r| = 1."""
    size = min(abs(float(r)), 1.0)
    if size == 0.0:
        return 2
    return ceil(bits / -log2(size)) + 2 if size < 1.0 else float("inf")


def hermite_series(sequence: HermiteSequence, c1: Number, c2: Number, r: arb, count: int) -> tuple[arb, arb]:
    """Balls that contain k and k′, from ``count`` terms at flint's working precision.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from holokern.activation import activation
    >>> from holokern.dual.hermite.coefficients import hermite_sequence
    >>> k, slope = hermite_series(hermite_sequence(activation("relu").pieces), Fraction(1), Fraction(1), arb(0), 2)
    >>> k.overlaps(1 / (2 * arb.pi())), slope.overlaps(arb(1) / 4)
    (True, True)
    """
    size = abs(r).upper()
    if not (count * (1 - size) >= size and size < 1):
        raise PrecisionLost(f"{count} terms of the Hermite series are too few at r = {r.str(8)}; ask for more")
    left = sequence.coefficients(c1, count)
    right = left if c1 is c2 or (not isinstance(c1, arb) and c1 == c2) else sequence.coefficients(c2, count)
    k, slope = arb(0), arb(0)
    weight, before = arb(1), arb(0)
    for n in range(count):
        product = left[n] * right[n]
        # weight = r^n / n!, before = r^(n-1) / (n-1)!
        k += product * weight
        slope += product * before
        before, weight = weight, weight * r / (n + 1)
    with working_precision(_ROUGH_BITS):
        energy = (second_moment(sequence.line, c1) * second_moment(sequence.line, c2)).sqrt()
        tail = (energy * size**count).upper()
        slope_tail = (energy * count * size ** (count - 1)).upper()
    scale = to_ball(c1) * to_ball(c2)
    return k + arb(0, tail), (slope + arb(0, slope_tail)) / scale
