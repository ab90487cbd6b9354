"""Exact real constants: finite Q-combinations of monomials in e, π, roots of primes and values such as erf(1/2).

Distinct monomials are treated as linearly independent over Q.  Where that is false (nobody knows about e + π) the price
is minimality, never soundness: an operator is accepted only if it annihilates the part of every monomial separately, so
it annihilates their sum whatever relation the numbers have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from typing import TYPE_CHECKING, Any, TypeAlias

from flint import arb, fmpz, fmpz_poly

from holokern.activation.tree.constructors import add, call, multiply, power
from holokern.activation.tree.nodes import Constant, Node, Number
from holokern.activation.values.balls import FUNCTIONS
from holokern.errors import BadInput, PrecisionLost, Unsupported
from holokern.numeric import to_ball, working_precision

if TYPE_CHECKING:
    from sympy import Expr

Base: TypeAlias = "str | int | Opaque"
ConstantMonomial: TypeAlias = "tuple[tuple[Base, Fraction], ...]"
"""Sorted pairs (base, exponent): base is ``"E"``, ``"pi"``, a prime (exponent in (0, 1)) or an :class:`Opaque`."""

_MAX_BITS = 16_384  # 4900 digits: a number that is zero to so many is not decided
_MAX_FACTORED_BITS = 160  # the worst numbers of this size take half a second to factor, with 40 bits more seven seconds
_MAX_EXPANDED_TERMS = 200  # terms of a power of a sum; a longer one stays a power


@dataclass(frozen=True, slots=True)
class Opaque:
    """A number known only by name: the value of a function, a sum under a root, or a root of a polynomial.

    ``name`` is a function name, ``"value"`` (of the only argument, when it is a sum) or ``"root"`` (arguments: index
    among the real roots in increasing order, then the integer coefficients, constant term first).
    """

    name: str
    args: tuple[ExactReal, ...]

    def ball(self) -> arb:
        """An enclosure at the current working precision of flint."""
        if self.name == "root":
            index, *coefficients = (int(arg.rational or 0) for arg in self.args)
            return _real_roots(coefficients)[index]
        balls = [arg.ball() for arg in self.args]
        return balls[0] if self.name == "value" else FUNCTIONS[self.name](*balls)

    def as_tree(self) -> Node:
        """The number as an expression tree."""
        if self.name == "root":
            raise Unsupported(f"{self} has no expression in radicals; use its decimal value instead")
        args = [arg.as_tree() for arg in self.args]
        return args[0] if self.name == "value" else call(self.name, *args)

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.args))
        return f"({inner})" if self.name == "value" else f"{self.name}({inner})"


@total_ordering
class ExactReal:
    """An exact real number; immutable, hashable, ordered by its value.

    >>> root = exact(2).to_power(Fraction(1, 2))
    >>> root * root
    2
    >>> root > Fraction(7, 5), float(root)
    (True, 1.4142135623730951)
    """

    __slots__ = ("_hash", "terms")

    terms: Mapping[ConstantMonomial, Fraction]
    _hash: int

    def __init__(self, terms: Mapping[ConstantMonomial, Fraction]) -> None:
        object.__setattr__(self, "terms", {key: c for key, c in terms.items() if c})
        object.__setattr__(self, "_hash", hash(frozenset(self.terms.items())))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("exact constants are immutable")

    def __reduce__(self) -> tuple[object, ...]:
        return ExactReal, (dict(self.terms),)

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def rational(self) -> Fraction | None:
        """The number as a Fraction, or None when it is not written as one."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def single(self) -> tuple[ConstantMonomial, Fraction] | None:
        """The only term as (monomial, coefficient), or None."""
        return next(iter(self.terms.items())) if len(self.terms) == 1 else None

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, Fraction)):
            return self.rational == other
        return isinstance(other, ExactReal) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def ball(self, precision: int | None = None) -> arb:
        """An ``arb`` that contains the number, computed with ``precision`` bits (flint's current precision if None)."""
        if precision is not None:
            with working_precision(precision):
                return self.ball()
        total = arb(0)
        for monomial, c in self.terms.items():
            value = to_ball(c)
            for base, exponent in monomial:
                value *= _base_power(base, exponent)
            total += value
        return total

    def sign(self) -> int:
        """-1, 0 or 1; decided by balls of growing precision."""
        if not self.terms:
            return 0
        bits = 64
        while bits <= _MAX_BITS:
            value = self.ball(bits)
            if value > 0:
                return 1
            if value < 0:
                return -1
            bits *= 4
        raise PrecisionLost(f"cannot decide the sign of {self}: it is zero to {_MAX_BITS} bits; simplify it by hand")

    def __float__(self) -> float:
        bits = 64
        while bits <= _MAX_BITS:
            value = self.ball(bits)
            if value.rel_accuracy_bits() >= 56 or value.is_exact():
                break
            bits *= 4
        return float(value.mid())

    def __lt__(self, other: ExactReal | Fraction | int) -> bool:
        return (self - other).sign() < 0

    # -- arithmetic --------------------------------------------------------------------------------------------------

    def __add__(self, other: ExactReal | Fraction | int) -> ExactReal:
        terms = dict(self.terms)
        for key, c in exact(other).terms.items():
            terms[key] = terms.get(key, Fraction(0)) + c
        return ExactReal(terms)

    __radd__ = __add__

    def __neg__(self) -> ExactReal:
        return ExactReal({key: -c for key, c in self.terms.items()})

    def __sub__(self, other: ExactReal | Fraction | int) -> ExactReal:
        return self + (-exact(other))

    def __rsub__(self, other: ExactReal | Fraction | int) -> ExactReal:
        return exact(other) - self

    def __mul__(self, other: ExactReal | Fraction | int) -> ExactReal:
        if isinstance(other, (int, Fraction)):
            return ExactReal({key: c * other for key, c in self.terms.items()})
        terms: dict[ConstantMonomial, Fraction] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                factor, key = multiply_monomials(a, b)
                terms[key] = terms.get(key, Fraction(0)) + factor * x * y
        return ExactReal(terms)

    __rmul__ = __mul__

    def __truediv__(self, other: ExactReal | Fraction | int) -> ExactReal:
        return self * exact(other).to_power(Fraction(-1))

    def to_power(self, exponent: Fraction) -> ExactReal:
        """The real power; roots of negative numbers are refused."""
        if not self.terms:
            if exponent <= 0:
                raise BadInput("division by the constant zero")
            return self
        if exponent.denominator != 1 and self.sign() < 0:
            raise BadInput(f"the power ({self})^({exponent}) is not real")
        if self.single is not None:
            return self._single_power(exponent)
        if exponent.denominator == 1 and exponent > 0 and len(self.terms) ** int(exponent) <= _MAX_EXPANDED_TERMS:
            result = self
            for _ in range(int(exponent) - 1):
                result = result * self
            return result
        return opaque("value", (self,), exponent)

    def _single_power(self, exponent: Fraction) -> ExactReal:
        ((monomial, c),) = self.terms.items()
        if exponent.denominator != 1 and any(isinstance(base, Opaque) for base, _ in monomial):
            # the sign of each factor is unknown, so the root is taken of the whole
            if monomial == ((monomial[0][0], Fraction(1)),) and c > 0:
                bare = ExactReal({((monomial[0][0], exponent),): Fraction(1)})
                return bare * exact(c).to_power(exponent)
            return opaque("value", (self,), exponent)
        factor, key = multiply_monomials((), tuple((base, e * exponent) for base, e in monomial))
        if exponent.denominator == 1:
            return ExactReal({key: factor * c ** int(exponent)})
        primes: dict[int, Fraction] = {}
        for part, side in ((c.numerator, 1), (c.denominator, -1)):
            for prime, e in factored(part):
                primes[prime] = primes.get(prime, Fraction(0)) + side * e * exponent
        extra, radicals = multiply_monomials((), tuple(primes.items()))
        more, key = multiply_monomials(key, radicals)
        return ExactReal({key: factor * extra * more})

    # -- writing -----------------------------------------------------------------------------------------------------

    def as_tree(self) -> Node:
        """The number as an expression tree."""
        terms = []
        for monomial, c in self.terms.items():
            factors: list[Node] = [Number(c)]
            factors += [power(_base_tree(base), Number(exponent)) for base, exponent in monomial]
            terms.append(multiply(*factors))
        return add(*terms)

    def as_sympy(self) -> Expr:
        """The number as a SymPy expression."""
        from holokern.activation.tree.sympy_bridge import to_sympy

        found: Expr = to_sympy(self.as_tree())
        return found

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        parts = []
        for monomial, c in sorted(self.terms.items(), key=lambda item: tuple(_rank(base) for base, _ in item[0])):
            factors = [_power_text(base, exponent) for base, exponent in monomial]
            if abs(c) != 1 or not factors:
                factors.insert(0, str(abs(c)))
            parts.append(("-" if c < 0 else "") + "*".join(factors))
        return " + ".join(parts).replace("+ -", "- ")

    __repr__ = __str__


