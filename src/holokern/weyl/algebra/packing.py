"""Monomials as single integers, such that comparing is ``<`` and multiplying is ``+``; products with monomials."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import comb, perm

from flint import fmpq

from holokern.errors import TooLarge
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order
from holokern.weyl.algebra.weyl_algebra import Monomial

_FIELD = 16  # bits of an exponent, one of them a guard
_ROW = 48  # bits of a value of a row of the order, signed


class Packing:
    """The code of a monomial: the values of the order's rows above, the exponents below.

    With ``homogenized`` a last variable h is added, [∂_i, x_i] = h², and the total degree becomes the first row, so
    that every admissible order can be used [SST2000, Sect. 1.2].  Otherwise [∂_i, x_i] = 1.  At the places in
    ``shifts`` the rule is [∂_i, x_i] = x_i instead: ∂_i is a variable that x_i shifts.
    """

    def __init__(self, order: Order, homogenized: bool, shifts: Collection[int] = ()) -> None:
        self.order = order
        self.shifts = frozenset(shifts)
        self.homogenized = homogenized
        self.n = order.size // 2
        self.size = order.size + homogenized
        rows = [(*row, 0) if homogenized else row for row in order.rows]
        if homogenized:
            rows.insert(0, (1,) * self.size)
        # Ties: the field of the variable that decides first is the highest; h is decided by the degree, so it is last.
        height = list(range(order.size)) if order.reverse else list(reversed(range(order.size)))
        self._shift = [_FIELD * (position + homogenized) for position in height] + [0] * homogenized
        self._negative = order.reverse
        self.fields_of_derivations = [shift // _FIELD for shift in self._shift[self.n : 2 * self.n]]
        width = _FIELD * self.size
        self.mask = (1 << width) - 1
        self.guard = sum(1 << (_FIELD * j + _FIELD - 1) for j in range(self.size))
        codes = []
        for j in range(self.size):
            value = 0
            for row in rows:
                value = (value << _ROW) + row[j]
            low = 1 << self._shift[j]
            codes.append((value << width) + (-low if self._negative else low))
        self.codes = codes
        homogenizer = 2 * codes[-1] if homogenized else 0
        self.contraction = [
            homogenizer - codes[self.n + i] - (0 if i in self.shifts else codes[i]) for i in range(self.n)
        ]

    def encode(self, exponents: Monomial) -> int:
        """The code of x^α ∂^β (h^γ)."""
        if max(exponents) >= 1 << (_FIELD - 1):
            raise TooLarge(f"the exponents {exponents} exceed the limit {(1 << (_FIELD - 1)) - 1} of Gröbner bases")
        return sum(e * c for e, c in zip(exponents, self.codes, strict=True) if e)

    def pack(self, operator: Operator) -> dict[int, fmpq]:
        """The terms of an operator, homogenised if need be, largest monomial first."""
        degree = operator.degree
        codes = {}
        for key, c in operator:
            codes[self.encode((*key, degree - sum(key)) if self.homogenized else key)] = c
        return dict(sorted(codes.items(), reverse=True))

    def exponents_part(self, code: int) -> int:
        """The packed exponents alone, for divisibility."""
        return (-code if self._negative else code) & self.mask

    def decode(self, code: int) -> Monomial:
        """The exponents of a code."""
        packed = self.exponents_part(code)
        return tuple([(packed >> shift) & ((1 << _FIELD) - 1) for shift in self._shift])

    def exponent(self, code: int, j: int) -> int:
        """One exponent of a code."""
        packed = -code if self._negative else code
        return (packed >> self._shift[j]) & ((1 << _FIELD) - 1)

    def divides(self, divisor: int, packed: int) -> bool:
        """Whether the packed exponents ``divisor`` divide ``packed``."""
        guard = self.guard
        return ((packed | guard) - divisor) & guard == guard

    def lcm(self, a: int, b: int) -> int:
        """The packed exponents of the least common multiple."""
        larger = ((a | self.guard) - b) & self.guard
        fields = larger - (larger >> (_FIELD - 1))
        return (a & fields) | (b & ~fields & self.mask)

    def unpack(self, packed: int) -> Monomial:
        """The exponents of packed exponents."""
        return tuple([(packed >> shift) & ((1 << _FIELD) - 1) for shift in self._shift])

    def check(self, code: int) -> None:
        """Refuse exponents that have run into their guard bits."""
        if self.exponents_part(code) & self.guard:
            raise TooLarge("an exponent exceeds the limit of Gröbner bases; lower the degrees of the operators")


@dataclass(slots=True)
class Expansion:
    """The product ∂^b · f: ``codes[j]`` has the coefficient Σ factor·(source coefficient of f).

    The contributions to one code are consecutive in ``sources`` and ``factors``; they begin at ``starts[j]``.
    ``sources`` is None when every code comes from one term with factor 1.
    """

    codes: list[int]
    sources: list[int] | None
    factors: list[int]
    starts: list[int]


class Support:
    """The monomials of a polynomial, largest first, and their products with derivations (made once each)."""

    __slots__ = ("_expansions", "_used", "codes", "degree", "lead", "packing", "sugar")

    def __init__(self, packing: Packing, codes: list[int], sugar: int | None = None) -> None:
        self.packing = packing
        self.codes = codes
        self.lead = packing.exponents_part(codes[0])
        self.degree = sum(packing.decode(codes[0]))
        self.sugar = max(sum(packing.decode(code)) for code in codes) if sugar is None else sugar
        self._expansions: dict[Monomial, Expansion] = {}
        self._used: tuple[int, int] | None = None

    @property
    def used(self) -> tuple[int, int]:
        """Bit sets of the x_i and of the ∂_i that occur."""
        if self._used is None:
            packed = 0
            for code in self.codes:
                packed |= self.packing.exponents_part(code)
            exponents, n = self.packing.unpack(packed), self.packing.n
            xs = sum(1 << i for i in range(n) if exponents[i])
            ds = sum(1 << i for i in range(n) if exponents[n + i])
            self._used = xs, ds
        return self._used

    def commutes_with(self, other: Support) -> bool:
        """Whether no x_i of one meets the ∂_i of the other, so that the polynomials certainly commute."""
        return not (self.used[0] & other.used[1] or self.used[1] & other.used[0])

    def expansion(self, b: Monomial) -> Expansion:
        """The product with ∂^b from the left."""
        found = self._expansions.get(b)
        if found is None:
            found = self._expansions[b] = self._expand(b)
        return found

    def _expand(self, b: Monomial) -> Expansion:
        packing, n = self.packing, self.packing.n
        shift = sum(e * packing.codes[n + i] for i, e in enumerate(b) if e)
        active = [i for i, e in enumerate(b) if e and self.used[0] >> i & 1]
        if not active:
            return Expansion([code + shift for code in self.codes], None, [], [])
        terms = [(code + shift, source, 1) for source, code in enumerate(self.codes)]
        for i in active:
            contraction, extra = packing.contraction[i], []
            shifting = i in packing.shifts
            for code, source, factor in terms:
                a = packing.exponent(code, i)
                last = b[i] if shifting and a else min(a, b[i])
                extra += [
                    (code + k * contraction, source, factor * comb(b[i], k) * (a**k if shifting else perm(a, k)))
                    for k in range(1, last + 1)
                ]
            terms += extra
        terms.sort(reverse=True)
        codes: list[int] = []
        starts: list[int] = []
        for place, (code, _, _) in enumerate(terms):
            if not codes or codes[-1] != code:
                codes.append(code)
                starts.append(place)
        return Expansion(codes, [source for _, source, _ in terms], [factor for _, _, factor in terms], starts)
