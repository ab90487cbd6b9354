"""Exponents of derivations: divisibility, and the sort keys of their orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holokern.errors import BadInput
from holokern.weyl.algebra.orders import Order
from holokern.weyl.rational.algebra import Exponents


def grevlex_key(key: Exponents) -> tuple[int, tuple[int, ...]]:
    """Graded reverse lexicographic order, the first derivation largest: it keeps the coefficients small."""
    return sum(key), tuple(-e for e in reversed(key))


def divides(a: Exponents, b: Exponents) -> bool:
    """Whether one monomial in the derivations divides another."""
    return all(p <= q for p, q in zip(a, b, strict=True))


def key_of(order: Order) -> Callable[[Exponents], Any]:
    """The sort key of exponents of ∂ for an order of the polynomial Weyl algebra."""
    n = order.size // 2
    none = (0,) * n
    if any(order.key((*none, *(int(j == i) for j in range(n)))) <= order.key(none + none) for i in range(n)):
        raise BadInput(f"the order {order.name} puts a derivation below 1; expected weights v >= 0, or a name")
    return lambda exponents: order.key(none + tuple(exponents))
