"""Rational functions to and from SymPy; SymPy is imported when it is used, and no text is ever given to it."""

from __future__ import annotations

import sys
from math import prod
from typing import TYPE_CHECKING

from flint import fmpq, fmpz_mpoly

from holokern.errors import BadInput

if TYPE_CHECKING:
    from sympy import Basic, Expr

    from holokern.weyl.rational.fractions import FunctionField, RationalFunction


def is_sympy(value: object) -> bool:
    """Whether the value is a SymPy object; SymPy is not imported for the question."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)


def to_sympy(function: RationalFunction) -> Expr:
    """The quotient of the expanded numerator and denominator, in symbols without assumptions.

    >>> from holokern.weyl.rational.fractions import function_field
    >>> to_sympy(function_field("x y")("(x + 1)/(2*y)"))
    (x + 1)/(2*y)
    """
    import sympy

    symbols = [sympy.Symbol(name) for name in function.field.variables]

    def polynomial(poly: fmpz_mpoly) -> Expr:
        terms = []
        for key, c in poly.terms():
            powers = [sympy.Pow(s, int(e)) for s, e in zip(symbols, key, strict=True) if e]
            terms.append(sympy.Mul(sympy.Integer(int(c)), *powers))
        return sympy.Add(*terms)

    return polynomial(function.numerator) / polynomial(function.denominator)


def from_sympy(field: FunctionField, expression: Basic) -> RationalFunction:
    """The element of the field that a SymPy expression stands for; symbols are matched by name.

    Raises BadInput for anything but sums, products and integer powers of rational numbers and the variables of the
    field.

    >>> import sympy
    >>> from holokern.weyl.rational.fractions import function_field
    >>> x, y = sympy.symbols("x y", positive=True)
    >>> from_sympy(function_field("x y"), (x**2 - y**2) / (x - y) + sympy.Rational(1, 2))
    (2*x + 2*y + 1)/2
    """
    import sympy

    if isinstance(expression, sympy.Rational):
        return field(fmpq(int(expression.p), int(expression.q)))
    if isinstance(expression, sympy.Symbol):
        return field.gen(expression.name)
    if isinstance(expression, sympy.Add):
        return sum((from_sympy(field, part) for part in expression.args), field.zero)
    if isinstance(expression, sympy.Mul):
        return prod((from_sympy(field, part) for part in expression.args), start=field.one)
    if isinstance(expression, sympy.Pow) and isinstance(expression.exp, sympy.Integer):
        base, exponent = from_sympy(field, expression.base), int(expression.exp)
        if exponent < 0 and base.is_zero:
            raise BadInput(f"division by zero in the SymPy expression {expression}")
        return base**exponent
    raise BadInput(
        f"{expression} is not a rational function of {', '.join(field.variables)} with exact coefficients; "
        "use + - * / and integer powers, and sympy.Rational or sympy.nsimplify for decimal numbers"
    )
