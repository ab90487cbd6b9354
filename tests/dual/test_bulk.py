import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation import activation, activations
from holokern.dual.bulk import bulk
from holokern.dual.dual import dual
from holokern.dual.quadrature.method import norms
from holokern.errors import BadInput

PARAMETERS = {
    "polynomial": {"coefficients": ["1", "-2", "1/3", "1"]},
    "rectified_polynomial": {"coefficients": ["0", "1", "-1/2"]},
    "monomial": {"degree": 3},
    "hermite": {"degree": 4},
}
WANTED = 1e-13


def named(name):
    return activation(name, **PARAMETERS.get(name, {}))


def angles(first, second, count, seed=0):
    theta = np.pi * np.random.default_rng(seed).random((len(first), len(second), count))
    theta[..., :4] = 0.0, np.pi, 1e-9, np.pi - 1e-7
    return theta


def agree(sigma, c1, c2, theta, points=8, tolerance=WANTED):
    """Compare with quadrature at the special angles and a few random ones."""
    k, kdot = bulk(sigma, c1, c2, theta)
    assert k.shape == kdot.shape == theta.shape
    random = np.random.default_rng(1)
    i, j, m = (random.integers(0, size, points) for size in theta.shape)
    m[:4] = 0, 1, 2, 3
    exact = dual(sigma, c1[i], c2[j], theta=theta[i, j, m], method="quadrature")
    scale = norms(sigma, c1[i]) * norms(sigma, c2[j])
    assert np.all(np.abs(k[i, j, m] - exact.k) <= tolerance * scale + exact.error)
    if sigma.jump_order == 0:
        assert np.all(np.isnan(kdot))
        return
    slope = sigma.derivative
    scale = norms(slope, c1[i]) * norms(slope, c2[j])
    assert np.all(np.abs(kdot[i, j, m] - exact.kdot) <= tolerance * scale + exact.kdot_error)


@pytest.mark.parametrize("name", activations())
def test_named_activations_against_quadrature(name):
    c = np.array([0.5, 0.8, 1.3, 2.0])
    agree(named(name), c, c, angles(c, c, 7))


@pytest.mark.parametrize("name", sorted(set(activations()) - {"exp"}))
def test_a_hundredfold_range_from_two_panels(name):
    c1, c2 = np.array([0.1, 0.4, 1.0]), np.array([1.1, 3.0, 10.0])
    agree(named(name), c1, c2, angles(c1, c2, 7), 6)


def test_closed_forms_that_cancel_at_small_deviations_are_replaced():
    """sin u sin v is a difference of exponentials, which are nearly equal at small deviations."""
    c = np.array([0.005, 0.05, 1.0, 60.0])
    theta = angles(c, c, 6)
    k, _ = bulk("sin", c, c, theta)
    product = np.multiply.outer(c, c)[:, :, None]
    # exp(-(c1² + c2²)/2) sinh(c1 c2 cos θ)
    size = np.abs(product * np.cos(theta))
    decay = np.exp(size - np.add.outer(c**2, c**2)[:, :, None] / 2)
    want = np.sign(np.cos(theta)) * decay * -np.expm1(-2 * size) / 2
    n = np.sqrt(-np.expm1(-2 * c**2) / 2)
    # At deviation 60 the rounding of the angle and of its cosine is magnified by the product of the deviations.
    rounding = 1e-15 * np.maximum(product, 100)
    assert np.all(np.abs(k - want) <= rounding * np.multiply.outer(n, n)[:, :, None])


def test_one_array_twice_needs_no_symmetric_angles():
    c = np.array([0.7, 1.0, 1.6])
    for name in ("tanh", "selu", "hardtanh", "gelu", "Piecewise((sin(u), u < 1), (0, True))"):
        theta = angles(c, c, 5, seed=3)
        once, twice = bulk(name, c, c, theta), bulk(name, c, c.copy(), theta)
        swapped = bulk(name, c, c, np.ascontiguousarray(theta.swapaxes(0, 1)))
        for a, b, other in zip(once, twice, swapped, strict=True):
            assert np.allclose(a, b, rtol=0, atol=1e-14, equal_nan=True)
            assert np.allclose(a, other.swapaxes(0, 1), rtol=0, atol=1e-13, equal_nan=True)


def test_deviations_do_not_depend_on_their_company():
    c1, c2 = np.array([0.3, 0.9, 2.0]), np.array([0.5, 4.0])
    for name in ("silu", "elu"):
        theta = angles(c1, c2, 6, seed=4)
        whole, part = bulk(name, c1, c2, theta), bulk(name, c1[1:2], c2[:1], theta[1:2, :1])
        for a, b in zip(whole, part, strict=True):
            assert np.allclose(a[1:2, :1], b, rtol=0, atol=1e-14, equal_nan=True)


@pytest.mark.parametrize(
    "text",
    [
        "Heaviside(u)*sin(u)*exp(-u)",
        "Max(u,0)*cos(u) + 1",
        "Heaviside(u - 1)*sin(u)",
        "Piecewise((sin(u), u < 1), (0, True))",
        "tanh(3*u)*exp(-u^2/5)",
        "Max(u, -sqrt(2)) - Abs(u)/2",
    ],
)
def test_expressions_against_quadrature(text):
    c = np.array([0.6, 1.7])
    agree(activation(text), c, c, angles(c, c, 6), 6)


PARTS = st.sampled_from(
    ["sin(u)", "tanh(u)", "exp(-u^2)", "u", "cos(2*u)", "erf(u)", "1", "1/(1 + exp(-u))", "atan(u)"]
)
FRONTS = st.sampled_from(["1", "Heaviside(u)", "Abs(u)", "Max(u, 0)", "u"])


@settings(deadline=None, max_examples=6, derandomize=True)
@given(FRONTS, PARTS, FRONTS, PARTS, st.sampled_from([0.3, 1.0, 3.0]))
def test_random_expressions_against_quadrature(front, part, other_front, other_part, size):
    sigma = activation(f"{front}*{part} + {other_front}*{other_part}/2")
    c1, c2 = size * np.array([0.6, 1.4]), np.array([1.0])
    agree(sigma, c1, c2, angles(c1, c2, 6), 6)


def test_nothing_asked_nothing_given():
    k, kdot = bulk("tanh", np.ones(2), np.ones(3), np.empty((2, 3, 0)))
    assert k.shape == kdot.shape == (2, 3, 0)


@pytest.mark.parametrize(
    ("c", "theta", "message"),
    [
        ([1.0, 2.0], np.ones((2, 3, 1)), "do not go with angles"),
        ([1.0, 0.0], np.ones((2, 2, 1)), "not a positive number"),
        ([1.0, np.nan], np.ones((2, 2, 1)), "not a positive number"),
        ([1.0, 2.0], np.full((2, 2, 1), 3.2), "outside"),
        ([1.0, 2.0], np.full((2, 2, 1), np.nan), "outside"),
    ],
)
def test_bad_input(c, theta, message):
    with pytest.raises(BadInput, match=message):
        bulk("tanh", np.array(c), np.array(c), theta)
