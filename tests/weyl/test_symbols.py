from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.weyl import weyl_algebra
from holokern.weyl.algebra.monomials import monomial_dimension
from holokern.weyl.algebra.symbols import SymbolIdeal, initial_form, symbol_ring

D = weyl_algebra("x y")


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 5), max_size=6))
@settings(deadline=None, max_examples=80)
def test_dimension_of_monomial_ideals(monomials: list[tuple[int, ...]]) -> None:
    supports = [{i for i, e in enumerate(m) if e} for m in monomials]
    best = max(
        (
            size
            for size in range(6)
            for chosen in combinations(range(5), size)
            if not any(support <= set(chosen) for support in supports)
        ),
        default=-1,
    )
    assert monomial_dimension(monomials, 5) == best


def test_initial_forms() -> None:
    f = D("x*dx^2 + y*dy + x^2*dx + 3")
    assert initial_form(f, (0, 0, 1, 1)) == D("x*dx^2")
    assert initial_form(f, (-1, -1, 1, 1)) == D("x*dx^2")
    assert initial_form(f, (-1, 0, 1, 0)) == D("x*dx^2")
    assert initial_form(f, (1, 1, 1, 1)) == D("x*dx^2 + x^2*dx")
    assert initial_form(D.zero, (1, 1, 1, 1)) == D.zero


def test_symbol_ring_avoids_names_that_are_taken() -> None:
    assert symbol_ring(weyl_algebra("x xi_x")).variables == ("x", "xi_x", "xi_x_", "xi_xi_x")


def test_symbol_ideal_is_commutative() -> None:
    ideal = SymbolIdeal.from_symbols(D, [D("x*dx"), D("dx^2 - y")])
    assert ideal.dimension() == 2
    assert "x*y" in ideal
    assert "y" not in ideal
