import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation import activation, activations
from holokern.dual.compiled import compile_dual
from holokern.dual.compiled_factors import WHOLE, localise
from holokern.dual.compiled_rule import SectorRule
from holokern.dual.compiled_table import tabulate
from holokern.dual.dual import dual
from holokern.errors import BadInput, PrecisionLost, Unsupported
from holokern.numeric.chebyshev import chebyshev_matrix, chebyshev_nodes

PARAMETERS = {
    "polynomial": {"coefficients": ["1", "-2", "1/3", "1"]},
    "rectified_polynomial": {"coefficients": ["0", "1", "-1/2"]},
    "monomial": {"degree": 3},
    "hermite": {"degree": 4},
}
OFF_ZERO = {"hardtanh", "relu6", "hardsigmoid", "hardswish", "hardshrink", "softshrink"}


def named(name):
    return activation(name, **PARAMETERS.get(name, {}))


def covariances(count, low, high, seed):
    random = np.random.default_rng(seed)
    c1, c2 = (np.exp(random.uniform(np.log(low), np.log(high), count)) for _ in range(2))
    theta = np.pi * random.random(count)
    theta[:3] = 1e-9, 0.01, np.pi - 1e-6
    c2[:2] = c1[:2]
    return c1, c2, theta


def agree(sigma, c1, c2, theta, made, tolerance=1e-11):
    exact = dual(sigma, c1, c2, theta=theta, method="quadrature")
    k, kdot = made(c1, c2, theta)
    assert np.max(np.abs(k - exact.k) / made.norms(c1) / made.norms(c2)) < tolerance
    if made.has_slope:
        assert np.max(np.abs(kdot - exact.kdot) / made.slope_norms(c1) / made.slope_norms(c2)) < tolerance
    else:
        assert np.all(np.isnan(kdot))


@pytest.mark.parametrize("name", sorted(set(activations()) - OFF_ZERO))
def test_named_activations_against_quadrature(name):
    sigma = named(name)
    high = 1.3 if name == "exp" else 1.6
    agree(sigma, *covariances(5, 0.6, high, 1), compile_dual(sigma, 0.6, high))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relu", "gelu", "elu", "silu", "tanh", "erf", "softplus", "leaky_relu", "step"])
def test_a_hundredfold_range(name):
    sigma = named(name)
    agree(sigma, *covariances(12, 0.1, 10.0, 2), compile_dual(sigma, 0.1, 10.0))


def hinges_agree(sigma, c1, c2, theta, tolerance=1e-11):
    exact = dual(sigma, c1, c2, theta=theta, method="quadrature")
    fast = dual(sigma, c1, c2, theta=theta, method="compiled")
    scale = np.sqrt(dual(sigma, c1, c1, 1.0, method="quadrature").k * dual(sigma, c2, c2, 1.0, method="quadrature").k)
    assert np.max(np.abs(fast.k - exact.k) / scale) < tolerance
    assert np.all(np.abs(fast.k - exact.k) <= fast.error + exact.error)
    if sigma.jump_order != 0:
        slope = sigma.derivative
        scale = np.sqrt(
            dual(slope, c1, c1, 1.0, method="quadrature").k * dual(slope, c2, c2, 1.0, method="quadrature").k
        )
        assert np.max(np.abs(fast.kdot - exact.kdot) / scale) < tolerance
        assert np.all(np.abs(fast.kdot - exact.kdot) <= fast.kdot_error + exact.kdot_error)
    else:
        assert np.all(np.isnan(fast.kdot))


@pytest.mark.parametrize("name", sorted(OFF_ZERO))
def test_breaks_away_from_zero_against_quadrature_on_a_hundredfold_range(name):
    hinges_agree(activation(name), *covariances(24, 0.1, 10.0, 4))


@pytest.mark.parametrize(
    "text",
    [
        "Max(u - 1, 0) + Min(u, 2)",
        "Max(Abs(u) - 1, 0)^2 - u",
        "Heaviside(u - 1/3)*(u^3 - u) + Heaviside(-u - 2)*u",
        "Max(u, -sqrt(2)) - Abs(u)/2",
    ],
)
def test_piecewise_polynomials_against_quadrature(text):
    hinges_agree(activation(text), *covariances(12, 0.2, 5.0, 5))


def test_breaks_far_outside_and_far_inside_the_deviations():
    """The break is between 0.02 and 25 deviations from zero; the mass beyond it spans 130 orders of magnitude."""
    c1 = np.array([0.04, 0.1, 0.3, 2.0, 20.0, 50.0, 0.05, 0.2])
    c2 = np.array([0.05, 0.1, 3.0, 40.0, 30.0, 50.0, 1.0, 30.0])
    theta = np.array([0.4, 2.0, 1.2, 0.7, 2.8, 1e-3, 1.0, 0.6])
    for text in ("Max(u - 1, 0)", "Max(Min(u, 1), -1)"):
        hinges_agree(activation(text), c1, c2, theta)


def test_other_breaks_away_from_zero_are_refused_with_the_reason():
    with pytest.raises(Unsupported, match="breaks away from zero"):
        dual("Heaviside(u - 1)*sin(u)", 1, 1, 0.5, method="compiled")
    with pytest.raises(Unsupported, match="breaks away from zero"):
        compile_dual("hardtanh", 0.5, 2.0)


@pytest.mark.parametrize(
    "text", ["Heaviside(u)*sin(u)*exp(-u)", "u*exp(-u^2)", "Max(u,0)*cos(u) + 1", "erf(u)*u + u^2/4", "Abs(u)^3 - u"]
)
def test_expressions_against_quadrature(text):
    sigma = activation(text)
    agree(sigma, *covariances(5, 0.7, 1.4, 3), compile_dual(sigma, 0.7, 1.4))


