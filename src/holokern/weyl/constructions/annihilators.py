"""Annihilators of powers, polynomials, rational functions and exponentials."""

from __future__ import annotations

from fractions import Fraction

from holokern.errors import BadInput
from holokern.numeric import bounded, to_fraction
from holokern.syntax import names_in, parse
from holokern.weyl.algebra.operator import Operator, substituted, widened
from holokern.weyl.algebra.orders import Order
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra, enlarged, exact_rational, fresh_names, weyl_algebra
from holokern.weyl.constructions.operations import annihilator_of_image
from holokern.weyl.groebner.basis import groebner_basis
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.rational.fractions import RationalFunction, function_field


def polynomials_of(*given: Operator | str, constant: bool = False) -> list[Operator]:
    """Polynomials as operators without derivations, in the algebra of those that are operators.

    Where all are texts, all names in them are variables, sorted.

    >>> polynomials_of("x^2 + y^3", "z")[0].algebra.variables
    ('x', 'y', 'z')
    """
    kind = "a polynomial in the variables, not 0" if constant else "a polynomial in the variables, not a constant"
    for f in given:
        if not isinstance(f, (Operator, str)):
            raise BadInput(f"expected {kind}, got {f!r}")
    algebra = next((f.algebra for f in given if isinstance(f, Operator)), None)
    if algebra is None:
        names = sorted({name for text in given for name in names_in(parse(str(text), "polynomial"))})
        if not names:
            raise BadInput(f"expected a polynomial in at least one variable, got {', '.join(map(str, given))[:60]!r}")
        algebra = WeylAlgebra(tuple(names), fresh_names(names, ("d" + name for name in names)))
    found = [algebra(f) for f in given]
    for f in found:
        if f.order != 0 or (f.degree == 0 and not constant):
            raise BadInput(f"expected {kind}, got {f}")
    return found


def polynomial_of(given: Operator | str, *, constant: bool = False) -> Operator:
    """One polynomial; see :func:`polynomials_of`."""
    return polynomials_of(given, constant=constant)[0]


def annihilator_of_exponential(function: Operator | RationalFunction | str) -> LeftIdeal:
    """All operators that annihilate exp(f), f a polynomial or a rational function.

    For a polynomial this is the left ideal of ∂_i - ∂f/∂x_i, which is maximal; for a rational function the Weyl
    closure of the same equations without denominators [Tsai2000].

    Examples
    --------
    >>> annihilator_of_exponential("-t^2*x").generators
    (dt + 2*t*x, dx + t^2)
    >>> annihilator_of_exponential("x/y").groebner()
    (y*dx - 1, x*dx + y*dy, y^2*dy + x)
    """
    if isinstance(function, str):
        names = sorted(names_in(parse(function, "function")))
        if not names:
            raise BadInput(f"expected a function of at least one variable, got {function[:60]!r}")
        function = function_field(names)(function)
    if isinstance(function, Operator):
        f = polynomial_of(function, constant=True)
        return LeftIdeal(f.algebra, [d - d.apply(f) for d in f.algebra.gens[f.algebra.dimension :]])
    algebra = weyl_algebra(function.field.variables)
    generators = []
    for d, name in zip(algebra.gens[algebra.dimension :], algebra.variables, strict=True):
        slope = function.derivative(name)
        generators.append(algebra(str(slope.denominator)) * d - algebra(str(slope.numerator)))
    ideal = LeftIdeal(algebra, generators)
    return ideal if function.denominator.is_constant() else ideal.weyl_closure()


def annihilator_of_polynomial(polynomial: Operator | str) -> LeftIdeal:
    """All operators that annihilate a polynomial f.

    A derivative P = c∂^α with P f = 1 exists, α a monomial of f of the highest degree.  If Q f = 0, then Q is a
    combination of 1 - fP and the ∂_i P: Q = Q(1 - fP) + (Qf)P, and the operator Qf annihilates 1.

    Examples
    --------
    >>> annihilator_of_polynomial("x*y").groebner()
    (dy^2, y*dy - 1, dx^2, x*dx - 1)
    """
    f = polynomial_of(polynomial, constant=True)
    algebra, n = f.algebra, f.algebra.dimension
    top = max(f.terms, key=lambda key: (sum(key), key))
    derivative = Operator(algebra, {((0,) * n + top[:n]): exact_rational(1)})
    value = derivative.apply(f).constant_value()
    assert value is not None
    P = derivative / value
    return LeftIdeal(algebra, [1 - f * P, *(d * P for d in algebra.gens[n:])])


