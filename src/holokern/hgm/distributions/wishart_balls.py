"""The distribution of the largest root of a Wishart matrix in balls, for exact variances.

The power series along the ray is summed in balls.  Since a < c, and zonal polynomials have positive coefficients, its
terms of degree k are at most (Σ|y_i|)^k/k! [Muirhead1982, Sect. 7.2], which bounds the tail.  Where variances are
equal, f(y) is the mean of f(y + zv) over K points of the circle |z| = ρ, up to the coefficients of z^K, z^2K, …; they
are at most f(y + Rv) (ρ/R)^K, … for every R > ρ and v ≥ 0, again because f has positive coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from flint import acb, acb_mat, arb, ctx

from holokern.errors import PrecisionLost
from holokern.hgm.distributions.wishart import ray_system
from holokern.hgm.lines.initial import as_ball
from holokern.hgm.lines.precision import precisely

_MOST_TERMS = 20_000  # terms of a series; about x tr β and half the bits matter
_BLOCK = 8  # terms between two looks at the tail
# the radii ρ and R of the circle and of the bound: smaller ones make balls wide, and each point gains two bits
_RADIUS, _BOUND = 4.0, 16.0
# bits of f(y + Rv) beyond those of f(y), for each variable: half of 16/log 2; and some to spare
_GROWTH_BITS, _SPARE_BITS = 12, 20


def largest_root_ball(variances: Sequence[object], degrees: object, x: object, digits: int) -> arb:
    """A ball that contains P(ℓ1 < x) for the diagonal Σ with these variances."""

    def compute() -> list[arb]:
        # fractions are read anew at every precision
        return [_probability([as_ball(v) for v in variances], as_ball(degrees), as_ball(x), digits)]

    ball: arb = precisely(compute, digits)[0]
    return ball


def _probability(variances: Sequence[arb], n: arb, x: arb, digits: int) -> arb:
    m = len(variances)
    y = sorted((x / (2 * v) for v in variances), key=float)
    a, c = arb(m + 1) / 2, (n + m + 1) / 2
    total = sum(y, arb(0))
    front = _log_gamma(m, a) - _log_gamma(m, c) + n / 2 * sum((entry.log() for entry in y), arb(0)) - total
    value = _sum([acb(entry) for entry in y], a, c).real if _distinct(y) else _mean(y, a, c, digits)
    return front.exp() * value


def _distinct(y: Sequence[arb]) -> bool:
    return all(not one.overlaps(other) for one, other in pairwise(y))


def _log_gamma(m: int, a: arb) -> arb:
    """The logarithm of the multivariate gamma function."""
    whole = arb(m * (m - 1)) / 4 * arb.pi().log()
    return sum(((a - arb(i) / 2).lgamma() for i in range(m)), whole)


def _mean(y: Sequence[arb], a: arb, c: arb, digits: int) -> arb:
    """The value at y from a circle of parameters."""
    m = len(y)
    direction = [arb(i) / (m - 1) for i in range(m)]
    count = 2 * (1 + (int(3.33 * digits) + m * _GROWTH_BITS + _SPARE_BITS) // 4)
    total = arb(0)
    # the points come in conjugate pairs
    for k in range(count // 2):
        turn = acb(0, arb.pi() * (2 * k + 1) / count).exp() * _RADIUS
        total += _sum([acb(entry) + turn * v for entry, v in zip(y, direction, strict=True)], a, c).real
    bound = abs(_sum([acb(entry + _BOUND * v) for entry, v in zip(y, direction, strict=True)], a, c)).upper()
    ratio = arb(_RADIUS / _BOUND) ** count
    return total * 2 / count + arb(0, (bound * ratio / (1 - ratio)).upper())


def _sum(y: Sequence[acb], a: arb, c: arb) -> acb:
    """1F1(a; c; y) by its series along the ray."""
    first, second = (acb_mat(part[0].tolist()) for part in ray_system(np.array([list(y)], dtype=object), a, c))
    size = first.nrows()
    unit = acb_mat([[acb(int(i == j)) for j in range(size)] for i in range(size)])
    g = acb_mat([[acb(int(i == 0))] for i in range(size)])
    total = acb(1)
    size_of_y = sum((abs(entry) for entry in y), arb(0)).upper()
    for n in range(1, _MOST_TERMS):
        g = (unit * n - first).solve(second * g)
        total += g[0, 0]
        if n % _BLOCK == 0 and n > 2 * size_of_y:
            # the terms beyond fall by half at least
            rest = (2 * size_of_y ** (n + 1) / arb.fac_ui(n + 1)).upper()
            if rest < arb(2) ** (-ctx.prec):
                return total + acb(arb(0, rest), arb(0, rest))
    raise PrecisionLost("the series of the largest root does not settle; give a smaller x")
