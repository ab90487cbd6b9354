"""What left ideals of the polynomial and of the rational Weyl algebra share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Self, TypeVar

from holokern.errors import BadInput
from holokern.weyl.algebra.printing import ideal_latex
from holokern.weyl.algebra.terms import TermSum, listed

A = TypeVar("A")  # the algebra
P = TypeVar("P", bound=TermSum[Any, Any])  # its elements


class GeneratedIdeal(ABC, Generic[A, P]):
    """A left ideal by its generators, immutable; a final class has Gröbner bases, and so tells what it contains."""

    __slots__ = ("algebra", "generators")

    algebra: A
    generators: tuple[P, ...]

    def __init__(self, algebra: A, generators: Iterable[object]) -> None:
        read: Any = algebra
        operators: dict[P, None] = dict.fromkeys(read(g) for g in listed(generators))
        object.__setattr__(self, "algebra", algebra)
        object.__setattr__(self, "generators", tuple(g for g in operators if g))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("ideals are immutable")

    @abstractmethod
    def contains(self, operator: object) -> bool:
        """Whether ``operator`` lies in the ideal."""

    def __contains__(self, operator: object) -> bool:
        return self.contains(operator)

    def __le__(self, other: Self) -> bool:
        self.expect_same_algebra(other)
        return all(other.contains(g) for g in self.generators)

    def __ge__(self, other: Self) -> bool:
        return other <= self

    def expect_same_algebra(self, other: Self) -> None:
        """BadInput if the other ideal lies in another algebra."""
        if self.algebra != other.algebra:
            raise BadInput(f"the ideals {self!r} and {other!r} belong to different algebras; read both in one of them")

    @property
    def is_zero(self) -> bool:
        """Whether this is the ideal (0)."""
        return not self.generators

    @property
    def is_unit(self) -> bool:
        """Whether this is the whole algebra, the ideal (1)."""
        return self.contains(1)

    def latex(self) -> str:
        """LaTeX source: the generators between angle brackets."""
        return ideal_latex(self.generators)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"
