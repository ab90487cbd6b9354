from fractions import Fraction
from math import gamma
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, CheckFailed, PrecisionLost
from holokern.pfaffian.check.against_numbers import check_against_numbers, numeric_vector, random_points
from holokern.pfaffian.check.quadrature import hermite_moments
from holokern.pfaffian.coordinates import COORDINATES
from holokern.pfaffian.derivation.by_stein import derive, read_operators
from holokern.weyl.rational.fractions import function_field


def _arccos_relu(c1, c2, r):
    theta = np.arccos(r)
    return c1 * c2 * (np.sin(theta) + (np.pi - theta) * r) / (2 * np.pi), (np.pi - theta) / (2 * np.pi)


@settings(deadline=None, max_examples=25)
@given(st.floats(0.2, 4), st.floats(0.2, 4), st.floats(-0.9, 0.9))
def test_relu_against_the_arc_cosine_formulas(c1, c2, r):
    relu = type("Relu", (), {"breaks": (0,), "__call__": lambda self, u: np.maximum(u, 0)})()
    values, errors = numeric_vector(relu, None, [(0, 0), (1, 1)], (c1 * c1, c1 * c2 * r, c2 * c2))
    expected = _arccos_relu(c1, c2, r)
    assert values == pytest.approx(expected, rel=2e-12, abs=1e-13)
    assert np.all(np.abs(values - expected) <= errors + 1e-13 * np.abs(expected))


def test_derivatives_of_a_jump_fall_on_the_gaussian(functions):
    """E[δ(u) δ(v)] and E[δ'(u) δ'(v)] are the density and its mixed derivative at 0."""
    s11, s12, s22 = 1.25, 0.5, 0.75
    det = s11 * s22 - s12 * s12
    density = 1 / (2 * np.pi * np.sqrt(det))
    values, _ = numeric_vector(functions["step"], None, [(1, 1), (2, 2)], (s11, s12, s22))
    assert values == pytest.approx([density, density * s12 / det], rel=1e-11)


def test_sine_and_two_different_functions(functions):
    s11, s12, s22 = 1.3, 0.5, 0.8
    values, _ = numeric_vector(functions["sin"], None, [(0, 0), (1, 1), (4, 2), (5, 5)], (s11, s12, s22))
    even, odd = np.exp(-(s11 + s22) / 2) * np.sinh(s12), np.exp(-(s11 + s22) / 2) * np.cosh(s12)
    assert values == pytest.approx([even, odd, -even, odd], rel=1e-9)
    mixed, _ = numeric_vector(functions["exp"], functions["sin"], [(0, 0)], (s11, s12, s22))
    assert mixed[0] == pytest.approx(np.exp((s11 - s22) / 2) * np.sin(s12), rel=1e-12)


def test_triples_are_derivatives_in_both_coordinates(functions):
    pairs, _ = numeric_vector(functions["relu"], None, [(2, 0), (1, 3)], (1.0, 0.5, 1.0))
    triples, _ = numeric_vector(functions["relu"], None, [(1, 0, 0), (0, 1, 1)], (1.0, 0.5, 1.0))
    assert triples == pytest.approx(pairs / 2)
    moments, _ = numeric_vector(functions["relu"], None, [(0, 0), (1, 1)], (-1, 0, -1), coordinates="x")
    derivatives, _ = numeric_vector(functions["relu"], None, [(0, 0, 0), (0, 1, 0)], (-1, 0, -1), coordinates="x")
    assert moments == pytest.approx([1 / 4, np.pi / 16])
    assert derivatives == pytest.approx([1 / 4, np.pi / 8])


@pytest.mark.parametrize("name", ["growing", "root", "hidden_relu", "exp", "zero"])
def test_error_estimates_are_honest_for_awkward_functions(functions, name):
    function, covariance = functions[name], (0.9, 0.3, 0.7)
    table = hermite_moments(function, function, covariance, 2, breaks=function.breaks, other_breaks=function.breaks)
    # the same integral over the other order of axes, with twice as many cuts
    cuts = (*function.breaks, -1.1, 0.17, 0.9)
    finer = hermite_moments(function, function, (0.7, 0.3, 0.9), 2, breaks=cuts, other_breaks=cuts)
    gap = np.abs(table.values - finer.values.T)
    assert np.all(gap <= 4 * (table.errors + finer.errors.T) + 1e-300)
    assert np.all(table.errors <= 1e-11 * (1 + np.abs(table.values)))