@bounded
def annihilator_of_symbolic_power(polynomial: Operator | str, *, name: str = "s", certified: bool = False) -> LeftIdeal:
    """All operators of D[s] that annihilate f^s; s is one more variable of the algebra, its derivation unused.

    With T = ∂_t and s = -∂_t t the operators s + fT and ∂_i + (∂f/∂x_i)T annihilate f^s, s T = T(s + 1), and T is
    eliminated [BrianconMaisonobe2002].  The variables are sorted by their degree in f for this, which keeps the bases
    small.

    Parameters
    ----------
    polynomial : Operator or str
        A polynomial f that is not constant.
    name : str
        What s is called.
    certified : bool
        Prove the Gröbner bases over Q.

    Examples
    --------
    >>> annihilator_of_symbolic_power("x^2 + y^3").generators
    (3*y^2*dx - 2*x*dy, 3*x*dx + 2*y*dy - 6*s)
    """
    given = polynomial_of(polynomial)
    f, places = sorted_by_degree(given)
    small, n = f.algebra, f.algebra.dimension
    power, tag = fresh_names((*small.variables, *small.derivations), (name, "T"))
    mixed = WeylAlgebra((*small.variables, tag), (*small.derivations, power))

    def term(operator: Operator, t: int) -> Operator:
        return Operator(mixed, {(*key[:n], t, *key[n:], 0): c for key, c in operator})

    generators = [mixed.gen(power) + term(f, 1)]
    generators += [term(d, 0) + term(d.apply(f), 1) for d in small.gens[n:]]
    # T is eliminated; s above the rest lets an Euler operator of f do much of the work
    rows = [tuple(int(i == place) for i in range(2 * n + 2)) for place in (n, 2 * n + 1)]
    order = Order("T, then s", 2 * n + 2, (*rows, tuple(1 - a - b for a, b in zip(*rows, strict=True))), True)
    basis = groebner_basis(generators, order, certified=certified, shifts=[n])
    large, wanted = enlarged(small, name), enlarged(given.algebra, name)
    found = [
        Operator(large, {(*key[:n], key[-1], *key[n + 1 : -1], 0): c for key, c in g})
        for g in basis
        if not any(key[n] for key, _ in g)
    ]
    return LeftIdeal(wanted, [widened(g, wanted, [*places, n]).primitive() for g in found], certified=certified)


def sorted_by_degree(polynomial: Operator) -> tuple[Operator, list[int]]:
    """The polynomial in the algebra with its variables sorted by their degree in it, and their old places."""
    algebra, n = polynomial.algebra, polynomial.algebra.dimension
    places = sorted(range(n), key=lambda i: max(key[i] for key, _ in polynomial))
    names = tuple(algebra.variables[i] for i in places), tuple(algebra.derivations[i] for i in places)
    return widened(polynomial, WeylAlgebra(*names), [places.index(i) for i in range(n)]), places


def at_power(ideal: LeftIdeal, algebra: WeylAlgebra, value: Fraction) -> LeftIdeal:
    """Put a number for s, the last variable, in an ideal of D[s]."""
    n, number = algebra.dimension, algebra(exact_rational(value))
    variables, derivations = (*algebra.gens[:n], number), (*algebra.gens[n:], algebra.zero)
    found = [substituted(g, variables, derivations, algebra) for g in ideal.generators]
    return LeftIdeal(algebra, found, certified=ideal.certified)


@bounded
def annihilator_of_power(polynomial: Operator | str, exponent: object, *, certified: bool = False) -> LeftIdeal:
    """All operators that annihilate f^a for a rational number a.

    Where b(a - k) is not zero for k = 1, 2, …, b the Bernstein–Sato polynomial, it is the annihilator of f^s at s = a;
    otherwise f^a = f^k f^(a-k) with k large enough, and the annihilator is that of an image [SST2000, §5.3].

    Parameters
    ----------
    polynomial : Operator or str
        A polynomial f that is not constant.
    exponent : rational number
        Exact: an int, a Fraction or a text.
    certified : bool
        Prove the Gröbner bases over Q.

    Examples
    --------
    >>> annihilator_of_power("x^2 + y^3", "1/2").generators
    (3*y^2*dx - 2*x*dy, 3*x*dx + 2*y*dy - 3)
    >>> annihilator_of_power("x", -1).groebner()
    (x*dx + 1,)
    """
    from holokern.weyl.constructions.bernstein import bernstein_sato

    f = polynomial_of(polynomial)
    number = exact_rational(exponent)
    a = to_fraction(number)
    if a.denominator == 1 and a >= 0:
        return annihilator_of_polynomial(f ** int(a))
    steps = [a - root for root in bernstein_sato(f, certified=certified).roots]
    k = max((int(step) for step in steps if step.denominator == 1 and step > 0), default=0)
    symbolic = annihilator_of_symbolic_power(f, certified=certified)
    ideal = at_power(symbolic, f.algebra, a - k)
    return annihilator_of_image(ideal, f**k) if k else ideal


@bounded
def annihilator_of_rational_function(
    numerator: Operator | str, denominator: Operator | str, *, certified: bool = False
) -> LeftIdeal:
    """All operators that annihilate g/f, both polynomials in one Weyl algebra.

    Parameters
    ----------
    numerator, denominator : Operator or str
        A text is read in the algebra of the other one; two texts in that of all their names.
    certified : bool
        Prove the Gröbner bases over Q.

    Examples
    --------
    >>> annihilator_of_rational_function("1", "x - y").groebner()
    (dx + dy, x*dy - y*dy - 1)
    """
    top, bottom = polynomials_of(numerator, denominator, constant=True)
    if bottom.degree == 0:
        return annihilator_of_polynomial(top)
    return annihilator_of_image(annihilator_of_power(bottom, -1, certified=certified), top)
