"""The singular locus that the operators alone foretell.

The top-degree part (Bernstein filtration) of P in Ann(σ1) is a binary form p(u, ∂), a product of lines u = λ∂; λ = ∞
is the line ∂ = 0.  The relations have the top parts p(Σ11 a + Σ12 b, a) a^i b^j, and their quotient is finite exactly
where no line of σ1 meets one of σ2, that is off the zeros of (Σ11 - λ)(Σ22 - μ) - Σ12² over all pairs of slopes.  Only
the choice of a basis can add to that locus.
"""

from __future__ import annotations

from collections.abc import Iterable

from flint import Ordering, fmpz_mpoly, fmpz_mpoly_ctx, fmpz_poly

from holokern.pfaffian.derivation.relations import Presentation, integer_terms
from holokern.weyl import FunctionField, Operator


def slopes(operators: Iterable[Operator]) -> tuple[tuple[fmpz_poly, ...], bool]:
    """The irreducible polynomials over Z whose roots are the finite slopes λ, and whether λ = ∞ occurs.

    Examples
    --------
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

    Examples
    --------
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
    factors: list[fmpz_mpoly] = []
    for polynomial in found:
        narrow = field.ctx.from_dict({exponents[:3]: c for exponents, c in polynomial.to_dict().items()})
        for factor, _ in narrow.factor()[1]:
            positive = -factor if factor.leading_coefficient() < 0 else factor
            if positive not in factors:
                factors.append(positive)
    return factors


def _at(polynomial: fmpz_poly, value: fmpz_mpoly) -> fmpz_mpoly:
    """Horner's rule for a polynomial in one variable at an element of a larger ring."""
    total = value * 0
    for c in reversed(polynomial.coeffs()):
        total = total * value + int(c)
    return total
