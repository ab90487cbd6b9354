"""Monomials as tuples of exponents: neighbours, divisibility, the graded order, what lies outside a monomial ideal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations_with_replacement
from typing import TypeVar

from holokern.errors import NotHolonomic
from holokern.weyl.algebra.weyl_algebra import Monomial

Made = TypeVar("Made")


def raised(key: Monomial, i: int) -> Monomial:
    """The monomial times the variable number i."""
    return (*key[:i], key[i] + 1, *key[i + 1 :])


def lowered(key: Monomial) -> tuple[int, Monomial]:
    """The first variable of a monomial other than 1, and the monomial divided by it.

    >>> lowered((0, 2, 1))
    (1, (0, 1, 1))
    """
    i = next(place for place, e in enumerate(key) if e)
    return i, (*key[:i], key[i] - 1, *key[i + 1 :])


def derivatives_of(start: Made, derivative: Callable[[Made, int], Made]) -> Callable[[Monomial], Made]:
    """The map β ↦ ∂^β of something, given ∂_i; each derivative is made once, from a lower one.

    >>> derivatives_of(1, lambda value, i: value * (2, 3)[i])((1, 2))
    18
    """
    known: dict[Monomial, Made] = {}

    def found(key: Monomial) -> Made:
        if not any(key):
            return start
        if key not in known:
            i, lower = lowered(key)
            known[key] = derivative(found(lower), i)
        return known[key]

    return found


def of_degree(size: int, degree: int) -> list[Monomial]:
    """All monomials of a degree in ``size`` variables, lexicographically largest first.

    >>> of_degree(2, 2)
    [(2, 0), (1, 1), (0, 2)]
    """
    chosen = combinations_with_replacement(range(size), degree)
    return [tuple(places.count(i) for i in range(size)) for places in chosen]


def divides(a: Monomial, b: Monomial) -> bool:
    """Whether one monomial divides another."""
    return all(p <= q for p, q in zip(a, b, strict=True))


def grevlex_key(key: Monomial) -> tuple[int, Monomial]:
    """Graded reverse lexicographic order, the first variable largest: it keeps coefficients small."""
    return sum(key), tuple(-e for e in reversed(key))


def monomial_dimension(monomials: Iterable[Monomial], size: int) -> int:
    """The dimension of the zero set of monomials in ``size`` variables; -1 when one of them is 1.

    It is the largest number of variables that together contain no monomial's support.

    >>> monomial_dimension([(1, 1, 0), (0, 1, 1)], 3)
    2
    """
    supports = {frozenset(i for i, e in enumerate(m) if e) for m in monomials}
    if frozenset() in supports:
        return -1
    minimal = [s for s in supports if not any(t < s for t in supports)]
    return size - _smallest_cover(minimal, size)


def _smallest_cover(supports: list[frozenset[int]], limit: int) -> int:
    """The least number of variables that meet every support."""
    if not supports:
        return 0
    if limit <= 0:
        return 1
    best = limit
    for i in min(supports, key=len):
        best = min(best, 1 + _smallest_cover([s for s in supports if i not in s], best - 1))
    return best


def outside(leads: Iterable[Monomial], names: Sequence[str], ideal: object) -> list[Monomial]:
    """The monomials in the named variables that none of ``leads`` divides, the leading monomials of an ideal.

    Raises NotHolonomic when they are infinite in number.
    """
    leads, n = set(leads), len(names)
    missing = [name for i, name in enumerate(names) if not any(sum(lead) == lead[i] for lead in leads)]
    if missing:
        raise NotHolonomic(
            f"{ideal!r} has infinite holonomic rank: no power of {missing[0]} leads an element of its Gröbner basis; "
            "add operators that annihilate the same function"
        )
    found = [(0,) * n] if (0,) * n not in leads else []
    seen = set(found)
    for beta in found:
        for step in (raised(beta, i) for i in range(n)):
            if step not in seen and not any(divides(lead, step) for lead in leads):
                seen.add(step)
                found.append(step)
    return found
