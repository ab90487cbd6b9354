"""The Weyl algebra Q⟨x, ∂⟩ as a factory of operators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from operator import index
from typing import TYPE_CHECKING

from flint import fmpq, fmpz

from holokern.errors import BadInput, BadOperator
from holokern.numeric import to_fmpq

if TYPE_CHECKING:
    from holokern.weyl.algebra.operator import Operator
    from holokern.weyl.modules.ideal import LeftIdeal

Monomial = tuple[int, ...]

_NAME = re.compile(r"[A-Za-z][A-Za-z_0-9]*\Z", re.ASCII)  # what the grammar of texts reads as one name


def exact_rational(value: object) -> fmpq:
    """Return ``value`` as an exact ``fmpq``; floats and everything inexact are refused.

    >>> exact_rational("3/4") + 1
    7/4
    """
    if isinstance(value, fmpq):
        return value
    if isinstance(value, (int, fmpz)) and not isinstance(value, bool):
        return fmpq(value)
    if isinstance(value, str):
        try:
            value = Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise BadInput(f"expected an exact rational number, got the text {value!r}") from None
    if isinstance(value, Fraction):
        return to_fmpq(value)
    raise BadInput(f"expected an exact rational number, got {value!r}; give an int, a Fraction or a text such as '1/3'")


@dataclass(frozen=True, slots=True)
class WeylAlgebra:
    """The Weyl algebra over the rationals in the given variables.

    Two algebras are equal when their variable names are.  Make one with :func:`weyl_algebra`.

    Examples
    --------
    >>> D = weyl_algebra("x y")
    >>> x, y, dx, dy = D.gens
    >>> dx * x
    x*dx + 1
    >>> D("dx*x - x*dx")
    1
    """

    variables: tuple[str, ...]
    derivations: tuple[str, ...]
    _place: dict[str, int] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        names = (*self.variables, *self.derivations)
        bad = [name for name in names if not (isinstance(name, str) and _NAME.match(name))]
        if bad:
            raise BadInput(f"expected variable names made of letters, digits and _, got {bad[0]!r}")
        if len(self.variables) != len(self.derivations):
            raise BadInput(f"expected one derivation a variable, got {self.variables} and {self.derivations}")
        if len(set(names)) < len(names):
            raise BadInput(f"expected distinct names, got {' '.join(names)!r}")
        object.__setattr__(self, "_place", {name: i for i, name in enumerate(names)})

    @property
    def dimension(self) -> int:
        """The number n of variables."""
        return len(self.variables)

    @property
    def gens(self) -> tuple[Operator, ...]:
        """The generators: all variables, then all derivations."""
        return tuple(self.gen(name) for name in (*self.variables, *self.derivations))

    def gen(self, name: str) -> Operator:
        """The generator called ``name``."""
        if name not in self._place:
            known = " ".join((*self.variables, *self.derivations))
            raise BadOperator(f"unknown name {name!r} in an operator; this Weyl algebra has {known}")
        exponents = [0] * (2 * self.dimension)
        exponents[self._place[name]] = 1
        return self.from_terms({tuple(exponents): 1})

    @property
    def zero(self) -> Operator:
        """The operator 0."""
        return self.from_terms({})

    @property
    def one(self) -> Operator:
        """The operator 1."""
        return self.from_terms({(0,) * (2 * self.dimension): 1})

    def from_terms(self, terms: Mapping[Monomial, object] | Iterable[tuple[Monomial, object]]) -> Operator:
        """The operator Σ c x^α ∂^β from exponents ``(α, β)`` (2n integers, normally ordered) and coefficients c."""
        from holokern.weyl.algebra.operator import Operator

        pairs = terms.items() if isinstance(terms, Mapping) else terms
        found: dict[Monomial, fmpq] = {}
        for key, value in pairs:
            if len(key) != 2 * self.dimension or min(key, default=0) < 0:
                raise BadOperator(f"expected {2 * self.dimension} non-negative exponents, got {key}")
            exponents = tuple(map(index, key))  # flint's integers become Python's
            found[exponents] = found.get(exponents, 0) + exact_rational(value)
        return Operator(self, {key: c for key, c in found.items() if c != 0})

    def __call__(self, value: object) -> Operator:
        """Read a text, a rational number or an operator of the same algebra as an operator.

        Examples
        --------
        >>> weyl_algebra("u", "D")("D*u")
        u*D + 1
        """
        from holokern.weyl.algebra.notation import read_operator
        from holokern.weyl.algebra.operator import Operator

        if isinstance(value, Operator):
            if value.algebra != self:
                raise BadOperator(f"expected an operator in {' '.join(self.variables)}, got {value} of another algebra")
            return value
        if isinstance(value, str):
            return read_operator(self, value)
        return self.from_terms({(0,) * (2 * self.dimension): exact_rational(value)})

    def ideal(self, *generators: object, certified: bool = False) -> LeftIdeal:
        """The left ideal of the given operators or texts, given one by one or as one list.

        With ``certified`` every Gröbner basis of the ideal, and of what is made of it, is proved over Q.

        Examples
        --------
        >>> weyl_algebra("x").ideal("x*dx - 1", "dx^2")
        <left ideal in x: x*dx - 1, dx^2>
        """
        from holokern.weyl.algebra.terms import listed
        from holokern.weyl.modules.ideal import LeftIdeal

        return LeftIdeal(self, listed(generators), certified=certified)


def weyl_algebra(variables: str | Iterable[str], derivations: str | Iterable[str] | None = None) -> WeylAlgebra:
    """Make the Weyl algebra over Q in the given variables.

    Parameters
    ----------
    variables : str or iterable of str
        Names, separated by blanks or commas when given as one text.
    derivations : str or iterable of str, optional
        Names of the derivations; ``d`` followed by the variable's name by default.

    Returns
    -------
    WeylAlgebra

    Examples
    --------
    >>> D = weyl_algebra("x y")
    >>> D("x*dx + y*dy")
    x*dx + y*dy
    """
    names = split_names(variables)
    if not names:
        raise BadInput(f"expected the name of at least one variable, got {variables!r}")
    return WeylAlgebra(names, tuple("d" + name for name in names) if derivations is None else split_names(derivations))


def split_names(given: str | Iterable[str]) -> tuple[str, ...]:
    """Names given as one text, separated by blanks or commas, or one by one."""
    return tuple(given.replace(",", " ").split()) if isinstance(given, str) else tuple(given)


def fresh_names(taken: Iterable[str], wanted: Iterable[str]) -> tuple[str, ...]:
    """The wanted names, each with as many underscores as it takes to differ from all others.

    >>> fresh_names(("t", "x"), ("t", "u"))
    ('t_', 'u')
    """
    used, found = set(taken), []
    for name in wanted:
        while name in used:
            name += "_"  # noqa: PLW2901
        used.add(name)
        found.append(name)
    return tuple(found)


def enlarged(algebra: WeylAlgebra, *names: str, first: bool = False) -> WeylAlgebra:
    """The algebra with further variables behind its own, or before them; names that are taken get underscores.

    >>> enlarged(weyl_algebra("x"), "t", "x").variables
    ('x', 't', 'x_')
    """
    taken = (*algebra.variables, *algebra.derivations)
    new = fresh_names(taken, names)
    derivations = fresh_names((*taken, *new), ("d" + name for name in new))
    if first:
        return WeylAlgebra((*new, *algebra.variables), (*derivations, *algebra.derivations))
    return WeylAlgebra((*algebra.variables, *new), (*algebra.derivations, *derivations))
