"""Stein's and Price's relations: linear equations among the expectations E[∂_u^i ∂_v^j σ1(u)σ2(v)].

Write a = ∂_u and b = ∂_v under the expectation.  Stein's identity E[u h] = Σ11 E[∂_u h] + Σ12 E[∂_v h] makes K[a, b],
K = Q(Σ), a right module over the Weyl algebra of (u, v): ∂_u multiplies by a, and u acts as ∂/∂a + Σ11 a + Σ12 b
[Stein1981].  Every P in Ann(σ1) gives the relations a^i b^j · P = 0, and likewise Q in Ann(σ2).

The same relations serve the paper's coordinates x = -½Σ⁻¹: there u multiplies by a and ∂_u acts as
-(∂/∂a + 2x11 a + 2x12 b), so they are those of the inverse Fourier transform of P with 2x in the place of Σ.

They foretell the singular locus.  The top-degree part (Bernstein filtration) of P is a binary form p(u, ∂), a product
of lines u = λ∂; λ = ∞ is the line ∂ = 0.  The relations have the top parts p(Σ11 a + Σ12 b, a) a^i b^j, and their
quotient is finite exactly where no line of σ1 meets one of σ2, that is off the zeros of (Σ11 - λ)(Σ22 - μ) - Σ12² over
all pairs of slopes.  Only the choice of a basis can add to that locus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import lcm

from flint import Ordering, fmpz_mpoly, fmpz_mpoly_ctx, fmpz_poly

from holokern.weyl import FunctionField, Operator, irreducible_factors

Pair = tuple[int, int]
Triple = tuple[int, int, int]

#: A relation Σ c Σ11^e Σ12^f Σ22^g a^m b^n: monomial (m, n) -> exponents (e, f, g) -> integer c.
Relation = dict[Pair, dict[Triple, int]]

#: Which relation a row is: (side, index of the operator, i, j) stands for a^i b^j · P.
Shift = tuple[int, int, int, int]


def integer_terms(operator: Operator) -> dict[Pair, int]:
    """The coefficients of u^k ∂^l after clearing denominators."""
    scale = lcm(*(int(c.q) for _, c in operator))
    return {(k, m): int(c.p) * (scale // int(c.q)) for (k, m), c in operator}


def right_action(terms: dict[Pair, int], i: int, variance: int) -> dict[Pair, dict[Triple, int]]:
    """The polynomial a^i · P for P = Σ c u^k ∂^l in the first variable [Stein1981].

    ``variance`` multiplies the covariance: 1 in the coordinates Σ, 2 in the coordinates x.

    >>> right_action({(1, 0): 1}, 1, 1)
    {(2, 0): {(1, 0, 0): 1}, (1, 1): {(0, 1, 0): 1}, (0, 0): {(0, 0, 0): 1}}
    """
    a, b, s11, s12 = fmpz_mpoly_ctx.get(("a", "b", "S11", "S12"), Ordering.lex).gens()
    # what u adds to the derivative in a
    factor = variance * (s11 * a + s12 * b)
    power, total = a**i, 0 * a
    for k in range(max(k for k, _ in terms) + 1):
        total += power * sum((c * a**order for (degree, order), c in terms.items() if degree == k), 0 * a)
        power = power.derivative(0) + factor * power
    result: Relation = {}
    for key, c in total.terms():
        m, n, e, f = map(int, key)
        result.setdefault((m, n), {})[e, f, 0] = int(c)
    return result


@dataclass(frozen=True)
class Presentation:
    """The quotient H of K[a, b] by all relations of the given operators, as generators and relations.

    ``left`` acts on u and ``right`` on v; for the coordinates x they are Fourier transforms and ``variance`` is 2.
    """

    left: tuple[Operator, ...]
    right: tuple[Operator, ...]
    variance: int = 1

    def shifts(self, degree: int) -> Iterator[Shift]:
        """All a^i b^j · P of degree at most ``degree``, lower degrees first."""
        every = [
            (P.degree + i + j, (side, index, i, j))
            for side, operators in enumerate((self.left, self.right))
            for index, P in enumerate(operators)
            for i in range(degree - P.degree + 1)
            for j in range(degree - P.degree - i + 1)
        ]
        return (shift for _, shift in sorted(every))

    def relations(self, shifts: list[Shift]) -> list[Relation]:
        """The relations named by ``shifts``."""
        known: dict[tuple[int, int, int], Relation] = {}
        result = []
        for side, index, i, j in shifts:
            if (side, index, i) not in known:
                terms = integer_terms((self.left, self.right)[side][index])
                known[side, index, i] = right_action(terms, i, self.variance)
            base = known[side, index, i]
            if side == 0:
                result.append({(m, n + j): place for (m, n), place in base.items()})
            else:
                result.append(
                    {(n + j, m): {(0, f, e): c for (e, f, _), c in place.items()} for (m, n), place in base.items()}
                )
        return result


def slopes(operators: Iterable[Operator]) -> tuple[tuple[fmpz_poly, ...], bool]:
    """The irreducible polynomials over Z whose roots are the finite slopes λ, and whether λ = ∞ occurs.

    >>> from holokern.weyl import weyl_algebra
    >>> slopes([weyl_algebra("u", "D")("D^2 + 2*u*D")])
    ((2*x + 1,), True)
    """
    common = fmpz_poly([0])
    infinite = True
    for operator in operators:
        if not operator:
            continue
        degree = operator.degree
        top = {k: c for (k, order), c in integer_terms(operator).items() if k + order == degree}
        infinite = infinite and degree not in top
        common = common.gcd(fmpz_poly([top.get(k, 0) for k in range(degree + 1)]))
    return tuple(factor for factor, _ in common.factor()[1]), infinite


def expected_locus(presentation: Presentation, field: FunctionField) -> list[fmpz_mpoly]:
    """The irreducible polynomials among whose zeros every singularity lies that is not due to the basis.

    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl import function_field
    >>> P = weyl_algebra("u", "D")("u*D - 1")
    >>> expected_locus(Presentation((P,), (P,)), function_field("S11 S12 S22"))
    [S11, S22, S12^2 - S11*S22]
    """
    wide = fmpz_mpoly_ctx.get((*field.variables, "slope", "other"), Ordering.degrevlex)
    x11, x12, x22, slope, other = wide.gens()
    scale = presentation.variance
    first, first_infinite = slopes(presentation.left)
    second, second_infinite = slopes(presentation.right)
    found = []
    if second_infinite:
        found += [_at(f, scale * x11) for f in first]
    if first_infinite:
        found += [_at(f, scale * x22) for f in second]
    meeting = (scale * x11 - slope) * (scale * x22 - other) - (scale * x12) ** 2
    for f in first:
        for g in second:
            inner = meeting.resultant(_at(g, other), "other")
            found.append(inner.resultant(_at(f, slope), "slope"))
    narrow = [polynomial.project_to_context(field.ctx) for polynomial in found]
    return [factor.numerator for factor in irreducible_factors(field, narrow)]


def _at(polynomial: fmpz_poly, value: fmpz_mpoly) -> fmpz_mpoly:
    """Horner's rule for a polynomial in one variable at an element of a larger ring."""
    total = value * 0
    for c in reversed(polynomial.coeffs()):
        total = total * value + int(c)
    return total
