"""Holonomic rank, standard monomials, and the part of the singular locus of codimension one."""

from __future__ import annotations

from random import Random

from flint import fmpq

from holokern.numeric import bounded
from holokern.weyl.algebra.monomials import outside
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import derivations_first, grevlex, order_filtration
from holokern.weyl.algebra.packing import Packing
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra
from holokern.weyl.groebner.basis import leading_parts
from holokern.weyl.groebner.f4 import F4Run
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.rational.fractions import RationalFunction


def standard_monomials(ideal: LeftIdeal) -> tuple[Operator, ...]:
    """The derivations ∂^β that are a basis of Q(x)⟨∂⟩ modulo the ideal, smallest first [SST2000, Sect. 1.4]."""
    n = ideal.algebra.dimension
    order = derivations_first(ideal.algebra)
    leads = {max(g.terms, key=order.key)[n:] for g in ideal.groebner(order)}
    keys = sorted(((0,) * n + beta for beta in outside(leads, ideal.algebra.derivations, ideal)), key=order.key)
    return tuple(ideal.algebra.from_terms({key: 1}) for key in keys)


@bounded
def holonomic_rank(ideal: LeftIdeal) -> int:
    """The dimension of Q(x)[ξ] modulo the initial ideal for the weights (0, 1), at a random point of a finite field.

    It is the holonomic rank [SST2000, Thm 1.4.19].  The Gröbner basis for these weights is often much smaller than one
    that eliminates, and neither it nor the one at the point has to be lifted to Q.
    """
    if not ideal.generators:
        outside((), ideal.algebra.derivations, ideal)
    while True:
        ranks = [
            len(outside(_leads_at_a_point(ideal.algebra, p, basis), ideal.algebra.derivations, ideal))
            for p, basis in leading_parts(ideal.generators, order_filtration(ideal.algebra))
        ]
        if len(set(ranks)) == 1:
            return ranks[0]


def _leads_at_a_point(algebra: WeylAlgebra, p: int, basis: list[dict[Monomial, int]]) -> set[Monomial]:
    """The leading monomials in ξ of the initial forms with random residues for x."""
    n = algebra.dimension
    random = Random(p)
    point = [random.randrange(1, p) for _ in range(n)]
    packing = Packing(grevlex(algebra), False)
    forms: list[dict[int, fmpq]] = []
    for element in basis:
        order = max(sum(key[n:]) for key in element)
        values: dict[Monomial, int] = {}
        for key, c in element.items():
            if sum(key[n:]) == order:
                for x, e in zip(point, key, strict=False):
                    c = c * pow(x, e, p) % p  # noqa: PLW2901
                # ξ stands where x stood, so that everything commutes
                xi = (*key[n:], *[0] * n)
                values[xi] = (values.get(xi, 0) + c) % p
        codes = {packing.encode(key): fmpq(c) for key, c in values.items() if c}
        if codes:
            forms.append(dict(sorted(codes.items(), reverse=True)))
    if not forms:
        return set()
    return {packing.decode(codes[0])[:n] for codes in F4Run(packing, forms, p).codes}


@bounded
def singular_factors(ideal: LeftIdeal) -> tuple[RationalFunction, ...]:
    """The irreducible polynomials whose zeros are the part of the singular locus of codimension one."""
    from holokern.weyl.rational.fractions import function_field
    from holokern.weyl.rational.matrices import irreducible_factors

    field, n = function_field(ideal.algebra.variables), ideal.algebra.dimension
    shared = field.ctx.constant(0)
    for f in ideal.singular_locus():
        shared = shared.gcd(field.ctx.from_dict({key[:n]: int(c.p) for key, c in f}))
    return irreducible_factors(field, [] if shared.is_zero() else [shared])
