"""The b-function of a left ideal with respect to a weight: its polynomial, its roots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import prod
from typing import Any, cast

from flint import fmpq, fmpq_poly

from holokern.errors import BadInput, CheckFailed, NotHolonomic
from holokern.numeric import Dependence, bounded, to_fmpq, to_fraction
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import Monomial
from holokern.weyl.modules.ideal import LeftIdeal

# from this degree on the search goes on only for holonomic ideals, which surely have a b-function
_MAX_DEGREE_UNSURE = 12


@dataclass(frozen=True, slots=True)
class BFunction:
    """A monic polynomial b(s) with rational coefficients, ascending; 1 for the ideal (1).

    Examples
    --------
    >>> b = BFunction((Fraction(0), Fraction(-1), Fraction(1)))
    >>> b, b(2), b.integer_roots, b.roots
    (s*(s - 1), Fraction(2, 1), (0, 1), {Fraction(0, 1): 1, Fraction(1, 1): 1})
    >>> b.expanded()
    's^2 - s'
    """

    coefficients: tuple[Fraction, ...]

    @property
    def _polynomial(self) -> fmpq_poly:
        return fmpq_poly([to_fmpq(c) for c in self.coefficients])

    @property
    def degree(self) -> int:
        """The degree in s."""
        return len(self.coefficients) - 1

    def __call__(self, value: Any) -> Any:
        """The value at ``value``, in its arithmetic."""
        result: Any = 0
        for c in reversed(self.coefficients):
            result = result * value + c
        return result

    @classmethod
    def from_roots(cls, roots: Mapping[Fraction, int]) -> BFunction:
        """The monic polynomial with the given roots and multiplicities.

        Examples
        --------
        >>> BFunction.from_roots({Fraction(-1): 2, Fraction(1, 2): 0})
        (s + 1)^2
        """
        product = prod((fmpq_poly([to_fmpq(-root), 1]) ** power for root, power in roots.items()), start=fmpq_poly([1]))
        return cls(tuple(to_fraction(c) for c in product.coeffs()))

    def reflected(self, codimension: int = 1) -> BFunction:
        """The monic polynomial whose roots are -codimension - r for the roots r of this one.

        Examples
        --------
        >>> BFunction((Fraction(-1), Fraction(1))).reflected()
        s + 2
        """
        image = self._polynomial(fmpq_poly([-codimension, -1])) * (-1) ** self.degree
        return BFunction(tuple(to_fraction(c) for c in image.coeffs()))

    @property
    def roots(self) -> dict[Fraction, int]:
        """The rational roots with their multiplicities, ascending."""
        found = {-factor[0]: power for factor, power in self.factors if len(factor) == 2}
        return dict(sorted(found.items()))

    @property
    def factors(self) -> tuple[tuple[tuple[Fraction, ...], int], ...]:
        """The monic irreducible factors (coefficients ascending) with their multiplicities, small constants first."""
        found = []
        for factor, power in self._polynomial.numer().factor()[1]:
            lead = int(factor[factor.degree()])
            found.append((tuple(Fraction(int(c), lead) for c in factor.coeffs()), int(power)))
        return tuple(sorted(found, key=lambda pair: (len(pair[0]), abs(pair[0][0]), pair[0])))

    @property
    def integer_roots(self) -> tuple[int, ...]:
        """The distinct integer roots, ascending."""
        return tuple(int(root) for root in self.roots if root.denominator == 1)

    def expanded(self) -> str:
        """Text of the polynomial multiplied out."""
        return _text(self.coefficients)

    def __str__(self) -> str:
        if self.factors == ((self.coefficients, 1),):
            return self.expanded()
        return "*".join(self._pieces("({})", "{}^{}", latex=False)) or "1"

    def _pieces(self, brackets: str, raised: str, *, latex: bool) -> list[str]:
        bodies = ["s" if not f[0] else brackets.format(_text(f, latex=latex)) for f, _ in self.factors]
        return [b if e == 1 else raised.format(b, e) for b, (_, e) in zip(bodies, self.factors, strict=True)]

    __repr__ = __str__

    def latex(self) -> str:
        r"""LaTeX source of the factors, e.g. ``s \left(s + \frac{1}{2}\right)^{2}``."""
        return " ".join(self._pieces(r"\left({}\right)", "{}^{{{}}}", latex=True)) or "1"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


def _text(coefficients: tuple[Fraction, ...], *, latex: bool = False) -> str:
    """The polynomial in s, the highest power first."""
    from holokern.weyl.algebra.notation import join_terms

    def number(c: Fraction) -> str:
        return rf"\frac{{{c.numerator}}}{{{c.denominator}}}" if latex and c.denominator > 1 else str(c)

    powers = (f"s^{{{k}}}" if latex else f"s^{k}" for k in range(2, len(coefficients)))
    terms = [(c, name) for c, name in zip(coefficients, ["", "s", *powers], strict=False) if c]
    return join_terms(terms[::-1], " " if latex else "*", number)


@bounded
def b_function(ideal: LeftIdeal, weights: Sequence[int]) -> BFunction:
    """The generator of in_(-w,w)(I) ∩ Q[s], s = Σ w_i x_i ∂_i [SST2000, Alg. 5.1.6].

    The powers of s are reduced modulo a Gröbner basis of the initial ideal until they are dependent; the first
    dependence is b.

    Parameters
    ----------
    ideal : LeftIdeal
        A holonomic ideal; others need not have a b-function.
    weights : sequence of int
        One weight w_i >= 0 for each variable, not all zero.

    Raises
    ------
    NotHolonomic
        When the ideal is not holonomic and no b-function of small degree exists.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> b_function(weyl_algebra("x").ideal("x*dx^2 + 3*dx - 1"), (1,))
    s*(s + 2)
    """
    return b_function_along(ideal, _checked(ideal, weights))


def b_function_along(ideal: LeftIdeal, weights: tuple[int, ...]) -> BFunction:
    """The same for weights of any sign."""
    n = ideal.algebra.dimension
    initial = cast("LeftIdeal", ideal.initial((*(-w for w in weights), *weights)))
    algebra = ideal.algebra
    s = sum((w * algebra.gens[i] * algebra.gens[n + i] for i, w in enumerate(weights) if w), algebra.zero)
    for relation in minimal_polynomial(s, initial.normal_form):
        if relation is not None:
            return relation
        if not ideal.is_holonomic:
            raise NotHolonomic(
                f"the ideal {ideal!r} is not holonomic, and it has no b-function of degree below {_MAX_DEGREE_UNSURE} "
                f"for the weights {weights}; add annihilating operators until ideal.is_holonomic"
            )
    raise CheckFailed("the search for a b-function ended without one; this is a defect of the search")


def minimal_polynomial(s: Operator, normal_form: Callable[[Operator], Operator]) -> Iterator[BFunction | None]:
    """The monic b of least degree with b(s) = 0 modulo a left ideal; a None before the search goes to high degrees."""
    search: Dependence[int, Monomial, fmpq] = Dependence(fmpq(1))
    power = s.algebra.one
    for k in count():
        power = normal_form(power)
        relation = search.add(k, power.terms)
        if relation is not None:
            yield BFunction(tuple(to_fraction(relation.get(i, fmpq(0))) for i in range(k + 1)))
            return
        if k + 1 == _MAX_DEGREE_UNSURE:
            yield None
        power = s * power


def _checked(ideal: LeftIdeal, weights: Sequence[int]) -> tuple[int, ...]:
    found = tuple(weights)
    n = ideal.algebra.dimension
    if len(found) != n or not all(isinstance(w, int) and w >= 0 for w in found) or not any(found):
        names = " ".join(ideal.algebra.variables)
        raise BadInput(
            f"expected {n} non-negative integer weights, not all zero, for the variables {names}; got {found}"
        )
    return found
