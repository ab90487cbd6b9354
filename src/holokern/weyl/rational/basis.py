"""Left Gröbner bases in the rational Weyl algebra, fraction-free on rows of integer polynomials.

A row maps exponents β of ∂ to coefficients (``fmpz_mpoly``); it stands for an operator up to a left factor in Q(x),
which generates the same left ideal.  So no quotient is ever formed, and rows are kept free of common factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flint import fmpz_mpoly

from holokern.errors import BadInput
from holokern.numeric import bounded, charge, subtract
from holokern.weyl.algebra.monomials import derivatives_of, divides, raised
from holokern.weyl.algebra.orders import Order

Exponents = tuple[int, ...]
Row = dict[Exponents, fmpz_mpoly]
Key = Callable[[Exponents], Any]

# units of `holokern.numeric.charge` of a product of two terms, with the greatest common divisors that follow it
_PRODUCT_WORK = 0.005


def primitive_row(
    fractions: Mapping[Exponents, tuple[fmpz_mpoly, fmpz_mpoly]], divided: list[fmpz_mpoly] | None = None
) -> Row:
    """The row without denominators and common factors that is proportional to the given quotients."""
    if not fractions:
        return {}
    _, common = next(iter(fractions.values()))
    for _, bottom in fractions.values():
        common = common * (bottom // common.gcd(bottom))
    if divided is not None:
        divided.append(common)
    return strip_content({key: top * (common // bottom) for key, (top, bottom) in fractions.items()}, divided)


def strip_content(row: Row, divided: list[fmpz_mpoly] | None = None) -> Row:
    """Divide a row by the greatest common divisor of its coefficients, and note the divisor in ``divided``."""
    content: fmpz_mpoly | None = None
    for c in sorted(row.values(), key=len):
        content = c if content is None else content.gcd(c)
        if content.is_one():
            return row
    if content is None:
        return row
    if divided is not None:
        divided.append(content)
    return {key: c // content for key, c in row.items()}


@bounded
def groebner_rows(rows: Iterable[Row], key: Key, divided: list[fmpz_mpoly] | None = None) -> list[Row]:
    """The reduced left Gröbner basis of the rows, leading exponents ascending [SST2000, §1.4; Hibi2013, §6.1].

    Buchberger's algorithm with the chain criterion.  The criterion of coprime leading monomials is not used: the
    coefficients do not commute with ∂.

    ``rows``: non-zero generators.
    ``key``: sort key of a monomial order on the exponents; it must be a well-order compatible with addition.
    ``divided``: receives every polynomial by which a row was divided.  Where none of them vanishes, each element of the
    basis is a combination of the rows with coefficients that are defined there.
    """
    basis = _Basis(key, divided)
    stripped = [strip_content(row, divided) for row in rows]
    for row in sorted(stripped, key=lambda row: key(max(row, key=key))):
        basis.add(basis.reduce(row, basis.reducers))
    while basis.pairs:
        basis.add(basis.reduce(basis.next_s_row(), basis.reducers))
    return basis.reduced()


class _Element:
    """A row with its leading exponents and its products by powers of ∂, whose leading coefficient is its own."""

    def __init__(self, row: Row, key: Key) -> None:
        self.row, self.lead = row, max(row, key=key)
        self.times = derivatives_of(row, differentiate)


def differentiate(row: Row, i: int) -> Row:
    """∂_i times a row."""
    result: Row = {raised(key, i): c for key, c in row.items()}
    subtract(result, -1, {key: c.derivative(i) for key, c in row.items()})
    return result


def _lcm(a: Exponents, b: Exponents) -> Exponents:
    return tuple(max(p, q) for p, q in zip(a, b, strict=True))


def _minus(a: Exponents, b: Exponents) -> Exponents:
    return tuple(p - q for p, q in zip(a, b, strict=True))


def _combine(row: Row, target: Exponents, other: Row, divided: list[fmpz_mpoly] | None) -> Row:
    """The combination of two rows, with coefficients in Z[x], that cancels the exponents ``target``."""
    left, right = other[target], row[target]
    common = left.gcd(right)
    left, right = left // common, right // common
    charge(1 + _PRODUCT_WORK * sum(len(c) * len(left) for c in row.values()))
    charge(1 + _PRODUCT_WORK * sum(len(c) * len(right) for c in other.values()))
    result = {k: left * c for k, c in row.items()}
    subtract(result, right, other)
    return result if left.is_constant() else strip_content(result, divided)


class _Basis:
    """The state of Buchberger's algorithm: elements, pending pairs, and which elements still reduce."""

    def __init__(self, key: Key, divided: list[fmpz_mpoly] | None) -> None:
        self.key = key
        self.divided = divided
        self.elements: list[_Element] = []
        self.reducers: list[_Element] = []
        self.pairs: list[tuple[Exponents, int, int]] = []

    def add(self, row: Row) -> None:
        if not row:
            return
        new = _Element(row, self.key)
        self._update_pairs(new.lead)
        self.elements.append(new)
        self.reducers = [g for g in self.reducers if not divides(new.lead, g.lead)]
        self.reducers.append(new)

    def _update_pairs(self, lead: Exponents) -> None:
        """Drop the pairs that the chain criterion makes superfluous."""
        leads = [g.lead for g in self.elements]
        self.pairs = [
            (lcm, i, j)
            for lcm, i, j in self.pairs
            if not divides(lead, lcm) or lcm in (_lcm(leads[i], lead), _lcm(leads[j], lead))
        ]
        fresh: dict[Exponents, int] = {}
        for i, old in enumerate(leads):
            fresh.setdefault(_lcm(old, lead), i)
        new = len(leads)
        for lcm, i in fresh.items():
            if not any(other != lcm and divides(other, lcm) for other in fresh):
                self.pairs.append((lcm, i, new))

    def next_s_row(self) -> Row:
        """The S-row of the pair with the smallest least common multiple."""
        place = min(range(len(self.pairs)), key=lambda p: self.key(self.pairs[p][0]))
        lcm, i, j = self.pairs.pop(place)
        left, right = (self.elements[k].times(_minus(lcm, self.elements[k].lead)) for k in (i, j))
        return _combine(left, lcm, right, self.divided)

    def reduce(self, row: Row, reducers: list[_Element]) -> Row:
        """The full normal form of a row, up to a left factor in Q(x)."""
        done: set[Exponents] = set()
        while True:
            target = max((k for k in row if k not in done), key=self.key, default=None)
            if target is None:
                return strip_content(row, self.divided)
            divisor = next((g for g in reducers if divides(g.lead, target)), None)
            if divisor is None:
                done.add(target)
                continue
            row = _combine(row, target, divisor.times(_minus(target, divisor.lead)), self.divided)

    def reduced(self) -> list[Row]:
        elements = sorted(self.reducers, key=lambda g: self.key(g.lead))
        rows = []
        for g in elements:
            others = [h for h in elements if h is not g]
            row = self.reduce(g.row, others)
            rows.append(row if row[g.lead].leading_coefficient() > 0 else {k: -c for k, c in row.items()})
        return rows


def key_of(order: Order) -> Callable[[Exponents], Any]:
    """The sort key of exponents of ∂ for an order of the polynomial Weyl algebra."""
    n = order.size // 2
    none = (0,) * n
    if any(order.key((*none, *(int(j == i) for j in range(n)))) <= order.key(none + none) for i in range(n)):
        raise BadInput(f"the order {order.name} puts a derivation below 1; expected weights v >= 0, or a name")
    return lambda exponents: order.key(none + tuple(exponents))
