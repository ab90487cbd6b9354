"""Polynomials and rational functions modulo a prime from their values: on a line, and on a grid in three variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Protocol

import numpy as np
from flint import fmpz_mpoly, nmod_mat, nmod_poly
from numpy.typing import NDArray

from holokern.numeric import charge

# units of `charge` of a value on its way into a matrix of flint and out of it
_VALUE_WORK = 0.1

Exponents = tuple[int, ...]

#: A point modulo a prime -> values there.
Values = Callable[[Sequence[int]], list[int]]


class BlackBox(Protocol):
    """Many functions of a point modulo a prime."""

    def __call__(self, point: Sequence[int]) -> list[int]:
        """The values of all functions."""
        ...

    def entry(self, index: int) -> Values:
        """One of the functions alone, as a list of one value."""
        ...


@dataclass
class Line:
    """Values of all functions along base + t·direction at t = 1, 2, …, one row for each value of t."""

    box: Values
    base: Sequence[int]
    direction: Sequence[int]
    prime: int
    rows: list[list[int]] = field(default_factory=list)

    def point(self, t: int) -> list[int]:
        """The point at t."""
        return [(b + t * d) % self.prime for b, d in zip(self.base, self.direction, strict=True)]

    def extend(self, n: int) -> None:
        """Have the values at t = 1, …, n."""
        while len(self.rows) < n:
            self.rows.append(self.box(self.point(len(self.rows) + 1)))

    def restrict(self, polynomial: fmpz_mpoly) -> nmod_poly:
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
def _interpolation(n: int, prime: int) -> nmod_mat:
    """The matrix that turns values at 1, …, n into coefficients."""
    return nmod_mat(n, n, [pow(t, e, prime) for t in range(1, n + 1) for e in range(n)], prime).inv()


def polynomials_on_line(values: list[list[int]], prime: int) -> list[nmod_poly]:
    """Interpolate every column of ``values`` (rows at t = 1, 2, …)."""
    n, width = len(values), len(values[0])
    flat = nmod_mat(n, width, [v for row in values for v in row], prime)
    table = (_interpolation(n, prime) * flat).transpose().tolist()
    return [nmod_poly([int(c) for c in row], prime) for row in table]


def denominator_on_line(values: list[int], prime: int) -> nmod_poly | None:
    """The monic denominator of a function of t from its values at 1, …, n; None if n is too small.

    Of all quotients the extended Euclidean algorithm offers, the one of least total degree is taken, and it must leave
    two values to spare.
    """
    n = len(values)
    charge(n)
    modulus = nmod_poly([1], prime)
    for t in range(1, n + 1):
        modulus *= nmod_poly([-t % prime, 1], prime)
    (interpolant,) = polynomials_on_line([[v] for v in values], prime)
    r0, r1 = modulus, interpolant
    s0, s1 = nmod_poly([0], prime), nmod_poly([1], prime)
    best, bottom = max(r1.degree(), 0), s1
    while not r1.is_zero():
        quotient, rest = divmod(r0, r1)
        r0, r1, s0, s1 = r1, rest, s1, s0 - quotient * s1
        if max(r1.degree(), 0) + s1.degree() < best:
            best, bottom = max(r1.degree(), 0) + s1.degree(), s1
    return None if best > n - 3 else bottom / bottom.leading_coefficient()


def interpolate(values: Values, monomials: Sequence[Exponents], prime: int, random: Random) -> list[list[int]]:
    """The coefficients of polynomials in the given monomials, closed under division, from values on a random grid.

    Newton's interpolation one axis after the other.  Divided differences are triangular, so the grid points outside the
    set of monomials never influence those inside and need no values.
    """
    sizes = [max(m[axis] for m in monomials) + 1 for axis in range(3)]
    nodes = [random.sample(range(2, 2**60), size) for size in sizes]
    rows = [values([axis[e] for axis, e in zip(nodes, m, strict=True)]) for m in monomials]
    inside = tuple(np.array(monomials).T)
    table = np.array(rows, dtype=np.uint64)
    # many functions are zero; they need no interpolation
    present = np.flatnonzero(table.any(axis=0))
    grid = np.zeros((*sizes, len(present)), dtype=np.uint64)
    grid[inside] = table[:, present]
    for axis in range(3):
        grid = _along(grid, axis, _divided_differences(nodes[axis], prime), prime)
    kept = np.zeros_like(grid)
    kept[inside] = grid[inside]
    for axis in range(3):
        kept = _along(kept, axis, _newton_polynomials(nodes[axis], prime), prime)
    table[:] = 0
    table[:, present] = kept[inside]
    return [[int(c) for c in column] for column in table.T]


def _along(grid: NDArray[np.uint64], axis: int, matrix: nmod_mat, prime: int) -> NDArray[np.uint64]:
    """Multiply every line of the grid in the direction ``axis`` by a matrix modulo a prime."""
    charge(_VALUE_WORK * grid.size)
    turned = np.moveaxis(grid, axis, 0)
    flat = nmod_mat(turned.shape[0], turned[0].size, turned.ravel().tolist(), prime)
    product = np.array([int(c) for c in (matrix * flat).entries()], dtype=np.uint64)
    return np.moveaxis(product.reshape(turned.shape), 0, axis)


def _divided_differences(nodes: Sequence[int], prime: int) -> nmod_mat:
    """The matrix from values at the nodes to coefficients in Newton's basis Π_{j<i} (x - x_j)."""
    n = len(nodes)
    values = [0] * (n * n)
    for i, x in enumerate(nodes):
        product = 1
        for j in range(i + 1):
            values[i * n + j] = product
            product = product * (x - nodes[j]) % prime
    return nmod_mat(n, n, values, prime).inv()


def _newton_polynomials(nodes: Sequence[int], prime: int) -> nmod_mat:
    """The matrix from Newton's basis to powers of x."""
    n = len(nodes)
    values = [0] * (n * n)
    basis = nmod_poly([1], prime)
    for i, x in enumerate(nodes):
        for e in range(i + 1):
            values[e * n + i] = int(basis[e])
        basis *= nmod_poly([-x % prime, 1], prime)
    return nmod_mat(n, n, values, prime)


def lower_set(bounds: Sequence[int], total: int) -> list[Exponents]:
    """Exponents within the degree bounds of the variables and the total degree."""
    return [
        (e, f, g)
        for e in range(min(bounds[0], total) + 1)
        for f in range(min(bounds[1], total - e) + 1)
        for g in range(min(bounds[2], total - e - f) + 1)
    ]


def random_point(random: Random, prime: int) -> list[int]:
    """A random point modulo a prime."""
    return [random.randrange(2, prime) for _ in range(3)]


def value_modulo(polynomial: fmpz_mpoly, point: Sequence[int], prime: int) -> int:
    """An integer polynomial (``fmpz_mpoly``) at a point modulo a prime."""
    return int(polynomial(*point)) % prime