@pytest.mark.parametrize(
    ("name", "degree"), [("relu", 1), ("abs", 1), ("step", 0), ("sign", 0), ("squared_relu", 2), ("identity", 1)]
)
def test_homogeneous_activations_collapse_to_one_dimension(name, degree):
    made = compile_dual(name, 0.5, 2.0)
    assert made.homogeneity == degree
    assert made.bend.shape[:2] == (1, 1)
    assert made.covers(1e-30, 1e30)
    agree(activation(name), np.array([1e-3, 5.0]), np.array([40.0, 5.0]), np.array([1.0, 2.5]), made)


def test_relu_at_its_closed_form():
    made = compile_dual("relu")
    theta = np.linspace(0, np.pi, 101)
    k, kdot = made(np.full(101, 2.0), np.full(101, 3.0), theta)
    assert np.allclose(k, 6 * (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi), rtol=0, atol=1e-13)
    assert np.allclose(kdot, (np.pi - theta) / (2 * np.pi), rtol=0, atol=1e-14)


def test_the_range_is_kept_and_the_result_reused():
    first = compile_dual("silu", 0.8, 1.25)
    assert compile_dual("silu", 0.9, 1.1) is first
    assert first.error < 1e-12
    with pytest.raises(BadInput, match="compiled for deviations"):
        first(np.array([5.0]), np.array([1.0]), np.array([1.0]))


@pytest.mark.parametrize("bad", [(0.0, 1.0), (2.0, 1.0), (-1.0, 1.0), (1.0, np.inf), (np.nan, 1.0)])
def test_bad_ranges(bad):
    with pytest.raises(BadInput, match="range of standard deviations"):
        compile_dual("gelu", *bad)


def test_infinite_moments_are_refused():
    with pytest.raises(PrecisionLost):
        compile_dual("exp(u^2/4)", 0.5, 2.0)


def test_the_method_of_dual():
    r = np.array([0.3, 1.0, -0.8])
    fast, slow = (dual("gelu", [1.0, 0.9, 1.2], 1.1, r, method=m) for m in ("compiled", "quadrature"))
    assert np.allclose(fast.k, slow.k, rtol=0, atol=1e-12)
    assert np.allclose(fast.kdot, slow.kdot, rtol=0, atol=1e-12)


def test_the_gap_survives_for_nearly_equal_points():
    """1 - k/(n1 n2) = δ²W + θ²H keeps its digits where the difference of the rounded numbers has none."""
    made = compile_dual("gelu", 0.8, 1.25)
    bend = np.polynomial.chebyshev.chebval3d(0.0, 0.0, -1.0, made.bend)
    c = float(np.sqrt(made.low * made.high))
    # At θ → 0 the second derivative of k is -c² k̇.
    want = c**2 * made.slope_norms(np.array([c]))[0] ** 2 / made.norms(np.array([c]))[0] ** 2 / 2
    assert bend == pytest.approx(want, rel=1e-12)


@settings(deadline=None, max_examples=20)
@given(st.floats(0.8, 1.2), st.floats(0.8, 1.2), st.floats(0, np.pi))
def test_local_factors_equal_the_whole(c1, c2, theta):
    made = compile_dual("elu", 0.75, 1.3)
    local = localise(made, 0.8, 1.2)
    unit = made.angles_to_unit(np.array([theta]))
    for factors, tensor in ((local.bend, made.bend), (local.slope, made.slope)):
        row = factors.vectors(local.place(np.array([c1])))[:, 0]
        block = factors.block(local.place(np.array([c2, 0.8, 1.2]))).on(WHOLE)
        terms = np.polynomial.chebyshev.chebvander(unit, block.core.shape[2] - 1)[0]
        short = np.einsum("pqm,p,q,m->", block.core, row, block.columns[:, 0], terms)
        places = made.place(np.array([c1, c2]))
        assert short == pytest.approx(np.polynomial.chebyshev.chebval3d(*places, unit[0], tensor), abs=3e-12)


def test_expansions_on_a_part_of_the_angles_are_shorter():
    local = localise(compile_dual("elu", 0.75, 1.3), 0.8, 1.2)
    block = local.slope.block(local.place(np.array([0.8, 1.0, 1.2])))
    row = local.slope.vectors(local.place(np.array([0.9])))[:, 0]

    def value(some, x):
        terms = np.polynomial.chebyshev.chebvander(x, some.core.shape[2] - 1)[0]
        return np.einsum("pqm,p,qi,m->i", some.core, row, some.columns, terms)

    whole, part = block.on(WHOLE), block.on((-0.4, 0.6))
    assert part.core.shape[2] < whole.core.shape[2]
    assert np.allclose(value(part, (2 * 0.25 - 0.2) / 1.0), value(whole, 0.25), rtol=0, atol=1e-12)


def test_sector_rule_integrates_an_angle_exactly():
    one = tabulate(lambda u: (u > 0).astype(float), 20.0, "step")
    theta = np.array([0.2, 1.5, 3.0])
    c = np.array([1.0, 2.0])
    values = SectorRule(9.0).pairs(one, c, c, theta)
    assert np.allclose(values, (np.pi - theta) / (2 * np.pi), rtol=0, atol=1e-15)


def test_chebyshev_matrix_inverts_evaluation():
    coefficients = np.random.default_rng(0).standard_normal(12)
    values = np.polynomial.chebyshev.chebval(chebyshev_nodes(12), coefficients)
    assert np.allclose(chebyshev_matrix(12) @ values, coefficients, rtol=0, atol=1e-14)


def test_functions_too_rough_for_a_table():
    with pytest.raises(PrecisionLost, match="too rough"):
        tabulate(lambda u: np.abs(u - 0.3), 4.0, "a kink")
