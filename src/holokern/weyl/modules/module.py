"""Left modules D^r/N of finite presentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holokern.errors import BadInput
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.modules.rank import outside
from holokern.weyl.modules.submodule import first_components, leading_derivations


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
    relations: Sequence[Sequence[object]]
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
        leads = leading_derivations(self.algebra, self._rows, self.certified)
        return sum(len(outside(some, self.algebra.dimension, self)) for some in leads)

    def annihilator(self, place: int = 0) -> LeftIdeal:
        """The ideal of one generator: the operators that annihilate f_i."""
        if not 0 <= place < self.size:
            raise BadInput(f"expected a generator between 0 and {self.size - 1}, got {place}")
        rows = [(row[place], *row[:place], *row[place + 1 :]) for row in self._rows]
        found = [row[0] for row in rows] if self.size == 1 else first_components(self.algebra, rows, self.certified)
        return LeftIdeal(self.algebra, found, certified=self.certified)

    @property
    def _rows(self) -> list[tuple[Operator, ...]]:
        return [tuple(self.algebra(entry) for entry in row) for row in self.relations]

    def __repr__(self) -> str:
        names = " ".join(self.algebra.variables)
        return f"<left module in {names} with {self.size} generators and {len(self.relations)} relations>"
