"""Left division with remainder over Q: normal forms, with quotients on request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from flint import fmpq

from holokern.errors import BadOperator, Unsupported
from holokern.numeric import bounded, charge
from holokern.weyl.algebra.monomials import divides
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order
from holokern.weyl.algebra.packing import Packing, Support
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra
from holokern.weyl.groebner.divisors import Divisors, Multiple
from holokern.weyl.groebner.pairs import Pair, PairQueue

TERM_WORK = 0.2
"""Units of `holokern.numeric.charge` of a term that is subtracted over Q, with short coefficients."""


def product_coefficients(support: Support, coefficients: list[fmpq], b: Monomial) -> list[fmpq]:
    """The coefficients of ∂^b times a polynomial, in the order of ``support.expansion(b).codes``."""
    expansion = support.expansion(b)
    if expansion.sources is None:
        return coefficients
    parts = [coefficients[s] * f for s, f in zip(expansion.sources, expansion.factors, strict=True)]
    ends = [*expansion.starts[1:], len(parts)]
    return [sum(parts[i + 1 : j], parts[i]) for i, j in zip(expansion.starts, ends, strict=True)]


class PackedDivider:
    """Left division by fixed polynomials, given as mappings from packed monomials (largest first) to coefficients."""

    def __init__(self, packing: Packing, divisors: Iterable[dict[int, fmpq]]) -> None:
        self._packing = packing
        self._products: dict[tuple[int, Monomial], list[fmpq]] = {}
        self._supports: list[Support] = []
        self._coefficients: list[list[fmpq]] = []
        for terms in divisors:
            self._supports.append(Support(packing, list(terms)))
            self._coefficients.append(list(terms.values()))
        self._divisors = Divisors(packing, self._supports, range(len(self._supports)))

    def __len__(self) -> int:
        return len(self._supports)

    @bounded
    def divide(self, terms: dict[int, fmpq], quotients: list[dict[int, fmpq]] | None = None) -> dict[int, fmpq]:
        """The remainder of ``terms``; the quotients are written into ``quotients`` when it is given."""
        packing, find = self._packing, self._divisors.find
        terms = dict(terms)
        heap = sorted(-code for code in terms)
        rest: dict[int, fmpq] = {}
        while heap:
            code = -heappop(heap)
            c = terms.pop(code)
            if c == 0:
                continue
            packing.check(code)
            multiple = find(code)
            if multiple is None:
                rest[code] = c
                continue
            support = self._supports[multiple.source]
            values = self._product(multiple)
            factor = c / values[0]
            if quotients is not None:
                quotients[multiple.source][code - support.codes[0]] = factor
            shift = multiple.shift
            codes = support.expansion(multiple.b).codes
            charge(1 + TERM_WORK * len(codes), c.height_bits())
            for j in range(1, len(codes)):
                place = codes[j] + shift
                if place in terms:
                    terms[place] -= factor * values[j]
                else:
                    terms[place] = -factor * values[j]
                    heappush(heap, -place)
        return rest

    def s_polynomial(self, pair: Pair) -> dict[int, fmpq]:
        """The difference of the multiples of two monic divisors whose leading monomials meet in their lcm."""
        code = self._packing.encode(self._packing.unpack(pair.lcm))
        terms: dict[int, fmpq] = {}
        for source, sign in ((pair.first, 1), (pair.second, -1)):
            multiple = self._divisors.multiple(source, code)
            codes = self._supports[source].expansion(multiple.b).codes
            for place, value in zip(codes, self._product(multiple), strict=True):
                terms[place + multiple.shift] = terms.get(place + multiple.shift, 0) + sign * value
        return terms

    def critical_pairs(self) -> list[Pair]:
        """The pairs of divisors that Buchberger's criterion must look at; the other ones follow from them."""
        queue = PairQueue(self._packing, self._supports)
        for new in range(len(self._supports)):
            queue.add(new)
        return queue.pop_all()

    def _product(self, multiple: Multiple) -> list[fmpq]:
        key = (multiple.source, multiple.b)
        found = self._products.get(key)
        if found is None:
            source = multiple.source
            found = product_coefficients(self._supports[source], self._coefficients[source], multiple.b)
            self._products[key] = found
        return found


class Divider:
    """Divide by a fixed list of operators; what depends on the divisors alone is done once.

    ``f = Σ q_i g_i + r`` where no term of r is divisible by a leading monomial of the divisors, and every ``q_i g_i``
    has a leading monomial not above that of f [SST2000, Sect. 1.1].

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl.algebra.orders import grevlex
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
        self._packing = Packing(order, False)
        self._algebra = divisors[0].algebra if divisors else None
        self._divider = PackedDivider(self._packing, [self._packing.pack(g) for g in divisors])

    def remainder(self, operator: Operator) -> Operator:
        """The remainder of ``operator``."""
        return self._unpack(self._divider.divide(self._pack(operator)), operator.algebra)

    def divide(self, operator: Operator) -> tuple[list[Operator], Operator]:
        """The quotients, one for each divisor, and the remainder."""
        quotients: list[dict[int, fmpq]] = [{} for _ in range(len(self._divider))]
        rest = self._divider.divide(self._pack(operator), quotients)
        algebra = operator.algebra
        return [self._unpack(terms, algebra) for terms in quotients], self._unpack(rest, algebra)

    def _pack(self, operator: Operator) -> dict[int, fmpq]:
        if self._algebra is not None and operator.algebra != self._algebra:
            raise BadOperator(f"the operator {operator} and its divisors belong to different Weyl algebras")
        return self._packing.pack(operator)

    def _unpack(self, terms: dict[int, fmpq], algebra: WeylAlgebra) -> Operator:
        return Operator(algebra, {self._packing.decode(code): c for code, c in terms.items()})


def interreduce(basis: Iterable[Operator], order: Order) -> list[Operator]:
    """The reduced Gröbner basis from any Gröbner basis with respect to a well order.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl.algebra.orders import grevlex
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
        if not any(divides(other, lead) for other in minimal):
            minimal.append(lead)
    minimal.sort(key=order.key)
    divider = Divider([leads[lead] for lead in minimal], order)
    reduced = []
    for lead in minimal:
        g = leads[lead].monic(lead)
        head = Operator(g.algebra, {lead: g.terms[lead]})
        reduced.append(head + divider.remainder(g - head))
    return reduced


def without_smaller(bases: Sequence[list[Operator]], order: Order) -> list[list[Operator]]:
    """The Gröbner bases of polynomials without those whose zeros certainly lie in the zeros of another one."""

    def is_inside(basis: list[Operator]) -> bool:
        divider = Divider(basis, order)
        return any(other != basis and other and not any(map(divider.remainder, other)) for other in bases)

    return [basis for basis in bases if not is_inside(basis)]
