"""The rational Weyl algebra Q(x)⟨∂⟩: immutable operators whose coefficients are rational functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product as cartesian
from math import comb, lcm, prod
from typing import TYPE_CHECKING

from flint import fmpq

from holokern.errors import BadInput, BadOperator, TooLarge
from holokern.weyl.algebra.monomials import derivatives_of
from holokern.weyl.algebra.notation import latex_monomial, latex_name, monomial_text, read_with
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.terms import TermSum
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra, enlarged, split_names, weyl_algebra
from holokern.weyl.rational.fractions import FunctionField, RationalFunction, function_field

if TYPE_CHECKING:
    from holokern.weyl.rational.ideal import RationalIdeal

Exponents = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RationalWeylAlgebra:
    """The ring of differential operators with rational function coefficients; see :func:`rational_weyl_algebra`.

    Examples
    --------
    >>> R = rational_weyl_algebra("x")
    >>> x, dx = R.gens
    >>> dx * (1 / x)
    (1/x)*dx + (-1)/x^2
    >>> R("1/x*(x*dx + 1)")
    dx + 1/x

    ``parameters`` are names of constants: they commute with everything and have no derivations.

    >>> rational_weyl_algebra("x", parameters="a")("dx*(a*x) - a")
    x*a*dx
    """

    polynomial_algebra: WeylAlgebra
    field: FunctionField

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters; none when the coefficients are Q(x)."""
        return self.field.variables[self.dimension :]

    @property
    def wide_algebra(self) -> WeylAlgebra:
        """The polynomial Weyl algebra in which the parameters are variables; operators are read from there too."""
        return enlarged(self.polynomial_algebra, *self.parameters)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables."""
        return self.polynomial_algebra.variables

    @property
    def derivations(self) -> tuple[str, ...]:
        """The names of the derivations."""
        return self.polynomial_algebra.derivations

    @property
    def dimension(self) -> int:
        """The number n of variables."""
        return len(self.variables)

    @property
    def gens(self) -> tuple[RationalOperator, ...]:
        """The generators: all variables, then all derivations."""
        return tuple(self.gen(name) for name in (*self.variables, *self.derivations))

    @property
    def zero(self) -> RationalOperator:
        """The operator 0."""
        return RationalOperator(self, {})

    @property
    def one(self) -> RationalOperator:
        """The operator 1."""
        return self(1)

    def gen(self, name: str) -> RationalOperator:
        """The generator called ``name``, or the parameter of that name."""
        if name in self.parameters:
            return self(self.field.gen(name))
        return self(self.polynomial_algebra.gen(name))

    def from_terms(self, terms: Mapping[Exponents, object]) -> RationalOperator:
        """The operator Σ c_β ∂^β from exponents β (n integers) and coefficients on the left."""
        found: dict[Exponents, RationalFunction] = {}
        for key, value in terms.items():
            if len(key) != self.dimension or min(key) < 0:
                raise BadOperator(f"expected {self.dimension} non-negative exponents, got {key}")
            coefficient = self.field(value)
            if coefficient:
                found[tuple(key)] = coefficient
        return RationalOperator(self, found)

    def __call__(self, value: object) -> RationalOperator:
        """Read a text, a number, a rational function, or an operator with polynomial or rational coefficients."""
        if isinstance(value, RationalOperator):
            if value.algebra != self:
                raise BadOperator(f"expected an operator in {' '.join(self.variables)}, got {value} of another algebra")
            return value
        if isinstance(value, Operator):
            return self._from_operator(value)
        if isinstance(value, str):
            return read_rational_operator(self, value)
        return self.from_terms({(0,) * self.dimension: value})

    def _from_operator(self, operator: Operator) -> RationalOperator:
        n, wide = self.dimension, operator.algebra.dimension
        padding = (0,) * (len(self.field.variables) - wide)
        known = operator.algebra in (self.polynomial_algebra, self.wide_algebra)
        if not known or any(any(key[wide + n :]) for key, _ in operator):
            raise BadOperator(f"expected an operator in {' '.join(self.variables)}, got {operator} of another algebra")
        rows: dict[Exponents, dict[Exponents, fmpq]] = {}
        for key, c in operator:
            rows.setdefault(key[wide : wide + n], {})[(*key[:wide], *padding)] = c
        return RationalOperator(self, {beta: self._coefficient(row) for beta, row in rows.items()})

    def _coefficient(self, row: dict[Exponents, fmpq]) -> RationalFunction:
        common = lcm(*(int(c.q) for c in row.values()))
        top = self.field.ctx.from_dict({key: int((c * common).p) for key, c in row.items()})
        return self.field.fraction(top, common)

    def ideal(self, *generators: object, certified: bool = True) -> RationalIdeal:
        """The left ideal of the given operators or texts, given one by one or as one list.

        Its arithmetic is exact, so its Gröbner bases are proved whatever ``certified`` says.

        Examples
        --------
        >>> rational_weyl_algebra("x").ideal("x*dx^2 - 1").rank()
        2
        """
        from holokern.weyl.algebra.terms import listed
        from holokern.weyl.rational.ideal import RationalIdeal

        return RationalIdeal(self, listed(generators))


def rational_weyl_algebra(
    variables: str | Iterable[str] | WeylAlgebra,
    derivations: str | Iterable[str] | None = None,
    *,
    parameters: str | Iterable[str] = (),
) -> RationalWeylAlgebra:
    """Make the rational Weyl algebra Q(x)⟨∂⟩, or Q(x, a)⟨∂⟩ with parameters a, in the given variables.

    Parameters
    ----------
    variables : str, iterable of str or WeylAlgebra
        Names as for :func:`holokern.weyl.weyl_algebra`, or the polynomial Weyl algebra itself.
    derivations : str or iterable of str, optional
        Names of the derivations; ``d`` followed by the variable's name by default.
    parameters : str or iterable of str, optional
        Names of symbols, so that coefficients lie in Q(x, a).  Results hold for generic values;
        :meth:`RationalIdeal.substitute` puts numbers in and refuses those that might not be generic.

    Examples
    --------
    >>> R = rational_weyl_algebra("x y")
    >>> R("1/(x - y)*dx + dy")
    (1/(x - y))*dx + dy
    >>> rational_weyl_algebra("x", parameters="a b c").ideal("x*(1-x)*dx^2 + (c-(a+b+1)*x)*dx - a*b").rank()
    2
    """
    algebra = variables if isinstance(variables, WeylAlgebra) else weyl_algebra(variables, derivations)
    symbols = split_names(parameters)
    clash = [name for name in symbols if name in (*algebra.variables, *algebra.derivations)]
    if clash or len(set(symbols)) < len(symbols):
        raise BadInput(f"expected parameters with names of their own, got {' '.join(symbols)}")
    return RationalWeylAlgebra(algebra, function_field((*algebra.variables, *symbols)))


class RationalOperator(TermSum[RationalWeylAlgebra, RationalFunction]):
    """An element Σ c_β(x) ∂^β of a rational Weyl algebra, immutable and hashable.

    Examples
    --------
    >>> x, dx = rational_weyl_algebra("x").gens
    >>> P = dx**2 - 1 / x
    >>> P * x
    x*dx^2 + 2*dx - 1
    >>> P.apply(x**3)
    -x^2 + 6*x
    """

    __slots__ = ()

    @property
    def order(self) -> int:
        """The largest |β|; -1 for the operator 0."""
        return max((sum(key) for key in self._terms), default=-1)

    def as_function(self) -> RationalFunction | None:
        """The rational function that this operator of order at most 0 is, or None."""
        if not self._terms:
            return self.algebra.field.zero
        return next(iter(self._terms.values())) if self.order == 0 else None

    def _coerce(self, other: object) -> RationalOperator | None:
        if isinstance(other, str):
            return None
        try:
            return self.algebra(other)
        except BadOperator:
            raise
        except BadInput:
            return None

    def _times(self, right: RationalOperator) -> RationalOperator:
        result: dict[Exponents, RationalFunction] = {}
        for beta, c in right._terms.items():
            derivatives = self._derivatives(c)
            for alpha, a in self._terms.items():
                for k in cartesian(*(range(e + 1) for e in alpha)):
                    image = derivatives(k)
                    if not image:
                        continue
                    key = tuple(e - i + b for e, i, b in zip(alpha, k, beta, strict=True))
                    value = a * image * prod(comb(e, i) for e, i in zip(alpha, k, strict=True))
                    result[key] = result[key] + value if key in result else value
        return RationalOperator(self.algebra, {key: c for key, c in result.items() if c})

    def _derivatives(self, function: RationalFunction) -> Callable[[Exponents], RationalFunction]:
        names = self.algebra.variables
        return derivatives_of(function, lambda lower, i: lower.derivative(names[i]) if lower else lower)

    def _over(self, right: RationalOperator) -> RationalOperator:
        function = right.as_function()
        if function is None or (self.order > 0 and function.constant_value() is None):
            raise BadOperator(f"cannot divide by {right} from the right; multiply by its reciprocal from the left")
        return self * self.algebra(self.algebra.field.one / function)

    def apply(self, function: object) -> RationalFunction:
        """Act on a rational function."""
        operand = self.algebra(function).as_function()
        if operand is None:
            raise BadOperator(f"expected a rational function to act on, got {function}")
        derivatives = self._derivatives(operand)
        return sum((c * derivatives(key) for key, c in self), self.algebra.field.zero)

    def clear_denominators(self) -> Operator:
        """The primitive operator with polynomial coefficients that is a left multiple of this one by a function.

        It lies in the polynomial Weyl algebra; parameters are variables there.

        Examples
        --------
        >>> rational_weyl_algebra("x")("1/x*dx + 1/2").clear_denominators()
        2*dx + x
        """
        from holokern.weyl.rational.basis import primitive_row

        row = primitive_row({key: (c.numerator, c.denominator) for key, c in self})
        wide = self.algebra.wide_algebra
        none = (0,) * (wide.dimension - self.algebra.dimension)
        terms = {(*map(int, a), *beta, *none): int(c) for beta, poly in row.items() for a, c in poly.terms()}
        return wide.from_terms(terms)

    def __hash__(self) -> int:
        return hash((self.algebra, frozenset(self._terms.items())))

    def _sorted(self) -> list[tuple[Exponents, RationalFunction]]:
        return sorted(self, key=lambda term: (-sum(term[0]), [-e for e in term[0]]))

    def __str__(self) -> str:
        pieces = []
        for key, c in self._sorted():
            powers = monomial_text(self.algebra.derivations, key)
            pieces.append(_term(str(c), powers, f"({c})*{powers}", f"{c}*{powers}"))
        return " + ".join(pieces).replace("+ -", "- ") or "0"

    __repr__ = __str__

    def latex(self) -> str:
        r"""LaTeX source, with \partial for the derivations."""
        names = [rf"\partial_{{{latex_name(name)}}}" for name in self.algebra.variables]
        pieces = []
        for key, c in self._sorted():
            powers, body = latex_monomial(names, key), c.latex()
            pieces.append(_term(str(c), powers, rf"\left({body}\right) {powers}", f"{body} {powers}", body))
        return " + ".join(pieces).replace("+ -", "- ") or "0"


def _term(coefficient: str, monomial: str, closed: str, plain: str, body: str | None = None) -> str:
    """One printed term: 1 and -1 vanish before a monomial, sums and quotients get parentheses."""
    if not monomial:
        return coefficient if body is None else body
    if coefficient in ("1", "-1"):
        return coefficient.replace("1", monomial)
    return closed if any(sign in coefficient for sign in " /") else plain


_MAX_ORDER = 100  # a product with a function has as many terms as the order
_MAX_TERMS = 100_000  # a text of one line must not take minutes to multiply out


def read_rational_operator(algebra: RationalWeylAlgebra, text: str) -> RationalOperator:
    """Read ``text`` as an operator; products keep the written order, so ``dx*(1/x)`` has two terms.

    Only functions divide, and only numbers divide an operator of positive order: what a quotient of operators means
    would depend on the side.

    >>> from holokern.weyl.rational.algebra import rational_weyl_algebra
    >>> read_rational_operator(rational_weyl_algebra("u", "D"), "1/u*D^2*u")
    D^2 + (2/u)*D
    """
    return read_with(algebra, text, _times, _divided, _power)


def _times(left: RationalOperator, right: RationalOperator, place: str) -> RationalOperator:
    if left.order + right.order > _MAX_ORDER or _terms(left) * _terms(right) > _MAX_TERMS:
        raise TooLarge(f"{place} has an order above {_MAX_ORDER} or too many terms")
    return left * right


def _divided(left: RationalOperator, divisor: RationalOperator, place: str) -> RationalOperator:
    try:
        return left / divisor
    except BadOperator:
        raise BadOperator(
            f"cannot divide by {divisor} from the right in {place}; write 1/({divisor})*(...) for a left factor"
        ) from None


def _power(base: RationalOperator, exponent: RationalOperator, place: str) -> RationalOperator:
    function = exponent.as_function()
    value = None if function is None else function.constant_value()
    if value is None or value.q != 1 or (value < 0 and base.order != 0):
        raise BadOperator(f"expected a non-negative integer exponent in {place}, got {exponent}")
    power = int(value.p)
    if max(base.order, 0) * power > _MAX_ORDER or _terms_of_power(base, abs(power)) > _MAX_TERMS:
        raise TooLarge(f"the power {power} in {place} is too large")
    function = base.as_function()
    return base**power if function is None else base.algebra(function**power)


def _terms(operator: RationalOperator) -> int:
    """The number of terms of all numerators, or of all denominators if these have more."""
    return max(sum(len(c.numerator) for _, c in operator), sum(len(c.denominator) for _, c in operator))


def _terms_of_power(base: RationalOperator, power: int) -> int:
    """A bound on the number of terms of a power: a product of sums, and all monomials of its degree."""
    n = base.algebra.dimension
    degree = max((max(c.numerator.total_degree(), c.denominator.total_degree()) for _, c in base), default=0)
    return int(min(_terms(base) ** power, comb(degree * power + n, n) * comb(max(base.order, 0) * power + n, n)))
