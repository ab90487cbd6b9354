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
from holokern.progress import report
from holokern.weyl import evaluate_polynomial

# units of `charge` of a value in a product with a matrix
_VALUE_WORK = 0.05
# bits of a part of a residue: three parts hold 62 bits, and sums of a hundred products of parts are exact as floats
_PART = 21
_REPORT = 64  # values between two reports of progress
_BLOCK = 1 << 14  # columns of a product at a time, which stay in the cache of the processor

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
        line: nmod_poly = nmod_poly([0], self.prime) + evaluate_polynomial(polynomial, t)
        return line


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


def values_at(box: Values, points: Sequence[Sequence[int]]) -> NDArray[np.uint64]:
    """The values at many points, one row for each."""
    rows = []
    for done, point in enumerate(points):
        if done % _REPORT == 0:
            report("interpolating modulo a prime, values", done, len(points))
        rows.append(box(point))
    return np.array(rows, dtype=np.uint64)


def interpolate(
    values: Callable[[list[list[int]]], NDArray[np.uint64]], monomials: Sequence[Exponents], prime: int, random: Random
) -> list[list[int]]:
    """The coefficients of polynomials in the given monomials, closed under division, from values on a random grid.

    Newton's interpolation one axis after the other.  Divided differences are triangular, so the grid points outside the
    set of monomials never influence those inside and need no values.
    """
    sizes = [max(m[axis] for m in monomials) + 1 for axis in range(3)]
    nodes = [random.sample(range(2, 2**60), size) for size in sizes]
    inside = tuple(np.array(monomials).T)
    table = values([[axis[e] for axis, e in zip(nodes, m, strict=True)] for m in monomials])
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
    columns: list[list[int]] = table.T.tolist()
    return columns


def _along(grid: NDArray[np.uint64], axis: int, matrix: nmod_mat, prime: int) -> NDArray[np.uint64]:
    """Multiply every line of the grid in the direction ``axis`` by a matrix modulo a prime."""
    charge(_VALUE_WORK * grid.size)
    turned = np.moveaxis(grid, axis, 0)
    rows = len(turned)
    factor = np.array([int(c) for c in matrix.entries()], dtype=np.uint64).reshape(rows, rows)
    product = residue_product(factor, turned.reshape(rows, -1), prime)
    return np.moveaxis(product.reshape(turned.shape), 0, axis)


def residue_product(a: NDArray[np.uint64], b: NDArray[np.uint64], prime: int) -> NDArray[np.uint64]:
    """The product of two matrices of residues modulo a prime between 2^51 and 2^62, by products of floats.

    >>> p = 2**61 - 1
    >>> residue_product(np.array([[p - 1, 2]], dtype=np.uint64), np.array([[p - 2], [p - 3]], dtype=np.uint64), p)
    array([[2305843009213693947]], dtype=uint64)
    """
    left = _parts(a)
    result = np.empty((len(a), b.shape[1]), dtype=np.uint64)
    for start in range(0, b.shape[1], _BLOCK):
        right = _parts(b[:, start : start + _BLOCK])
        total = np.zeros((len(a), right[0].shape[1]), dtype=np.uint64)
        for weight in reversed(range(5)):
            pairs = [(i, weight - i) for i in range(3) if 0 <= weight - i < 3]
            total = _reduced(total, np.uint64(1 << _PART), prime)
            total += sum(left[i] @ right[j] for i, j in pairs).astype(np.uint64)  # type: ignore[union-attr]
            total -= np.where(total >= prime, np.uint64(prime), np.uint64(0))
        result[:, start : start + _BLOCK] = total
    return result


def residue_times(a: NDArray[np.uint64], b: NDArray[np.uint64], prime: int) -> NDArray[np.uint64]:
    """The products of residues modulo such a prime, one by one.

    >>> p = 2**61 - 1
    >>> residue_times(np.array([p - 1], dtype=np.uint64), np.array([p - 5], dtype=np.uint64), p)
    array([5], dtype=uint64)
    """
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape), dtype=np.uint64)
    for part in reversed(_parts(b)):
        total = _reduced(total, np.uint64(1 << _PART), prime) + _reduced(a, part.astype(np.uint64), prime)
        total -= np.where(total >= prime, np.uint64(prime), np.uint64(0))
    return total


def _parts(a: NDArray[np.uint64]) -> list[NDArray[np.float64]]:
    mask = np.uint64((1 << _PART) - 1)
    return [((a >> np.uint64(_PART * i)) & mask).astype(float) for i in range(3)]


def _reduced(a: NDArray[np.uint64], factor: NDArray[np.uint64] | np.uint64, prime: int) -> NDArray[np.uint64]:
    """Residues times factors up to 2^21: the quotient by the prime is so small that floats have it but for one."""
    quotient = (a.astype(float) * (np.asarray(factor, dtype=float) / prime)).astype(np.uint64)
    # both products wrap round, and their difference lies between -p and 2p
    rest = (a * factor - quotient * np.uint64(prime)).view(np.int64)
    rest += np.where(rest < 0, prime, 0)
    rest -= np.where(rest >= prime, prime, 0)
    return np.asarray(rest.view(np.uint64))


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
