"""Submodules of free modules over the Weyl algebra, as far as ideals need them."""

from __future__ import annotations

from collections.abc import Sequence

from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra, fresh_name
from holokern.weyl.groebner.basis import groebner_basis


def first_components(
    algebra: WeylAlgebra, rows: Sequence[tuple[Operator, ...]], certified: bool = False
) -> list[Operator]:
    """Generators of the left ideal of all a with (a, 0, …, 0) in the module that the rows span.

    Component i of a row is marked by p^i q^(d-i), and every monomial in p, q of degree d + 1 is made zero: then the
    part of degree d of the left ideal is exactly the module, and an order that looks at p first eliminates.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> first_components(D, [(D("1"), D("x")), (D.zero, D("x*dx"))])
    [x*dx - 1]
    """
    d, n = len(rows[0]) - 1, algebra.dimension
    by_p = tuple(int(i == n) for i in range(2 * n + 4))
    order = Order("position of p first", 2 * n + 4, (by_p, (1,) * (2 * n + 4)), True)
    first = [g for g in _marked_basis(algebra, rows, order, certified) if all(k[n : n + 2] == (0, d) for k, _ in g)]
    return [algebra.from_terms({(*k[:n], *k[n + 2 : 2 * n + 2]): c for k, c in g}) for g in first]


def leading_derivations(
    algebra: WeylAlgebra, rows: Sequence[tuple[Operator, ...]], certified: bool = False
) -> list[set[Monomial]]:
    """For each component the exponents of ∂ that lead elements of the module over Q(x), the component's place last."""
    d, n = len(rows[0]) - 1, algebra.dimension
    size = 2 * n + 4
    slots = range(n + 2, 2 * n + 2)
    last_first = [tuple(-int(j == i) for j in range(size)) for i in reversed(slots)]
    by_p = tuple(int(i == n) for i in range(size))
    by_rest = tuple(int(i not in slots) for i in range(size))
    order = Order(
        "derivations first", size, (tuple(int(j in slots) for j in range(size)), *last_first, by_p, by_rest), True
    )
    found: list[set[Monomial]] = [set() for _ in range(d + 1)]
    for g in _marked_basis(algebra, rows, order, certified):
        lead = max(g.terms, key=order.key)
        if lead[n] + lead[n + 1] == d:
            found[lead[n]].add(lead[n + 2 : 2 * n + 2])
    return found


def _marked_basis(
    algebra: WeylAlgebra, rows: Sequence[tuple[Operator, ...]], order: Order, certified: bool
) -> list[Operator]:
    """A Gröbner basis of the module, marked, and of the monomials in p and q that are made zero."""
    d, n = len(rows[0]) - 1, algebra.dimension
    marks = [fresh_name(algebra, letter) for letter in "pq"]
    derivations = [fresh_name(algebra, "d" + mark) for mark in marks]
    larger = WeylAlgebra((*algebra.variables, *marks), (*algebra.derivations, *derivations))

    def marked(row: tuple[Operator, ...]) -> Operator:
        terms = {(*k[:n], i, d - i, *k[n:], 0, 0): c for i, entry in enumerate(row) for k, c in entry}
        return larger.from_terms(terms)

    nilpotent = [larger.from_terms({(*[0] * n, i, d + 1 - i, *[0] * (n + 2)): 1}) for i in range(d + 2)]
    return groebner_basis([*map(marked, rows), *nilpotent], order, certified=certified)
