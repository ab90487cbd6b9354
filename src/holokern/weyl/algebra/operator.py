"""Immutable, normally ordered differential operators with rational coefficients, and maps between their algebras."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product as cartesian
from math import comb, perm
from typing import Any

from flint import fmpq, fmpq_poly

from holokern.errors import BadInput, BadOperator
from holokern.weyl.algebra.terms import TermSum
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra


def multiply_terms(left: Mapping[Monomial, Any], right: Mapping[Monomial, Any], n: int) -> dict[Monomial, Any]:
    """Multiply normally ordered term dictionaries by Leibniz' rule, over any commutative coefficient ring.

    ∂^β x^α' = Σ_k k! C(β,k) C(α',k) x^(α'-k) ∂^(β-k), one variable at a time.
    """
    result: dict[Monomial, Any] = {}
    for a, ca in left.items():
        for b, cb in right.items():
            c = ca * cb
            overlap = [min(a[n + i], b[i]) for i in range(n)]
            if not any(overlap):
                key = tuple([p + q for p, q in zip(a, b, strict=True)])
                result[key] = result.get(key, 0) + c
                continue
            for k in cartesian(*(range(m + 1) for m in overlap)):
                factor = 1
                for i, ki in enumerate(k):
                    if ki:
                        factor *= comb(a[n + i], ki) * perm(b[i], ki)
                key = tuple([a[i] + b[i] - k[i % n] for i in range(2 * n)])
                result[key] = result.get(key, 0) + c * factor
    return {key: c for key, c in result.items() if c != 0}


class Operator(TermSum[WeylAlgebra, fmpq]):
    """An element Σ c_αβ x^α ∂^β of a Weyl algebra, immutable and hashable.

    Make operators from the generators of :func:`holokern.weyl.weyl_algebra`, or by calling the algebra with a text.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> x, dx = D.gens
    >>> (x * dx) ** 2
    x^2*dx^2 + x*dx
    >>> (x * dx - 3).apply(x**3)
    0
    """

    __slots__ = ("_hash",)

    _hash: int | None

    def __init__(self, algebra: WeylAlgebra, terms: dict[Monomial, fmpq]) -> None:
        """Trusted constructor: ``terms`` holds non-zero ``fmpq`` values; use ``algebra.from_terms`` elsewhere."""
        super().__init__(algebra, terms)
        object.__setattr__(self, "_hash", None)

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def order(self) -> int:
        """The largest |β|; -1 for the operator 0."""
        n = self.algebra.dimension
        return max((sum(key[n:]) for key in self._terms), default=-1)

    @property
    def degree(self) -> int:
        """The largest |α| + |β| (Bernstein degree); -1 for the operator 0."""
        return max((sum(key) for key in self._terms), default=-1)

    def weight(self, weights: tuple[int, ...]) -> int:
        """The largest weight of a term, for 2n ``weights`` on (x, ∂)."""
        if not self._terms:
            raise BadInput("the operator 0 has no weight")
        return max(sum(w * e for w, e in zip(weights, key, strict=True)) for key in self._terms)

    # -- arithmetic --------------------------------------------------------------------------------------------------

    def _coerce(self, other: object) -> Operator | None:
        if isinstance(other, Operator):
            if other.algebra is not self.algebra and other.algebra != self.algebra:
                raise BadOperator(f"the operators {self} and {other} belong to different Weyl algebras")
            return other
        try:
            return self.algebra(other) if not isinstance(other, str) else None
        except BadInput:
            return None

    def _times(self, right: Operator) -> Operator:
        return Operator(self.algebra, multiply_terms(self._terms, right._terms, self.algebra.dimension))

    def _over(self, right: Operator) -> Operator:
        constant = right.constant_value()
        if constant is None:
            raise BadOperator(f"cannot divide by {right}; only division by a non-zero rational number is defined")
        return Operator(self.algebra, {key: c / constant for key, c in self._terms.items()})

    def constant_value(self) -> fmpq | None:
        """The non-zero rational number that this operator is, or None."""
        if len(self._terms) != 1:
            return None
        ((key, c),) = self._terms.items()
        return c if not any(key) else None

    def polynomials(self) -> list[fmpq_poly]:
        """The coefficients of an operator in one variable, by order.

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> weyl_algebra("u", "D")("u^2*D + 3").polynomials()
        [3, x^2]
        """
        columns: list[dict[int, fmpq]] = [{} for _ in range(self.order + 1)]
        for (i, k), c in self:
            columns[k][i] = c
        return [fmpq_poly([column.get(i, 0) for i in range(max(column, default=-1) + 1)]) for column in columns]

    def commutator(self, other: Operator) -> Operator:
        """[self, other] = self·other - other·self."""
        return self * other - other * self

    def apply(self, polynomial: object) -> Operator:
        """Act on a polynomial in the variables; the result is again a polynomial.

        Examples
        --------
        >>> from holokern.weyl import weyl_algebra
        >>> D = weyl_algebra("x y")
        >>> D("x*dx + dy").apply("x^2*y")
        2*x^2*y + x^2
        """
        n = self.algebra.dimension
        target = self.algebra(polynomial)
        if target.order > 0:
            raise BadOperator(f"expected a polynomial without derivations to act on, got {target}")
        result = multiply_terms(self._terms, target._terms, n)
        return Operator(self.algebra, {key: c for key, c in result.items() if not any(key[n:])})

    def monic(self, key: Monomial) -> Operator:
        """Divide by the coefficient of the monomial ``key``."""
        lead = self._terms[key]
        return self if lead == 1 else Operator(self.algebra, {k: c / lead for k, c in self._terms.items()})

    def primitive(self) -> Operator:
        """The multiple with coprime integer coefficients whose first printed coefficient is positive."""
        if not self._terms:
            return self
        from holokern.weyl.algebra.notation import sorted_terms

        content = fmpq(0)
        for c in self._terms.values():
            content = content.gcd(c)
        if sorted_terms(self)[0][1] < 0:
            content = -content
        return Operator(self.algebra, {key: c / content for key, c in self._terms.items()})

    # -- comparing and printing --------------------------------------------------------------------------------------

    def __hash__(self) -> int:
        if self._hash is None:
            value = hash((self.algebra, frozenset((key, int(c.p), int(c.q)) for key, c in self._terms.items())))
            object.__setattr__(self, "_hash", value)
        assert self._hash is not None
        return self._hash

    def __str__(self) -> str:
        from holokern.weyl.algebra.notation import text

        return text(self)

    __repr__ = __str__

    def latex(self) -> str:
        r"""LaTeX source, e.g. ``u^{2} \partial_{u} - 1``."""
        from holokern.weyl.algebra.notation import latex

        return latex(self)


def widened(operator: Operator, algebra: WeylAlgebra, places: Sequence[int]) -> Operator:
    """The operator in a larger algebra, its variable i at ``places[i]``.

    >>> from holokern.weyl import weyl_algebra
    >>> widened(weyl_algebra("x")("x*dx"), weyl_algebra("t x"), [1])
    x*dx
    """
    n, m = operator.algebra.dimension, algebra.dimension
    terms = {}
    for key, c in operator:
        exponents = [0] * (2 * m)
        for i, place in enumerate(places):
            exponents[place], exponents[m + place] = key[i], key[n + i]
        terms[tuple(exponents)] = c
    return Operator(algebra, terms)


def substituted(
    operator: Operator, of_variables: Sequence[Operator], of_derivations: Sequence[Operator], target: WeylAlgebra
) -> Operator:
    """The image under the ring homomorphism that is given on the generators.

    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> substituted(D("x*dx"), [D("dx")], [D("-x")], D)
    -x*dx - 1
    """
    powers = [[target.one] for _ in range(2 * operator.algebra.dimension)]
    result: dict[Monomial, fmpq] = {}
    for exponents, c in operator:
        term = target.one
        for image, known, e in zip((*of_variables, *of_derivations), powers, exponents, strict=True):
            while len(known) <= e:
                known.append(known[-1] * image)
            term = term * known[e] if e else term
        for key, value in term:
            result[key] = result.get(key, 0) + c * value
    return target.from_terms(result)
