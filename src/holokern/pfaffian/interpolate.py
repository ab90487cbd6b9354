"""Rational functions from their values modulo primes.

A black box gives the values of many rational functions of three variables at a point modulo a prime.  Along a random line
they are functions of one variable, whose reconstruction shows all degrees and the denominators: a product of factors known
in advance and, perhaps, a remaining one, which is recovered from more lines.  With the denominators known the numerators are
polynomials, found by one linear solve; Chinese remainders and rational reconstruction lift them to Q.  The result is
compared with the black box at fresh points modulo a fresh prime, so a wrong lift is noticed with overwhelming probability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd, isqrt
from random import Random
from typing import Any

import numpy as np
from flint import fmpz, nmod_mat, nmod_poly
from numpy.typing import NDArray

from holokern.errors import CheckFailed
from holokern.weyl.fractions import FunctionField, RationalFunction

__all__ = ["BlackBox", "reconstruct", "rational_from_residue"]

BlackBox = Callable[[Sequence[int]], list[int]]
Exponents = tuple[int, ...]

_MAX_SAMPLES = 2000


def rational_from_residue(residue: int, modulus: int) -> tuple[int, int] | None:
    """The fraction n/d = residue modulo ``modulus`` with |n|, d at most √(modulus/2), or None.

    Examples
    --------
    >>> rational_from_residue(pow(3, -1, 10007) * -2 % 10007, 10007)
    (-2, 3)
    """
    bound = isqrt(modulus // 2)
    r0, r1, s0, s1 = modulus, residue % modulus, 0, 1
    while r1 > bound:
        q = r0 // r1
        r0, r1, s0, s1 = r1, r0 - q * r1, s1, s0 - q * s1
    if s1 == 0 or abs(s1) > bound or gcd(r1, s1) != 1:
        return None
    return (r1, s1) if s1 > 0 else (-r1, -s1)


@dataclass
class _Line:
    """Values of all functions along base + t·direction at t = 1, 2, …, one row a value of t."""

    box: BlackBox
    base: Sequence[int]
    direction: Sequence[int]
    prime: int
    rows: list[list[int]] = field(default_factory=list)

    def point(self, t: int) -> list[int]:
        return [(b + t * d) % self.prime for b, d in zip(self.base, self.direction, strict=True)]

    def extend(self, n: int) -> None:
        while len(self.rows) < n:
            self.rows.append(self.box(self.point(len(self.rows) + 1)))

    def restrict(self, polynomial: Any) -> Any:
        """An integer polynomial on the line, as ``nmod_poly`` in t."""
        t = [nmod_poly([b, d], self.prime) for b, d in zip(self.base, self.direction, strict=True)]
        total = nmod_poly([0], self.prime)
        for exponents, c in polynomial.terms():
            term = nmod_poly([int(c) % self.prime], self.prime)
            for gen, e in zip(t, exponents, strict=True):
                if e:
                    term *= gen ** int(e)
            total += term
        return total


@lru_cache(maxsize=256)
def _interpolation(n: int, prime: int) -> Any:
    """The matrix that turns values at 1, …, n into coefficients."""
    return nmod_mat(n, n, [pow(t, e, prime) for t in range(1, n + 1) for e in range(n)], prime).inv()


def _polynomials(values: list[list[int]], prime: int) -> list[Any]:
    """Interpolate every column of ``values`` (rows at t = 1, 2, …)."""
    n, width = len(values), len(values[0])
    flat = nmod_mat(n, width, [v for row in values for v in row], prime)
    table = (_interpolation(n, prime) * flat).transpose().tolist()
    return [nmod_poly([int(c) for c in row], prime) for row in table]


def _denominator_on_line(values: list[int], prime: int) -> Any | None:
    """The monic denominator of a function of t from its values at 1, …, n; None if n is too small.

    Of all quotients the extended Euclidean algorithm offers, the one of least total degree is taken, and it must leave
    two values to spare.
    """
    n = len(values)
    modulus = nmod_poly([1], prime)
    for t in range(1, n + 1):
        modulus *= nmod_poly([-t % prime, 1], prime)
    (interpolant,) = _polynomials([[v] for v in values], prime)
    r0, r1 = modulus, interpolant
    s0, s1 = nmod_poly([0], prime), nmod_poly([1], prime)
    best, bottom = max(r1.degree(), 0), s1
    while not r1.is_zero():
        quotient, rest = divmod(r0, r1)
        r0, r1, s0, s1 = r1, rest, s1, s0 - quotient * s1
        if max(r1.degree(), 0) + s1.degree() < best:
            best, bottom = max(r1.degree(), 0) + s1.degree(), s1
    return None if best > n - 3 else bottom / bottom.leading_coefficient()


@dataclass(frozen=True)
class _Shape:
    """What is common to all primes: irreducible factors, their powers in every denominator, monomials of the numerators."""

    factors: tuple[Any, ...]
    denominators: tuple[Exponents, ...]
    monomials: tuple[Exponents, ...]


class _Learner:
    """Finds the :class:`_Shape` of the functions of a black box modulo one prime."""

    def __init__(self, box: BlackBox, prime: int, context: Any, known: Sequence[Any], random: Random) -> None:
        self.box, self.prime, self.context, self.random = box, prime, context, random
        self.factors = list(known)
        self.base = _random_point(random, prime)
        self.weights: list[int] = []

    def shape(self) -> _Shape:
        """Learn along one random line and along the three axes."""
        line = _Line(self.box, self.base, _random_point(self.random, self.prime), self.prime)
        line.extend(1)
        self.weights = [self.random.randrange(1, self.prime) for _ in line.rows[0]]
        bottom = self._denominator(line, ())
        powers, rest = _valuations(bottom, [line.restrict(f) for f in self.factors])
        if rest.degree() > 0:
            self.factors += self._apparent(powers, rest.degree())
        on_line = [line.restrict(f) for f in self.factors]
        denominators: list[Exponents] = []
        degree = 0
        for top in self._numerators(line, [bottom] * len(self.weights)):
            common = bottom.gcd(top)
            own, rest = _valuations(bottom // common, on_line)
            if rest.degree() > 0:
                raise CheckFailed(
                    "a denominator was not recognised; this is a bug in the interpolation, please report it"
                )
            denominators.append(tuple(own))
            degree = max(degree, top.degree() - common.degree())
        bounds = [self._degree_along(axis, denominators) for axis in range(3)]
        return _Shape(tuple(self.factors), tuple(denominators), tuple(_monomials(bounds, degree)))

    def _denominator(self, line: _Line, powers: Sequence[int], start: int = 8) -> Any:
        """The common denominator on a line of all functions times the known factors to the given powers."""
        cleared = nmod_poly([1], self.prime)
        for factor, e in zip(self.factors, powers, strict=False):
            cleared *= line.restrict(factor) ** e
        for n in range(start, _MAX_SAMPLES, 4):
            line.extend(n)
            # a random combination has the common denominator, except with a probability of about 2^-60
            values = [
                sum(w * v for w, v in zip(self.weights, row, strict=True)) * int(cleared(t)) % self.prime
                for t, row in enumerate(line.rows[:n], start=1)
            ]
            found = _denominator_on_line(values, self.prime)
            if found is not None:
                return found
        raise CheckFailed(f"rational functions of degree above {_MAX_SAMPLES // 2} appeared; try simpler operators")

    def _numerators(self, line: _Line, bottoms: Sequence[Any]) -> list[Any]:
        """The numerators on a line, whose denominators there are known."""
        for n in range(max(len(line.rows), 4), _MAX_SAMPLES, 4):
            line.extend(n)
            at = [{id(b): int(b(t)) for b in bottoms} for t in range(1, n + 1)]
            cleared = [
                [v * known[id(b)] % self.prime for v, b in zip(row, bottoms, strict=True)]
                for row, known in zip(line.rows, at, strict=True)
            ]
            tops = _polynomials(cleared, self.prime)
            if max(top.degree() for top in tops) < n - 2:
                return tops
        raise CheckFailed(f"numerators of degree above {_MAX_SAMPLES} appeared; try simpler operators")

    def _apparent(self, powers: Sequence[int], degree: int) -> list[Any]:
        """The irreducible factors of what the known ones leave of the common denominator, from lines through one point."""
        enough = 8

        def ratio(point: Sequence[int]) -> list[int]:
            nonlocal enough
            direction = [(p - b) % self.prime for p, b in zip(point, self.base, strict=True)]
            line = _Line(self.box, self.base, direction, self.prime)
            rest = self._denominator(line, powers, enough)
            enough = len(line.rows)
            return [int(rest(1)) * pow(int(rest(0)), -1, self.prime) % self.prime]

        monomials = _monomials([degree] * 3, degree)
        (residues,) = _interpolate(ratio, monomials, self.prime, self.random)
        unit = pow(next(c for c in residues if c), -1, self.prime)
        exact = _lift([c * unit % self.prime for c in residues], self.prime)
        if exact is None:
            raise CheckFailed("an apparent singularity has very large coefficients; choose another basis")
        found = self.context.from_dict({m: c for m, c in zip(monomials, exact[0], strict=True) if c})
        return [_positive(f) for f, _ in found.factor()[1]]

    def _degree_along(self, axis: int, denominators: Sequence[Exponents]) -> int:
        """The largest degree of a numerator in one variable."""
        line = _Line(self.box, self.base, [int(i == axis) for i in range(3)], self.prime)
        on_line = [line.restrict(f) for f in self.factors]
        products: dict[Exponents, Any] = {}
        for powers in denominators:
            if powers not in products:
                product = nmod_poly([1], self.prime)
                for f, e in zip(on_line, powers, strict=True):
                    product *= f**e
                products[powers] = product
        tops = self._numerators(line, [products[powers] for powers in denominators])
        return max(0, *(top.degree() for top in tops))


def reconstruct(
    box: Callable[[int], BlackBox], field: FunctionField, known: Sequence[Any], primes: Sequence[int], seed: int = 1
) -> list[RationalFunction]:
    """Reconstruct all functions of a black box.

    Parameters
    ----------
    box : callable
        Takes a prime and returns the black box modulo that prime.
    field : FunctionField
        The field, in three variables, that the functions belong to.
    known : sequence of fmpz_mpoly
        Irreducible polynomials expected in denominators; others are found.
    primes : sequence of int
        Primes to use; the last one only checks.
    seed : int
        Seed of the random points.

    Raises
    ------
    CheckFailed
        If the result contradicts the black box; nothing wrong is returned.
    """
    random = Random(seed)
    *working, fresh = primes
    if not box(fresh)(_random_point(random, fresh)):
        return []
    shape = _Learner(box(working[0]), working[0], field.ctx, [_positive(f) for f in known], random).shape()
    modulus = 1
    residues: list[list[int]] = []
    for prime in working:
        found = _numerators_modulo(box(prime), prime, shape, random)
        residues = (
            found if modulus == 1 else [_chinese(a, modulus, b, prime) for a, b in zip(residues, found, strict=True)]
        )
        modulus *= prime
        lifted = [_lift(row, modulus) for row in residues]
        if any(row is None for row in lifted):
            continue
        functions = [
            _assemble(field, shape, powers, row) for powers, row in zip(shape.denominators, lifted, strict=True) if row
        ]
        if _agree(functions, box(fresh), fresh, random):
            return functions
    raise CheckFailed(
        f"the system has coefficients of more than {31 * len(working)} bits or failed its check modulo a fresh prime; "
        "try another basis"
    )


def _numerators_modulo(box: BlackBox, prime: int, shape: _Shape, random: Random) -> list[list[int]]:
    """The coefficients of all numerators modulo a prime, one list a function."""

    def cleared(point: Sequence[int]) -> list[int]:
        at = [_evaluate(f, point, prime) for f in shape.factors]
        products = {}
        for powers in set(shape.denominators):
            product = 1
            for value, e in zip(at, powers, strict=True):
                product = product * pow(value, e, prime) % prime
            products[powers] = product
        return [v * products[powers] % prime for v, powers in zip(box(point), shape.denominators, strict=True)]

    return _interpolate(cleared, shape.monomials, prime, random)


def _interpolate(values: BlackBox, monomials: Sequence[Exponents], prime: int, random: Random) -> list[list[int]]:
    """The coefficients of polynomials in the given monomials, closed under division, from values on a random grid.

    Newton's interpolation one axis after the other.  Divided differences are triangular, so the grid points outside the
    set of monomials never influence those inside and need no values.
    """
    sizes = [max(m[axis] for m in monomials) + 1 for axis in range(3)]
    nodes = [random.sample(range(2, 2**60), size) for size in sizes]
    rows = {m: values([axis[e] for axis, e in zip(nodes, m, strict=True)]) for m in monomials}
    width = len(next(iter(rows.values())))
    grid = np.zeros((*sizes, width), dtype=np.uint64)
    for m, row in rows.items():
        grid[m] = row
    for axis in range(3):
        grid = _along(grid, axis, _divided_differences(nodes[axis], prime), prime)
    inside = np.zeros(sizes, dtype=bool)
    inside[tuple(np.array(monomials).T)] = True
    grid[~inside] = 0
    for axis in range(3):
        grid = _along(grid, axis, _newton_polynomials(nodes[axis], prime), prime)
    return [[int(c) for c in column] for column in grid[inside].T]


def _along(grid: NDArray[np.uint64], axis: int, matrix: Any, prime: int) -> NDArray[np.uint64]:
    """Multiply every line of the grid in the direction ``axis`` by a matrix modulo a prime."""
    turned = np.moveaxis(grid, axis, 0)
    flat = nmod_mat(turned.shape[0], turned[0].size, turned.ravel().tolist(), prime)
    product = np.array([int(c) for c in (matrix * flat).entries()], dtype=np.uint64)
    return np.moveaxis(product.reshape(turned.shape), 0, axis)


def _divided_differences(nodes: Sequence[int], prime: int) -> Any:
    """The matrix from values at the nodes to coefficients in Newton's basis Π_{j<i} (x - x_j)."""
    n = len(nodes)
    values = [0] * (n * n)
    for i, x in enumerate(nodes):
        product = 1
        for j in range(i + 1):
            values[i * n + j] = product
            product = product * (x - nodes[j]) % prime
    return nmod_mat(n, n, values, prime).inv()


