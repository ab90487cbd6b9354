"""Critical pairs of left Gröbner bases, and the criteria that drop them."""

from __future__ import annotations

from dataclasses import dataclass

from holokern.weyl.algebra.packing import Packing, Support


@dataclass(frozen=True, slots=True)
class Pair:
    """Two elements of a basis, the packed lcm of their leading monomials, and its sugar degree."""

    first: int
    second: int
    lcm: int
    sugar: int


class PairQueue:
    """The pairs still to be treated; new elements update it in the way of Gebauer and Möller.

    The chain criteria only use syzygies of leading monomials, so they hold as in the commutative case.  The product
    criterion needs more: lm(g)·f - lm(f)·g = f'·g - g'·f only when f and g commute, e.g. dx + y and dy generate 1.
    """

    def __init__(self, packing: Packing, supports: list[Support]) -> None:
        self._packing = packing
        self._supports = supports
        self._pairs: list[Pair] = []
        self.active: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._pairs)

    @property
    def size(self) -> int:
        """How many pairs and elements a new element is compared with."""
        return len(self._pairs) + len(self.active)

    @property
    def lowest_sugar(self) -> int:
        """The least sugar degree of a pair."""
        return min(pair.sugar for pair in self._pairs)

    def pop(self, sugar: int) -> list[Pair]:
        """Take out all pairs of sugar degree at most ``sugar``."""
        taken = [pair for pair in self._pairs if pair.sugar <= sugar]
        self._pairs = [pair for pair in self._pairs if pair.sugar > sugar]
        return taken

    def pop_all(self) -> list[Pair]:
        """Take out all pairs, the smallest sugar degree first."""
        taken, self._pairs = sorted(self._pairs, key=lambda pair: pair.sugar), []
        return taken

    def add(self, new: int) -> None:
        """Make the pairs with the basis element ``new``, and drop what the criteria allow."""
        packing, supports = self._packing, self._supports
        lead = supports[new].lead
        lcms = {i: packing.lcm(supports[i].lead, lead) for i in self.active}
        self._pairs = [pair for pair in self._pairs if not self._covered(pair, lead)]
        coprime = [i for i in self.active if lcms[i] == supports[i].lead + lead]
        needless = {i for i in coprime if supports[i].commutes_with(supports[new])}
        kept: list[int] = []
        # One pair for each minimal lcm; a pair that the product criterion settles stands for all of the same lcm.
        for i in sorted(self.active, key=lambda i: (sum(packing.unpack(lcms[i])), i not in needless, i)):
            if not any(packing.divides(lcms[j], lcms[i]) for j in kept):
                kept.append(i)
        self._pairs += [self._pair(i, new, lcms[i]) for i in kept if i not in needless]
        # An element whose leading monomial another one divides is settled by their pair: it takes no further part.
        if not any(packing.divides(supports[i].lead, lead) for i in self.active):
            self.active = [i for i in self.active if not packing.divides(lead, supports[i].lead)] + [new]

    def _pair(self, i: int, j: int, lcm: int) -> Pair:
        degree = sum(self._packing.unpack(lcm))
        sugar = degree + max(self._supports[k].sugar - self._supports[k].degree for k in (i, j))
        return Pair(i, j, lcm, sugar)

    def _covered(self, pair: Pair, lead: int) -> bool:
        packing, supports = self._packing, self._supports
        return (
            packing.divides(lead, pair.lcm)
            and packing.lcm(supports[pair.first].lead, lead) != pair.lcm
            and packing.lcm(supports[pair.second].lead, lead) != pair.lcm
        )
