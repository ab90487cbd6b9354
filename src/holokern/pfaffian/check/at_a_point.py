"""Is a system that is known by linear relations integrable, and does it annihilate its ideal?  At a random point."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from flint import nmod, nmod_mat

from holokern.pfaffian.derivation.interpolate import value_modulo
from holokern.pfaffian.derivation.quotient import PRIMES
from holokern.weyl import lowered, raised

if TYPE_CHECKING:
    from holokern.pfaffian.unexpanded import UnexpandedSystem
    from holokern.weyl import Operator

Exponents = tuple[int, ...]


def chain_below(beta: Exponents) -> list[Exponents]:
    """A chain of derivations from one down to 1."""
    chain = [beta]
    while any(chain[-1]):
        chain.append(lowered(chain[-1])[1])
    return chain


class PointCheck:
    """Normal forms N of all pivots with their first derivatives at one random point modulo a prime.

    The relations are A N + B = 0, so A ∂_jN = -(∂_jB + ∂_jA N).
    """

    def __init__(self, system: UnexpandedSystem) -> None:
        self.system, self.prime = system, PRIMES[1]
        chance = random.Random(11)
        self.n, self.rank = len(system.variables), system.rank
        self.point = [chance.randrange(2, self.prime) for _ in range(self.n)]
        A, B = self._matrices(None)
        back = A.inv()
        N = self._negative(back * B)
        self.forms = self._named(N, 1)
        self.slopes = []
        for j in range(self.n):
            dA, dB = self._matrices(j)
            self.slopes.append(self._named(self._negative(back * (dB + dA * N)), 0))

    def _matrices(self, j: int | None) -> tuple[nmod_mat, nmod_mat]:
        left, right = self.system.tables(
            lambda c: value_modulo(c if j is None else c.derivative(j), self.point, self.prime), 0
        )
        return nmod_mat(left, self.prime), nmod_mat(right, self.prime)

    def _negative(self, matrix: nmod_mat) -> nmod_mat:
        return matrix * nmod(-1, self.prime)

    def _named(self, table: nmod_mat, unit: int) -> dict[Exponents, nmod_mat]:
        rows = zip(self.system.relations.pivots, table.tolist(), strict=True)
        named = {beta: nmod_mat([[int(c) for c in row]], self.prime) for beta, row in rows}
        standard = self.system.relations.standard
        return named | {
            beta: nmod_mat([[unit * int(key == beta) for key in standard]], self.prime) for beta in standard
        }

    def _matrix(self, i: int, known: Mapping[Exponents, nmod_mat]) -> nmod_mat:
        border = [raised(beta, i) for beta in self.system.relations.standard]
        return nmod_mat([[int(c) for c in known[beta].entries()] for beta in border], self.prime)

    def passed(self) -> bool:
        """Whether everything agrees."""
        matrices = [self._matrix(i, self.forms) for i in range(self.n)]
        for i, j in combinations(range(self.n), 2):
            one = self._matrix(i, self.slopes[j]) + matrices[i] * matrices[j]
            if one != self._matrix(j, self.slopes[i]) + matrices[j] * matrices[i]:
                return False
        return self._derivations_agree(matrices) and all(self._is_killed(g) for g in self.system.ideal.generators)

    def _derivations_agree(self, matrices: Sequence[nmod_mat]) -> bool:
        """Whether the normal forms beyond the border are those that the matrices give."""
        for g in self.system.ideal.generators:
            for key, _ in g:
                for upper, lower in pairwise(chain_below(tuple(map(int, key[self.n :])))):
                    i = next(k for k in range(self.n) if upper[k] != lower[k])
                    if self.forms[upper] != self.slopes[i][lower] + self.forms[lower] * matrices[i]:
                        return False
        return True

    def _is_killed(self, generator: Operator) -> bool:
        total = nmod_mat(1, self.rank, self.prime)
        for key, c in generator.primitive():
            number = int(c.p)
            for x, e in zip(self.point, key[: self.n], strict=True):
                number = number * pow(x, int(e), self.prime) % self.prime
            total = total + self.forms[tuple(map(int, key[self.n :]))] * nmod(number, self.prime)
        return not any(int(c) for c in total.entries())
