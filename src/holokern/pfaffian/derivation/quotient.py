"""The quotient by Stein's and Price's relations: its rank, a basis of monomials, and normal forms modulo a prime.

One elimination at a random point modulo a prime finds the rank, the basis and the few relations that matter.  Every
further point then costs one small linear solve in flint.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import TypeVar

from flint import fmpz, nmod_mat

from holokern.errors import BadInput, NotHolonomic, TooLarge
from holokern.numeric import charge
from holokern.pfaffian.derivation.relations import Pair, Presentation, Relation, Shift, Triple, integer_terms
from holokern.weyl import Operator

Name = TypeVar("Name", bound=Hashable)

#: Primes just below 2^62, which fit a machine word.
PRIMES: tuple[int, ...] = tuple(islice((n for n in range(2**62 - 1, 2**61, -2) if fmpz(n).is_prime()), 12))

#: By Price's theorem the three derivations multiply by a², ab and b².
STEPS: tuple[Pair, Pair, Pair] = ((2, 0), (1, 1), (0, 2))

_PREFERRED: tuple[Pair, ...] = ((0, 0), (1, 1))  # 1 and ab come first, so that k and E[σ1'σ2'] are entries of F
_PRODUCT_WORK = 5e-4  # units of `holokern.numeric.charge` of a product of residues
_MAX_DEGREE = 60  # two operators of the largest degree, 24 each, need 48 and some more


@dataclass(frozen=True)
class Quotient:
    """The part of K[a, b]/relations that the even monomials span, with what is needed to compute in it."""

    presentation: Presentation
    basis: tuple[Pair, ...]  # exponents (i, j) of the monomials a^i b^j that form the basis
    targets: tuple[Pair, ...]  # the monomials outside the basis whose normal forms give ∂F/∂Σ
    # shifts, pivots: the relations, and as many monomials, that determine these normal forms
    shifts: tuple[Shift, ...]
    pivots: tuple[Pair, ...]
    dimension: int  # the dimension of the whole quotient, odd monomials included

    @property
    def rank(self) -> int:
        """The rank of the Pfaffian system."""
        return len(self.basis)

    def normal_forms(self, prime: int) -> NormalForms:
        """The normal forms of the targets as a function of a point modulo ``prime``."""
        return NormalForms(self, prime)


class NormalForms:
    """A black box: Σ modulo a prime -> coordinates of the targets in the basis, row by row."""

    def __init__(self, parent: Quotient, prime: int) -> None:
        relations = parent.presentation.relations(list(parent.shifts))
        place = {m: i for i, m in enumerate(parent.pivots)}
        final = {m: i for i, m in enumerate(parent.basis)}
        size, rank = len(relations), len(parent.basis)
        square: dict[Triple, list[int]] = {}
        rest: dict[Triple, list[int]] = {}
        for row, relation in enumerate(relations):
            for monomial, coefficient in relation.items():
                for exponents, c in coefficient.items():
                    if monomial in place:  # transposed, ready for solving from the left
                        square.setdefault(exponents, [0] * (size * size))[place[monomial] * size + row] = c % prime
                    elif monomial in final:
                        rest.setdefault(exponents, [0] * (size * rank))[row * rank + final[monomial]] = -c % prime
        self._prime, self._rank = prime, rank
        self._square = [(e, nmod_mat(size, size, values, prime)) for e, values in square.items()]
        self._rest = [(e, nmod_mat(size, rank, values, prime)) for e, values in rest.items()]
        unit = [0] * (size * len(parent.targets))
        for column, target in enumerate(parent.targets):
            unit[place[target] * len(parent.targets) + column] = 1
        self._unit = nmod_mat(size, len(parent.targets), unit, prime)

    def __call__(self, point: Sequence[int]) -> list[int]:
        """Raise ZeroDivisionError where the chosen relations degenerate."""
        if not self._unit.ncols():
            return []
        combination = _solved(_combine(self._square, point, self._prime), self._unit)
        if not self._rest:
            return [0] * (self._unit.ncols() * self._rank)
        return [int(c) for c in (combination.transpose() * _combine(self._rest, point, self._prime)).entries()]

    def entry(self, index: int) -> Callable[[Sequence[int]], list[int]]:
        """One coordinate of one target alone; cheaper than all."""
        target, column = divmod(index, self._rank)
        prime = self._prime
        unit = _column(self._unit, target, prime)
        rest = [(e, _column(matrix, column, prime)) for e, matrix in self._rest]

        def value(point: Sequence[int]) -> list[int]:
            combination = _solved(_combine(self._square, point, prime), unit)
            return [int((combination.transpose() * _combine(rest, point, prime))[0, 0])]

        return value


def _column(matrix: nmod_mat, column: int, prime: int) -> nmod_mat:
    return nmod_mat(matrix.nrows(), 1, [int(row[column]) for row in matrix.tolist()], prime)


def _combine(parts: list[tuple[Triple, nmod_mat]], point: Sequence[int], prime: int) -> nmod_mat:
    """The matrix Σ_e point^e M_e."""
    (a, b, c), shape = point, parts[0][1]
    charge(_PRODUCT_WORK * len(parts) * shape.nrows() * shape.ncols())
    scaled = [matrix * (pow(a, e, prime) * pow(b, f, prime) * pow(c, g, prime) % prime) for (e, f, g), matrix in parts]
    return sum(scaled[1:], start=scaled[0])


def _solved(square: nmod_mat, right: nmod_mat) -> nmod_mat:
    charge(_PRODUCT_WORK * square.nrows() ** 2 * (square.nrows() + right.ncols()))
    return square.solve(right)


def bernstein_multiplicity(operators: Iterable[Operator]) -> int:
    """The multiplicity of D/I for the Bernstein filtration, I generated by a Gröbner basis for that filtration.

    It is the number of monomials of a large degree outside the ideal of top-degree parts [SST2000, §1.4].

    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("u", "D")
    >>> bernstein_multiplicity([D("u*(D^2 + 1)")]), bernstein_multiplicity([D("u*D - 1"), D("D^2")])
    (3, 1)
    """
    generators = [P for P in operators if P]
    tops = [{key: c for key, c in integer_terms(P).items() if sum(key) == P.degree} for P in generators]
    degree = sum(sorted((P.degree for P in generators), reverse=True)[:2]) + 2
    rows = [
        {(k + i, m + degree - sum(next(iter(top))) - i): c for (k, m), c in top.items()}
        for top in tops
        for i in range(degree - sum(next(iter(top))) + 1)
    ]
    matrix = sparse_table(rows, [(k, degree - k) for k in range(degree + 1)], PRIMES[0])
    return degree + 1 - int(matrix.rank())


def quotient(presentation: Presentation, basis: Sequence[Pair] | None = None) -> Quotient:
    """Find the rank, a basis and the relations that matter, by elimination at a random point modulo a prime.

    The relations of bounded degree fill the quotient once its dimension has come down to the product of the Bernstein
    multiplicities of the two annihilators, which is its dimension for generic Σ.

    ``presentation``: the operators; a Gröbner basis for the Bernstein filtration on either side.
    ``basis``: the basis to use, as exponents of a and b; monomials of low degree by default, 1 and ab among them if
    possible.
    Raises NotHolonomic if one side has no operator but 0; BadInput if the operators admit only the function 0, or the
    wanted basis is none.
    """
    for side in (presentation.left, presentation.right):
        if not any(side):
            raise NotHolonomic(
                "the operator 0 annihilates every function, so no finite system follows; give an operator that is not 0"
            )
    expected = bernstein_multiplicity(presentation.left) * bernstein_multiplicity(presentation.right)
    degrees = [max(P.degree for P in side) for side in (presentation.left, presentation.right)]
    degree = sum(degrees)
    if basis is not None:
        degree = max(degree, max((sum(m) for m in basis), default=0) + 2)
    degree += degree % 2
    while degree <= _MAX_DEGREE:
        elimination = _Elimination(presentation, degree, basis)
        if elimination.dimension == 0:
            raise BadInput(
                "the operators generate the whole Weyl algebra, so they annihilate only the function 0 "
                "and there is no system; check the operators"
            )
        if elimination.dimension == expected and elimination.closed:
            return elimination.result()
        degree += 2
    raise TooLarge(f"no finite basis among the monomials of degree up to {_MAX_DEGREE}; try operators of lower degree")


class _Elimination:
    """All relations up to one degree, eliminated at one random point modulo one prime."""

    def __init__(self, presentation: Presentation, degree: int, basis: Sequence[Pair] | None) -> None:
        random = Random(1)
        self.prime = PRIMES[0]
        self.point = [random.randrange(2, self.prime) for _ in range(3)]
        self.presentation = presentation
        self.degree = degree
        self.wanted = None if basis is None else tuple(basis)
        self.columns = _ordered_monomials(degree, _PREFERRED if self.wanted is None else self.wanted)
        self.shifts = list(presentation.shifts(degree))
        self.matrix = self._matrix(self.shifts, self.columns)
        charge(_PRODUCT_WORK * len(self.shifts) * len(self.columns) ** 2)
        self.pivots = echelon(self.matrix)[1]
        free = sorted(set(range(len(self.columns))) - set(self.pivots), reverse=True)
        self.dimension = len(free)
        self.basis = tuple(self.columns[c] for c in free if sum(self.columns[c]) % 2 == 0)

    @property
    def closed(self) -> bool:
        """Whether the derivatives of the basis lie within the degree of the elimination."""
        return max((sum(m) for m in self.basis), default=0) + 2 <= self.degree

    def result(self) -> Quotient:
        """The quotient, with the relations cut down to those that determine the normal forms of the targets."""
        basis = self.basis
        if self.wanted is not None:
            if set(basis) != set(self.wanted) or len(set(self.wanted)) != len(self.wanted):
                raise BadInput(
                    f"the {len(self.wanted)} elements given are not a basis: the rank is {len(basis)}, "
                    f"and a basis is formed by the monomials {' '.join(map(str, sorted(basis, key=sum)))}"
                )
            basis = self.wanted
        targets = tuple(
            dict.fromkeys((i + di, j + dj) for i, j in basis for di, dj in STEPS if (i + di, j + dj) not in basis)
        )
        at = {monomial: place for place, monomial in enumerate(self.columns)}
        shifts = [self.shifts[row] for row in needed(self.matrix, self.pivots, [at[target] for target in targets])]
        late = (*targets, *basis)
        columns = [m for m in self.columns if m not in set(late)] + [*late]
        pivots = tuple(columns[c] for c in echelon(self._matrix(shifts, columns))[1])
        return Quotient(self.presentation, basis, targets, tuple(shifts), pivots, self.dimension)

    def _matrix(self, shifts: list[Shift], monomials: Sequence[Pair]) -> nmod_mat:
        """The coefficients of some monomials in some relations."""
        relations = self.presentation.relations(shifts)
        return sparse_table([_at(relation, self.point, self.prime) for relation in relations], monomials, self.prime)


def _ordered_monomials(degree: int, last: Sequence[Pair]) -> list[Pair]:
    """Columns in the order of elimination: odd, then even by falling degree, far from the diagonal first."""
    every = [(i, d - i) for d in range(degree + 1) for i in range(d + 1)]
    rank = {m: i for i, m in enumerate(last)}
    return sorted(every, key=lambda m: (m in rank, -rank.get(m, 0), sum(m) % 2 == 0, -sum(m), -abs(m[0] - m[1]), m))


def _at(relation: Relation, point: Sequence[int], prime: int) -> dict[Pair, int]:
    """A relation with its coefficients evaluated modulo a prime."""
    x, y, z = point
    return {
        monomial: sum(c * pow(x, e, prime) * pow(y, f, prime) * pow(z, g, prime) for (e, f, g), c in place.items())
        % prime
        for monomial, place in relation.items()
    }


def sparse_table(rows: Sequence[Mapping[Name, int]], columns: Sequence[Name], prime: int) -> nmod_mat:
    """Sparse rows as a matrix modulo a prime; what belongs to none of the columns is left out."""
    place = {name: i for i, name in enumerate(columns)}
    values = [0] * (len(rows) * len(columns))
    for i, row in enumerate(rows):
        for name, value in row.items():
            if name in place:
                values[i * len(columns) + place[name]] = value
    return nmod_mat(len(rows), len(columns), values, prime)


def echelon(matrix: nmod_mat) -> tuple[list[list[int]], list[int]]:
    """The non-zero rows of the reduced row echelon form, and their pivot columns."""
    reduced, rank = matrix.rref()
    width = matrix.ncols()
    flat = [int(c) for c in reduced.entries()[: rank * width]]
    rows = [flat[k * width : (k + 1) * width] for k in range(rank)]
    pivots: list[int] = []
    for row in rows:
        pivots.append(next(k for k in range(pivots[-1] + 1 if pivots else 0, width) if row[k]))
    return rows, pivots


def needed(table: nmod_mat, pivots: Sequence[int], targets: Sequence[int]) -> list[int]:
    """The rows of a table that its reduced rows with the pivots ``targets`` are made of, the first ones if possible."""
    independent, prime = echelon(table.transpose())[1], int(table.modulus())
    square = nmod_mat(len(pivots), len(pivots), [int(table[i, j]) for j in pivots for i in independent], prime)
    unit = [int(pivot == target) for pivot in pivots for target in targets]
    combination = square.solve(nmod_mat(len(pivots), len(targets), unit, prime)).tolist()
    return [i for i, row in zip(independent, combination, strict=True) if any(map(int, row))]
