"""Bernstein–Sato polynomials: global, local and of varieties, with the operators that prove them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod

from flint import fmpq

from holokern.errors import BadInput, CheckFailed
from holokern.numeric import bounded
from holokern.weyl.algebra.operator import Operator, widened
from holokern.weyl.algebra.orders import elimination
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra, exact_rational
from holokern.weyl.constructions.annihilators import (
    annihilator_of_symbolic_power,
    polynomial_of,
    polynomials_of,
    sorted_by_degree,
)
from holokern.weyl.constructions.operations import annihilator_of_image, graph
from holokern.weyl.groebner.basis import groebner_basis
from holokern.weyl.groebner.certificate import CofactorSearch
from holokern.weyl.groebner.division import Divider
from holokern.weyl.modules.bfunction import BFunction, b_function, minimal_polynomial
from holokern.weyl.modules.ideal import LeftIdeal


@bounded
def bernstein_sato(polynomial: Operator | str, *more: Operator | str, certified: bool = False) -> BFunction:
    """The Bernstein–Sato polynomial: the monic b of least degree with P f^(s+1) = b(s) f^s for some P in D[s].

    b(s)/(s + 1) generates the intersection of Ann f^s + D[s](f, ∂f/∂x_1, …, ∂f/∂x_n) with Q[s], so powers of s are
    reduced modulo a Gröbner basis until they are dependent [LevandovskyyMartin2012].  For several polynomials
    f_1, …, f_r it is the polynomial of the variety f = 0 with s = -Σ ∂_(t_i) t_i [BudurMustataSaito2006]: the
    b-function of the ideal of the t_i - f_i and ∂_j + Σ (∂f_i/∂x_j) ∂_(t_i) for the weight 1 on t, reflected
    [Oaku1997; SST2000, §5.3].

    Parameters
    ----------
    polynomial, more : Operator or str
        Polynomials that are not constant: texts, or operators without derivations of one algebra.  All names in the
        texts are variables.
    certified : bool
        Prove the Gröbner bases over Q.

    Examples
    --------
    The cusp, and the origin of the plane:

    >>> bernstein_sato("x^2 + y^3")
    (s + 5/6)*(s + 1)*(s + 7/6)
    >>> bernstein_sato("x", "y")
    s + 2
    """
    polynomials = polynomials_of(polynomial, *more)
    return _of_power(polynomials[0], certified) if not more else of_graph(polynomials, certified=certified)


def _of_power(polynomial: Operator, certified: bool) -> BFunction:
    f, _ = sorted_by_degree(polynomial)
    n = f.algebra.dimension
    symbolic = annihilator_of_symbolic_power(f, certified=certified)
    algebra = symbolic.algebra
    slopes = [d.apply(f) for d in f.algebra.gens[n:]]
    generators = [*symbolic.generators, *(widened(g, algebra, range(n)) for g in (f, *slopes) if g)]
    order = elimination(algebra, algebra.variables[n:])
    divider = Divider(groebner_basis(generators, order, certified=certified), order)
    reduced = next(b for b in minimal_polynomial(algebra.gens[n], divider.remainder) if b is not None)
    roots = reduced.roots
    if sum(roots.values()) < reduced.degree:
        raise CheckFailed(f"the Bernstein–Sato polynomial of {f} came out as {reduced}, but its roots must be rational")
    return BFunction.from_roots({**roots, Fraction(-1): roots.get(Fraction(-1), 0) + 1})


def of_graph(polynomials: Sequence[Operator], *, certified: bool = False) -> BFunction:
    """The polynomial of the variety from the graph embedding; for one polynomial another route to the same answer."""
    small, r = polynomials[0].algebra, len(polynomials)
    constants = LeftIdeal(small, small.gens[small.dimension :], certified=certified)
    return b_function(graph(constants, polynomials), (*[1] * r, *[0] * small.dimension)).reflected(r)


@bounded
def bernstein_operator(polynomial: Operator | str, *, certified: bool = False) -> tuple[BFunction, Operator]:
    """The Bernstein–Sato polynomial b and an operator P in D[s] with P f^(s+1) = b(s) f^s.

    b(s) lies in Ann f^s + D[s] f; P is the cofactor of f.  P is an operator of the algebra with s as one more variable,
    and is unique up to the annihilator of f^(s+1).

    Examples
    --------
    >>> bernstein_operator("x^2 + y^2")
    ((s + 1)^2, 1/4*dx^2 + 1/4*dy^2)
    """
    f = polynomial_of(polynomial)
    symbolic = annihilator_of_symbolic_power(f, certified=certified)
    b = bernstein_sato(f, certified=certified)
    algebra, n = symbolic.algebra, f.algebra.dimension
    target = sum((exact_rational(c) * algebra.gens[n] ** k for k, c in enumerate(b.coefficients)), algebra.zero)
    search = CofactorSearch([widened(f, algebra, range(n))], symbolic.generators, certified=certified)
    try:
        return b, search.cofactors(target)[0]
    except BadInput:
        raise CheckFailed(
            f"no operator was found for the Bernstein–Sato polynomial {b} of {f}; try certified=True"
        ) from None


@bounded
def local_bernstein_sato(
    polynomial: Operator | str, point: Mapping[str, object] | None = None, *, certified: bool = False
) -> BFunction:
    """The local Bernstein–Sato polynomial at a rational point, the origin by default.

    A factor q of the global polynomial b is enough at a point p when h q ∈ Ann f^s + D[s]f for a polynomial h with
    h(p) ≠ 0.  So the multiplicity of each root is lowered as long as such h exist [Oaku1997; LevandovskyyMartin2012].

    Parameters
    ----------
    polynomial : Operator or str
        A polynomial that is not constant.
    point : mapping from str to rational number, optional
        A value for each variable; 0 for those that are left out.
    certified : bool
        Prove the Gröbner bases over Q.

    Examples
    --------
    The cusp is smooth at (1, -1), and does not vanish at (1, 1):

    >>> local_bernstein_sato("x^2 + y^3"), local_bernstein_sato("x^2 + y^3", {"x": 1, "y": -1})
    ((s + 5/6)*(s + 1)*(s + 7/6), s + 1)
    >>> local_bernstein_sato("x^2 + y^3", {"x": 1, "y": 1})
    1
    """
    f = polynomial_of(polynomial)
    small, n = f.algebra, f.algebra.dimension
    if point is not None and not isinstance(point, Mapping):
        raise BadInput(f"expected a point as a mapping from variables to numbers, such as {{'x': 1}}, got {point!r}")
    values = {name: exact_rational((point or {}).get(name, 0)) for name in small.variables}
    unknown = [name for name in point or {} if name not in small.variables]
    if unknown:
        raise BadInput(f"{unknown[0]!r} is no variable of {f}; it has {' '.join(small.variables)}")
    b = bernstein_sato(f, certified=certified)
    symbolic = annihilator_of_symbolic_power(f, certified=certified)
    algebra = symbolic.algebra
    ideal = symbolic + algebra.ideal(widened(f, algebra, range(n)))
    roots = dict(b.roots)
    for root in b.roots:
        while roots[root]:
            lower = {**roots, root: roots[root] - 1}
            q = _product(algebra.gens[n], lower, algebra)
            if not _is_enough(ideal, q, values, n):
                break
            roots = lower
    return BFunction.from_roots(roots)


def _product(s: Operator, roots: Mapping[Fraction, int], algebra: WeylAlgebra) -> Operator:
    return prod(((s - exact_rational(root)) ** power for root, power in roots.items()), start=algebra.one)


def _is_enough(ideal: LeftIdeal, q: Operator, point: Mapping[str, fmpq], n: int) -> bool:
    """Whether h q ∈ I for a polynomial h in x that does not vanish at the point."""
    algebra = ideal.algebra
    order = elimination(algebra, [algebra.variables[n], *algebra.derivations])
    # q is central in D[s], so the h are those with h q ∈ I
    for h in groebner_basis(annihilator_of_image(ideal, q).generators, order, certified=ideal.certified):
        if not any(any(key[n:]) for key, _ in h):
            powers = (c * prod(v**e for v, e in zip(point.values(), key, strict=False)) for key, c in h)
            if sum(powers, fmpq(0)) != 0:
                return True
    return False