def test_growth_like_a_gaussian_matches_its_closed_form(functions):
    s11, s12, s22 = 0.9, 0.3, 0.7
    # E[exp(wᵀw/4)] = det(1 - Σ/2)^(-1/2)
    expected = ((1 - s11 / 2) * (1 - s22 / 2) - s12**2 / 4) ** -0.5
    values, _ = numeric_vector(functions["growing"], None, [(0, 0)], (s11, s12, s22))
    assert values[0] == pytest.approx(expected, rel=1e-12)


def test_divergent_and_indefinite_integrals_are_refused(functions):
    with pytest.raises(PrecisionLost, match="smaller covariance"):
        numeric_vector(functions["growing"], None, [(0, 0)], (3, 0, 3))
    with pytest.raises(BadInput, match="positive definite"):
        numeric_vector(np.sin, None, [(0, 0)], (1, 2, 1))
    with pytest.raises(BadInput, match="negative definite"):
        numeric_vector(np.sin, None, [(0, 0)], (1, 0, 1), coordinates="x")
    with pytest.raises(BadInput, match="'sigma' or 'x'"):
        numeric_vector(np.sin, None, [(0, 0)], (1, 0, 1), coordinates="theta")
    with pytest.raises(BadInput, match="pair or a triple"):
        numeric_vector(np.sin, None, [(0,)], (1, 0, 1))
    with pytest.raises(PrecisionLost, match="not finite"):
        numeric_vector(lambda u: np.where(np.abs(u - 0.3) < 0.2, np.nan, 1.0), None, [(0, 0)], (1, 0.1, 1))


def test_the_papers_relu_system_agrees_with_numbers(relu_x, functions):
    assert check_against_numbers(relu_x, functions["relu"], points=3) < 1e-12
    assert check_against_numbers(relu_x, functions["relu"], functions["relu"], points=[("-1", "1/100", -1)]) < 1e-12


def test_the_resin_matrix_of_the_guide_agrees_with_numbers(resin_sigma, functions):
    residual = check_against_numbers(resin_sigma, functions["resin"])
    assert residual < 1e-11


def test_a_wrong_function_is_refused_with_the_residual(relu_x, functions):
    with pytest.raises(CheckFailed, match=r"row \d of the matrix for d/dx11 .* residual"):
        check_against_numbers(relu_x, functions["step"])
    with pytest.raises(CheckFailed):
        check_against_numbers(relu_x, functions["relu"], functions["hidden_relu"])


def test_every_perturbed_entry_is_noticed(resin_sigma, functions):
    field = function_field("S11 S12 S22")
    (matrix,) = resin_sigma.matrices
    for i in range(5):
        for j in range(5):
            rows = [list(row) for row in matrix]
            rows[i][j] = rows[i][j] + field("1/1000")
            wrong = SimpleNamespace(**{**vars(resin_sigma), "matrices": (rows,)})
            with pytest.raises(CheckFailed, match=f"row {i + 1} "):
                check_against_numbers(wrong, functions["resin"])


def test_growing_functions_are_checked_at_small_covariances(make_system):
    """σ = exp(a u²): k = det(1 - 2aΣ)^(-1/2), a system of rank 1."""
    a = Fraction(1, 4)
    det = "((1 - S11/2)*(1 - S22/2) - S12^2/4)"
    entries = [f"(1 - S22/2)/(4*{det})", f"S12/(4*{det})", f"(1 - S11/2)/(4*{det})"]
    system = make_system("S11 S12 S22", "sigma", ((0, 0),), [[[entry]] for entry in entries])
    assert check_against_numbers(system, lambda u: np.exp(float(a) * u * u)) < 1e-11


def test_a_scale_is_undone_before_the_check(relu_x, functions):
    scaled = SimpleNamespace(**{**vars(relu_x), "scale": 3})
    hidden = functions["hidden_relu"]
    assert check_against_numbers(scaled, functions["relu"]) < 1e-12
    with pytest.raises(CheckFailed):
        check_against_numbers(scaled, hidden)


