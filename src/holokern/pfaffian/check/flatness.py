"""Is a Pfaffian system integrable?  An exact checker that shares no code with the constructors.

dF = PF has a full set of local solutions exactly when ∂_j P_i + P_i P_j = ∂_i P_j + P_j P_i for all i, j
[SST2000, Sec. 1.4].  The identity is tested at random points modulo random 61-bit primes.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from flint import fmpz, fmpz_mpoly, nmod_mat

from holokern.errors import BadInput
from holokern.weyl import RationalFunction

Table = list[list["RationalFunction"]]

# primes of 61 bits fit a machine word, and a chance zero has probability about degree/2^60
_LOW, _HIGH = 1 << 60, 1 << 61
# the primes between 2^60 and 2^61 number more than 2^54 (Rosser–Schoenfeld bounds for π(x) give 2.7e16 > 1.8e16)
_PRIMES = float(1 << 54)
_TRIES = 20  # a point meets a denominator by chance once in about 2^55; twenty times means a zero denominator


@dataclass(frozen=True)
class FlatnessReport:
    """The outcome of a flatness test."""

    flat: bool  # False is a proof that the system is not integrable.  True is wrong with probability at most ``doubt``.
    doubt: float  # bound of the probability, over the choice of points and primes, that a non-integrable system passes
    failing: tuple[str, str] | None = None  # the first pair of variables whose condition fails

    def __bool__(self) -> bool:
        return self.flat


def flatness(
    matrices: Iterable[Sequence[Sequence[RationalFunction]]], variables: Iterable[str], *, trials: int = 2
) -> FlatnessReport:
    """Test ∂_j P_i + P_i P_j = ∂_i P_j + P_j P_i for all pairs of variables.

    Multiplied by its denominators, an entry of the difference is a polynomial over Z of some degree d and height 2^h.
    If it is not zero, at most h/60 primes of 61 bits divide it, and modulo any other prime p it vanishes at a
    fraction of at most d/p of the points (Schwartz–Zippel).  Both are drawn anew from the system's random source.

    ``matrices``: P_i in the order of ``variables``, which must be the first ones of the field of the entries.
    ``trials``: independent tests; each multiplies the doubt by a factor of about 1e-14.

    >>> from holokern.weyl import function_field
    >>> K = function_field("x y")
    >>> flatness([[[K("1/x")]], [[K("y")]]], K.variables).flat
    True
    >>> flatness([[[K("y")]], [[K("y")]]], K.variables).failing
    ('x', 'y')
    """
    tables = [[list(row) for row in matrix] for matrix in matrices]
    names = tuple(variables)
    rank = len(tables[0]) if tables else 0
    if trials < 1:
        raise BadInput(f"expected at least one trial, got {trials}")
    if len(tables) != len(names) or any(len(t) != rank or any(len(row) != rank for row in t) for t in tables):
        raise BadInput(f"expected {len(names)} square matrices of equal size, one a variable")
    if rank == 0 or len(names) < 2:
        return FlatnessReport(True, 0.0)
    source = random.SystemRandom()
    for _ in range(trials):
        failing = _one_trial(tables, names, source)
        if failing is not None:
            return FlatnessReport(False, 0.0, failing)
    return FlatnessReport(True, _doubt(tables) ** trials)


def _one_trial(tables: list[Table], names: tuple[str, ...], source: random.Random) -> tuple[str, str] | None:
    for _ in range(_TRIES):
        prime = _random_prime(source)
        point = [source.randrange(prime) for _ in tables[0][0][0].field.variables]
        try:
            jets = [_Jet(table, i, point, prime) for i, table in enumerate(tables)]
        except ZeroDivisionError:
            # the point lies on the singular locus modulo this prime: draw again
            continue
        for i, j in combinations(range(len(names)), 2):
            left = jets[i].derivatives[j] + jets[i].value * jets[j].value
            if left != jets[j].derivatives[i] + jets[j].value * jets[i].value:
                return names[i], names[j]
        return None
    raise BadInput("every random point meets the denominators of the matrices; is a denominator zero?")


class _Jet:
    """The matrix P_i and its derivatives in the other variables at a point modulo a prime."""

    def __init__(self, table: Table, index: int, point: list[int], prime: int) -> None:
        others = [j for j in range(len(point)) if j != index]
        rank = len(table)
        values: list[int] = []
        slopes: dict[int, list[int]] = {j: [] for j in others}
        bottoms: dict[str, list[int]] = {}
        for entry in (entry for row in table for entry in row):
            top = _jet(entry.numerator, others, point, prime)
            name = str(entry.denominator) if len(entry.denominator) < 4 else ""
            bottom = bottoms.get(name) or _jet(entry.denominator, others, point, prime)
            if name:
                bottoms[name] = bottom
            if bottom[0] == 0:
                raise ZeroDivisionError
            inverse = pow(bottom[0], -1, prime)
            values.append(top[0] * inverse % prime)
            for j, dtop, dbottom in zip(others, top[1:], bottom[1:], strict=True):
                slopes[j].append((dtop - values[-1] * dbottom) * inverse % prime)
        self.value = nmod_mat(rank, rank, values, prime)
        self.derivatives = {j: nmod_mat(rank, rank, slope, prime) for j, slope in slopes.items()}


def _jet(polynomial: fmpz_mpoly, others: list[int], point: list[int], prime: int) -> list[int]:
    """The value and the partial derivatives of an integer polynomial modulo ``prime``."""
    if polynomial.is_constant():
        return [0 if polynomial.is_zero() else int(polynomial.leading_coefficient()) % prime, *(0 for _ in others)]
    return [int(p(*point)) % prime for p in (polynomial, *(polynomial.derivative(j) for j in others))]


def _random_prime(source: random.Random) -> int:
    while True:
        candidate = source.randrange(_LOW + 1, _HIGH, 2)
        if fmpz(candidate).is_prime():
            return candidate


def _doubt(tables: list[Table]) -> float:
    """Bound the probability that one trial overlooks a non-zero difference.

    The square of the product of all different denominators clears an entry of the difference.  So the cleared entry
    has degree at most twice (the sum of the degrees of the denominators plus the largest degree of a numerator), and
    the logarithm of the sum of its absolute coefficients is bounded alike; 64 bits pay for the derivative and the sum.
    The factor 2 pays for points that are drawn again because a denominator vanishes there.
    """
    degrees, heights, tops = [], [], [0]
    for table in tables:
        bottoms = {str(e.denominator): e.denominator for row in table for e in row}.values()
        degrees.append(sum(_degree(b) for b in bottoms))
        heights.append(sum(_height(b) for b in bottoms))
        tops += [_degree(e.numerator) for row in table for e in row]
        heights[-1] += max((_height(e.numerator) for row in table for e in row), default=0)
    degree = 2 * (sum(degrees) + max(tops))
    height = 2 * sum(heights) + 64
    return min(1.0, 2 * (degree + height / 60) / _PRIMES)


def _degree(polynomial: fmpz_mpoly) -> int:
    return max(int(polynomial.total_degree()), 0)


def _height(polynomial: fmpz_mpoly) -> int:
    """Bits of the sum of the absolute coefficients, at most."""
    if polynomial.is_zero():
        return 0
    return max(int(c).bit_length() for c in polynomial.coeffs()) + len(polynomial).bit_length()
