"""Functions of exact constants: exp, log, sin, erf … at constants, and roots of polynomials, simplified where cheap."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpz_poly

from holokern.activation.tree.nodes import EVEN, ODD
from holokern.activation.values.constants import Base, ExactReal, Opaque, exact, factored, named_constant, opaque
from holokern.errors import BadInput


def function_value(name: str, *args: ExactReal) -> ExactReal:
    """The value of a function at constants, simplified where that is cheap.

    >>> function_value("exp", exact(2)), function_value("log", exact(12))
    (E^2, 2*log(2) + log(3))
    >>> pi = named_constant("pi")
    >>> function_value("sin", pi * Fraction(1, 4)), function_value("erf", exact(-1))
    (1/2*2^(1/2), -erf(1))
    """
    x = args[-1]
    if name == "exp":
        return _exponential(x)
    if name == "log":
        return _logarithm(x)
    if name == "erfc":
        return 1 - function_value("erf", x)
    if name in ("sin", "cos"):
        special = _trigonometric(name, x)
        if special is not None:
            return special
    if name in ODD or name in EVEN:
        if not x:
            return exact(0 if name in ODD else 1)
        if next(iter(x.terms.values())) < 0:
            flipped = function_value(name, -x)
            return -flipped if name in ODD else flipped
    if name == "atan" and x == 1:
        return named_constant("pi") * Fraction(1, 4)
    if name == "besselj" and not x:
        return exact(int(args[0] == 0))
    return opaque(name, args)


def polynomial_root(polynomial: fmpz_poly, index: int) -> ExactReal:
    """The real root number ``index`` (from 0, increasing) of an irreducible ``fmpz_poly``, in radicals up to degree 2.

    >>> from flint import fmpz_poly
    >>> polynomial_root(fmpz_poly([-2, 0, 1]), 1)
    2^(1/2)
    """
    coefficients = [int(c) for c in polynomial.coeffs()]
    degree = len(coefficients) - 1
    if degree == 1:
        return exact(Fraction(-coefficients[0], coefficients[1]))
    if degree == 2:
        c, b, a = coefficients
        root = exact(b * b - 4 * a * c).to_power(Fraction(1, 2)) * Fraction(1, 2 * abs(a))
        return Fraction(-b, 2 * a) + (root if index else -root)
    if not any(coefficients[1:-1]):
        value = Fraction(-coefficients[0], coefficients[-1])
        size = exact(abs(value)).to_power(Fraction(1, degree))
        negative = value < 0 if degree % 2 else index == 0
        return -size if negative else size
    return opaque("root", (exact(index), *map(exact, coefficients)))


def _exponential(x: ExactReal) -> ExactReal:
    result = exact(1)
    for monomial, c in x.terms.items():
        base = monomial[0][0] if len(monomial) == 1 and monomial[0][1] == 1 else None
        if not monomial:
            factor = ExactReal({(("E", c),): Fraction(1)})
        elif isinstance(base, Opaque) and base.name == "log":
            factor = base.args[0].to_power(c)
        else:
            factor = opaque("exp", (ExactReal({monomial: Fraction(1)}),), c)
        result = result * factor
    return result


def _logarithm(x: ExactReal) -> ExactReal:
    if x.sign() <= 0:
        raise BadInput(f"log({x}) is not a real number")
    if x.single is None or any(isinstance(base, Opaque) for base, _ in x.single[0]):
        return opaque("log", (x,))
    monomial, c = x.single
    total = exact(0)
    powers: list[tuple[Base, Fraction]] = list(monomial)
    powers += [(prime, Fraction(e)) for prime, e in factored(c.numerator)]
    powers += [(prime, Fraction(-e)) for prime, e in factored(c.denominator)]
    for base, e in powers:
        bare = exact(base) if isinstance(base, int) else named_constant(str(base))
        total = total + (exact(1) if base == "E" else opaque("log", (bare,))) * e
    return total


def _trigonometric(name: str, x: ExactReal) -> ExactReal | None:
    """The value at multiples of π/4 and π/6."""
    if not x:
        return exact(int(name == "cos"))
    if x.single is None or x.single[0] != (("pi", Fraction(1)),):
        return None
    turn = x.single[1] if name == "cos" else Fraction(1, 2) - x.single[1]
    turn = abs(turn) % 2
    turn = min(turn, 2 - turn)
    sign, turn = (-1, 1 - turn) if turn > Fraction(1, 2) else (1, turn)
    squares = {0: 4, Fraction(1, 6): 3, Fraction(1, 4): 2, Fraction(1, 3): 1, Fraction(1, 2): 0}
    if turn not in squares:
        return None
    return exact(squares[turn]).to_power(Fraction(1, 2)) * Fraction(sign, 2) if squares[turn] else exact(0)
