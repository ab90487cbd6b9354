"""Values of the matrices at many points: floats vectorised with numpy, and balls with flint's ``arb``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from flint import arb, arb_mat, fmpz_mpoly, nmod_poly
from numpy.typing import ArrayLike

from holokern.errors import BadInput
from holokern.numeric import Array
from holokern.weyl import FunctionField, Matrix, RationalFunction

_Polynomial = TypeVar("_Polynomial", fmpz_mpoly, nmod_poly)


class CompiledMatrices:
    """Matrices of rational functions as tables: each distinct numerator and each denominator's factor is one row.

    ``matrices``: square matrices of one size.
    ``factors``: the irreducible factors of all denominators.
    """

    def __init__(self, matrices: Sequence[Matrix], factors: Sequence[fmpz_mpoly]) -> None:
        distinct: dict[RationalFunction, int] = {}
        places = [[[distinct.setdefault(e, len(distinct)) for e in row] for row in matrix] for matrix in matrices]
        self.places = np.array(places, dtype=np.intp)
        self.factors = len(factors)
        polynomials = [*factors, *(f.numerator for f in distinct)]
        monomials: dict[tuple[int, ...], int] = {}
        self.rows: list[list[tuple[int, int]]] = [
            [(monomials.setdefault(tuple(map(int, key)), len(monomials)), int(c)) for key, c in polynomial.terms()]
            for polynomial in polynomials
        ]
        self.exponents = np.array(list(monomials), dtype=np.intp).reshape(len(monomials), -1)
        self.table = np.zeros((len(polynomials), len(monomials)))
        for i, row in enumerate(self.rows):
            for j, c in row:
                self.table[i, j] = float(c)
        split = [split_off(f.denominator, factors) for f in distinct]
        self.powers = np.array([powers for powers, _ in split], dtype=np.intp).reshape(len(split), len(factors))
        self.scales = [int(rest.leading_coefficient()) for _, rest in split]

    def floats(self, *point: ArrayLike) -> Array:
        """The matrices at one point or at arrays of points, stacked along the first axis."""
        given = [np.asarray(x) for x in point]
        kind = np.result_type(np.float64, *given)
        arrays = np.broadcast_arrays(*(np.asarray(x, dtype=kind) for x in given))
        shape = arrays[0].shape
        monomials = np.ones((arrays[0].size, len(self.exponents)), dtype=kind)
        for x, e in zip(arrays, self.exponents.T, strict=True):
            powers = np.ones((x.size, int(e.max(initial=0)) + 1), dtype=kind)
            powers[:, 1:] = np.cumprod(np.repeat(x.reshape(-1, 1), powers.shape[1] - 1, axis=1), axis=1)
            monomials *= powers[:, e]
        values = monomials @ self.table.T
        bottoms = np.ones((len(values), len(self.scales)), dtype=kind) * np.array([float(s) for s in self.scales])
        for k in range(self.factors):
            bottoms *= values[:, k : k + 1] ** self.powers[:, k]
        with np.errstate(divide="ignore", invalid="ignore"):
            entries = values[:, self.factors :] / bottoms
        matrices = entries[:, self.places]
        stacked: Array = np.moveaxis(matrices, 1, 0).reshape(len(self.places), *shape, *self.places.shape[1:])
        return stacked

    def balls(self, point: Sequence[object]) -> tuple[arb_mat, ...]:
        """The matrices as ``arb_mat`` at one point of balls or exact numbers, at flint's working precision."""
        highest = self.exponents.max(axis=0, initial=0).tolist()
        powers = [[ball(value) ** e for e in range(top + 1)] for value, top in zip(point, highest, strict=True)]
        monomials = [_product(p[e] for p, e in zip(powers, key, strict=True)) for key in self.exponents.tolist()]
        values = [sum((monomials[j] * c for j, c in row), arb(0)) for row in self.rows]
        factors, tops = values[: self.factors], values[self.factors :]
        entries = [
            top / (scale * _product(f**e for f, e in zip(factors, key, strict=True) if e))
            for top, key, scale in zip(tops, self.powers.tolist(), self.scales, strict=True)
        ]
        return tuple(arb_mat([[entries[i] for i in row] for row in matrix]) for matrix in self.places.tolist())


def scaled_balls(
    matrices: CompiledMatrices, point: Sequence[object], stretch: list[arb], diagonal: list[arb], outer: list[arb]
) -> tuple[arb_mat, ...]:
    """The matrices of a rescaled activation at a point of balls."""
    moved = [ball(x) * k for x, k in zip(point, stretch, strict=True)]
    size = range(len(diagonal))
    return tuple(
        arb_mat([[arb(matrix[i, j]) * factor * diagonal[i] / diagonal[j] for j in size] for i in size])
        for matrix, factor in zip(matrices.balls(moved), outer, strict=True)
    )


def _product(balls: Iterable[arb]) -> arb:
    total = arb(1)
    for value in balls:
        total = total * value
    return total


def factored_denominator(matrices: Sequence[Matrix], field: FunctionField) -> tuple[tuple[RationalFunction, int], ...]:
    """Irreducible factors of the common denominator of matrices with their multiplicities."""
    found: dict[RationalFunction, int] = {}
    seen = {field(entry.denominator) for matrix in matrices for row in matrix for entry in row}
    for denominator in sorted(seen, key=lambda f: len(f.numerator)):
        powers, rest = split_off(denominator.numerator, [factor.numerator for factor in found])
        for factor, power in zip(list(found), powers, strict=True):
            found[factor] = max(found[factor], power)
        for new, power in rest.factor()[1]:
            found[field(-new if new.leading_coefficient() < 0 else new)] = int(power)
    order = sorted(found, key=lambda f: (f.numerator.total_degree(), len(f.numerator), str(f)))
    return tuple((factor, found[factor]) for factor in order)


def split_off(polynomial: _Polynomial, factors: Sequence[_Polynomial]) -> tuple[list[int], _Polynomial]:
    """How often each factor divides a polynomial, and what is left; constants divide nothing."""
    powers = []
    for factor in factors:
        power = 0
        while not (factor.is_constant() or polynomial.is_constant()):
            quotient, rest = divmod(polynomial, factor)
            if not rest.is_zero():
                break
            polynomial, power = quotient, power + 1
        powers.append(power)
    return powers, polynomial


def ball(value: object) -> arb:
    """A ball around an exact number; balls stay as they are."""
    if isinstance(value, arb):
        return value
    from holokern.weyl import exact_rational

    try:
        return arb(exact_rational(value))
    except BadInput:
        raise BadInput(f"expected a ball (arb) or an exact rational number, got {value!r}; convert it first") from None
