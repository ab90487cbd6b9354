"""`dual` against the reference values, and what it refuses."""

import numpy as np
import pytest

from holokern.activation import activation
from holokern.dual import DualValue, dual, method_named, methods, register
from holokern.dual.registry import Method
from holokern.errors import BadInput, UnknownName, Unsupported


@pytest.mark.parametrize("method", ["auto", "quadrature"])
def test_reference_values(reference, method):
    v = dual(reference.source, reference.c1, reference.c2, theta=reference.theta, method=method)
    for got, error, want in ((v.k, v.error, reference.k), (v.kdot, v.kdot_error, reference.kdot)):
        known = np.isfinite(want)
        true = np.abs(got - want)[known]
        scale = np.maximum(1, np.abs(want[known]))
        assert np.all(true <= 1e-13 * scale)
        # Reference values carry 1e-20 or so themselves.
        assert np.all(error[known] >= true / 5 - 1e-19)
        assert np.all(error[known] <= 1e-12 * scale)


def test_closed_meets_the_reference_wherever_it_applies(reference):
    inside = (reference.theta > 0) & (reference.theta < np.pi)
    c1, c2, theta = reference.c1[inside], reference.c2[inside], reference.theta[inside]
    try:
        v = dual(reference.source, c1, c2, theta=theta, method="closed")
    except Unsupported as error:
        assert "quadrature" in str(error)
        return
    assert v.method == "closed"
    for got, want in ((v.k, reference.k[inside]), (v.kdot, reference.kdot[inside])):
        known = np.isfinite(want)
        assert np.allclose(got[known], want[known], rtol=0, atol=2e-14 * max(1, np.max(np.abs(want[known]), initial=0)))


def test_scalars_in_floats_out():
    v = dual("relu", 1, 1, 0.5)
    assert isinstance(v, DualValue)
    assert all(type(x) is float for x in (v.k, v.kdot, v.error, v.kdot_error))
    assert v.k == pytest.approx((np.sqrt(0.75) + 2 * np.pi / 3 * 0.5) / (2 * np.pi), abs=1e-15)
    assert "closed" in repr(v)


def test_broadcasting():
    v = dual("relu", np.ones((3, 1)), np.linspace(1, 2, 4), [[[0.5]], [[1.0]]])
    assert v.k.shape == v.kdot.shape == v.error.shape == v.kdot_error.shape == (2, 3, 4)
    assert v.method == "closed + limit"
    assert v.k[0, 1, 2] == pytest.approx(dual("relu", 1, 5 / 3, 0.5).k, rel=1e-15)
    assert "(2, 3, 4)" in repr(v)


def test_empty_input():
    v = dual("tanh", np.zeros(0), 1.0, 0.5)
    assert v.k.shape == (0,)


def test_symmetry_is_exact():
    rng = np.random.default_rng(3)
    c1, c2, theta = rng.uniform(0.1, 3, (3, 20))
    for method in ("quadrature", "auto"):
        one, two = dual("silu", c1, c2, theta=theta, method=method), dual("silu", c2, c1, theta=theta, method=method)
        assert np.array_equal(one.k, two.k)
        assert np.array_equal(one.kdot, two.kdot)


def test_auto_leaves_a_closed_form_that_cancels():
    v = dual("elu", 1e-5, 1e-5, 0.3)
    assert v.method == "closed + quadrature"
    assert v.error < 1e-12 * 1e-10
    assert v.k == pytest.approx(0.3e-10, rel=1e-4)


