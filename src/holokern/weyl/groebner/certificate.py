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
    search = CofactorSearch(generators)
    found = []
    for operator in operators:
        cofactors = search.cofactors(operator)
        check_membership(operator, generators, cofactors)
        found.append(cofactors)
    return found


class CofactorSearch:
    """The Gröbner basis of the module of :func:`membership_certificate`.

    ``generators``: of the ideal, not zero.
    ``untracked``: further ones, whose cofactors nobody wants to know.
    """

    def __init__(
        self, generators: Sequence[Operator], untracked: Sequence[Operator] = (), *, certified: bool = False
    ) -> None:
        self.generators, self.m = generators, len(generators)
        self.algebra = generators[0].algebra
        n, none = self.algebra.dimension, (0,) * (self.m + 1)
        self._module = WeylAlgebra(
            tuple(f"x{i}" for i in range(n)) + tuple(f"e{j}" for j in range(self.m + 1)),
            tuple(f"d{i}" for i in range(n)) + tuple(f"unused{j}" for j in range(self.m + 1)),
        )
        positions = [self._module.gen(f"e{j}") for j in range(self.m + 1)]
        relations = [self._lift(g) - t for g, t in zip(generators, positions[1:], strict=True)]
        relations += [self._lift(g) for g in untracked]
        relations += [s * t for s, t in combinations_with_replacement(positions, 2)]
        degree = (1,) * n + none + (1,) * n + none
        rows = ((0,) * n + (1, *none[1:]) + (0,) * n + none, degree, tuple(1 - e for e in degree))
        order = Order("position of e first", 2 * (n + self.m + 1), rows, True)
        self._divider = Divider(groebner_basis(relations, order, certified=certified), order)

    def _lift(self, operator: Operator) -> Operator:
        n, none = self.algebra.dimension, (0,) * (self.m + 1)
        return Operator(self._module, {(*key[:n], 1, *none[1:], *key[n:], *none): c for key, c in operator})

    def cofactors(self, operator: Operator) -> list[Operator]:
        """Cofactors of the generators that are tracked; BadInput when the operator does not lie in the ideal."""
        n, m = self.algebra.dimension, self.m
        parts: list[dict[tuple[int, ...], object]] = [{} for _ in range(m)]
        for key, c in self._divider.remainder(self._lift(operator)):
            if key[n]:
                raise BadInput(f"{operator} does not lie in the left ideal of {', '.join(map(str, self.generators))}")
            parts[key[n + 1 : n + m + 1].index(1)][(*key[:n], *key[n + m + 1 : 2 * n + m + 1])] = c
        return [self.algebra.from_terms(terms) for terms in parts]