def exact(value: ExactReal | Fraction | int) -> ExactReal:
    """An integer or fraction as an exact constant."""
    return value if isinstance(value, ExactReal) else ExactReal({(): Fraction(value)})


def named_constant(name: str) -> ExactReal:
    """The constant ``E`` or ``pi``."""
    return ExactReal({((name, Fraction(1)),): Fraction(1)})


def opaque(name: str, args: tuple[ExactReal, ...], exponent: Fraction = Fraction(1)) -> ExactReal:
    """A power of a number that is known only by name."""
    return ExactReal({((Opaque(name, args), exponent),): Fraction(1)})


def multiply_monomials(a: ConstantMonomial, b: ConstantMonomial) -> tuple[Fraction, ConstantMonomial]:
    """The product as (rational factor, monomial): whole powers of primes leave the monomial."""
    if not a and not b:
        return Fraction(1), ()
    exponents: dict[Base, Fraction] = dict(a)
    for base, e in b:
        exponents[base] = exponents.get(base, Fraction(0)) + e
    factor = Fraction(1)
    kept: list[tuple[Base, Fraction]] = []
    for base, e in exponents.items():
        if isinstance(base, int):
            whole = e.numerator // e.denominator
            factor *= Fraction(base) ** whole
            e -= whole  # noqa: PLW2901
        if e:
            kept.append((base, e))
    kept.sort(key=lambda item: _rank(item[0]))
    return factor, tuple(kept)


