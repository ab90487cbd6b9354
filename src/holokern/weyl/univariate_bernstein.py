"""Gröbner bases of left ideals of D₁ for the Bernstein degree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flint import fmpq

from holokern.weyl.algebra import Monomial
from holokern.weyl.operator import Operator, multiply_terms

__all__ = ["bernstein_basis"]


def bernstein_basis(operators: Iterable[Operator]) -> tuple[Operator, ...]:
    """The reduced Gröbner basis for the Bernstein degree (weights 1 on u and ∂), ties broken in favour of ∂.

    Buchberger's algorithm as it stands: ideals of D₁ have few and small generators.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D1 = weyl_algebra("u", "D")
    >>> bernstein_basis([D1("u*D - 1"), D1("D^2")])
    (u*D - 1, D^2)
    """
    generators = [operator for operator in operators if operator]
    if not generators:
        return ()
    algebra = generators[0].algebra
    basis: list[dict[Monomial, Any]] = []
    leads: list[Monomial] = []
    pairs: list[tuple[int, int]] = []

    def enter(terms: dict[Monomial, Any]) -> None:
        if terms:
            pairs.extend((i, len(basis)) for i in range(len(basis)))
            lead = max(terms, key=_bernstein)
            basis.append({key: c / terms[lead] for key, c in terms.items()})
            leads.append(lead)

    for operator in sorted(generators, key=lambda op: op.degree):
        enter(_remainder(dict(operator.terms), basis, leads))
    while pairs:
        pairs.sort(key=lambda pair: _bernstein(_lcm(leads[pair[0]], leads[pair[1]])), reverse=True)
        i, j = pairs.pop()
        corner = _lcm(leads[i], leads[j])
        if any(_divides(leads[k], corner) and _settled(k, i, j, pairs) for k in range(len(basis))):
            continue
        left, right = (_shifted(basis[k], _gap(corner, leads[k])) for k in (i, j))
        enter(_remainder(_difference(left, 1, right), basis, leads))
    minimal = [
        k
        for k, lead in enumerate(leads)
        if not any(_divides(o, lead) and (o != lead or m < k) for m, o in enumerate(leads) if m != k)
    ]
    result = []
    for k in sorted(minimal, key=lambda k: _bernstein(leads[k])):
        others = [m for m in minimal if m != k]
        tail = {key: c for key, c in basis[k].items() if key != leads[k]}
        tail = _remainder(tail, [basis[m] for m in others], [leads[m] for m in others])
        result.append(Operator(algebra, {leads[k]: fmpq(1), **tail}).primitive())
    return tuple(result)


def _settled(k: int, i: int, j: int, pairs: list[tuple[int, int]]) -> bool:
    """Buchberger's chain criterion: the pair (i, j) follows from (i, k) and (j, k), both already treated."""
    return k not in (i, j) and not any((min(a, k), max(a, k)) in pairs for a in (i, j))


def _bernstein(key: Monomial) -> tuple[int, int]:
    return key[0] + key[1], key[1]


def _lcm(a: Monomial, b: Monomial) -> Monomial:
    return max(a[0], b[0]), max(a[1], b[1])


def _gap(a: Monomial, b: Monomial) -> Monomial:
    return a[0] - b[0], a[1] - b[1]


def _divides(a: Monomial, b: Monomial) -> bool:
    return a[0] <= b[0] and a[1] <= b[1]


def _shifted(terms: dict[Monomial, Any], by: Monomial) -> dict[Monomial, Any]:
    return multiply_terms({by: fmpq(1)}, terms, 1)


def _difference(left: dict[Monomial, Any], factor: Any, right: dict[Monomial, Any]) -> dict[Monomial, Any]:
    result = dict(left)
    for key, c in right.items():
        total = result.get(key, 0) - factor * c
        if total == 0:
            result.pop(key, None)
        else:
            result[key] = total
    return result


def _remainder(
    terms: dict[Monomial, Any], basis: list[dict[Monomial, Any]], leads: list[Monomial]
) -> dict[Monomial, Any]:
    """The normal form with every term reduced; the basis is monic."""
    rest: dict[Monomial, Any] = {}
    while terms:
        key = max(terms, key=_bernstein)
        k = next((k for k, lead in enumerate(leads) if _divides(lead, key)), None)
        if k is None:
            rest[key] = terms.pop(key)
        else:
            terms = _difference(terms, terms[key], _shifted(basis[k], _gap(key, leads[k])))
    return rest
