"""Restriction of D-modules to coordinate subspaces, by Oaku's algorithm, and integration along coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from holokern.errors import BadInput
from holokern.numeric import bounded
from holokern.weyl.algebra.monomials import of_degree
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra
from holokern.weyl.modules.automorphisms import chosen_variables, fourier_transform, translate
from holokern.weyl.modules.bfunction import BFunction, b_function
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.modules.module import LeftModule


@dataclass(frozen=True, slots=True)
class RestrictionModule:
    """The D'-module D/(I + Σ x_i D), x_i the restricted variables, by generators and relations.

    ``algebra`` is D', the Weyl algebra in the remaining variables; ``basis`` holds the exponents γ of the generators
    ∂^γ in the restricted derivations, 1 first; each relation has one operator of D' for each generator.  When all
    variables are restricted, D' is Q and the module is a vector space of finite dimension.
    """

    algebra: WeylAlgebra
    basis: tuple[Monomial, ...]
    relations: tuple[tuple[Operator, ...], ...]
    b_function: BFunction
    certified: bool = False

    @property
    def dimension(self) -> int:
        """The dimension over Q of the restriction to a point; only when all variables are restricted.

        Examples
        --------
        The power series solutions of x f'' = f at 0 are spanned by one series; at 1 there are two:

        >>> from holokern.weyl import weyl_algebra
        >>> I = weyl_algebra("x").ideal("x*dx^2 - 1")
        >>> restriction_module(I, "x").dimension, restriction_module(I, {"x": 1}).dimension
        (1, 2)
        """
        if self.algebra.dimension:
            names = " ".join(self.algebra.variables)
            raise BadInput(f"the restriction still has the variables {names}; ask for its rank() instead")
        if not self.relations:
            return len(self.basis)
        numbers = [[entry.terms.get((), fmpq(0)) for entry in row] for row in self.relations]
        return len(self.basis) - int(fmpq_mat(numbers).rank())

    def rank(self) -> int:
        """The holonomic rank of the whole module; the ideal of the class of 1 may have a smaller one.

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> module = restriction_module(weyl_algebra("x y").ideal("dx^2 - 1", "dy^2 - 1"), "x")
        >>> module.rank(), module.ideal().rank()
        (4, 2)
        """
        if not self.algebra.dimension or not self.basis:
            return self.dimension if not self.algebra.dimension else 0
        return self._module.rank()

    @property
    def _module(self) -> LeftModule:
        nothing = (self.algebra.zero,) * len(self.basis)
        return LeftModule(self.algebra, (*self.relations, nothing), self.certified)

    def ideal(self, place: int = 0) -> LeftIdeal:
        """The annihilator of the generator at a place of ``basis``; of the class of 1, the restriction ideal, first."""
        if not self.algebra.dimension:
            raise BadInput(
                "expected to keep at least one variable; for all of them restriction_module(ideal, names).dimension or "
                "that of integration_module is the dimension of a vector space"
            )
        if not self.basis:
            return LeftIdeal(self.algebra, [self.algebra.one], certified=self.certified)
        basis = self._module.annihilator(place).groebner()
        return LeftIdeal(self.algebra, basis, certified=self.certified)


@bounded
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
        The variables that become 0, or the values that they take, such as ``{"x": 1, "y": "1/2"}``; all of them
        for the restriction to a point.

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


@bounded
def restriction_ideal(ideal: LeftIdeal, names: str | Iterable[str] | Mapping[str, object]) -> LeftIdeal:
    """The restriction ideal (I + Σ x_i D) ∩ D' to the subspace where the named variables x_i vanish.

    If I annihilates f, this ideal annihilates f at x_i = 0 (or at the given values).  When the b-function has no
    integer root >= 0, the restriction is zero and the ideal is (1) [SST2000, Alg. 5.2.8].

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


@bounded
def integration_module(ideal: LeftIdeal, names: str | Iterable[str]) -> RestrictionModule:
    """The integration module D/(I + Σ ∂_i D) along the named variables [SST2000, Alg. 5.5.4].

    It is the restriction of the Fourier transform, which carries ∂_i to x_i; so the generators ∂^γ of the result stand
    for the integrals with the extra factor (-t)^γ.  When all variables are integrated the result is a vector space: the
    top cohomology group of the de Rham complex of D/I.

    Examples
    --------
    The rational functions on the line without 0 have one class of differential forms, dx/x:

    >>> from holokern.weyl import weyl_algebra
    >>> integration_module(weyl_algebra("x").ideal("x*dx + 1"), "x").dimension
    1
    """
    return restriction_module(fourier_transform(ideal, names), names)


@bounded
def integration_ideal(ideal: LeftIdeal, names: str | Iterable[str]) -> LeftIdeal:
    """The integration ideal (I + Σ ∂_i D) ∩ D' along the named variables t_i [SST2000, Alg. 5.5.4].

    If I annihilates f(t, x), then this ideal annihilates ∫ f(t, x) dt over a domain without boundary terms: a cycle,
    or ℝᵈ for a distribution that decays.

    Parameters
    ----------
    ideal : LeftIdeal
        A holonomic ideal in the variables t and x.
    names : str or iterable of str
        The variables t of integration; at least one variable must remain.

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
    The Gaussian integral ∫ exp(-x t²) dt is proportional to x^(-1/2):

    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("t x")
    >>> integration_ideal(D.ideal("dt + 2*t*x", "dx + t^2"), "t").generators
    (x*dx + 1/2,)
    """
    return integration_module(ideal, names).ideal()


def _exponents(count: int, degree: int) -> list[Monomial]:
    """All exponents of the given length with sum at most ``degree``, the lower sums first."""
    return [key for total in range(degree + 1) for key in reversed(of_degree(count, total))]


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
    parts: dict[Monomial, dict[Monomial, fmpq]] = {key: {} for key in basis}
    kept = [*rest, *(n + i for i in rest)]
    for key, c in operator:
        if not any(key[i] for i in places):
            parts[tuple(key[n + i] for i in places)][tuple(key[i] for i in kept)] = c
    return tuple(smaller.from_terms(parts[key]) for key in basis)
