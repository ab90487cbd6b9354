from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, UnknownName
from holokern.weyl import weyl_algebra
from holokern.weyl.algebra.orders import Order, as_order, elimination, grevlex, lex, order_filtration, weight_order
from holokern.weyl.algebra.packing import Packing

D = weyl_algebra("x y")
ORDERS = [
    lex(D),
    lex(D, "dy dx"),
    grevlex(D),
    elimination(D, "x dx"),
    order_filtration(D),
    weight_order(D, (-1, 0, 1, 0)),
    weight_order(D, (-2, 3, 2, -3), lex(D)),
]
MONOMIALS = st.tuples(*[st.integers(0, 6)] * 4)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.name)
@given(data=st.data())
@settings(deadline=None, max_examples=30)
def test_orders_are_total_and_multiplicative(order: Order, data: st.DataObject) -> None:
    a, b, c = (data.draw(MONOMIALS) for _ in range(3))
    assert (order.key(a) == order.key(b)) == (a == b)
    shifted = [tuple(i + j for i, j in zip(m, c, strict=True)) for m in (a, b)]
    assert (order.key(a) < order.key(b)) == (order.key(shifted[0]) < order.key(shifted[1]))


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.name)
@given(data=st.data())
@settings(deadline=None, max_examples=30)
def test_packed_monomials_compare_multiply_and_divide(order: Order, data: st.DataObject) -> None:
    a, b = (data.draw(MONOMIALS) for _ in range(2))
    packing = Packing(order, False)
    code_a, code_b = packing.encode(a), packing.encode(b)
    assert packing.decode(code_a) == a
    assert (code_a < code_b) == (order.key(a) < order.key(b))
    assert packing.decode(code_a + code_b) == tuple(i + j for i, j in zip(a, b, strict=True))
    pa, pb = packing.exponents_part(code_a), packing.exponents_part(code_b)
    assert packing.divides(pa, pb) == all(i <= j for i, j in zip(a, b, strict=True))
    assert packing.unpack(packing.lcm(pa, pb)) == tuple(map(max, a, b))


def test_homogenised_packing_compares_degree_first() -> None:
    packing = Packing(weight_order(D, (-1, 0, 1, 0)), True)
    assert packing.encode((3, 0, 0, 0, 0)) < packing.encode((1, 1, 0, 0, 1)) < packing.encode((0, 0, 0, 0, 4))


def test_leading_monomials() -> None:
    terms = D("x^2*y + x*dx^2 + dy^3 + dx").terms
    assert max(terms, key=lex(D).key) == (2, 1, 0, 0)
    assert max(terms, key=grevlex(D).key) == (2, 1, 0, 0)
    assert max(terms, key=order_filtration(D).key) == (0, 0, 0, 3)
    assert max(terms, key=elimination(D, "dx").key) == (1, 0, 2, 0)


def test_which_orders_are_well_orders() -> None:
    assert [order.is_well_order for order in ORDERS] == [True] * 5 + [False] * 2


def test_bad_orders() -> None:
    with pytest.raises(BadInput, match="below 1"):
        weight_order(D, (-2, 0, 1, 0))
    with pytest.raises(BadInput, match="4 weights"):
        weight_order(D, (1, 1))
    with pytest.raises(BadInput, match="integer"):
        weight_order(D, (0.5, 1, 1, 1))  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="unknown generator 'z'"):
        elimination(D, "z")
    with pytest.raises(UnknownName, match="unknown order"):
        as_order(D, "degree")
    with pytest.raises(BadInput, match="exponents"):
        as_order(D, grevlex(weyl_algebra("x")))
    with pytest.raises(BadInput, match="distinct"):
        lex(D, "x x")
