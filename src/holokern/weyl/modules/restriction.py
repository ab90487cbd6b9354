"""Restriction of D-modules to coordinate subspaces: Oaku's algorithm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product as cartesian
from typing import TYPE_CHECKING, Any

from holokern.errors import BadInput
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra
from holokern.weyl.modules.bfunction import BFunction, b_function, fresh_name
from holokern.weyl.modules.fourier import chosen_variables
from holokern.weyl.modules.translation import translate

if TYPE_CHECKING:
    from holokern.weyl.modules.ideal import LeftIdeal

__all__ = ["RestrictionModule", "restriction_ideal", "restriction_module"]


@dataclass(frozen=True, slots=True)
class RestrictionModule:
    """The D'-module D/(I + Σ x_i D), x_i the restricted variables, by generators and relations.

    ``algebra`` is D', the Weyl algebra in the remaining variables; ``basis`` holds the exponents γ of the generators
    ∂^γ in the restricted derivations, 1 first; each relation has one operator of D' for each generator.
    """

    algebra: WeylAlgebra
    basis: tuple[Monomial, ...]
    relations: tuple[tuple[Operator, ...], ...]
    b_function: BFunction
    certified: bool = False

    def ideal(self) -> LeftIdeal:
        """The annihilator of the class of 1: the restriction ideal."""
        from holokern.weyl.modules.ideal import LeftIdeal

        if not self.basis:
            return LeftIdeal(self.algebra, [self.algebra.one], certified=self.certified)
        columns, rows = _component_of_one(self.relations)
        found = [row[0] for row in rows] if len(columns) == 1 else _eliminate(self.algebra, rows, self.certified)
        basis = LeftIdeal(self.algebra, found, certified=self.certified).groebner()
        return LeftIdeal(self.algebra, basis, certified=self.certified)


def restriction_module(ideal: LeftIdeal, names: str | Iterable[str] | Mapping[str, object]) -> RestrictionModule:
    """The restriction of D/I to the subspace where the named variables vanish [Oaku1997; SST2000, Alg. 5.2.8].

    With w = 1 on the restricted variables and s_0 the largest integer root of the b-function, the module is generated
    by ∂^γ, |γ| ≤ s_0; its relations are ∂^γ g at x = 0, for g in a Gröbner basis with respect to (-w, w) and
    |γ| ≤ s_0 - ord(g).  For other values than 0 the variables are translated first.

    Parameters
    ----------
    ideal : LeftIdeal
        A holonomic ideal, or any whose b-function exists.
    names : str, iterable of str, or mapping from str to rational number
        The variables that become 0, or the values that they take, such as ``{"x": 1, "y": "1/2"}``; at least one
        variable must remain.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> module = restriction_module(weyl_algebra("x y").ideal("dx - y", "dy - x"), "y")
    >>> module.basis, module.relations
    (((0,),), ((dx,),))
    """
    if isinstance(names, Mapping):
        ideal, names = translate(ideal, names), list(names)
    algebra = ideal.algebra
    places = chosen_variables(algebra, names)
    rest = [i for i in range(algebra.dimension) if i not in places]
    if not rest:
        raise BadInput(f"expected to keep at least one of the variables {' '.join(algebra.variables)}")
    smaller = WeylAlgebra(tuple(algebra.variables[i] for i in rest), tuple(algebra.derivations[i] for i in rest))
    weights = tuple(int(i in places) for i in range(algebra.dimension))
    b = b_function(ideal, weights)
    largest = max(b.integer_roots, default=-1)
    if largest < 0:
        return RestrictionModule(smaller, (), (), b, ideal.certified)
    basis = _exponents(len(places), largest)
    both_weights = (*(-w for w in weights), *weights)
    relations: dict[tuple[Operator, ...], None] = {}
    for g in ideal.groebner(both_weights):
        for shift in _exponents(len(places), largest - g.weight(both_weights)):
            row = _at_zero(_derivative(algebra, places, shift) * g, places, rest, smaller, basis)
            if any(row):
                relations[row] = None
    return RestrictionModule(smaller, tuple(basis), tuple(relations), b, ideal.certified)


def restriction_ideal(ideal: LeftIdeal, names: str | Iterable[str] | Mapping[str, object]) -> LeftIdeal:
    """The restriction ideal (I + Σ x_i D) ∩ D' to the subspace where the named variables x_i vanish.

    Whatever I annihilates, this ideal annihilates its value at x_i = 0 (or at the given values).  When the b-function
    has no integer root >= 0 the restriction is zero and the ideal is (1) [SST2000, Alg. 5.2.8].

    Parameters
    ----------
    ideal : LeftIdeal
        A holonomic ideal, or any whose b-function exists.
    names : str, iterable of str, or mapping from str to rational number
        The variables that become 0, or the values that they take, such as ``{"x": 1, "y": "1/2"}``; at least one
        variable must remain.

    Returns
    -------
    LeftIdeal
        In the Weyl algebra of the remaining variables, generated by its reduced Gröbner basis.

    Raises
    ------
    NotHolonomic
        When no b-function exists.

    Examples
    --------
    The function exp(x + y) + y at y = 0 is exp(x):

    >>> from holokern.weyl import weyl_algebra
    >>> restriction_ideal(weyl_algebra("x y").ideal("dx*dy - dx", "dx^2 - dx", "dy^3 - dy^2"), "y").generators
    (dx^2 - dx,)

    The function exp(x y) at x = 1 is exp(y):

    >>> restriction_ideal(weyl_algebra("x y").ideal("dx - y", "dy - x"), {"x": 1}).generators
    (dy - 1,)
    """
    return restriction_module(ideal, names).ideal()


def _exponents(count: int, degree: int) -> list[Monomial]:
    """All exponents of the given length with sum at most ``degree``, the lower sums first."""
    found = [key for key in cartesian(range(degree + 1), repeat=count) if sum(key) <= degree]
    return sorted(found, key=lambda key: (sum(key), key))


def _derivative(algebra: WeylAlgebra, places: tuple[int, ...], shift: Monomial) -> Operator:
    exponents = [0] * (2 * algebra.dimension)
    for place, e in zip(places, shift, strict=True):
        exponents[algebra.dimension + place] = e
    return algebra.from_terms({tuple(exponents): 1})


def _at_zero(
    operator: Operator, places: tuple[int, ...], rest: list[int], smaller: WeylAlgebra, basis: list[Monomial]
) -> tuple[Operator, ...]:
    """The class modulo Σ x_i D: coefficients in D' of the powers of the restricted derivations."""
    n = operator.algebra.dimension
    parts: dict[Monomial, dict[Monomial, Any]] = {key: {} for key in basis}
    kept = [*rest, *(n + i for i in rest)]
    for key, c in operator:
        if not any(key[i] for i in places):
            parts[tuple(key[n + i] for i in places)][tuple(key[i] for i in kept)] = c
    return tuple(smaller.from_terms(parts[key]) for key in basis)


