"""Cofactors that prove membership in a left ideal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

from holokern.errors import BadInput
from holokern.numeric import bounded
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra
from holokern.weyl.groebner.basis import groebner_basis
from holokern.weyl.groebner.checker import check_membership
from holokern.weyl.groebner.division import Divider


@bounded
def membership_certificate(operators: Sequence[Operator], generators: Sequence[Operator]) -> list[list[Operator]]:
    """Cofactors a_ij with operator_i = Σ_j a_ij · generator_j, checked before they are returned.

    Work in the free module with basis e, t_1, …, t_m, where e is larger than every t_j: modulo the g_j e - t_j an
    element f e of the module with f in the ideal leaves the remainder Σ a_j t_j.  The module is the linear part of the
    Weyl algebra with commuting variables e, t_j whose products are set to zero.

    Parameters
    ----------
    operators : sequence of Operator
        Elements of the left ideal.
    generators : sequence of Operator
        The generators of the ideal, not zero.

    Raises
    ------
    BadInput
        When an operator does not lie in the ideal.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x y")
    >>> membership_certificate([D.one], [D("dx + y"), D("dy")])
    [[dy, -dx - y]]
    """
    if not operators:
        return []
    algebra, m, n = operators[0].algebra, len(generators), operators[0].algebra.dimension
    module = WeylAlgebra(
        tuple(f"x{i}" for i in range(n)) + tuple(f"e{j}" for j in range(m + 1)),
        tuple(f"d{i}" for i in range(n)) + tuple(f"unused{j}" for j in range(m + 1)),
    )
    none = (0,) * (m + 1)

    def lift(operator: Operator) -> Operator:
        return Operator(module, {(*key[:n], 1, *none[1:], *key[n:], *none): c for key, c in operator})

    positions = [module.gen(f"e{j}") for j in range(m + 1)]
    relations = [lift(g) - t for g, t in zip(generators, positions[1:], strict=True)]
    relations += [s * t for s, t in combinations_with_replacement(positions, 2)]
    degree = (1,) * n + none + (1,) * n + none
    rows = ((0,) * n + (1, *none[1:]) + (0,) * n + none, degree, tuple(1 - e for e in degree))
    order = Order("position of e first", 2 * (n + m + 1), rows, True)
    divider = Divider(groebner_basis(relations, order), order)
    found = []
    for operator in operators:
        rest = divider.remainder(lift(operator))
        parts: list[dict[tuple[int, ...], object]] = [{} for _ in generators]
        for key, c in rest:
            if key[n]:
                raise BadInput(f"{operator} does not lie in the left ideal of {', '.join(map(str, generators))}")
            parts[key[n + 1 : n + m + 1].index(1)][(*key[:n], *key[n + m + 1 : 2 * n + m + 1])] = c
        cofactors = [algebra.from_terms(terms) for terms in parts]
        check_membership(operator, generators, cofactors)
        found.append(cofactors)
    return found
