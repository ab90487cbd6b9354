"""The field Q(x1, …, xn) of rational functions, as coprime pairs of integer polynomials (python-flint)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from flint import Ordering, fmpq, fmpz_mpoly, fmpz_mpoly_ctx

from holokern.errors import BadInput, BadOperator, TooLarge
from holokern.numeric import charge
from holokern.syntax import Syntax, parse
from holokern.weyl.algebra.notation import evaluated, join_terms, latex_monomial, latex_name
from holokern.weyl.algebra.terms import RingElement
from holokern.weyl.algebra.weyl_algebra import exact_rational, split_names
from holokern.weyl.rational.polynomials import evaluate_polynomial
from holokern.weyl.rational.sympy_bridge import from_sympy, is_sympy, to_sympy

if TYPE_CHECKING:
    from sympy import Expr

#: The terms of a polynomial as plain data.
Terms = tuple[tuple[tuple[int, ...], int], ...]
_TERM_WORK = 1.0  # units of `holokern.numeric.charge` of a term while common factors are cancelled
_MAX_EXPONENT = 500  # a power of a sum with many variables fills the memory otherwise


@dataclass(frozen=True, slots=True)
class FunctionField:
    """The field of rational functions over Q in the given variables; make one with :func:`function_field`.

    Examples
    --------
    >>> K = function_field("x y")
    >>> x, y = K.gens
    >>> (x**2 - y**2) / (x - y)
    x + y
    >>> K("1/x + 1/y")
    (x + y)/(x*y)
    """

    variables: tuple[str, ...]

    @property
    def ctx(self) -> fmpz_mpoly_ctx:
        """The flint context (``fmpz_mpoly_ctx``, degrevlex) of numerators and denominators."""
        return fmpz_mpoly_ctx.get(self.variables, Ordering.degrevlex)

    @property
    def gens(self) -> tuple[RationalFunction, ...]:
        """The variables as elements of the field."""
        one = self.ctx.constant(1)
        return tuple(RationalFunction(self, gen, one) for gen in self.ctx.gens())

    @property
    def zero(self) -> RationalFunction:
        """The function 0."""
        return self(0)

    @property
    def one(self) -> RationalFunction:
        """The function 1."""
        return self(1)

    def gen(self, name: str) -> RationalFunction:
        """The variable called ``name``."""
        if name not in self.variables:
            raise BadOperator(f"unknown variable {name!r}; this field has {' '.join(self.variables)}")
        return self.gens[self.variables.index(name)]

    def fraction(self, numerator: fmpz_mpoly | int, denominator: fmpz_mpoly | int = 1) -> RationalFunction:
        """The reduced quotient of two polynomials (``fmpz_mpoly`` of this context, or integers)."""
        return self(numerator) / self(denominator)

    def __call__(self, value: object) -> RationalFunction:
        """Read a rational number, a text, a SymPy expression, a polynomial of this context or an element."""
        if isinstance(value, RationalFunction):
            if value.field != self:
                raise BadInput(f"expected a function of {', '.join(self.variables)}, got {value}")
            return value
        if isinstance(value, str):
            return read_function(self, parse(value, "rational function"))
        if isinstance(value, fmpz_mpoly):
            return RationalFunction(self, value, self.ctx.constant(1))
        if is_sympy(value):
            return from_sympy(self, value)
        number = exact_rational(value)
        return RationalFunction(self, self.ctx.constant(number.p), self.ctx.constant(number.q))

    def latex_of(self, polynomial: fmpz_mpoly) -> str:
        """LaTeX source of a polynomial in these variables."""
        names = [latex_name(name) for name in self.variables]
        return join_terms([(c, latex_monomial(names, map(int, key))) for key, c in polynomial.terms()], " ", str)


@lru_cache(maxsize=64)
def _field(names: tuple[str, ...]) -> FunctionField:
    if len(set(names)) < len(names) or not all(name.isidentifier() for name in names):
        raise BadInput(f"expected distinct variable names, got {names}")
    return FunctionField(names)


def function_field(variables: str | Iterable[str]) -> FunctionField:
    """Make the field Q(variables).

    Parameters
    ----------
    variables : str or iterable of str
        Names, separated by blanks or commas when given as one text.

    Returns
    -------
    FunctionField

    Examples
    --------
    >>> function_field("t")("(t^2 - 1)/(2*t - 2)")
    (t + 1)/2
    """
    return _field(split_names(variables))


def _reduced(field: FunctionField, top: fmpz_mpoly, bottom: fmpz_mpoly) -> RationalFunction:
    charge(_TERM_WORK * (len(top) + len(bottom)))
    common = top.gcd(bottom)
    if not common.is_one():
        top, bottom = top // common, bottom // common
    if bottom.leading_coefficient() < 0:
        top, bottom = -top, -bottom
    return RationalFunction(field, top, bottom)


class RationalFunction(RingElement):
    """An element of Q(x1, …, xn), immutable and hashable.

    ``numerator`` and ``denominator`` are coprime ``fmpz_mpoly``; the denominator's leading coefficient is positive.
    """

    __slots__ = ("denominator", "field", "numerator")

    field: FunctionField
    numerator: fmpz_mpoly
    denominator: fmpz_mpoly

    def __init__(self, field: FunctionField, numerator: fmpz_mpoly, denominator: fmpz_mpoly) -> None:
        """Trusted constructor for a reduced pair; use ``field.fraction`` elsewhere."""
        object.__setattr__(self, "field", field)
        object.__setattr__(self, "numerator", numerator)
        object.__setattr__(self, "denominator", denominator)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.field.variables, _plain(self.numerator), _plain(self.denominator))

    def __bool__(self) -> bool:
        return not self.numerator.is_zero()

    @property
    def is_zero(self) -> bool:
        """Whether this is the function 0."""
        return bool(self.numerator.is_zero())

    def constant_value(self) -> fmpq | None:
        """The rational number (``fmpq``) that this function is, or None."""
        if not (self.numerator.is_constant() and self.denominator.is_constant()):
            return None
        top = 0 if self.is_zero else self.numerator.leading_coefficient()
        return fmpq(top, self.denominator.leading_coefficient())

    def _coerce(self, other: object) -> RationalFunction | None:
        if isinstance(other, RationalFunction):
            return self.field(other)
        if isinstance(other, str):
            return None
        try:
            return self.field(other)
        except BadInput:
            return None

    def _plus(self, right: RationalFunction) -> RationalFunction:
        if self.denominator == right.denominator:
            return _reduced(self.field, self.numerator + right.numerator, self.denominator)
        top = self.numerator * right.denominator + right.numerator * self.denominator
        return _reduced(self.field, top, self.denominator * right.denominator)

    def __neg__(self) -> RationalFunction:
        return RationalFunction(self.field, -self.numerator, self.denominator)

    def _times(self, right: RationalFunction) -> RationalFunction:
        return _reduced(self.field, self.numerator * right.numerator, self.denominator * right.denominator)

    def _over(self, right: RationalFunction) -> RationalFunction:
        if right.is_zero:
            raise ZeroDivisionError(f"division of {self} by zero")
        return _reduced(self.field, self.numerator * right.denominator, self.denominator * right.numerator)

    def __pow__(self, exponent: int) -> RationalFunction:
        if not isinstance(exponent, int) or abs(exponent) > _MAX_EXPONENT:
            raise BadInput(f"expected an integer exponent of at most {_MAX_EXPONENT}, got {exponent!r}")
        base = self if exponent >= 0 else self.field.one / self
        return RationalFunction(self.field, base.numerator ** abs(exponent), base.denominator ** abs(exponent))

    def __eq__(self, other: object) -> bool:
        try:
            right = self._coerce(other)
        except BadInput:
            return False
        return right is not None and bool(self.numerator == right.numerator and self.denominator == right.denominator)

    def __hash__(self) -> int:
        return hash((self.field, _plain(self.numerator), _plain(self.denominator)))

    def derivative(self, variable: str) -> RationalFunction:
        """The partial derivative in the variable called ``variable``.

        Examples
        --------
        >>> function_field("x y")("x/y").derivative("y")
        (-x)/y^2
        """
        index = self.field.variables.index(variable)
        top, bottom = self.numerator, self.denominator
        if bottom.is_constant():
            return _reduced(self.field, top.derivative(index), bottom)
        change = top.derivative(index) * bottom - top * bottom.derivative(index)
        return _reduced(self.field, change, bottom * bottom)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The value at the given point, in the arithmetic of ``values`` (Fraction, fmpq, float, arb, numpy array …).

        Examples
        --------
        >>> function_field("x y")("(x + 1)/y").evaluate({"x": Fraction(1, 2), "y": Fraction(3)})
        Fraction(1, 2)
        """
        point = [values[name] for name in self.field.variables]
        return _divided(evaluate_polynomial(self.numerator, point), evaluate_polynomial(self.denominator, point))

    def __call__(self, *point: Any, **values: Any) -> Any:
        """The value at a point: numbers in the order of the variables, or by name; see :meth:`evaluate`.

        Examples
        --------
        >>> f = function_field("x y")("(x + 1)/y")
        >>> f(1, 4), f(x=1, y=4.0)
        (Fraction(1, 2), 0.5)
        """
        names = self.field.variables
        given = dict(zip(names, point, strict=False))
        if len(point) > len(names) or given.keys() & values or {*given, *values} != set(names):
            raise BadInput(
                f"expected one value for each of the variables {', '.join(names)} of {self}, in this order or by name; "
                f"got {len(point)} without a name and {', '.join(values) or 'none'} by name"
            )
        return self.evaluate({**given, **values})

    def to_sympy(self) -> Expr:
        """The same function as a SymPy expression; ``field(expression)`` reads it back.

        Examples
        --------
        >>> function_field("x y")("x/(x + y)").to_sympy()
        x/(x + y)
        """
        return to_sympy(self)

    _sympy_ = to_sympy

    def substitute(self, values: Mapping[str, RationalFunction]) -> RationalFunction:
        """Replace every variable by an element of one (possibly other) function field."""
        images = [values[name] for name in self.field.variables]
        return images[0].field(
            _divided(evaluate_polynomial(self.numerator, images), evaluate_polynomial(self.denominator, images))
        )

    def __str__(self) -> str:
        top = str(self.numerator)
        if self.denominator.is_one():
            return top
        bottom = str(self.denominator)
        if len(self.numerator) > 1 or top.startswith("-"):
            top = f"({top})"
        if len(self.denominator) > 1 or "*" in bottom:
            bottom = f"({bottom})"
        return f"{top}/{bottom}"

    __repr__ = __str__

    def latex(self) -> str:
        r"""LaTeX source.

        Examples
        --------
        >>> print(function_field("x11 y")("-x11/(2*y)").latex())
        -\frac{x_{11}}{2 y}
        """
        negative = len(self.numerator) == 1 and self.numerator.leading_coefficient() < 0
        top = self.field.latex_of(-self.numerator if negative else self.numerator)
        sign = "-" if negative else ""
        if self.denominator.is_one():
            return sign + top
        return rf"{sign}\frac{{{top}}}{{{self.field.latex_of(self.denominator)}}}"


