"""Local exponents of a scalar ODE at a rational, algebraic or infinite point, and all its rational solutions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod

from flint import Ordering, fmpq, fmpq_poly, fmpz_mpoly_ctx, fmpz_poly

from holokern.errors import BadInput
from holokern.weyl import LeftIdeal, Operator, RationalFunction, exact_rational, multiplicity
from holokern.weyl import rational_solutions as solutions_of_ideal

INFINITY = "oo"


#: A rational point, the roots of an irreducible polynomial, or "oo".
Place = Fraction | fmpz_poly | str


@dataclass(frozen=True)
class LocalExponents:
    """How solutions behave near one point.

    Attributes
    ----------
    point : Fraction, fmpz_poly or "oo"
        The point; an irreducible polynomial stands for all its roots.
    kind : str
        "ordinary", "regular" (regular singular) or "irregular".
    polynomial : fmpz_poly
        The indicial polynomial over Z.  At an algebraic point with irrational coefficients this is its norm.  At an
        irregular point its degree is below the order: it governs only the solutions without exponential part.
    exponents : tuple of (Fraction, int)
        The rational roots with multiplicities, ascending.  At infinity y ~ t^(-ρ).
    others : tuple of (fmpz_poly, int)
        The irreducible factors of higher degree, whose roots are the exponents that are not rational.
    """

    point: Place
    kind: str
    polynomial: fmpz_poly
    exponents: tuple[tuple[Fraction, int], ...]
    others: tuple[tuple[fmpz_poly, int], ...]

    @property
    def integers(self) -> tuple[int, ...]:
        """The integers among the exponents, ascending."""
        return tuple(int(root) for root, _ in self.exponents if root.denominator == 1)


def coefficient_polynomials(operator: Operator) -> list[fmpz_poly]:
    """The polynomial coefficients a_0, …, a_n (``fmpz_poly``, coprime) of Σ a_k ∂^k in one variable.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> [a.coeffs() for a in coefficient_polynomials(weyl_algebra("t")("t*dt - 1/2"))]
    [[-1], [0, 2]]
    """
    if not isinstance(operator, Operator) or operator.algebra.dimension != 1:
        raise BadInput(f"expected an operator in one variable, got {operator!r}")
    if not operator:
        raise BadInput("the operator 0 says nothing about its solutions; give a non-zero operator")
    polynomials = [a.numer() for a in operator.primitive().polynomials()]
    content = polynomials[-1]
    for a in polynomials:
        content = content.gcd(a)
    return [a // content for a in polynomials]


def singular_points(operator: Operator) -> list[Fraction | fmpz_poly]:
    """The irreducible factors of the leading coefficient: linear ones as Fractions, the others as polynomials.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> singular_points(weyl_algebra("x")("(1 - x^2)*dx^2 - 5*x*dx - 4"))
    [Fraction(-1, 1), Fraction(1, 1)]
    """
    _, factors = coefficient_polynomials(operator)[-1].factor()
    points: list[Fraction | fmpz_poly] = [p if p.degree() > 1 else Fraction(-int(p[0]), int(p[1])) for p, _ in factors]
    return sorted(points, key=lambda p: (0, p, "") if isinstance(p, Fraction) else (1, Fraction(0), str(p)))


def local_exponents(operator: Operator, point: object) -> LocalExponents:
    """Compute the indicial polynomial at a point and its roots.

    Parameters
    ----------
    operator : Operator
        Of a Weyl algebra in one variable, not 0.
    point : rational number, fmpz_poly or "oo"
        Where; an irreducible polynomial stands for all of its roots.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> relu = weyl_algebra("x")("(1 - x^2)*dx^2 - 5*x*dx - 4")
    >>> local_exponents(relu, 1).exponents
    ((Fraction(-3, 2), 1), (Fraction(0, 1), 1))
    >>> local_exponents(relu, "oo").exponents
    ((Fraction(2, 1), 2),)
    """
    coefficients = coefficient_polynomials(operator)
    if isinstance(point, str) and point in (INFINITY, "inf", "infinity"):
        return _at_infinity(coefficients)
    if isinstance(point, fmpz_poly):
        _, factors = point.factor()
        if len(factors) != 1 or factors[0][1] != 1:
            raise BadInput(f"expected an irreducible polynomial as an algebraic point, got {point}")
        place = factors[0][0]
    else:
        value = exact_rational(point)
        place = fmpz_poly([-value.p, value.q])
    return _at_finite(coefficients, place)


def _at_finite(coefficients: list[fmpz_poly], place: fmpz_poly) -> LocalExponents:
    """Keep the terms a_k ∂^k that lower the order of vanishing most."""
    order = len(coefficients) - 1
    valuations = {k: multiplicity(a, place) for k, a in enumerate(coefficients) if a}
    drop = max(k - v for k, v in valuations.items())
    modulus, slope = fmpq_poly(place), fmpq_poly(place.derivative())
    leading = [fmpq_poly()] * len(coefficients)
    for k, v in valuations.items():
        if k - v == drop:
            # a_k = place^v · rest and place = slope·(t - α) + …, so its leading coefficient is slope^v · rest at α
            leading[k] = fmpq_poly(coefficients[k] // place**v) * slope**v % modulus
    polynomial = _indicial(leading, modulus)
    kind = "ordinary" if valuations[order] == 0 else "regular" if order - valuations[order] == drop else "irregular"
    point: Place = place if place.degree() > 1 else Fraction(-int(place[0]), int(place[1]))
    return _result(point, kind, polynomial)


def _at_infinity(coefficients: list[fmpz_poly]) -> LocalExponents:
    order = len(coefficients) - 1
    rises = {k: a.degree() - k for k, a in enumerate(coefficients) if a}
    rise = max(rises.values())
    leading = {k: fmpq(coefficients[k].leading_coefficient()) for k, r in rises.items() if r == rise}
    total = sum((c * _falling(k) for k, c in leading.items()), fmpq_poly())
    kind = "regular" if rises[order] == rise else "irregular"
    return _result(INFINITY, kind, (total(fmpq_poly([0, -1]))).numer())


def _falling(k: int) -> fmpq_poly:
    """The falling factorial s (s-1) … (s-k+1)."""
    return prod((fmpq_poly([-i, 1]) for i in range(k)), start=fmpq_poly([1]))


def _indicial(leading: list[fmpq_poly], modulus: fmpq_poly) -> fmpz_poly:
    """Σ c_k s(s-1)…(s-k+1) with c_k in Q[α], made monic; its norm when a coefficient stays irrational."""
    top = max(k for k, c in enumerate(leading) if c)
    _, inverse, _ = leading[top].xgcd(modulus)
    monic = [c * inverse % modulus for c in leading]
    if all(c.degree() <= 0 for c in monic):
        total = sum((c[0] * _falling(k) for k, c in enumerate(monic)), fmpq_poly())
        return total.numer()
    return _norm(monic, modulus)


def _norm(coefficients: list[fmpq_poly], modulus: fmpq_poly) -> fmpz_poly:
    """The resultant in α of the minimal polynomial and Σ c_k(α) s(s-1)…(s-k+1)."""
    alpha, s = fmpz_mpoly_ctx.get(("alpha", "s"), Ordering.lex).gens()
    common = lcm(*(int(c.denom()) for c in coefficients))
    total, falling = 0 * s, s**0
    for k, c in enumerate(coefficients):
        total += falling * sum((int(a) * alpha**i for i, a in enumerate((c * common).numer())), 0 * s)
        falling *= s - k
    minimal = sum((int(a) * alpha**i for i, a in enumerate(modulus.numer())), 0 * s)
    norm = total.resultant(minimal, "alpha").to_dict()
    return fmpz_poly([norm.get((0, j), 0) for j in range(max(int(j) for _, j in norm) + 1)])


def _result(point: Place, kind: str, polynomial: fmpz_poly) -> LocalExponents:
    _, factors = polynomial.factor()
    polynomial = polynomial // polynomial.content()
    roots = sorted((Fraction(-int(p[0]), int(p[1])), m) for p, m in factors if p.degree() == 1)
    others = tuple((p, m) for p, m in factors if p.degree() > 1)
    return LocalExponents(point, kind, polynomial, tuple(roots), others)


def rational_solutions(operator: Operator) -> tuple[RationalFunction, ...]:
    """A basis over Q of the rational solutions.

    A pole can only be a zero of the leading coefficient, and exponents bound its order and the degree [Abramov1989].
    This is :func:`holokern.weyl.rational_solutions` in one variable.

    Parameters
    ----------
    operator : Operator
        Of a Weyl algebra in one variable, not 0.

    Returns
    -------
    tuple of RationalFunction
        Linearly independent; empty when there is none.

    Raises
    ------
    TooLarge
        When the exponents allow numerators of a degree beyond some thousands.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> rational_solutions(weyl_algebra("t")("t^2*dt^2 + 3*t*dt - 3"))
    (1/t^3, t)
    """
    coefficient_polynomials(operator)  # refuses what is no ODE
    return solutions_of_ideal(LeftIdeal(operator.algebra, [operator]))
