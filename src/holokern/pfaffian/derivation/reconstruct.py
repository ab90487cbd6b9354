"""Rational functions from their values modulo primes.

A black box gives the values of many rational functions of three variables at a point modulo a prime.  Along a random
line they are functions of one variable, whose reconstruction shows all degrees and the denominators: a product of
factors known in advance and, perhaps, a remaining one, which is recovered from more lines.  With the denominators known
the numerators are polynomials, found by Newton's interpolation on a grid; Chinese remainders and rational
reconstruction lift them to Q.  The result is compared with the black box at fresh points modulo a fresh prime, so a
wrong lift is noticed with overwhelming probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb, prod
from random import Random
from typing import TypeVar

import numpy as np
from flint import fmpz, fmpz_mpoly, fmpz_mpoly_ctx, nmod_poly
from numpy.typing import NDArray

from holokern.errors import CheckFailed, TooLarge
from holokern.numeric import Lifting
from holokern.pfaffian.derivation.interpolate import (
    BlackBox,
    Exponents,
    Line,
    Values,
    denominator_on_line,
    interpolate,
    lower_set,
    polynomials_on_line,
    random_point,
    residue_times,
    value_modulo,
    values_at,
)
from holokern.progress import report
from holokern.weyl import FunctionField, RationalFunction, split_off

_MAX_SAMPLES = 300  # values on a line, for degrees up to 150; the named activations need at most 55 (softsign)
# how every refusal ends
_ADVICE = (
    "choose another basis or simpler numbers, or split the function into summands and derive the system "
    "of each pair, pfaffian(f, g)"
)
Polynomial = TypeVar("Polynomial", fmpz_mpoly, nmod_poly)

_ROWS = 256  # points at a time while denominators are cleared
_MAX_WORK = 60_000  # values times bits on the way to an apparent singularity; about ten seconds
_MAX_COEFFICIENTS = 8_000_000  # numbers in all numerators; some minutes


def reconstruct(
    box: Callable[[int], BlackBox],
    field: FunctionField,
    known: Sequence[fmpz_mpoly],
    primes: Sequence[int],
    *,
    bits: int = 1,
) -> list[RationalFunction]:
    """Reconstruct all functions of a black box.

    ``box``: takes a prime and returns the black box modulo that prime.
    ``field``: the field, in three variables, that the functions belong to.
    ``known``: irreducible polynomials expected in denominators; others are found.
    ``primes``: primes to use; the last one only checks.
    ``bits``: the size of the numbers that the functions were made from, to foresee how many primes will be needed.
    Raises TooLarge if the degrees are too large, or the denominators hold an unexpected factor that would take too long
    to find; CheckFailed if the result contradicts the black box; nothing wrong is returned.
    """
    random = Random(1)
    *working, fresh = primes
    if not box(fresh)(random_point(random, fresh)):
        return []
    shape = _Learner(box, working, field.ctx, random, bits).shape([_positive(f) for f in known])
    lifting = Lifting()
    for number, prime in enumerate(working, 1):
        report(f"interpolating the matrices, prime {number}")
        lifting.add(_numerators_modulo(box(prime), prime, shape, random), prime)
        exact = lifting.lifted()
        if exact is not None:
            functions = [
                _assemble(field, shape, powers, *row) for powers, row in zip(shape.denominators, exact, strict=True)
            ]
            if _agree(functions, box(fresh), fresh, random):
                return functions
    raise CheckFailed(
        f"the system has coefficients of more than {31 * len(working)} bits or failed its check modulo a fresh prime; "
        "try another basis"
    )


@dataclass(frozen=True)
class _Shape:
    """What all primes share: irreducible factors, their powers in every denominator, monomials of the numerators."""

    factors: tuple[fmpz_mpoly, ...]
    denominators: tuple[Exponents, ...]
    monomials: tuple[Exponents, ...]


class _Learner:
    """Finds the :class:`_Shape` of the functions of a black box, modulo the first prime wherever one is enough."""

    def __init__(
        self, box: Callable[[int], BlackBox], primes: Sequence[int], context: fmpz_mpoly_ctx, random: Random, bits: int
    ) -> None:
        self.box, self.primes, self.context, self.random, self.bits = box, primes, context, random, bits
        self.factors: list[fmpz_mpoly] = []

    def shape(self, known: Sequence[fmpz_mpoly]) -> _Shape:
        """Learn along one random line and along the three axes."""
        self.factors = list(known)
        prime = self.primes[0]
        box = self.box(prime)
        line = Line(box, random_point(self.random, prime), random_point(self.random, prime), prime)
        fractions = self._fractions_on(line)
        while True:
            on_line = [line.restrict(f) for f in self.factors]
            split = [split_off(bottom, on_line) for _, bottom in fractions]
            left = [k for k, (_, rest) in enumerate(split) if rest.degree() > 0]
            if not left:
                break
            # the function whose denominator is cheapest to complete; the others often share its factors
            degrees = {k: (fractions[k][0].degree(), split[k][1].degree()) for k in left}
            # the number of values that it takes
            cost, k = min((comb(degree + 3, 3) * (top + degree + 3), k) for k, (top, degree) in degrees.items())
            if cost * self.bits > _MAX_WORK:
                raise TooLarge(
                    f"the basis adds an apparent singularity of degree {degrees[k][1]}, and the operators have "
                    f"coefficients of {self.bits} bits: this would take too long; {_ADVICE}"
                )
            found = [f for f in self._apparent(k, *split[k], fractions[k][0].degree()) if f not in self.factors]
            if not found:
                raise CheckFailed("a denominator was not recognised; please report this bug of the interpolation")
            self.factors += found
        denominators = tuple(tuple(powers) for powers, _ in split)
        bounds = [self._degree_along(axis, line.base, box, denominators) for axis in range(3)]
        degree = max(0, *(top.degree() for top, _ in fractions))
        monomials = tuple(lower_set(bounds, degree))
        if len(monomials) * len(fractions) > _MAX_COEFFICIENTS:
            raise TooLarge(f"the matrices would have about {len(monomials) * len(fractions)} coefficients; {_ADVICE}")
        return _Shape(tuple(self.factors), denominators, monomials)

    def _fractions_on(self, line: Line) -> list[tuple[nmod_poly, nmod_poly]]:
        """Reduced numerator and denominator of every function on a line."""
        line.extend(1)
        weights = [self.random.randrange(1, line.prime) for _ in line.rows[0]]
        for n in _sample_sizes(8):
            line.extend(n)
            # a random combination has the common denominator, except with a probability of about 2^-60
            mixed = [sum(w * v for w, v in zip(weights, row, strict=True)) % line.prime for row in line.rows]
            bottom = denominator_on_line(mixed, line.prime)
            if bottom is not None:
                tops = self._numerators(line, [bottom] * len(weights))
                common = [bottom.gcd(top) for top in tops]
                return [(top // g, bottom // g) for top, g in zip(tops, common, strict=True)]
        raise TooLarge(f"rational functions of degree above {_MAX_SAMPLES // 2} appeared; {_ADVICE}")

    def _numerators(self, line: Line, bottoms: Sequence[nmod_poly]) -> list[nmod_poly]:
        """The numerators on a line, whose denominators there are known."""
        for n in _sample_sizes(max(len(line.rows), 4)):
            line.extend(n)
            at = [{id(b): int(b(t)) for b in bottoms} for t in range(1, n + 1)]
            cleared = [
                [v * known[id(b)] % line.prime for v, b in zip(row, bottoms, strict=True)]
                for row, known in zip(line.rows, at, strict=True)
            ]
            tops = polynomials_on_line(cleared, line.prime)
            if max(top.degree() for top in tops) < n - 2:
                return tops
        raise TooLarge(f"numerators of degree above {_MAX_SAMPLES} appeared; {_ADVICE}")

    def _apparent(self, k: int, powers: Sequence[int], rest: nmod_poly, top_degree: int) -> list[fmpz_mpoly]:
        """The irreducible factors of what the known ones leave of the denominator of function ``k``."""
        degree = rest.degree()
        monomials = lower_set([degree] * 3, degree)
        lifting = Lifting()
        for prime in self.primes:
            ratio = self._remaining(k, prime, powers, top_degree + degree + 3)
            (residues,) = interpolate(partial(values_at, ratio), monomials, prime, self.random)
            # only determined up to a factor, so make the first coefficient 1
            unit = pow(next(c for c in residues if c), -1, prime)
            lifting.add([[c * unit % prime for c in residues]], prime)
            exact = lifting.lifted(spare=24)
            if exact is not None:
                found = self.context.from_dict({m: c for m, c in zip(monomials, exact[0][0], strict=True) if c})
                return [_positive(f) for f, _ in found.factor()[1]]
        raise TooLarge(f"an apparent singularity has very large coefficients; {_ADVICE}")

    def _remaining(self, k: int, prime: int, powers: Sequence[int], samples: int) -> Values:
        """The remaining denominator at a point divided by its value at a base point, from the line through both."""
        entry, base = self.box(prime).entry(k), random_point(self.random, prime)

        def ratio(point: Sequence[int]) -> list[int]:
            line = Line(entry, base, [(p - b) % prime for p, b in zip(point, base, strict=True)], prime)
            line.extend(samples)
            cleared = _product([line.restrict(f) for f in self.factors], powers, nmod_poly([1], prime))
            values = [value * int(cleared(t)) % prime for t, (value,) in enumerate(line.rows, start=1)]
            rest = denominator_on_line(values, prime)
            if rest is None:
                raise CheckFailed("a line met the singular locus in a special way; please report this bug")
            return [int(rest(1)) * pow(int(rest(0)), -1, prime) % prime]

        return ratio

    def _degree_along(self, axis: int, base: Sequence[int], box: BlackBox, denominators: Sequence[Exponents]) -> int:
        """The largest degree of a numerator in one variable."""
        prime = self.primes[0]
        line = Line(box, base, [int(i == axis) for i in range(3)], prime)
        on_line = [line.restrict(f) for f in self.factors]
        products = {powers: _product(on_line, powers, nmod_poly([1], prime)) for powers in set(denominators)}
        tops = self._numerators(line, [products[powers] for powers in denominators])
        return max(0, *(int(top.degree()) for top in tops))


def _sample_sizes(start: int) -> Iterator[int]:
    """Growing numbers of samples, up to the limit."""
    while start <= _MAX_SAMPLES:
        yield start
        start += 4 + start // 8


def _numerators_modulo(box: BlackBox, prime: int, shape: _Shape, random: Random) -> list[list[int]]:
    """The coefficients of all numerators modulo a prime, one list a function."""
    different = list(dict.fromkeys(shape.denominators))
    places = np.array([different.index(powers) for powers in shape.denominators])

    def clearing(point: Sequence[int]) -> list[int]:
        at = [value_modulo(f, point, prime) for f in shape.factors]
        return [prod(pow(v, e, prime) for v, e in zip(at, powers, strict=True)) % prime for powers in different]

    def cleared(points: list[list[int]]) -> NDArray[np.uint64]:
        values = values_at(box, points)
        for start in range(0, len(points), _ROWS):
            some = slice(start, start + _ROWS)
            factors = np.array([clearing(point) for point in points[some]], dtype=np.uint64)
            values[some] = residue_times(values[some], factors[:, places], prime)
        return values

    return interpolate(cleared, shape.monomials, prime, random)


def _assemble(field: FunctionField, shape: _Shape, powers: Exponents, tops: list[int], scale: int) -> RationalFunction:
    top = field.ctx.from_dict({m: c for m, c in zip(shape.monomials, tops, strict=True) if c})
    return field.fraction(top, _product(shape.factors, powers, field.ctx.constant(scale)))


def _product(factors: Sequence[Polynomial], powers: Sequence[int], start: Polynomial) -> Polynomial:
    return prod((f**e for f, e in zip(factors, powers, strict=True)), start=start)


def _agree(functions: Sequence[RationalFunction], box: BlackBox, prime: int, random: Random) -> bool:
    """Whether the functions have the black box's values at two fresh points modulo a fresh prime."""
    for _ in range(2):
        point = [random.randrange(1, 2**30) for _ in range(3)]
        exact = tuple(map(fmpz, point))
        for function, value in zip(functions, box(point), strict=True):
            if (int(function.numerator(*exact)) - value * int(function.denominator(*exact))) % prime:
                return False
    return True


def _positive(polynomial: fmpz_mpoly) -> fmpz_mpoly:
    return -polynomial if polynomial.leading_coefficient() < 0 else polynomial
