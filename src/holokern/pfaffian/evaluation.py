"""Values of the matrices: floats at many points at once, and balls with flint's ``arb``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, arb_mat, fmpz, fmpz_mpoly
from numpy.typing import ArrayLike

from holokern.errors import BadInput
from holokern.numeric import Array, Index
from holokern.weyl import FunctionField, Matrix, RationalFunction, evaluate_polynomial, exact_rational, split_off

if TYPE_CHECKING:
    from holokern.pfaffian.system import PfaffianSystem

#: By matrix, row and column: the numerator, the powers of factors in the denominator, and a constant there.
Entries = dict[tuple[int, int, int], tuple[fmpz_mpoly, tuple[int, ...], int]]


class CompiledMatrices:
    """Matrices of rational functions as tables: each numerator and each factor of a denominator is one row.

    ``system``: what has the entries of its matrices and the factors of their denominators.
    """

    def __init__(self, system: PfaffianSystem) -> None:
        entries, factors = system.entries, [factor.numerator for factor in system.singular_locus]
        self.shape = (len(system.matrices), system.rank, system.rank)
        self.places = tuple(np.array(list(entries), dtype=np.intp).reshape(-1, 3).T)
        self.factors = len(factors)
        polynomials = [p.to_dict() for p in (*factors, *(top for top, _, _ in entries.values()))]
        self.exponents, self.table = tabulated(polynomials, len(system.variables))
        powers = [powers for _, powers, _ in entries.values()]
        self.powers = np.array(powers, dtype=np.intp).reshape(len(entries), len(factors))
        self.scales = np.array([float(constant) for *_, constant in entries.values()])

    def floats(self, point: Sequence[ArrayLike], scaling: tuple[list[float], list[float]] | None = None) -> Array:
        """The matrices at one point or at arrays of points, stacked along the first axis.

        ``scaling``: factors of the coordinates and of the entries of F, for a rescaled activation.
        """
        given = [np.asarray(x) for x in point]
        if scaling is not None:
            given = [x * k for x, k in zip(given, scaling[0], strict=True)]
        kind = np.result_type(np.float64, *given)
        arrays = np.broadcast_arrays(*(np.asarray(x, dtype=kind) for x in given))
        shape = arrays[0].shape
        monomials = np.ones((arrays[0].size, len(self.exponents)), dtype=kind)
        for x, e in zip(arrays, self.exponents.T, strict=True):
            powers = np.ones((x.size, int(e.max(initial=0)) + 1), dtype=kind)
            powers[:, 1:] = np.cumprod(np.repeat(x.reshape(-1, 1), powers.shape[1] - 1, axis=1), axis=1)
            monomials *= powers[:, e]
        values = monomials @ self.table.T
        bottoms = np.ones((len(values), len(self.scales)), dtype=kind) * self.scales
        for k in range(self.factors):
            bottoms *= values[:, k : k + 1] ** self.powers[:, k]
        with np.errstate(divide="ignore", invalid="ignore"):
            entries = values[:, self.factors :] / bottoms
        matrices = np.zeros((len(values), *self.shape), dtype=kind)
        variables, rows, columns = self.places
        matrices[:, variables, rows, columns] = entries
        stacked: Array = np.moveaxis(matrices, 1, 0).reshape(self.shape[0], *shape, *self.shape[1:])
        if scaling is not None:
            stretch, diagonal = scaling
            stacked *= np.reshape(stretch, (-1, *(1,) * (stacked.ndim - 1))) * np.divide.outer(diagonal, diagonal)
        return stacked


def tabulated(polynomials: Sequence[Mapping[tuple[int, ...], int | fmpz]], variables: int) -> tuple[Index, Array]:
    """The monomials of polynomials given by their terms, (monomials, variables), and their coefficients as floats.

    >>> [table.tolist() for table in tabulated([{(1, 0): 2, (0, 1): -3}, {(0, 1): 5}], 2)]
    [[[1, 0], [0, 1]], [[2.0, -3.0], [0.0, 5.0]]]
    """
    places: dict[tuple[int, ...], int] = {}
    for polynomial in polynomials:
        for key in polynomial:
            places.setdefault(key, len(places))
    table = np.zeros((len(polynomials), len(places)))
    for row, polynomial in zip(table, polynomials, strict=True):
        for key, c in polynomial.items():
            row[places[key]] = float(int(c))
    return np.array(list(places), dtype=np.intp).reshape(len(places), variables), table


def ball_matrices(system: PfaffianSystem, point: Sequence[object]) -> tuple[arb_mat, ...]:
    """The matrices of a system at one point of balls or exact numbers, at flint's working precision."""
    stretch, diagonal = system.scaling(ball) or ([arb(1)] * len(point), [arb(1)] * system.rank)
    where = [ball(x) * k for x, k in zip(point, stretch, strict=True)]
    values = [evaluate_polynomial(factor.numerator, where) for factor in system.singular_locus]
    found = tuple(arb_mat(len(diagonal), len(diagonal)) for _ in stretch)
    for (v, i, j), (numerator, powers, constant) in system.entries.items():
        bottom = prod((value**e for value, e in zip(values, powers, strict=True) if e), start=arb(constant))
        found[v][i, j] = evaluate_polynomial(numerator, where) * stretch[v] * diagonal[i] / (diagonal[j] * bottom)
    return found


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


def nonzero_entries(matrices: Sequence[Matrix], factors: Sequence[fmpz_mpoly]) -> Entries:
    """Numerators, powers of the factors in the denominators and constants there, by matrix, row and column."""
    found = {}
    for v, matrix in enumerate(matrices):
        for i, row in enumerate(matrix):
            for j, entry in enumerate(row):
                if entry:
                    powers, rest = split_off(entry.denominator, factors)
                    found[v, i, j] = entry.numerator, tuple(powers), int(rest.leading_coefficient())
    return found


def ball(value: object) -> arb:
    """A ball around an exact number; balls stay as they are."""
    if isinstance(value, arb):
        return value
    try:
        return arb(exact_rational(value))
    except BadInput:
        raise BadInput(f"expected a ball (arb) or an exact rational number, got {value!r}; convert it first") from None
