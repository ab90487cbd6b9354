"""Is a system that is known by linear relations integrable, and does it annihilate its ideal?  At a random point."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import combinations, pairwise
from math import prod
from typing import TYPE_CHECKING

from flint import fmpz_mpoly, nmod, nmod_mat

from holokern.pfaffian.derivation.interpolate import value_modulo
from holokern.pfaffian.derivation.quotient import PRIMES
from holokern.weyl import lowered, raised

if TYPE_CHECKING:
    from holokern.pfaffian.unexpanded import UnexpandedSystem

Exponents = tuple[int, ...]


def chain_below(beta: Exponents) -> list[Exponents]:
    """A chain of derivations from one down to 1."""
    chain = [beta]
    while any(chain[-1]):
        chain.append(lowered(chain[-1])[1])
    return chain


def holds_at_a_point(system: UnexpandedSystem) -> bool:
    """Whether a system is integrable and annihilates its ideal, at a random point modulo a prime.

    The relations are A N + B = 0 for the normal forms N of the pivots, so A ∂_jN = -(∂_jB + ∂_jA N).
    """
    prime, chance, n = PRIMES[1], random.Random(11), len(system.variables)
    standard, pivots = system.relations.standard, system.relations.pivots
    point = [chance.randrange(2, prime) for _ in range(n)]

    def tables(change: Callable[[fmpz_mpoly], fmpz_mpoly]) -> list[nmod_mat]:
        """A and B, or derivatives of them, at the point."""
        both = system.tables(lambda c: value_modulo(change(c), point, prime), 0)
        return [nmod_mat(rows, prime) for rows in both]

    def by_name(table: nmod_mat, unit: int) -> dict[Exponents, nmod_mat]:
        """The rows of the pivots, and ``unit`` times those of the unit matrix for standard derivations."""
        rows = {beta: [int(c) for c in row] for beta, row in zip(pivots, table.tolist(), strict=True)}
        rows |= {beta: [unit * int(key == beta) for key in standard] for beta in standard}
        return {beta: nmod_mat([row], prime) for beta, row in rows.items()}

    def matrix(i: int, known: Mapping[Exponents, nmod_mat]) -> nmod_mat:
        return nmod_mat([[int(c) for c in known[raised(beta, i)].entries()] for beta in standard], prime)

    A, B = tables(lambda c: c)
    back = A.inv()
    N = -(back * B)
    forms, slopes = by_name(N, 1), []
    for j in range(n):
        dA, dB = tables(lambda c: c.derivative(j))  # noqa: B023 (called at once)
        slopes.append(by_name(-(back * (dB + dA * N)), 0))
    matrices = [matrix(i, forms) for i in range(n)]
    for i, j in combinations(range(n), 2):
        if matrix(i, slopes[j]) + matrices[i] * matrices[j] != matrix(j, slopes[i]) + matrices[j] * matrices[i]:
            return False
    for generator in system.ideal.generators:
        total = nmod_mat(1, len(standard), prime)
        for key, c in generator.primitive():
            x, beta = key[:n], tuple(map(int, key[n:]))
            # normal forms beyond the border must be those that the matrices give
            for upper, lower in pairwise(chain_below(beta)):
                i = next(k for k in range(n) if upper[k] != lower[k])
                if forms[upper] != slopes[i][lower] + forms[lower] * matrices[i]:
                    return False
            number = int(c.p) * prod(pow(a, int(e), prime) for a, e in zip(point, x, strict=True)) % prime
            total = total + forms[beta] * nmod(number, prime)
        if any(int(c) for c in total.entries()):
            return False
    return True
