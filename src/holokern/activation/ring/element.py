"""The differential ring that holds one piece of an activation.

An element is a sum over pairs (constant monomial, function monomial) with coefficients in Q(u).  A function monomial is
exp(p) · (cos q or sin q) · a product of powers of atoms.  Products of exponentials and of trigonometric functions are
rewritten as sums, so distinct monomials are independent over Q(u) apart from relations between atoms that nobody wrote
down; such a relation costs minimality of an annihilator, never its soundness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from flint import fmpq_poly

from holokern.activation.ring.quotient import Quotient
from holokern.activation.values.constants import ConstantMonomial, ExactReal, exact, multiply_monomials
from holokern.errors import BadInput, TooLarge
from holokern.numeric import to_fraction

_ZERO, _ONE = Quotient.constant(0), Quotient.constant(1)  # constants do not change, so one of each serves all
# named activations have two at most; 134 terms still take a hundredth of a second, but products square them
_MAX_TERMS = 250
# of erf and the like: the order of the ODE is one more than the power, and the order is limited as well
_MAX_ATOM_POWER = 60


@dataclass(frozen=True, slots=True)
class Atom:
    """A transcendental or algebraic building block of a function monomial.

    ========= ===================================================== =======================================
    kind      the function, q = ``argument``                        derivative
    ========= ===================================================== =======================================
    power     q, irreducible, positive on the piece; exponent in Q  q'
    log       log(q), q irreducible, positive on the piece          q'/q
    erf       ∫₀^q exp(-c t²) dt, c = ``parameter``                 q' exp(-c q²)
    atan      atan(q)                                               q'/(1 + q²)
    asinh     asinh(q)                                              q'/√(1 + q²)
    besselj   J_n(q), n = ``parameter`` in {0, 1}                   -q' J_1, q' (J_0 - J_1/q)
    airyai    Ai(q)                                                 q' Ai'(q)
    airyprime Ai'(q)                                                q' q Ai(q)
    ========= ===================================================== =======================================
    """

    kind: str
    argument: Quotient
    parameter: Fraction = Fraction(0)

    def derivative(self) -> Element:
        """The derivative inside the ring; not for ``power``, whose exponent the monomial knows."""
        q, slope = self.argument, self.argument.derivative()
        if self.kind == "log":
            return Element.rational(slope / q)
        if self.kind == "erf":
            return exponential((q * q).scaled(-self.parameter)) * slope
        if self.kind == "atan":
            return Element.rational(slope / (1 + q * q))
        if self.kind == "asinh":
            return positive_power(1 + q * q, Fraction(-1, 2), None) * slope
        if self.kind == "besselj" and self.parameter == 0:
            return Element.atom(Atom("besselj", q, Fraction(1))) * (-slope)
        if self.kind == "besselj":
            return Element.atom(Atom("besselj", q)) * slope - Element.atom(self) * (slope / q)
        if self.kind == "airyai":
            return Element.atom(Atom("airyprime", q)) * slope
        return Element.atom(Atom("airyai", q)) * (slope * q)


@dataclass(frozen=True, slots=True)
class FunctionMonomial:
    """exp(``exponent``) · ``wave``(``angle``) · Π atom^power; ``wave`` is ``""``, ``"cos"`` or ``"sin"``.

    The exponent and the angle have no constant term, and the leading coefficient of the angle is positive.
    """

    exponent: Quotient = _ZERO
    wave: str = ""
    angle: Quotient = _ZERO
    atoms: tuple[tuple[Atom, Fraction], ...] = ()

    @property
    def is_one(self) -> bool:
        """Whether this is the constant function 1."""
        return not self.exponent and not self.wave and not self.atoms

    def arguments(self) -> tuple[Quotient, ...]:
        """Every rational function inside the monomial."""
        return (self.exponent, self.angle, *(atom.argument for atom, _ in self.atoms))


ONE = FunctionMonomial()
Key: TypeAlias = tuple[ConstantMonomial, FunctionMonomial]


class Element:
    """An element of the ring: a sum of Q(u)-multiples of (constant monomial) · (function monomial).

    >>> u = Quotient.variable()
    >>> (exponential(u) * exponential(-u)).scalar
    1
    >>> exponential(u * u).derivative() == exponential(u * u) * (2 * u)
    True
    """

    __slots__ = ("terms",)

    terms: Mapping[Key, Quotient]

    def __init__(self, terms: Mapping[Key, Quotient]) -> None:
        self.terms = {key: c for key, c in terms.items() if c}
        if len(self.terms) > _MAX_TERMS:
            raise TooLarge(
                f"an expanded piece of the activation has more than {_MAX_TERMS} terms; write it differently"
            )

    @staticmethod
    def rational(function: Quotient) -> Element:
        """A rational function."""
        return Element({((), ONE): function})

    @staticmethod
    def constant(value: ExactReal | Fraction | int) -> Element:
        """A constant function."""
        return Element({(key, ONE): Quotient.constant(c) for key, c in exact(value).terms.items()})

    @staticmethod
    def monomial(monomial: FunctionMonomial) -> Element:
        """A function monomial."""
        return Element({((), monomial): _ONE})

    @staticmethod
    def atom(atom: Atom, power: Fraction = Fraction(1)) -> Element:
        """A power of an atom."""
        return Element({((), FunctionMonomial(atoms=((atom, power),))): _ONE}) if power else Element.constant(1)

    # -- reading -----------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __repr__(self) -> str:
        return f"Element({dict(self.terms)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Element, (dict(self.terms),)

    @property
    def scalar(self) -> Quotient | None:
        """The element as a rational function over Q, or None."""
        if not self.terms:
            return _ZERO
        return self.terms.get(((), ONE)) if len(self.terms) == 1 else None

    @property
    def coefficients(self) -> dict[ConstantMonomial, Quotient] | None:
        """The element as Σ constant · rational function, or None when another function occurs."""
        if any(not monomial.is_one for _, monomial in self.terms):
            return None
        return {constant: c for (constant, _), c in self.terms.items()}

    @property
    def value(self) -> ExactReal | None:
        """The element as a constant, or None."""
        parts = self.coefficients
        if parts is None:
            return None
        values = {key: c.rational for key, c in parts.items()}
        return None if None in values.values() else ExactReal({key: c for key, c in values.items() if c is not None})

    # -- arithmetic --------------------------------------------------------------------------------------------------

    def __add__(self, other: Element) -> Element:
        terms = dict(self.terms)
        for key, c in other.terms.items():
            terms[key] = terms[key] + c if key in terms else c
        return Element(terms)

    def __neg__(self) -> Element:
        return Element({key: -c for key, c in self.terms.items()})

    def __sub__(self, other: Element) -> Element:
        return self + (-other)

    def __mul__(self, other: Element | Quotient) -> Element:
        if isinstance(other, Quotient):
            return Element({key: c * other for key, c in self.terms.items()})
        terms: dict[Key, Quotient] = {}
        for (constant1, monomial1), c1 in self.terms.items():
            for (constant2, monomial2), c2 in other.terms.items():
                factor, constant = multiply_monomials(constant1, constant2)
                c = (c1 * c2).scaled(factor)
                for part, monomial in _product(monomial1, monomial2):
                    key = (constant, monomial)
                    terms[key] = terms[key] + c * part if key in terms else c * part
        return Element(terms)

    def times(self, factor: ExactReal | Fraction | int) -> Element:
        """The product with a constant."""
        return self * Element.constant(factor)

    def derivative(self) -> Element:
        """The derivative with respect to u."""
        total = Element({key: c.derivative() for key, c in self.terms.items()})
        for (constant, monomial), c in self.terms.items():
            inner = _derivative(monomial)
            if inner:
                total = total + inner * Element({(constant, ONE): c})
        return total


def exponential(p: Quotient) -> Element:
    """exp(p); the constant term of p becomes a power of e."""
    rest, constant = p.split_constant()
    power: ConstantMonomial = (("E", constant),) if constant else ()
    return Element({(power, FunctionMonomial(exponent=rest)): _ONE})


def wave(name: str, angle: Quotient) -> Element:
    """Cos or sin of a rational function without constant term."""
    return Element({((), monomial): c for c, monomial in _wave(_ONE, name, FunctionMonomial(angle=angle))})


def positive_power(function: Quotient, power: Fraction, sample: Fraction | None) -> Element:
    """A real power of a rational function that is positive at ``sample`` (anywhere, if None)."""
    if power.denominator == 1:
        return Element.rational(function ** int(power))
    lead, parts = signed_factors(function, sample)
    if lead < 0:
        raise BadInput(
            f"the power ({function})^({power}) is not real at u = {sample}; use Abs or cases to make it real"
        )
    result = Element.constant(exact(lead).to_power(power))
    for factor, multiplicity in parts:
        e = multiplicity * power
        whole = e.numerator // e.denominator
        rest = Element.atom(Atom("power", factor), e - whole)
        result = result * rest * factor**whole
    return result


def signed_factors(function: Quotient, sample: Fraction | None) -> tuple[Fraction, list[tuple[Quotient, int]]]:
    """``function`` = lead · Π factor^multiplicity, with irreducible factors that are positive at the sample."""
    parts: list[tuple[Quotient, int]] = []
    lead = to_fraction(function.num.leading_coefficient())
    for polynomial, side in ((function.num, 1), (function.den, -1)):
        for p, e in polynomial.numer().factor()[1]:
            factor = Quotient(fmpq_poly(p) / p.leading_coefficient())
            value = factor.at(Fraction(0) if sample is None else sample)
            if value is None or value == 0:
                raise TypeError("the sample lies on a root")
            if value < 0:
                factor = -factor
                lead = lead if e % 2 == 0 else -lead
            parts.append((factor, side * int(e)))
    return lead, parts


def _wave(c: Quotient, name: str, rest: FunctionMonomial) -> list[tuple[Quotient, FunctionMonomial]]:
    """C · name(angle) · rest with the sign of the angle normalised."""
    angle = rest.angle
    if not angle:
        return [(c, FunctionMonomial(rest.exponent, "", _ZERO, rest.atoms))] if name == "cos" else []
    if angle.num.leading_coefficient() < 0:
        angle, c = -angle, (-c if name == "sin" else c)
    return [(c, FunctionMonomial(rest.exponent, name, angle, rest.atoms))]


def _product(a: FunctionMonomial, b: FunctionMonomial) -> list[tuple[Quotient, FunctionMonomial]]:
    factor, atoms = _merge(a.atoms, b.atoms)
    exponent = a.exponent + b.exponent if a.exponent and b.exponent else a.exponent if a.exponent else b.exponent
    if not (a.wave and b.wave):
        angle = a.angle if a.wave else b.angle
        return [(factor, FunctionMonomial(exponent, a.wave or b.wave, angle, atoms))]
    half = factor.scaled(Fraction(1, 2))
    lower = FunctionMonomial(exponent, "", a.angle - b.angle, atoms)
    upper = FunctionMonomial(exponent, "", a.angle + b.angle, atoms)
    if a.wave == b.wave:
        return _wave(half, "cos", lower) + _wave(half if a.wave == "cos" else -half, "cos", upper)
    return _wave(half if a.wave == "sin" else -half, "sin", lower) + _wave(half, "sin", upper)


def _merge(
    a: tuple[tuple[Atom, Fraction], ...], b: tuple[tuple[Atom, Fraction], ...]
) -> tuple[Quotient, tuple[tuple[Atom, Fraction], ...]]:
    """The product of atoms; whole powers of algebraic atoms become a rational factor."""
    if not a or not b:
        return _ONE, a or b
    powers = dict(a)
    for atom, e in b:
        powers[atom] = powers.get(atom, Fraction(0)) + e
    factor = _ONE
    kept = []
    for atom, e in powers.items():
        rest = e
        if atom.kind == "power":
            whole = e.numerator // e.denominator
            if whole:
                factor = factor * atom.argument**whole
            rest = e - whole
        elif e > _MAX_ATOM_POWER:
            raise TooLarge(f"a piece of the activation has the power {e} of {atom.kind}; at most {_MAX_ATOM_POWER}")
        if rest:
            kept.append((atom, rest))
    kept.sort(key=lambda item: (item[0].kind, repr(item[0].argument), item[0].parameter))
    return factor, tuple(kept)


@lru_cache(maxsize=4096)
def _derivative(monomial: FunctionMonomial) -> Element:
    """The derivative of a function monomial."""
    total = Element({((), monomial): monomial.exponent.derivative()})
    if monomial.wave:
        slope = monomial.angle.derivative()
        other = "sin" if monomial.wave == "cos" else "cos"
        turned = FunctionMonomial(monomial.exponent, other, monomial.angle, monomial.atoms)
        total = total + Element({((), turned): -slope if other == "sin" else slope})
    for i, (atom, e) in enumerate(monomial.atoms):
        if atom.kind == "power":
            slope = (atom.argument.derivative() / atom.argument).scaled(e)
            total = total + Element({((), monomial): slope})
            continue
        fewer = ((atom, e - 1),) if e > 1 else ()
        rest = (*monomial.atoms[:i], *fewer, *monomial.atoms[i + 1 :])
        cofactor = FunctionMonomial(monomial.exponent, monomial.wave, monomial.angle, rest)
        total = total + atom.derivative() * Element({((), cofactor): Quotient.constant(e)})
    return total