def test_points_on_the_singular_locus_are_replaced_or_refused(relu_x, functions):
    with pytest.raises(CheckFailed, match="0 of 1 points"):
        check_against_numbers(relu_x, functions["relu"], points=[(-1, -1, -1)])
    with pytest.raises(BadInput, match="three coordinates"):
        check_against_numbers(relu_x, functions["relu"], points=[(-1, -1)])
    with pytest.raises(BadInput, match="exact rational"):
        check_against_numbers(relu_x, functions["relu"], points=[(-1, float("nan"), -1)])


def test_random_points_are_reproducible_and_see_far_breaks():
    clipped = type("Clipped", (), {"breaks": (0, 6), "__call__": lambda self, u: np.clip(u, 0, 6)})()
    assert random_points(clipped, np.sin, 3) == random_points(clipped, np.sin, 3)
    assert all(float(s11) > 3 and float(s22) < 2 for s11, _, s22 in random_points(clipped, np.sin, 5))


@pytest.mark.parametrize("coordinates", ["sigma", "x"])
@pytest.mark.parametrize(
    ("name", "operator"), [("relu", "u*D - 1"), ("resin", "u*(D^2 + 1)"), ("resin", "u^2*(D^2 + 1)"), ("exp", "D - 1")]
)
def test_derived_systems_agree_with_numbers_also_after_a_gauge(functions, name, operator, coordinates):
    operators = read_operators(operator)
    system = derive(operators, operators, COORDINATES[coordinates])
    assert check_against_numbers(system, functions[name]) < 1e-10
    first, second, _ = system.variables
    frame = [
        [f"{first} + {second}" if i == j else f"1/{first}" if j == i + 1 else 0 for j in range(system.rank)]
        for i in range(system.rank)
    ]
    gauged = system.gauge(frame)
    assert check_against_numbers(gauged, functions[name]) < 1e-10
    with pytest.raises(CheckFailed):
        check_against_numbers(SimpleNamespace(**{**_fields(gauged), "frame": None}), functions[name])


def _fields(system):
    return {name: getattr(system, name) for name in ("coordinates", "variables", "basis", "matrices", "scale")}


def test_an_operator_that_kills_the_function_only_off_its_jump_is_caught(functions):
    """D - 1 kills Y(u) exp(u) off 0, but not as a distribution."""
    jumping = type(functions["relu"])(lambda u: np.where(u > 0, np.exp(u), 0), (0,))
    for text, right in (("u*(D - 1)", True), ("D - 1", False)):
        operators = read_operators(text)
        system = derive(operators, operators, COORDINATES["sigma"])
        if right:
            assert check_against_numbers(system, jumping) < 1e-10
        else:
            with pytest.raises(CheckFailed):
                check_against_numbers(system, jumping)


def test_a_derivative_that_vanishes_identically_is_no_trouble(make_system):
    """E[uv] = Σ12 does not depend on Σ11; and the function 0 satisfies everything."""
    system = make_system("S11 S12 S22", "sigma", ((0, 0),), [[["0"]], [["1/S12"]], [["0"]]])
    assert check_against_numbers(system, lambda u: u) < 1e-13
    assert check_against_numbers(system, lambda u: 0 * u) == 0
    wrong = make_system("S11 S12 S22", "sigma", ((0, 0),), [[["1/10000"]], [["1/S12"]], [["0"]]])
    with pytest.raises(CheckFailed, match="dS11"):
        check_against_numbers(wrong, lambda u: u)


def test_integrable_singularities_and_fast_oscillations_keep_honest_errors():
    root = hermite_moments(
        lambda u: 1 / np.sqrt(np.abs(u)), lambda u: 1 / np.sqrt(np.abs(u)), (1, 0, 1), 2, breaks=(0,), other_breaks=(0,)
    )
    expected = (2**-0.25 * gamma(0.25) / np.sqrt(np.pi)) ** 2
    assert abs(root.values[0, 0] - expected) <= root.errors[0, 0] < 1e-7
    waves = hermite_moments(lambda u: np.sin(30 * u), np.cos, (1, 0.5, 1), 1)
    assert abs(waves.values[1, 0]) <= 30 * np.exp(-450) + waves.errors[1, 0]
    assert waves.errors[1, 0] < 1e-13
