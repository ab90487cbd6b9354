from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadOperator, TooLarge, Unsupported
from holokern.weyl import Operator, WeylAlgebra, weyl_algebra
from holokern.weyl.algebra.orders import grevlex, lex, order_filtration, weight_order
from holokern.weyl.groebner.division import Divider, interreduce

D = weyl_algebra("x y")
ORDERS = [grevlex(D), lex(D), order_filtration(D)]
Strategy = Callable[[WeylAlgebra, int], st.SearchStrategy[Operator]]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.name)
@given(data=st.data())
@settings(deadline=None, max_examples=30)
def test_division_with_remainder(order: object, data: st.DataObject, small_operators: Strategy) -> None:
    f = data.draw(small_operators(D, 4))
    divisors = [g for g in (data.draw(small_operators(D, 2)) for _ in range(2)) if g]
    quotients, rest = Divider(divisors, order).divide(f)
    total = rest
    for q, g in zip(quotients, divisors, strict=True):
        total = total + q * g
        if q:
            assert max(map(order.key, (q * g).terms)) <= max(map(order.key, f.terms))
    assert total == f
    for g in divisors:
        lead = max(g.terms, key=order.key)
        assert not any(all(a <= b for a, b in zip(lead, key, strict=True)) for key in rest.terms)


def test_remainders_of_textbook_cases() -> None:
    D1 = weyl_algebra("x")
    assert Divider([D1("dx^2 - x")], grevlex(D1)).remainder(D1("dx^4")) == D1("x^2 + 2*dx")
    assert Divider([D1("x*dx")], grevlex(D1)).remainder(D1("x^5*dx^5")) == 0
    assert Divider([], grevlex(D1)).remainder(D1("x")) == D1("x")


def test_interreduce_sorts_and_cleans() -> None:
    order = grevlex(D)
    found = interreduce([D("3*dx^2 + dy"), D("dy"), D("x*dy + dy^2"), D.zero], order)
    assert found == [D("dy"), D("dx^2")]
    assert interreduce([], order) == []


def test_refusals() -> None:
    with pytest.raises(Unsupported, match="well order"):
        Divider([D("x")], weight_order(D, (-1, -1, 1, 1)))
    with pytest.raises(BadOperator, match="operator 0"):
        Divider([D.zero], grevlex(D))
    with pytest.raises(BadOperator, match="different"):
        Divider([D("x")], grevlex(D)).remainder(weyl_algebra("z")("z"))
    with pytest.raises(TooLarge):
        Divider([D("x - y^30000")], lex(D)).remainder(D("x^3"))
