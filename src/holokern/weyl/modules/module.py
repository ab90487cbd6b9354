"""Left modules D^r/N of finite presentation, and what ideals need of submodules of D^r."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holokern.errors import BadInput
from holokern.weyl.algebra.monomials import outside
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra, enlarged
from holokern.weyl.groebner.basis import groebner_basis
from holokern.weyl.modules.ideal import LeftIdeal

Row = Sequence[Operator]


@dataclass(frozen=True)
class LeftModule:
    """The left module D^r/N, by the rows that span N; a system of equations for a vector (f_1, …, f_r).

    Attributes
    ----------
    algebra : WeylAlgebra
    relations : tuple of rows
        Operators or texts, r in each row; Σ_i P_i f_i = 0.
    certified : bool
        Prove the Gröbner bases over Q.

    Examples
    --------
    The Cauchy–Riemann equations, with u + iv homogeneous of degree 2:

    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x y")
    >>> euler = "x*dx + y*dy - 2"
    >>> M = LeftModule(D, [("dx", "-dy"), ("dy", "dx"), (euler, 0), (0, euler)])
    >>> M.rank()
    2
    >>> M.annihilator(0).groebner()
    (dx^2 + dy^2, x*dx + y*dy - 2, y*dx*dy - x*dy^2 - dx, x^2*dy^2 + y^2*dy^2 - 2*y*dy + 2)
    """

    algebra: WeylAlgebra
    relations: Sequence[Sequence[Any]]
    certified: bool = False

    def __post_init__(self) -> None:
        rows = tuple(tuple(self.algebra(entry) for entry in row) for row in self.relations)
        if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
            raise BadInput("expected relations as rows of equal length, one operator for each generator")
        object.__setattr__(self, "relations", rows)

    @property
    def size(self) -> int:
        """The number r of generators."""
        return len(self.relations[0])

    def rank(self) -> int:
        """The dimension over Q(x) of Q(x)⟨∂⟩^r/N, the number of independent solutions; NotHolonomic if infinite."""
        leads = leading_derivations(self.algebra, self.relations, self.certified)
        return sum(len(outside(some, self.algebra.derivations, self)) for some in leads)

    def annihilator(self, place: int = 0) -> LeftIdeal:
        """The ideal of one generator: the operators that annihilate f_i."""
        if not 0 <= place < self.size:
            raise BadInput(f"expected a generator between 0 and {self.size - 1}, got {place}")
        columns, rows = _tied_to(place, self.relations)
        found = [row[0] for row in rows] if columns == 1 else first_components(self.algebra, rows, self.certified)
        return LeftIdeal(self.algebra, found, certified=self.certified)

    def __repr__(self) -> str:
        names = " ".join(self.algebra.variables)
        return f"<left module in {names} with {self.size} generators and {len(self.relations)} relations>"


def _tied_to(place: int, rows: Sequence[Row]) -> tuple[int, list[Row]]:
    """How many generators relations tie to one, directly or not, itself included; and those relations, it first.

    Parity often cuts a module into pieces, and then most generators need no elimination.
    """
    columns, size = {place}, 0
    while size < len(columns):
        size = len(columns)
        for row in rows:
            support = {i for i, entry in enumerate(row) if entry}
            if support & columns:
                columns |= support
    chosen = [place, *sorted(columns - {place})]
    return size, [tuple(row[i] for i in chosen) for row in rows if any(row[i] for i in chosen)]


def first_components(algebra: WeylAlgebra, rows: Sequence[Row], certified: bool = False) -> list[Operator]:
    """Generators of the left ideal of all a with (a, 0, …, 0) in the module that the rows span.

    Component i of a row is marked by p^i q^(d-i), and every monomial in p, q of degree d + 1 is made zero: then the
    part of degree d of the left ideal is exactly the module, and an order that looks at p first eliminates.

    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> first_components(D, [(D("1"), D("x")), (D.zero, D("x*dx"))])
    [x*dx - 1]
    """
    d, n = len(rows[0]) - 1, algebra.dimension
    by_p = tuple(int(i == n) for i in range(2 * n + 4))
    order = Order("position of p first", 2 * n + 4, (by_p, (1,) * (2 * n + 4)), True)
    first = [g for g in _marked_basis(algebra, rows, order, certified) if all(k[n : n + 2] == (0, d) for k, _ in g)]
    return [algebra.from_terms({(*k[:n], *k[n + 2 : 2 * n + 2]): c for k, c in g}) for g in first]


def leading_derivations(algebra: WeylAlgebra, rows: Sequence[Row], certified: bool = False) -> list[set[Monomial]]:
    """For each component the exponents of ∂ that lead elements of the module over Q(x), the component's place last."""
    d, n = len(rows[0]) - 1, algebra.dimension
    size = 2 * n + 4
    slots = range(n + 2, 2 * n + 2)
    last_first = [tuple(-int(j == i) for j in range(size)) for i in reversed(slots)]
    by_p = tuple(int(i == n) for i in range(size))
    by_rest = tuple(int(i not in slots) for i in range(size))
    order = Order(
        "derivations first", size, (tuple(int(j in slots) for j in range(size)), *last_first, by_p, by_rest), True
    )
    found: list[set[Monomial]] = [set() for _ in range(d + 1)]
    for g in _marked_basis(algebra, rows, order, certified):
        lead = max(g.terms, key=order.key)
        if lead[n] + lead[n + 1] == d:
            found[lead[n]].add(lead[n + 2 : 2 * n + 2])
    return found


def _marked_basis(algebra: WeylAlgebra, rows: Sequence[Row], order: Order, certified: bool) -> list[Operator]:
    """A Gröbner basis of the module, marked, and of the monomials in p and q that are made zero."""
    d, n = len(rows[0]) - 1, algebra.dimension
    larger = enlarged(algebra, "p", "q")

    def marked(row: Row) -> Operator:
        terms = {(*k[:n], i, d - i, *k[n:], 0, 0): c for i, entry in enumerate(row) for k, c in entry}
        return larger.from_terms(terms)

    nilpotent = [larger.from_terms({(*[0] * n, i, d + 1 - i, *[0] * (n + 2)): 1}) for i in range(d + 2)]
    return groebner_basis([*map(marked, rows), *nilpotent], order, certified=certified)
