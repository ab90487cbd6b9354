"""Exact numbers, roots and kernels over Q, and linear relations over any field."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any, Generic, TypeVar

from flint import arb, fmpq, fmpq_mat, fmpq_poly, fmpz_poly

from holokern.numeric.work import charge

# units of `charge` of an entry of a sparse vector
_ENTRY_WORK = 0.2

Name = TypeVar("Name", bound=Hashable)
Key = TypeVar("Key", bound=Hashable)
Scalar = TypeVar("Scalar")


def to_fmpq(value: Fraction | int) -> fmpq:
    """A Fraction as a number of flint."""
    return fmpq(value.numerator, value.denominator)


def to_fraction(value: fmpq) -> Fraction:
    """A rational number of flint as a Fraction."""
    return Fraction(int(value.p), int(value.q))


def to_ball(value: object) -> arb:
    """A number as a ball at the current precision: int, Fraction, fmpq, arb, or whatever has a method ``ball``."""
    if isinstance(value, arb):
        return value
    if isinstance(value, Fraction):
        return arb(to_fmpq(value))
    if isinstance(value, int | fmpq):
        return arb(value)
    found: arb = value.ball()  # type: ignore[attr-defined]
    return found


def natural_roots(polynomials: list[Any]) -> list[int]:
    """The common roots in {0, 1, 2, …}; not all polynomials are zero."""
    common = fmpq_poly()
    for p in polynomials:
        common = common.gcd(p)
    numerator: fmpz_poly = common.numer()
    roots = [(-int(p[0]), int(p[1])) for p, _ in numerator.factor()[1] if p.degree() == 1]
    return [a // b for a, b in roots if b and a % b == 0 and a // b >= 0]


def nullspace(rows: list[list[Any]]) -> list[list[Any]]:
    """A basis of the left kernel {v : v·rows = 0} of a rational matrix, in reduced echelon form."""
    if not rows or not rows[0]:
        return [[fmpq(int(i == j)) for j in range(len(rows))] for i in range(len(rows))]
    reduced, rank = fmpq_mat(rows).transpose().rref()
    table = reduced.tolist()[:rank]
    pivots = [next(j for j, c in enumerate(row) if c != 0) for row in table]
    kernel: list[list[Any]] = []
    for free in sorted(set(range(len(rows))) - set(pivots)):
        vector = [fmpq(0)] * len(rows)
        vector[free] = fmpq(1)
        for row, pivot in zip(table, pivots, strict=True):
            vector[pivot] = -row[free]
        kernel.append(vector)
    return kernel


class Dependence(Generic[Name, Key, Scalar]):
    """The first linear relation among sparse vectors over a field that come one by one.

    Parameters
    ----------
    one
        The 1 of the field.
    pivot
        Which entry of a vector to eliminate with; the first when not given.

    Examples
    --------
    >>> found = Dependence(Fraction(1))
    >>> found.add("a", {0: Fraction(2)}), found.add("b", {0: Fraction(1)})
    (None, {'b': Fraction(1, 1), 'a': Fraction(-1, 2)})
    """

    def __init__(self, one: Scalar, pivot: Callable[[dict[Key, Scalar]], Key] = lambda row: next(iter(row))) -> None:
        self.one, self.pivot = one, pivot
        self.rows: dict[Key, tuple[dict[Key, Scalar], dict[Name, Scalar]]] = {}

    def add(self, name: Name, vector: Mapping[Key, Scalar]) -> dict[Name, Scalar] | None:
        """Add a vector; the coefficients of the relation, 1 for this vector, when it depends on those before."""
        rest, made = {key: c for key, c in vector.items() if c}, {name: self.one}
        for pivot, (row, combination) in self.rows.items():
            factor = rest.get(pivot)
            if factor is not None:
                subtract(rest, factor, row)
                subtract(made, factor, combination)
        if not rest:
            return made
        pivot = self.pivot(rest)
        inverse: Any = self.one / rest[pivot]  # type: ignore[operator]
        self.rows[pivot] = {k: inverse * c for k, c in rest.items()}, {k: inverse * c for k, c in made.items()}
        return None


def subtract(rest: dict[Key, Any], factor: Any, row: Mapping[Key, Any]) -> None:
    """Take a multiple of one sparse vector from another; entries that vanish go."""
    charge(_ENTRY_WORK * len(row), factor.height_bits() if isinstance(factor, fmpq) else 0)
    for key, c in row.items():
        total = rest[key] - factor * c if key in rest else -(factor * c)
        if total:
            rest[key] = total
        else:
            rest.pop(key, None)
