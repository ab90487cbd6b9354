"""Left division with remainder over Q: normal forms, with quotients on request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

from holokern.errors import BadOperator, Unsupported
from holokern.weyl.algebra import Monomial
from holokern.weyl.macaulay import Multiple, divisor_finder
from holokern.weyl.operator import Operator
from holokern.weyl.orders import Order
from holokern.weyl.packing import Packing, Support

__all__ = ["Divider", "interreduce", "normal_form"]


class Divider:
    """Divide by a fixed list of operators; what depends on the divisors alone is done once.

    ``f = Σ q_i g_i + r`` where no term of r is divisible by a leading monomial of the divisors, and every ``q_i g_i``
    has a leading monomial not above that of f [SST2000, Thm 1.2.4].

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl.orders import grevlex
    >>> D = weyl_algebra("x")
    >>> divider = Divider([D("x*dx - 1")], grevlex(D))
    >>> divider.remainder(D("x^2*dx^2 + dx"))
    dx
    >>> divider.divide(D("x^2*dx^2 + dx"))
    ([x*dx], dx)
    """

    def __init__(self, divisors: Sequence[Operator], order: Order) -> None:
        if not order.is_well_order:
            raise Unsupported(f"division does not end in the order {order.name}; use a well order such as grevlex")
        if any(not g for g in divisors):
            raise BadOperator("cannot divide by the operator 0")
        self.order = order
        self._packing = packing = Packing(order, False)
        self._algebra = divisors[0].algebra if divisors else None
        self._coefficients: list[list[Any]] = []
        self._products: dict[tuple[int, Monomial], list[Any]] = {}
        self._supports: list[Support] = []
        for g in divisors:
            terms = sorted(((packing.encode(key), c) for key, c in g), reverse=True, key=lambda term: term[0])
            self._supports.append(Support(packing, [code for code, _ in terms]))
            self._coefficients.append([c for _, c in terms])
        self._find = divisor_finder(packing, self._supports, range(len(self._supports)))

    def remainder(self, operator: Operator) -> Operator:
        """The remainder of ``operator``."""
        return self._divide(operator, None)

    def divide(self, operator: Operator) -> tuple[list[Operator], Operator]:
        """The quotients, one for each divisor, and the remainder."""
        quotients: list[dict[Monomial, Any]] = [{} for _ in self._supports]
        rest = self._divide(operator, quotients)
        return [operator.algebra.from_terms(terms) for terms in quotients], rest

    def _divide(self, operator: Operator, quotients: list[dict[Monomial, Any]] | None) -> Operator:
        if self._algebra is not None and operator.algebra != self._algebra:
            raise BadOperator(f"the operator {operator} and its divisors belong to different Weyl algebras")
        packing, find = self._packing, self._find
        terms = {packing.encode(key): c for key, c in operator}
        heap = sorted(-code for code in terms)
        rest: dict[Monomial, Any] = {}
        while heap:
            code = -heappop(heap)
            c = terms.pop(code, 0)
            if c == 0:
                continue
            packing.check(code)
            multiple = find(code)
            if multiple is None:
                rest[packing.decode(code)] = c
                continue
            values = self._product(multiple)
            factor = c / values[0]
            if quotients is not None:
                key = packing.decode(code - self._supports[multiple.source].codes[0])
                quotients[multiple.source][key] = factor
            shift = multiple.shift
            codes = self._supports[multiple.source].expansion(multiple.b).codes
            for j in range(1, len(codes)):
                key_code = codes[j] + shift
                if key_code in terms:
                    terms[key_code] -= factor * values[j]
                else:
                    terms[key_code] = -factor * values[j]
                    heappush(heap, -key_code)
        return Operator(operator.algebra, rest)

    def _product(self, multiple: Multiple) -> list[Any]:
        key = (multiple.source, multiple.b)
        found = self._products.get(key)
        if found is None:
            expansion = self._supports[multiple.source].expansion(multiple.b)
            found = self._coefficients[multiple.source]
            if expansion.sources is not None:
                parts = [found[s] * f for s, f in zip(expansion.sources, expansion.factors, strict=True)]
                ends = [*expansion.starts[1:], len(parts)]
                found = [sum(parts[i + 1 : j], parts[i]) for i, j in zip(expansion.starts, ends, strict=True)]
            self._products[key] = found
        return found


def normal_form(operator: Operator, divisors: Sequence[Operator], order: Order) -> Operator:
    """The remainder of left division; zero exactly on the ideal when ``divisors`` is a Gröbner basis.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl.orders import grevlex
    >>> D = weyl_algebra("x")
    >>> normal_form(D("dx^3"), [D("dx^2 - x")], grevlex(D))
    x*dx + 1
    """
    return Divider([g for g in divisors if g], order).remainder(operator)


def interreduce(basis: Iterable[Operator], order: Order) -> list[Operator]:
    """The reduced Gröbner basis from any Gröbner basis with respect to a well order.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl.orders import grevlex
    >>> D = weyl_algebra("x")
    >>> interreduce([D("2*dx"), D("x*dx + dx"), D("dx^2")], grevlex(D))
    [dx]
    """
    leads: dict[Monomial, Operator] = {}
    for g in basis:
        if g:
            leads.setdefault(max(g.terms, key=order.key), g)
    if not leads:
        return []
    minimal: list[Monomial] = []
    for lead in sorted(leads, key=sum):
        if not any(all(a <= b for a, b in zip(other, lead, strict=True)) for other in minimal):
            minimal.append(lead)
    minimal.sort(key=order.key)
    divider = Divider([leads[lead] for lead in minimal], order)
    reduced = []
    for lead in minimal:
        g = leads[lead].monic(lead)
        head = Operator(g.algebra, {lead: g.terms[lead]})
        reduced.append(head + divider.remainder(g - head))
    return reduced
