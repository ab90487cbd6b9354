"""What polynomial and rational operators share: sums of terms, one for each exponent vector, and ideals of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar

from holokern.errors import BadInput, BadOperator

A = TypeVar("A")  # the algebra
C = TypeVar("C")  # its coefficients

_MAX_POWER = 1000  # a power is a loop of products


def listed(generators: object) -> list[object]:
    """The generators of an ideal as one list: given one by one, as one list, or alone.

    >>> listed("dx"), listed(("dx", "dy")), listed((["dx", "dy"],))
    (['dx'], ['dx', 'dy'], ['dx', 'dy'])
    """
    if isinstance(generators, (str, TermSum)) or not isinstance(generators, Iterable):
        return [generators]
    found = list(generators)
    alone = len(found) == 1 and isinstance(found[0], Iterable) and not isinstance(found[0], (str, TermSum))
    return listed(found[0]) if alone else found


class RingElement(ABC):
    """An immutable element of a ring: the operators of Python, for elements and for what can be read as one.

    A final class gives sums, negatives, products and quotients of elements, LaTeX, and the reading of other objects.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} objects are immutable")

    @abstractmethod
    def _coerce(self, other: object) -> Self | None:
        """``other`` as an element of the same ring, or None when it is of a kind that is not read."""

    @abstractmethod
    def _plus(self, right: Self) -> Self: ...

    @abstractmethod
    def __neg__(self) -> Self: ...

    @abstractmethod
    def _times(self, right: Self) -> Self: ...

    @abstractmethod
    def _over(self, right: Self) -> Self: ...

    @abstractmethod
    def latex(self) -> str:
        """LaTeX source."""

    def __add__(self, other: object) -> Self:
        right = self._coerce(other)
        return NotImplemented if right is None else self._plus(right)

    def __radd__(self, other: object) -> Self:
        return self + other

    def __pos__(self) -> Self:
        return self

    def __sub__(self, other: object) -> Self:
        right = self._coerce(other)
        return NotImplemented if right is None else self._plus(-right)

    def __rsub__(self, other: object) -> Self:
        return (-self) + other

    def __mul__(self, other: object) -> Self:
        right = self._coerce(other)
        return NotImplemented if right is None else self._times(right)

    def __rmul__(self, other: object) -> Self:
        left = self._coerce(other)
        return NotImplemented if left is None else left._times(self)

    def __truediv__(self, other: object) -> Self:
        right = self._coerce(other)
        return NotImplemented if right is None else self._over(right)

    def __rtruediv__(self, other: object) -> Self:
        left = self._coerce(other)
        return NotImplemented if left is None else left._over(self)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


class TermSum(RingElement, Generic[A, C]):
    """An element of an algebra whose elements are sums of coefficient times monomial; a final class also hashes."""

    __slots__ = ("_terms", "algebra")

    algebra: A
    _terms: dict[tuple[int, ...], C]

    def __init__(self, algebra: A, terms: dict[tuple[int, ...], C]) -> None:
        """Trusted constructor: ``terms`` holds non-zero coefficients; use ``algebra.from_terms`` elsewhere."""
        object.__setattr__(self, "algebra", algebra)
        object.__setattr__(self, "_terms", terms)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.algebra, self._terms)

    @property
    def terms(self) -> Mapping[tuple[int, ...], C]:
        """Read-only mapping from exponents to non-zero coefficients."""
        return MappingProxyType(self._terms)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], C]]:
        return iter(self._terms.items())

    def __len__(self) -> int:
        return len(self._terms)

    def __bool__(self) -> bool:
        return bool(self._terms)

    def _like(self, terms: dict[tuple[int, ...], Any]) -> Self:
        return type(self)(self.algebra, terms)

    def _plus(self, right: Self) -> Self:
        terms: dict[tuple[int, ...], Any] = dict(self._terms)
        for key, c in right._terms.items():
            total = terms[key] + c if key in terms else c
            if total == 0:
                del terms[key]
            else:
                terms[key] = total
        return self._like(terms)

    def __neg__(self) -> Self:
        negated: dict[tuple[int, ...], Any] = dict(self._terms)
        return self._like({key: -c for key, c in negated.items()})

    def __pow__(self, exponent: int) -> Self:
        if not isinstance(exponent, int) or exponent < 0 or exponent > _MAX_POWER:
            raise BadOperator(f"expected an exponent between 0 and {_MAX_POWER}, got {exponent!r}")
        result = self._coerce(1)
        assert result is not None
        for _ in range(exponent):
            result = result * self
        return result

    def __eq__(self, other: object) -> bool:
        try:
            right = self._coerce(other)
        except BadInput:
            return False
        return right is not None and self._terms == right._terms

    @abstractmethod
    def __hash__(self) -> int: ...


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
    def groebner(self) -> tuple[P, ...]:
        """The reduced Gröbner basis."""

    @abstractmethod
    def contains(self, operator: object) -> bool:
        """Whether ``operator`` lies in the ideal."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return bool(self.algebra == other.algebra) and set(self.groebner()) == set(other.groebner())

    def __hash__(self) -> int:
        return hash((self.algebra, frozenset(self.groebner())))

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


def ideal_latex(generators: Iterable[Any]) -> str:
    r"""LaTeX source of the ideal of operators that have a method ``latex``.

    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> print(ideal_latex([D("x*dx"), D("dx^2")]))
    \left\langle x \partial_{x},\; \partial_{x}^{2} \right\rangle
    """
    inside = r",\; ".join(g.latex() for g in generators) or "0"
    return rf"\left\langle {inside} \right\rangle"
