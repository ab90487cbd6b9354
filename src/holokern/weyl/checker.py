"""An independent check of Gröbner bases and of membership: only products of operators, nothing of the constructor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from holokern.errors import BadInput, CheckFailed
from holokern.weyl.algebra import Monomial
from holokern.weyl.operator import Operator
from holokern.weyl.orders import Order

__all__ = ["check_groebner_basis", "check_membership", "is_groebner_basis"]


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
    total = operator.algebra.zero
    for a, g in zip(cofactors, generators, strict=True):
        total = total + a * g
    if total != operator:
        raise CheckFailed(f"the certificate does not give {operator}: the sum differs from it by {total - operator}")


def check_groebner_basis(
    basis: Sequence[Operator],
    generators: Sequence[Operator],
    order: Order,
    certificates: Sequence[Sequence[Operator]] | None = None,
) -> None:
    """Check that ``basis`` is a left Gröbner basis of the ideal of ``generators`` for a well order.

    Every S-pair and every generator must reduce to zero by plain division (Buchberger's criterion
    [SST2000, Thm 1.1.10]).  That the basis lies in the ideal is checked by ``certificates``, one list of cofactors of the
    generators for each element; without them the ideal is completed here by Buchberger's algorithm without criteria,
    which is meant for small ideals.

    Raises
    ------
    CheckFailed
        Naming the pair, the generator or the element for which the check fails.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl.orders import grevlex
    >>> D = weyl_algebra("x y")
    >>> check_groebner_basis([D.one], [D("dx + y"), D("dy")], grevlex(D))
    >>> check_groebner_basis([D("dx + y"), D("dy")], [D("dx + y"), D("dy")], grevlex(D))
    Traceback (most recent call last):
    ...
    holokern.errors.CheckFailed: the S-pair of dx + y and dy leaves the remainder 1, so this is no Gröbner basis
    """
    if not order.is_well_order:
        raise BadInput(f"the order {order.name} is no well order; check the basis in the homogenised algebra instead")
    if any(not g for g in basis):
        raise CheckFailed("the operator 0 is an element of the basis")
    for f, g in combinations(basis, 2):
        rest = _remainder(_s_operator(f, g, order), basis, order)
        if rest:
            raise CheckFailed(f"the S-pair of {f} and {g} leaves the remainder {rest}, so this is no Gröbner basis")
    for f in generators:
        rest = _remainder(f, basis, order)
        if rest:
            raise CheckFailed(f"the generator {f} leaves the remainder {rest}, so the basis spans a smaller ideal")
    if certificates is not None:
        if len(certificates) != len(basis):
            raise BadInput(f"expected one certificate an element, got {len(certificates)} for {len(basis)} elements")
        for g, cofactors in zip(basis, certificates, strict=True):
            check_membership(g, generators, cofactors)
        return
    completed = _complete(generators, order)
    for g in basis:
        if _remainder(g, completed, order):
            raise CheckFailed(f"the element {g} does not lie in the ideal of the generators")


def is_groebner_basis(basis: Sequence[Operator], order: Order) -> bool:
    """Whether ``basis`` is a Gröbner basis of the ideal that it generates."""
    return all(not _remainder(_s_operator(f, g, order), basis, order) for f, g in combinations(basis, 2))


def _lead(operator: Operator, order: Order) -> Monomial:
    return max(operator.terms, key=order.key)


def _quotient(a: Monomial, b: Monomial) -> Monomial | None:
    difference = tuple(x - y for x, y in zip(a, b, strict=True))
    return None if min(difference) < 0 else difference


def _monomial(like: Operator, key: Monomial, c: object) -> Operator:
    return like.algebra.from_terms({key: c})


def _s_operator(f: Operator, g: Operator, order: Order) -> Operator:
    a, b = _lead(f, order), _lead(g, order)
    top = tuple(max(x, y) for x, y in zip(a, b, strict=True))
    left = _monomial(f, tuple(x - y for x, y in zip(top, a, strict=True)), 1 / f.terms[a])
    right = _monomial(g, tuple(x - y for x, y in zip(top, b, strict=True)), 1 / g.terms[b])
    return left * f - right * g


def _remainder(f: Operator, divisors: Sequence[Operator], order: Order) -> Operator:
    """Divide until no leading term can be cancelled; only the leading term is looked at, so the rest may be reducible."""
    leads = [(_lead(g, order), g) for g in divisors]
    while f:
        top = _lead(f, order)
        for lead, g in leads:
            quotient = _quotient(top, lead)
            if quotient is not None:
                f = f - _monomial(f, quotient, f.terms[top] / g.terms[lead]) * g
                break
        else:
            return f
    return f


def _complete(generators: Sequence[Operator], order: Order) -> list[Operator]:
    """Buchberger's algorithm as in the textbook."""
    found = [g for g in generators if g]
    pairs = list(combinations(range(len(found)), 2))
    while pairs:
        i, j = pairs.pop(0)
        rest = _remainder(_s_operator(found[i], found[j], order), found, order)
        if rest:
            pairs += [(k, len(found)) for k in range(len(found))]
            found.append(rest)
    return found