def common_denominator(field: FunctionField, functions: Iterable[RationalFunction]) -> fmpz_mpoly:
    """The least common multiple of the denominators of functions of the field."""
    common = field.ctx.constant(1)
    for function in functions:
        common = common * (function.denominator // common.gcd(function.denominator))
    return common


def _divided(top: Any, bottom: Any) -> Any:
    """The quotient; constants stay exact where Python would make a float of two integers."""
    return Fraction(top, bottom) if isinstance(top, int) and isinstance(bottom, int) else top / bottom


def read_function(field: FunctionField, node: Syntax) -> RationalFunction:
    """The rational function that a syntax tree stands for."""
    return evaluated(field, node, "a rational function", lambda a, b, _: a * b, lambda a, b, _: a / b, _power)


def _power(base: RationalFunction, exponent: RationalFunction, place: str) -> RationalFunction:
    value = exponent.constant_value()
    if value is None or value.q != 1:
        raise BadInput(f"expected an integer exponent in {place}, got {exponent}")
    if abs(value) > _MAX_EXPONENT:
        raise TooLarge(f"the exponent {value} of {place} is above {_MAX_EXPONENT}")
    if value < 0 and base.is_zero:
        raise BadInput(f"division by zero in {place}")
    return base ** int(value.p)


def _plain(polynomial: fmpz_mpoly) -> Terms:
    return tuple(sorted((tuple(map(int, key)), int(c)) for key, c in polynomial.terms()))


def _rebuild(variables: tuple[str, ...], top: Terms, bottom: Terms) -> RationalFunction:
    field = function_field(variables)
    return RationalFunction(field, field.ctx.from_dict(dict(top)), field.ctx.from_dict(dict(bottom)))