def _component_of_one(
    relations: tuple[tuple[Operator, ...], ...],
) -> tuple[list[int], list[tuple[Operator, ...]]]:
    """The generators that relations tie to the first one, directly or not, and those relations.

    Parity often cuts the module into pieces, and then most generators need no elimination.
    """
    columns, size = {0}, 0
    while size < len(columns):
        size = len(columns)
        for row in relations:
            support = {i for i, entry in enumerate(row) if entry}
            if support & columns:
                columns |= support
    chosen = sorted(columns)
    rows = [tuple(row[i] for i in chosen) for row in relations if any(row[i] for i in chosen)]
    return chosen, rows


def _eliminate(algebra: WeylAlgebra, rows: list[tuple[Operator, ...]], certified: bool) -> list[Operator]:
    """Generators of the left ideal of all a with (a, 0, …, 0) in the module that the rows span.

    Component i of a row is marked by p^i q^(d-i), and every monomial in p, q of degree d + 1 is made zero: then the
    part of degree d of the left ideal is exactly the module, and an order that looks at p first eliminates.
    """
    from holokern.weyl.algebra.orders import Order
    from holokern.weyl.groebner.basis import groebner_basis

    d = len(rows[0]) - 1
    n = algebra.dimension
    marks = [fresh_name(algebra, letter) for letter in "pq"]
    derivations = [fresh_name(algebra, "d" + mark) for mark in marks]
    larger = WeylAlgebra((*algebra.variables, *marks), (*algebra.derivations, *derivations))

    def marked(row: tuple[Operator, ...]) -> Operator:
        terms = {(*k[:n], i, d - i, *k[n:], 0, 0): c for i, entry in enumerate(row) for k, c in entry}
        return larger.from_terms(terms)

    nilpotent = [larger.from_terms({(*[0] * n, i, d + 1 - i, *[0] * (n + 2)): 1}) for i in range(d + 2)]
    by_p = tuple(int(i == n) for i in range(2 * n + 4))
    order = Order("position of p first", 2 * n + 4, (by_p, (1,) * (2 * n + 4)), True)
    basis = groebner_basis([*map(marked, rows), *nilpotent], order, certified=certified)
    first = [g for g in basis if all(key[n] == 0 and key[n + 1] == d for key, _ in g)]
    return [algebra.from_terms({(*k[:n], *k[n + 2 : 2 * n + 2]): c for k, c in g}) for g in first]