def factored(n: int) -> list[tuple[int, int]]:
    """Prime factors of a positive integer; a very long one is kept whole, which costs minimality at most."""
    if n == 1:
        return []
    if n.bit_length() > _MAX_FACTORED_BITS:
        return [(n, 1)]
    return [(int(p), int(e)) for p, e in fmpz(n).factor()]


def _real_roots(coefficients: list[int]) -> list[arb]:
    """Isolating balls for the real roots, in increasing order."""
    pairs: Any = fmpz_poly(coefficients).complex_roots()
    roots = [root for root, _ in pairs]
    return sorted((root.real for root in roots if root.imag == 0), key=lambda ball: float(ball.mid()))


def _base_power(base: Base, exponent: Fraction) -> arb:
    if base == "pi":
        value = arb.pi()
    elif base == "E":
        return to_ball(exponent).exp()
    elif isinstance(base, Opaque):
        value = base.ball()
    else:
        value = arb(base)
    if exponent.denominator == 1:
        return value ** int(exponent)
    return value ** to_ball(exponent)


def _base_tree(base: Base) -> Node:
    if isinstance(base, Opaque):
        return base.as_tree()
    return Number(Fraction(base)) if isinstance(base, int) else Constant(base)


def _rank(base: Base) -> tuple[int, int, str]:
    return (0, base, "") if isinstance(base, int) else (1, 0, base) if isinstance(base, str) else (2, 0, str(base))


def _power_text(base: Base, exponent: Fraction) -> str:
    if exponent == 1:
        return str(base)
    return f"{base}^{exponent}" if exponent.denominator == 1 and exponent > 0 else f"{base}^({exponent})"
