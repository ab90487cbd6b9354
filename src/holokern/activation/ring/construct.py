"""From an expression without cases to an element of the differential ring, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from holokern.activation.ring.element import (
    Atom,
    Element,
    FunctionMonomial,
    exponential,
    positive_power,
    signed_factors,
    wave,
)
from holokern.activation.ring.quotient import Quotient
from holokern.activation.tree.constructors import MAX_EXPONENT
from holokern.activation.tree.nodes import Call, Constant, Node, Number, Power, Product, Sum, Variable
from holokern.activation.values.constant_values import function_value
from holokern.activation.values.constants import ConstantMonomial, ExactReal, exact, named_constant
from holokern.errors import BadInput, HolokernError, NotHolonomic, TooLarge, Unsupported
from holokern.numeric import to_fraction

INSTEAD = 'numerical methods still serve it: hk.dual(activation, ..., method="quadrature")'
_MAX_BESSEL_ORDER = 40  # recurrences express J_n by J_0 and J_1 with polynomials of this degree in 1/u


class IrrationalArgument(HolokernError):
    """Internal: an argument such as √2·u; one of the scalings u → κu in ``candidates`` may make it rational."""

    def __init__(self, message: str, candidates: tuple[ExactReal, ...]) -> None:
        super().__init__(message)
        self.candidates = candidates


def element_of(node: Node, sample: Fraction | None) -> Element:
    """The ring element of an expression without cases.

    ``node``: without Heaviside, sign, Abs, Max, Min and cases.
    ``sample``: a point of the open interval on which the element is meant; it fixes the signs under roots and
    logarithms.
    Raises NotHolonomic when the function satisfies no linear ODE with polynomial coefficients, with the reason;
    BadInput when the function is not real at the sample.

    >>> from holokern.activation.tree.constructors import U, add, call, power, number
    >>> element_of(add(power(call("sin", U), number(2)), power(call("cos", U), number(2))), None).value
    1
    """
    match node:
        case Number(value):
            return Element.constant(value)
        case Constant(name):
            return Element.constant(named_constant(name))
        case Variable():
            return Element.rational(Quotient.variable())
        case Sum(parts):
            total = Element({})
            for part in parts:
                total = total + element_of(part, sample)
            return total
        case Product(parts):
            product = Element.constant(1)
            for part in parts:
                product = product * element_of(part, sample)
            return product
        case Power(base, exponent):
            return _power(element_of(base, sample), element_of(exponent, sample), sample)
        case Call(name, args) if name in _BUILDERS:
            inner = [element_of(arg, sample) for arg in args]
            if name in _TRANSCENDENTAL and inner[0].value is not None:
                return Element.constant(function_value(name, inner[0].value))
            return _BUILDERS[name](inner, sample)
    raise TypeError(f"{node} has cases; resolve them first")


# -- powers ----------------------------------------------------------------------------------------------------------


def _power(base: Element, exponent: Element, sample: Fraction | None) -> Element:
    constant = exponent.value
    if constant is None:
        inner = base.value
        if inner is None:
            raise NotHolonomic(f"a power with u in base and exponent solves no linear ODE; {INSTEAD}")
        return _exp([exponent.times(function_value("log", inner))], sample)
    power = constant.rational
    if power is None:
        if base.value is not None:
            return Element.constant(function_value("exp", constant * function_value("log", base.value)))
        raise Unsupported(f"the exponent {constant} is irrational, and exact algebra needs rational ones; {INSTEAD}")
    if abs(power) > MAX_EXPONENT:
        raise TooLarge(f"the exponent {power} is too large; at most {MAX_EXPONENT}")
    if base.value is not None:
        return Element.constant(base.value.to_power(power))
    if power.denominator == 1 and power >= 0:
        result = Element.constant(1)
        for _ in range(int(power)):
            result = result * base
        return result
    return _monomial_power(base, power, sample)


def _monomial_power(base: Element, power: Fraction, sample: Fraction | None) -> Element:
    """A negative or fractional power: only monomials made of rational functions, exponentials and roots have one."""
    if not base:
        raise BadInput("the expression divides by zero")
    if len(base.terms) > 1 and base.coefficients is not None:
        raise _irrational(base.coefficients)
    ((constant, monomial), function), *more = base.terms.items()
    if len(more) == 1 and power.denominator == 1:
        conjugate = _conjugate(base)
        if conjugate is not None:
            return _power(conjugate, Element.constant(-power), sample) * _power(
                conjugate * base, Element.constant(power), sample
            )
    if more or monomial.wave or any(atom.kind != "power" for atom, _ in monomial.atoms):
        raise _refusal(
            "the expression divides by" if power.denominator == 1 else "the expression takes a root of", base
        )
    unit = ExactReal({constant: Fraction(1)})
    if power.denominator != 1 and unit.sign() < 0:
        unit, function = -unit, -function
    result = Element.constant(unit.to_power(power)) * positive_power(function, power, sample)
    result = result * Element.monomial(FunctionMonomial(exponent=monomial.exponent.scaled(power)))
    for atom, e in monomial.atoms:
        result = result * positive_power(atom.argument, e * power, sample)
    return result


def _conjugate(x: Element) -> Element | None:
    """A - b√p for x = a + b√p with rational functions a, b, p."""
    for key in x.terms:
        constant, monomial = key
        if constant or monomial.exponent or monomial.wave or any(atom.kind != "power" for atom, _ in monomial.atoms):
            return None
        if any(e != Fraction(1, 2) for _, e in monomial.atoms):
            return None
    return Element({key: -c if key[1].atoms else c for key, c in x.terms.items()})


def _refusal(what: str, x: Element) -> HolokernError:
    """Why a function of ``x`` is not served: not holonomic at all, or beyond this ring."""
    monomials = [monomial for _, monomial in x.terms]
    kinds = {atom.kind for monomial in monomials for atom, _ in monomial.atoms}
    quotient = "takes" not in what or "root" in what
    exponents = {monomial.exponent for monomial in monomials}
    tame = len(exponents) == 1 if quotient else exponents == {Quotient.constant(0)}
    if kinds <= {"power", "log", "atan", "asinh"} and tame and not any(monomial.wave for monomial in monomials):
        return Unsupported(f"{what} a function beyond the exact algebra of this version; {INSTEAD}")
    return NotHolonomic(
        f"{what} a function that is not algebraic, so it solves no linear ODE with polynomial coefficients (typically "
        f"it has infinitely many complex singularities); {INSTEAD}"
    )


# -- functions -------------------------------------------------------------------------------------------------------


def _scalar(x: Element, name: str) -> tuple[Quotient, ExactReal]:
    """The argument of a function as (rational function without constant term, constant)."""
    parts = x.coefficients
    if parts is None:
        raise _refusal(f"the expression takes {name} of", x)
    rational, constant = Quotient.constant(0), exact(0)
    for key, function in parts.items():
        rest, value = function.split_constant()
        constant = constant + ExactReal({key: value})
        if rest and key:
            raise _irrational(parts)
        if rest:
            rational = rest
    return rational, constant


def _irrational(parts: dict[ConstantMonomial, Quotient]) -> IrrationalArgument:
    candidates: dict[ExactReal, None] = {}
    for key, function in parts.items():
        unit = ExactReal({key: Fraction(1)})
        if not key or unit.sign() < 0:
            continue
        low = function.num.degree() - function.den.degree()
        degrees = [i for i in range(1, function.num.degree() + 1) if function.num[i] != 0] if low > 0 else []
        for degree in degrees:
            candidates[unit.to_power(Fraction(1, degree))] = None
    # u + √2 becomes √2(w + 1) with u = √2 w, so the inverses are worth a try as well
    for kappa in list(candidates):
        candidates[kappa.to_power(Fraction(-1))] = None
    if not candidates:
        for key in filter(None, parts):
            unit = ExactReal({key: Fraction(1)})
            candidates[unit] = candidates[unit.to_power(Fraction(-1))] = None
    shown = " + ".join(f"{ExactReal({key: Fraction(1)})}*({function})" for key, function in parts.items())
    return IrrationalArgument(f"the argument {shown} has irrational coefficients", tuple(candidates))


def _exp(args: list[Element], _: Fraction | None) -> Element:
    rational, constant = _scalar(args[0], "exp")
    return exponential(rational).times(function_value("exp", constant))


def _log(args: list[Element], sample: Fraction | None) -> Element:
    x = args[0]
    if len(x.terms) != 1:
        if x.coefficients is not None:
            raise _irrational(x.coefficients)
        raise _refusal("the expression takes log of", x)
    (((constant, monomial), function),) = x.terms.items()
    if monomial.wave or any(atom.kind != "power" for atom, _ in monomial.atoms):
        raise _refusal("the expression takes log of", x)
    lead, parts = signed_factors(function, sample)
    scale = ExactReal({constant: lead})
    if scale.sign() < 0:
        raise BadInput(f"log({function}) is not real at u = {sample}; use Abs or cases to make it real")
    total = Element.rational(monomial.exponent) + Element.constant(function_value("log", scale))
    for factor, multiplicity in parts:
        total = total + Element.atom(Atom("log", factor)).times(multiplicity)
    for atom, e in monomial.atoms:
        total = total + _log([Element.rational(atom.argument)], sample).times(e)
    return total


def _trigonometric(name: str) -> Callable[[list[Element], Fraction | None], Element]:
    def build(args: list[Element], _: Fraction | None) -> Element:
        angle, shift = _scalar(args[0], name)
        sine, cosine = (function_value(part, shift) for part in ("sin", "cos"))
        if name == "sin":
            return wave("sin", angle).times(cosine) + wave("cos", angle).times(sine)
        return wave("cos", angle).times(cosine) - wave("sin", angle).times(sine)

    return build


def _hyperbolic(sign: int) -> Callable[[list[Element], Fraction | None], Element]:
    def build(args: list[Element], sample: Fraction | None) -> Element:
        return (_exp(args, sample) + _exp([-args[0]], sample).times(sign)).times(Fraction(1, 2))

    return build


def _error_function(name: str) -> Callable[[list[Element], Fraction | None], Element]:
    """Erf and erfi of κ·q with κ² rational, through the atom ∫₀^q exp(-c t²) dt with q monic."""

    def build(args: list[Element], _: Fraction | None) -> Element:
        x = args[0]
        parts = x.coefficients
        if parts is None:
            raise _refusal(f"the expression takes {name} of", x)
        if len(parts) > 1:
            raise _irrational(parts)
        ((key, function),) = parts.items()
        kappa = ExactReal({key: Fraction(1)})
        square = (kappa * kappa).rational
        if square is None:
            raise _irrational(parts)
        lead = to_fraction(function.num.leading_coefficient())
        c = square * lead * lead
        atom = Atom("erf", function.scaled(1 / lead), c if name == "erf" else -c)
        factor = kappa * lead * named_constant("pi").to_power(Fraction(-1, 2)) * 2
        return Element.atom(atom).times(factor)

    return build


def _odd_atom(kind: str) -> Callable[[list[Element], Fraction | None], Element]:
    def build(args: list[Element], _: Fraction | None) -> Element:
        function = _rational_argument(args[0], kind)
        if kind == "asinh" and not function.is_polynomial:
            raise Unsupported(f"asinh of the quotient {function} has no exact form here; {INSTEAD}")
        sign = -1 if function.num.leading_coefficient() < 0 else 1
        return Element.atom(Atom(kind, function.scaled(Fraction(sign)))).times(sign)

    return build


def _bessel(args: list[Element], _: Fraction | None) -> Element:
    order = args[0].value
    if order is None or order.rational is None or order.rational.denominator != 1:
        raise Unsupported(f"besselj needs an integer order for exact algebra; {INSTEAD}")
    n = int(order.rational)
    if abs(n) > _MAX_BESSEL_ORDER:
        raise TooLarge(f"besselj of order {n} is too large; at most {_MAX_BESSEL_ORDER}")
    x = args[1]
    if x.value is not None:
        return Element.constant(function_value("besselj", exact(n), x.value))
    q = _rational_argument(x, "besselj")
    sign = -1 if n < 0 and n % 2 else 1
    if q.num.leading_coefficient() < 0:
        q, sign = -q, (-sign if n % 2 else sign)
    low, high = (Element.atom(Atom("besselj", q, Fraction(i))) for i in (0, 1))
    for k in range(1, abs(n)):
        low, high = high, high * (Quotient.constant(2 * k) / q) - low
    return (low if n == 0 else high).times(sign)


def _airy(kind: str, name: str) -> Callable[[list[Element], Fraction | None], Element]:
    def build(args: list[Element], _: Fraction | None) -> Element:
        return Element.atom(Atom(kind, _rational_argument(args[0], name)))

    return build


def _rational_argument(x: Element, name: str) -> Quotient:
    if x.scalar is not None:
        return x.scalar
    if x.coefficients is None:
        raise _refusal(f"the expression takes {name} of", x)
    raise _irrational(x.coefficients)


def _with_poles(name: str) -> Callable[[list[Element], Fraction | None], Element]:
    def build(args: list[Element], _: Fraction | None) -> Element:
        raise NotHolonomic(
            f"{name} has infinitely many complex poles, so it solves no linear ODE with polynomial coefficients; "
            f"{INSTEAD}"
        )

    return build


# functions whose values at constants are not written by other functions
_TRANSCENDENTAL = ("log", "erf", "erfi", "erfc", "atan", "asinh", "airyai", "airyaiprime", "tan", "tanh")
# how each function of elements is made
_BUILDERS: dict[str, Callable[[list[Element], Fraction | None], Element]] = {
    "exp": _exp,
    "log": _log,
    "sin": _trigonometric("sin"),
    "cos": _trigonometric("cos"),
    "sinh": _hyperbolic(-1),
    "cosh": _hyperbolic(1),
    "erf": _error_function("erf"),
    "erfi": _error_function("erfi"),
    "erfc": lambda args, sample: Element.constant(1) - _error_function("erf")(args, sample),
    "atan": _odd_atom("atan"),
    "asinh": _odd_atom("asinh"),
    "besselj": _bessel,
    "airyai": _airy("airyai", "airyai"),
    "airyaiprime": _airy("airyprime", "airyaiprime"),
    "tan": _with_poles("tan"),
    "tanh": _with_poles("tanh"),
}