def _newton_polynomials(nodes: Sequence[int], prime: int) -> Any:
    """The matrix from Newton's basis to powers of x."""
    n = len(nodes)
    values = [0] * (n * n)
    basis = nmod_poly([1], prime)
    for i, x in enumerate(nodes):
        for e in range(i + 1):
            values[e * n + i] = int(basis[e])
        basis *= nmod_poly([-x % prime, 1], prime)
    return nmod_mat(n, n, values, prime)


def _lift(residues: Sequence[int], modulus: int) -> tuple[list[int], int] | None:
    """Integers and one positive denominator, coprime as a whole, from residues; None if the modulus is too small."""
    bound = isqrt(modulus // 2)
    denominator = 1
    for residue in residues:
        value = residue * denominator % modulus
        if min(value, modulus - value) > bound:
            pair = rational_from_residue(value, modulus)
            if pair is None or denominator * pair[1] > bound:
                return None
            denominator *= pair[1]
    half = modulus // 2
    tops = [(r * denominator + half) % modulus - half for r in residues]
    if any(abs(top) > bound for top in tops):
        return None
    common = gcd(denominator, *tops)
    return [top // common for top in tops], denominator // common


def _assemble(
    field: FunctionField, shape: _Shape, powers: Exponents, lifted: tuple[list[int], int]
) -> RationalFunction:
    tops, scale = lifted
    top = field.ctx.from_dict({m: c for m, c in zip(shape.monomials, tops, strict=True) if c})
    bottom = field.ctx.constant(scale)
    if top.is_zero():
        return field.zero
    for factor, e in zip(shape.factors, powers, strict=True):
        bottom *= factor**e
    return field.fraction(top, bottom)


def _agree(functions: Sequence[RationalFunction], box: BlackBox, prime: int, random: Random) -> bool:
    """Whether the functions have the black box's values at two fresh points modulo a fresh prime."""
    for _ in range(2):
        point = [random.randrange(1, 2**30) for _ in range(3)]
        exact = tuple(map(fmpz, point))
        for function, value in zip(functions, box(point), strict=True):
            if (int(function.numerator(*exact)) - value * int(function.denominator(*exact))) % prime:
                return False
    return True


def _monomials(bounds: Sequence[int], total: int) -> list[Exponents]:
    """Exponents within the degree bounds of the variables and the total degree."""
    return [
        (e, f, g)
        for e in range(min(bounds[0], total) + 1)
        for f in range(min(bounds[1], total - e) + 1)
        for g in range(min(bounds[2], total - e - f) + 1)
    ]


def _random_point(random: Random, prime: int) -> list[int]:
    return [random.randrange(2, prime) for _ in range(3)]


def _evaluate(polynomial: Any, point: Sequence[int], prime: int) -> int:
    total = 0
    for exponents, c in polynomial.terms():
        term = int(c)
        for x, e in zip(point, exponents, strict=True):
            if e:
                term = term * pow(x, int(e), prime) % prime
        total += term
    return total % prime


def _chinese(left: Sequence[int], modulus: int, right: Sequence[int], prime: int) -> list[int]:
    inverse = pow(modulus, -1, prime)
    return [a + modulus * ((b - a) * inverse % prime) for a, b in zip(left, right, strict=True)]


def _valuations(polynomial: Any, factors: Sequence[Any]) -> tuple[list[int], Any]:
    """How often each factor divides, and what is left."""
    powers = []
    for factor in factors:
        power = 0
        while 0 < factor.degree() <= polynomial.degree():
            quotient, rest = divmod(polynomial, factor)
            if not rest.is_zero():
                break
            polynomial, power = quotient, power + 1
        powers.append(power)
    return powers, polynomial


def _positive(polynomial: Any) -> Any:
    return -polynomial if polynomial.leading_coefficient() < 0 else polynomial
