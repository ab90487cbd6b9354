"""Matrices of rational functions at exact points, for the check against numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

import numpy as np
from flint import Ordering, fmpq, fmpz_mpoly, fmpz_mpoly_ctx
from numpy.typing import NDArray

if TYPE_CHECKING:
    from holokern.weyl import RationalFunction

Point = tuple[Fraction, Fraction, Fraction]
#: A matrix of rational functions.
Table = Sequence[Sequence["RationalFunction"]]


def matrices_at(matrices: Sequence[Table], point: Point) -> list[NDArray[np.float64]] | None:
    """The matrices at an exact point, or None on their singular locus; exact until the last division."""
    common = lcm(*(x.denominator for x in point))
    line = fmpz_mpoly_ctx.get(("t",), Ordering.lex)
    (t,) = line.gens()
    images = [int(x * common) * t for x in point]

    def value(polynomial: fmpz_mpoly) -> fmpq:
        # on the ray through the point the polynomial has one variable t, to be taken at 1/common
        terms = polynomial.compose(*images, ctx=line).to_dict().items()
        return sum((fmpq(c, common ** int(e)) for (e,), c in terms), fmpq(0))

    result = []
    for matrix in matrices:
        table = np.zeros((len(matrix), len(matrix)))
        for i, row in enumerate(matrix):
            for j, entry in enumerate(row):
                bottom = value(entry.denominator)
                if bottom == 0:
                    return None
                quotient = value(entry.numerator) / bottom
                table[i, j] = int(quotient.p) / int(quotient.q)
        result.append(table)
    return result