def test_r_and_theta_agree():
    r = np.array([-0.999, -0.3, 0.0, 0.7, 1 - 1e-9])
    for name in ("gelu", "tanh"):
        assert np.allclose(dual(name, 1, 2, r).k, dual(name, 1, 2, theta=np.arccos(r)).k, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"c1": -1, "c2": 1, "r": 0}, "c1 = -1.0 is negative"),
        ({"c1": 1, "c2": [1, -2], "r": 0}, "c2[1] = -2.0 is negative"),
        ({"c1": float("nan"), "c2": 1, "r": 0}, "c1 = nan is NaN"),
        ({"c1": 1, "c2": float("inf"), "r": 0}, "c2 = inf is infinite"),
        ({"c1": 1, "c2": 1, "r": 1.1}, "not in [-1, 1]"),
        ({"c1": 1, "c2": 1, "r": [[0.5, -1.0001]]}, "r[0, 1]"),
        ({"c1": 1, "c2": 1, "r": float("nan")}, "r = nan"),
        ({"c1": 1, "c2": 1, "theta": 4}, "not in [0, π]"),
        ({"c1": 1, "c2": 1, "theta": -0.1}, "not in [0, π]"),
        ({"c1": 1, "c2": 1}, "neither was given"),
        ({"c1": 1, "c2": 1, "r": 0, "theta": 1}, "both were given"),
        ({"c1": [1, 2], "c2": [1, 2, 3], "r": 0}, "do not broadcast"),
        ({"c1": "one", "c2": 1, "r": 0}, "not a real number"),
        ({"c1": 1j, "c2": 1, "r": 0}, "not a real number"),
        ({"c1": None, "c2": 1, "r": 0}, "c1"),
        ({"c1": [[1], [1, 2]], "c2": 1, "r": 0}, "not a real number"),
        ({"c1": 10**400, "c2": 1, "r": 0}, "not a real number"),
        ({"c1": 1, "c2": 1, "r": 0, "tolerance": 0}, "tolerance"),
        ({"c1": 1, "c2": 1, "r": 0, "tolerance": "small"}, "tolerance"),
        ({"c1": 1, "c2": 1, "r": 0, "degree": 5}, "takes no options"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(BadInput) as caught:
        dual("relu", **arguments)
    assert words in str(caught.value)


def test_rounding_beyond_one_is_forgiven():
    assert dual("relu", 1, 1, 1 + 1e-15).k == pytest.approx(0.5, abs=1e-15)
    assert dual("relu", 1, 1, -1 - 1e-15).k == 0


def test_unknown_names():
    with pytest.raises(UnknownName, match="did you mean 'quadrature'"):
        dual("relu", 1, 1, 0, method="quadratur")
    with pytest.raises(UnknownName, match="no option 'degre'"):
        dual("relu", 1, 1, 0, method="gauss_hermite", degre=5)
    with pytest.raises(UnknownName):
        dual("reluu", 1, 1, 0)


@pytest.mark.parametrize("name", ["tanh", "resin", "hardtanh", "besselj(0, u)", "1/(1+u^2)", "log(1+u^2)"])
def test_closed_says_why_not(name):
    with pytest.raises(Unsupported, match=r"method 'closed' cannot serve .*use method='quadrature'"):
        dual(name, 1, 1, 0, method="closed")


def test_an_activation_by_its_ode():
    resin = activation(operator="u*(D^2 + 1)", values={(None, 0): 0, (0, None): {0: [0, 1]}})
    r = [0.5, 1.0, -0.9]
    by_ode, by_expression = (dual(a, 1, 2, r, method="quadrature") for a in (resin, "resin"))
    assert np.allclose(by_ode.k, by_expression.k, rtol=0, atol=1e-13)
    assert np.allclose(by_ode.kdot, by_expression.kdot, rtol=0, atol=1e-13)
    with pytest.raises(Unsupported, match="given by its ODE"):
        dual(resin, 1, 1, 0, method="closed")


def test_a_method_can_be_added():
    def run(activation, c1, c2, theta, tolerance, *, answer=42.0):
        full = np.full(len(theta), answer)
        return full, full, 0 * full, 0 * full

    before = methods()
    method = Method("forty_two", lambda a: None if str(a) == "relu" else "it is not relu", run, "", ("answer",))
    register(method)
    try:
        assert method_named("forty_two") is method
        assert dual("relu", 1, 1, [0, 0.5], method="forty_two", answer=7.0).k.tolist() == [7.0, 7.0]
        with pytest.raises(Unsupported, match="it is not relu"):
            dual("gelu", 1, 1, 0, method="forty_two")
    finally:
        from holokern.dual import registry

        del registry._METHODS["forty_two"]
    assert methods() == before


@pytest.mark.parametrize(("text", "reason"), [("log(u)", "not real"), ("1/(u-2)", "not locally integrable")])
def test_functions_without_a_dual_activation_are_refused(text: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        dual(text, 1, 1, 0.5)


def test_auto_takes_the_hgm_where_the_slope_is_infinite() -> None:
    """E[|u|^½|v|^½] = 2^½ Γ(3/4)²/π · ₂F₁(-1/4, -1/4; 1/2; r²), and k′ is its derivative in r."""
    from scipy.special import gamma, hyp2f1

    r = 0.4
    value = dual("Abs(u)^(1/2)", 1, 1, r)
    front = 2**0.5 * gamma(0.75) ** 2 / np.pi
    assert value.method == "hgm"
    assert value.k == pytest.approx(front * hyp2f1(-0.25, -0.25, 0.5, r * r), rel=1e-12)
    assert value.kdot == pytest.approx(front * 2 * r * 0.125 * hyp2f1(0.75, 0.75, 1.5, r * r), rel=1e-12)


def test_a_value_is_not_given_up_for_a_method_that_fails():
    """Quadrature misses the tolerance here, and the HGM leaves the range."""
    value = dual("cos(100*u)*exp(-Abs(u))", 1, 1, -0.6)
    assert abs(value.k - 7.96362184211324e-9) <= 5 * value.error
    assert abs(value.kdot + 7.47991503429023e-9) <= 5 * value.kdot_error
