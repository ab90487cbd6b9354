"""The Koyama–Takemura generators: a homomorphism, and annihilators of integrals known in closed form."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, BadOperator
from holokern.weyl import Operator, weyl_algebra
from holokern.weyl.modules.koyama_takemura import (
    gaussian_integral_algebra,
    koyama_takemura_ideal,
    koyama_takemura_ideal_of_product,
    product_annihilator,
)


def image(operator: Operator) -> Operator:
    """φ(operator): the only generator that is not a heat equation."""
    return koyama_takemura_ideal([operator]).generators[0]


def act(operator: Operator, function: sympy.Expr, symbols: dict[str, sympy.Symbol]) -> sympy.Expr:
    names = [symbols[name] for name in operator.algebra.variables]
    n = len(names)
    total = sympy.Integer(0)
    for key, c in operator:
        value = function
        for symbol, e in zip(names, key[n:], strict=True):
            value = sympy.diff(value, symbol, e)
        factors = [symbol**e for symbol, e in zip(names, key[:n], strict=True)]
        total += sympy.Rational(int(c.p), int(c.q)) * sympy.Mul(*factors) * value
    return total


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_sizes(d: int) -> None:
    algebra = gaussian_integral_algebra(d)
    assert algebra.dimension == d + d * (d + 1) // 2
    t = weyl_algebra([f"t{i}" for i in range(d)])
    generators = koyama_takemura_ideal([t.gens[d]]).generators
    assert len(generators) == 1 + d * (d + 1) // 2


def test_two_digit_indices_do_not_collide() -> None:
    names = gaussian_integral_algebra(12).variables
    assert len(set(names)) == len(names) == 12 + 78
    assert "x1_12" in names


def test_letters_can_be_chosen() -> None:
    assert gaussian_integral_algebra(1, "b", "a").variables == ("b1", "a11")


operators = st.dictionaries(
    st.tuples(*[st.integers(0, 2)] * 4), st.integers(-4, 4).filter(bool), min_size=1, max_size=3
).map(lambda terms: weyl_algebra("s t").from_terms(terms))


@settings(deadline=None, max_examples=30)
@given(operators, operators)
def test_phi_is_a_ring_homomorphism(left: Operator, right: Operator) -> None:
    if left * right:
        assert image(left) * image(right) == image(left * right)
    if left + right:
        assert image(left) + image(right) == image(left + right)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_gaussian_integral_of_a_constant(d: int) -> None:
    """∫ exp(tᵀxt + yᵀt) dt is proportional to det(-x)^(-1/2) exp(-yᵀ x⁻¹ y / 4)."""
    algebra = gaussian_integral_algebra(d)
    symbols = {name: sympy.Symbol(name) for name in algebra.variables}
    y = sympy.Matrix([symbols[f"y{i}"] for i in range(1, d + 1)])
    x = sympy.Matrix(d, d, lambda i, j: symbols[f"x{min(i, j) + 1}{max(i, j) + 1}"])
    exponent = sympy.together(-(y.T * x.adjugate() * y)[0] / (4 * x.det()))
    value = sympy.exp(exponent) / sympy.sqrt((-x).det())
    t = weyl_algebra([f"t{i}" for i in range(d)])
    point = {symbol: sympy.Rational(k % 5 - 7, 3) for k, symbol in enumerate(symbols.values())}
    for i in range(1, d + 1):
        point[symbols[f"x{i}{i}"]] = sympy.Integer(-9 - i)
    for generator in koyama_takemura_ideal(t.gens[d:]).generators:
        residual = sympy.simplify((act(generator, value, symbols) / value).subs(point))
        assert residual == 0


def test_relu_in_one_dimension() -> None:
    """∫_0^∞ t exp(x t² + y t) dt is annihilated; x, y as symbols, values by power series in y."""
    x, y = sympy.symbols("x11 y1")
    # term by term: ∫ t^(k+1) e^(x t²) dt = Γ((k+2)/2) / (2 (-x)^((k+2)/2))
    value = sum(
        y**k / sympy.factorial(k) * sympy.gamma(sympy.Rational(k + 2, 2)) / 2 * (-x) ** sympy.Rational(-k - 2, 2)
        for k in range(8)
    )
    operator = weyl_algebra("t")("t*dt - 1")
    for generator in koyama_takemura_ideal([operator]).generators:
        residual = sympy.expand(act(generator, value, {"x11": x, "y1": y}).subs(x, -2))
        # the series is cut at y^8, and an operator of order 2 in y uses up two terms
        assert all(sympy.simplify(residual.coeff(y, k)) == 0 for k in range(5))


def test_paper_generators_for_two_relus() -> None:
    relu = weyl_algebra("u", "D")("u*D - 1")
    D = gaussian_integral_algebra(2)
    expected = {
        D("dy1*(-y1 - 2*x11*dy1 - 2*x12*dy2) - 1"),
        D("dy2*(-y2 - 2*x12*dy1 - 2*x22*dy2) - 1"),
        D("dx11 - dy1^2"),
        D("dx12 - 2*dy1*dy2"),
        D("dx22 - dy2^2"),
    }
    assert set(koyama_takemura_ideal(product_annihilator([[relu], [relu]])).generators) == expected


@pytest.mark.parametrize(("operator", "rank"), [("D", 1), ("u*D - 1", 2), ("u*D", 2), ("D^2 + 1", 2), ("D + 2*u", 1)])
def test_holonomic_in_one_dimension(operator: str, rank: int) -> None:
    ideal = koyama_takemura_ideal_of_product([[weyl_algebra("u", "D")(operator)]])
    assert ideal.is_holonomic
    assert ideal.rank() == rank


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        # ∫ exp(x t²), ∫ |t| exp(x t²), ∫_0^∞ exp(x t²), ∫ exp((x - 1) t²) dt
        ("D", "2*x11*dx11 + 1"),
        ("u*D - 1", "x11*dx11 + 1"),
        ("u*D", "2*x11*dx11 + 1"),
        ("D + 2*u", "2*(x11 - 1)*dx11 + 1"),
        # ∫ cos(t) exp(x t²) dt is a multiple of (-x)^(-1/2) exp(1/(4x))
        ("D^2 + 1", "4*x11^2*dx11 + 2*x11 + 1"),
    ],
)
def test_restriction_in_one_dimension(operator: str, expected: str) -> None:
    found = koyama_takemura_ideal_of_product([[weyl_algebra("u", "D")(operator)]]).restriction("y1")
    assert found == weyl_algebra("x11").ideal(expected)


def test_integrand_that_is_no_product() -> None:
    """f = exp(-(s - t)²) on ℝ² shifts the quadratic form: det of ((1 - x11, -1 - x12), (-1 - x12, 1 - x22))."""
    D = weyl_algebra("s t")
    ideal = koyama_takemura_ideal([D("ds + 2*(s - t)"), D("dt - 2*(s - t)")])
    found = ideal.restriction("y1 y2")
    determinant = "((1 - x11)*(1 - x22) - (1 + x12)^2)"
    expected = [
        f"2*{determinant}*dx11 - (1 - x22)",
        f"{determinant}*dx12 - (1 + x12)",
        "(1 - x11)*dx11 - (1 - x22)*dx22",
    ]
    for text in expected:
        assert text in found
    assert found.rank() == 1


def test_zero_operators_are_dropped() -> None:
    D = weyl_algebra("t")
    assert koyama_takemura_ideal([D.zero]).generators == (gaussian_integral_algebra(1)("dx11 - dy1^2"),)


def test_bad_input() -> None:
    D = weyl_algebra("t")
    with pytest.raises(BadInput, match="at least one"):
        koyama_takemura_ideal([])
    with pytest.raises(BadOperator, match="different"):
        koyama_takemura_ideal([D("dt"), weyl_algebra("s")("ds")])
    with pytest.raises(BadOperator, match="read texts"):
        koyama_takemura_ideal(["dt"])  # type: ignore[list-item]
    with pytest.raises(BadInput, match="dimension"):
        gaussian_integral_algebra(0)
    with pytest.raises(BadInput, match="factor"):
        product_annihilator([])
    with pytest.raises(BadOperator, match="one variable"):
        product_annihilator([[weyl_algebra("s t")("ds")]])
