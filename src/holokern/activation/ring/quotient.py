"""The field Q(u) of rational functions in one variable, as reduced quotients of ``fmpq_poly``."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from flint import fmpq, fmpq_poly, fmpq_series

from holokern.numeric import series_length, to_fmpq, to_fraction

_ONE = fmpq_poly([1])  # polynomials do not change, so one serves all


class Quotient:
    """A rational function of u over Q; immutable and hashable, with a monic denominator coprime to the numerator.

    >>> u = Quotient.variable()
    >>> (u * u - 1) / (u + 1)
    u - (1)
    >>> (1 / u).derivative()
    ((-1))/(u^2)
    """

    __slots__ = ("_hash", "den", "num")

    num: fmpq_poly
    den: fmpq_poly
    _hash: int | None

    def __init__(self, num: fmpq_poly, den: fmpq_poly = _ONE, *, reduced: bool = False) -> None:
        if not reduced and den.degree() > 0:
            common = num.gcd(den)
            if common.degree() > 0:
                num, den = num // common, den // common
        lead = den.leading_coefficient()
        if lead != 1:
            num, den = num / lead, den / lead
        self.num, self.den, self._hash = num, den, None

    @staticmethod
    def constant(value: Fraction | int) -> Quotient:
        """The constant function."""
        return Quotient(fmpq_poly([to_fmpq(value)]), reduced=True)

    @staticmethod
    def variable() -> Quotient:
        """The function u."""
        return Quotient(fmpq_poly([0, 1]), reduced=True)

    # -- reading -----------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self.num)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return bool(self.den.degree() == 0 and self.num == fmpq_poly([other]))
        return isinstance(other, Quotient) and bool(self.num == other.num and self.den == other.den)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((tuple(self.num.coeffs()), tuple(self.den.coeffs())))
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, tuple([(int(c.p), int(c.q)) for c in part.coeffs()] for part in (self.num, self.den))

    @property
    def is_polynomial(self) -> bool:
        """Whether the denominator is 1."""
        return bool(self.den.degree() == 0)

    @property
    def rational(self) -> Fraction | None:
        """The value when this is a constant function, else None."""
        if self.den.degree() > 0 or self.num.degree() > 0:
            return None
        return to_fraction(self.num[0])

    def split_constant(self) -> tuple[Quotient, Fraction]:
        """The function without the constant term of its polynomial part, and that constant."""
        value = (self.num // self.den)[0]
        return self - Quotient(fmpq_poly([value])), to_fraction(value)

    def at(self, point: Fraction) -> Fraction | None:
        """The value at a rational point, or None at a pole."""
        x = to_fmpq(point)
        bottom = self.den(x)
        return None if bottom == 0 else to_fraction(self.num(x) / bottom)

    def laurent(self, point: Fraction, terms: int) -> tuple[int, list[fmpq]]:
        """The expansion at ``point``: the lowest exponent and ``terms`` coefficients from there on."""
        shift = fmpq_poly([to_fmpq(point), 1])
        (low, top), (drop, bottom) = (_without_zeros(part(shift)) for part in (self.num, self.den))
        with series_length(terms):
            series = fmpq_series(top, prec=terms) / fmpq_series(bottom, prec=terms)
        return low - drop, [series[i] for i in range(terms)]

    def __repr__(self) -> str:
        top, bottom = (part.str().replace("x", "u").replace(" + (-", " - (") for part in (self.num, self.den))
        return top if self.is_polynomial else f"({top})/({bottom})"

    # -- arithmetic --------------------------------------------------------------------------------------------------

    def __add__(self, other: Quotient | int) -> Quotient:
        right = _coerced(other)
        if self.den == right.den:
            return Quotient(self.num + right.num, self.den, reduced=self.is_polynomial)
        return Quotient(self.num * right.den + right.num * self.den, self.den * right.den)

    __radd__ = __add__

    def __neg__(self) -> Quotient:
        return Quotient(-self.num, self.den, reduced=True)

    def __sub__(self, other: Quotient | int) -> Quotient:
        return self + (-_coerced(other))

    def __rsub__(self, other: int) -> Quotient:
        return _coerced(other) - self

    def __mul__(self, other: Quotient | int) -> Quotient:
        right = _coerced(other)
        plain = self.is_polynomial and right.is_polynomial
        return Quotient(self.num * right.num, self.den * right.den, reduced=plain)

    __rmul__ = __mul__

    def scaled(self, factor: Fraction) -> Quotient:
        """The product with a rational number."""
        return Quotient(self.num * to_fmpq(factor), self.den, reduced=True) if factor else Quotient.constant(0)

    def __truediv__(self, other: Quotient | int) -> Quotient:
        right = _coerced(other)
        return Quotient(self.num * right.den, self.den * right.num)

    def __rtruediv__(self, other: int) -> Quotient:
        return _coerced(other) / self

    def __pow__(self, exponent: int) -> Quotient:
        if exponent < 0:
            return Quotient(self.den**-exponent, self.num**-exponent, reduced=True)
        return Quotient(self.num**exponent, self.den**exponent, reduced=True)

    def derivative(self) -> Quotient:
        """The derivative with respect to u."""
        if self.is_polynomial:
            return Quotient(self.num.derivative(), reduced=True)
        return Quotient(self.num.derivative() * self.den - self.num * self.den.derivative(), self.den * self.den)


def common_denominator(functions: Iterable[Quotient]) -> fmpq_poly:
    """The least common multiple of the denominators."""
    common = _ONE
    for function in functions:
        common = common * (function.den // common.gcd(function.den))
    return common


def _coerced(value: Quotient | int) -> Quotient:
    return value if isinstance(value, Quotient) else Quotient.constant(value)


def _without_zeros(polynomial: fmpq_poly) -> tuple[int, fmpq_poly]:
    """The order of vanishing at 0 and the polynomial divided by that power of the variable."""
    coefficients = polynomial.coeffs()
    low = next((i for i, c in enumerate(coefficients) if c != 0), 0)
    return low, fmpq_poly(coefficients[low:])


def _rebuild(num: list[tuple[int, int]], den: list[tuple[int, int]]) -> Quotient:
    return Quotient(*(fmpq_poly([fmpq(p, q) for p, q in part]) for part in (num, den)), reduced=True)
