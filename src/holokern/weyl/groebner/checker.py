"""An independent check of Gröbner bases and membership; it multiplies operators and uses no code of the algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from holokern.errors import BadInput, CheckFailed
from holokern.numeric import bounded, charge
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order, grevlex
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra


def check_membership(operator: Operator, generators: Sequence[Operator], cofactors: Sequence[Operator]) -> None:
    """Check that ``operator`` = Σ cofactor · generator; raise :class:`~holokern.errors.CheckFailed` otherwise.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> check_membership(D("x*dx^2"), [D("x*dx - 1")], [D("dx")])
    """
    if len(generators) != len(cofactors):
        raise BadInput(f"expected one cofactor a generator, got {len(cofactors)} for {len(generators)} generators")
    total = sum((a * g for a, g in zip(cofactors, generators, strict=True)), operator.algebra.zero)
    if total != operator:
        raise CheckFailed(f"the certificate does not give {operator}: the sum differs from it by {total - operator}")


@bounded
def check_groebner_basis(
    basis: Sequence[Operator],
    generators: Sequence[Operator],
    order: Order,
    certificates: Sequence[Sequence[Operator]] | None = None,
) -> None:
    """Check that ``basis`` is a left Gröbner basis of the ideal of ``generators``.

    Every S-pair and every generator must reduce to zero by plain division (Buchberger's criterion); for an order that
    is not a well order this happens in the homogenised Weyl algebra [SST2000, Sect. 1.2].  ``certificates`` prove that
    the basis lies in the ideal: one list of cofactors of the generators for each element.  Without them Buchberger's
    algorithm, without criteria, completes the ideal here, which is meant for small ideals.

    Parameters
    ----------
    basis, generators : sequences of Operator
        The claimed Gröbner basis and the generators of the ideal.
    order : Order
        Any order.
    certificates : sequence of sequences of Operator, optional
        Cofactors, as :func:`holokern.weyl.groebner.certificate.membership_certificate` finds them.

    Raises
    ------
    CheckFailed
        Naming the pair, the generator or the element for which the check fails.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl.algebra.orders import grevlex
    >>> D = weyl_algebra("x y")
    >>> check_groebner_basis([D.one], [D("dx + y"), D("dy")], grevlex(D))
    >>> check_groebner_basis([D("dx + y"), D("dy")], [D("dx + y"), D("dy")], grevlex(D))
    Traceback (most recent call last):
    ...
    holokern.errors.CheckFailed: the S-pair of dx + y and dy leaves the remainder 1, so this is no Gröbner basis
    """
    if any(not g for g in basis):
        raise CheckFailed("the operator 0 is an element of the basis")
    ground = _Division(order) if order.is_well_order else _HomogenizedDivision(order)
    lifted = [ground.embed(g) for g in basis]
    for (f, u), (g, v) in combinations(zip(basis, lifted, strict=True), 2):
        rest = ground.remainder(ground.s_operator(u, v), lifted)
        if rest:
            raise CheckFailed(f"the S-pair of {f} and {g} leaves the remainder {rest}, so this is no Gröbner basis")
    for f in generators:
        rest = ground.remainder(ground.embed(f), lifted)
        if rest:
            raise CheckFailed(f"the generator {f} leaves the remainder {rest}, so the basis spans a smaller ideal")
    if certificates is not None:
        if len(certificates) != len(basis):
            raise BadInput(f"expected one certificate an element, got {len(certificates)} for {len(basis)} elements")
        for g, cofactors in zip(basis, certificates, strict=True):
            check_membership(g, generators, cofactors)
    elif basis:
        plain = _Division(grevlex(basis[0].algebra))
        completed = plain.complete(generators)
        for g in basis:
            if plain.remainder(g, completed):
                raise CheckFailed(f"the element {g} does not lie in the ideal of the generators")


class _Division:
    """Plain division in the Weyl algebra."""

    def __init__(self, order: Order) -> None:
        self.order = order

    def embed(self, operator: Operator) -> Operator:
        """The operator that is divided."""
        return operator

    def lead(self, operator: Operator) -> Monomial:
        """The leading monomial."""
        return max(operator.terms, key=self.order.key)

    def quotient(self, a: Monomial, b: Monomial) -> Monomial | None:
        """The monomial q with lead(q·b) = a, or None."""
        difference = tuple(x - y for x, y in zip(a, b, strict=True))
        return None if min(difference) < 0 else difference

    def lcm(self, a: Monomial, b: Monomial) -> Monomial:
        """The least common multiple."""
        return tuple(max(x, y) for x, y in zip(a, b, strict=True))

    def s_operator(self, f: Operator, g: Operator) -> Operator:
        """The combination of two operators in which the leading terms cancel."""
        a, b = self.lead(f), self.lead(g)
        top = self.lcm(a, b)
        return self._multiple(f, a, top) - self._multiple(g, b, top)

    def remainder(self, f: Operator, divisors: Sequence[Operator]) -> Operator:
        """Cancel leading terms as long as one can; what is left after the leading term may be reducible."""
        leads = [(self.lead(g), g) for g in divisors if g]
        while f:
            top = self.lead(f)
            step = next(
                (self._multiple(g, lead, top) for lead, g in leads if self.quotient(top, lead) is not None), None
            )
            if step is None:
                return f
            charge(len(step.terms))
            f = f - f.terms[top] * step
        return f

    def complete(self, generators: Sequence[Operator]) -> list[Operator]:
        """Buchberger's algorithm as in the textbook."""
        found = [g for g in generators if g]
        pairs = list(combinations(range(len(found)), 2))
        while pairs:
            i, j = pairs.pop(0)
            rest = self.remainder(self.s_operator(found[i], found[j]), found)
            if rest:
                pairs += [(k, len(found)) for k in range(len(found))]
                found.append(rest)
        return found

    def _multiple(self, g: Operator, lead: Monomial, top: Monomial) -> Operator:
        """The monomial multiple of g with leading monomial ``top`` and leading coefficient 1."""
        quotient = self.quotient(top, lead)
        assert quotient is not None
        return g.algebra.from_terms({quotient: 1 / g.terms[lead]}) * g


class _HomogenizedDivision(_Division):
    """Division in the homogenised Weyl algebra, realised inside an ordinary one by ∂ ↦ h²∂, since [h²∂, x] = h²."""

    def embed(self, operator: Operator) -> Operator:
        algebra = operator.algebra
        n = algebra.dimension
        name = "h"
        while name in (*algebra.variables, *algebra.derivations):
            name += "h"
        larger = WeylAlgebra((*algebra.variables, name), (*algebra.derivations, f"d_{name}"))
        degree = operator.degree
        return larger.from_terms(
            {(*key[:n], degree - sum(key) + 2 * sum(key[n:]), *key[n:], 0): c for key, c in operator}
        )

    def lead(self, operator: Operator) -> Monomial:
        return max(operator.terms, key=self._key)

    def quotient(self, a: Monomial, b: Monomial) -> Monomial | None:
        difference = super().quotient(a, b)
        return None if difference is None or self._power(difference) < 0 else difference

    def lcm(self, a: Monomial, b: Monomial) -> Monomial:
        n = len(a) // 2 - 1
        top = list(super().lcm(a, b))
        top[n] = max(self._power(a), self._power(b)) + 2 * sum(top[n + 1 :])
        return tuple(top)

    @staticmethod
    def _power(key: Monomial) -> int:
        """The exponent of h beside x^α (h²∂)^β."""
        n = len(key) // 2 - 1
        return key[n] - 2 * sum(key[n + 1 :])

    def _key(self, key: Monomial) -> tuple[int, ...]:
        n = len(key) // 2 - 1
        alpha, beta = key[:n], key[n + 1 : -1]
        return (sum(alpha) + sum(beta) + self._power(key), *self.order.key((*alpha, *beta)))
