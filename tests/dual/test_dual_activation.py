"""`DualActivation`: the noun of this folder, on grids, at single pairs, at zero vectors, and as a key."""

import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation import activation, activations
from holokern.dual import DualActivation, dual_activation
from holokern.dual.dual import dual
from holokern.dual.tables import kept_rows
from holokern.errors import Unsupported

PARAMETERS = {
    "polynomial": {"coefficients": ["1", "-2", "1/3", "1"]},
    "rectified_polynomial": {"coefficients": ["0", "1", "-1/2"]},
    "monomial": {"degree": 3},
    "hermite": {"degree": 4},
}
WANTED = 1e-13
ANGLES = np.array([0.0, np.pi, 1e-9, np.pi - 1e-7, 0.1, 0.4, 1.1, 2.9])


def named(name):
    return dual_activation(activation(name, **PARAMETERS.get(name, {})))


def agree(owner, c1, c2, theta=ANGLES, tolerance=WANTED):
    """Values on a grid against quadrature."""
    k, kdot = owner.grid(c1, c2, theta)
    assert k.shape == kdot.shape == (len(c1), len(c2), len(theta))
    a, b, t = np.broadcast_arrays(c1[:, None, None], c2[:, None], theta)
    exact = dual(owner.activation, a, b, theta=t, method="quadrature")
    scale = np.multiply.outer(owner.norms(c1), owner.norms(c2))[:, :, None]
    assert np.all(np.abs(k - exact.k) <= tolerance * scale + exact.error)
    if owner.jumps:
        assert np.all(np.isnan(kdot))
        return
    scale = np.multiply.outer(owner.slope_norms(c1), owner.slope_norms(c2))[:, :, None]
    assert np.all(np.abs(kdot - exact.kdot) <= tolerance * scale + exact.kdot_error)


# one of every kind: closed forms, hinges at and away from zero, jumps, tables with and without a break, growth
KINDS = {
    "elu",
    "exp",
    "gelu",
    "hardtanh",
    "leaky_relu",
    "mish",
    "polynomial",
    "relu",
    "resin",
    "sign",
    "sin",
    "softshrink",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in KINDS else pytest.mark.slow) for name in activations()]
)
def test_grids_against_quadrature(name):
    agree(named(name), np.array([0.5, 1.3]), np.array([1.3, 2.0]))


@pytest.mark.parametrize(
    "name",
    [
        "elu",
        "hardtanh",
        "mish",
        "resin",
        "sign",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("gelu", "relu6", "sin")),
    ],
)
def test_grids_on_a_hundredfold_range(name):
    agree(named(name), np.array([0.1, 1.0]), np.array([1.1, 10.0]))


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
def test_grids_of_expressions(text):
    agree(dual_activation(text), np.array([0.6, 1.7]), np.array([1.7]))


PARTS = st.sampled_from(
    ["sin(u)", "tanh(u)", "exp(-u^2)", "u", "cos(2*u)", "erf(u)", "1", "1/(1 + exp(-u))", "atan(u)"]
)
FRONTS = st.sampled_from(["1", "Heaviside(u)", "Abs(u)", "Max(u, 0)", "u"])


@settings(deadline=None, max_examples=6, derandomize=True)
@given(FRONTS, PARTS, FRONTS, PARTS, st.sampled_from([0.3, 1.0, 3.0]))
def test_random_expressions_against_quadrature(front, part, other_front, other_part, size):
    owner = dual_activation(f"{front}*{part} + {other_front}*{other_part}/2")
    agree(owner, size * np.array([0.6, 1.4]), np.array([1.0]))


def test_closed_forms_that_cancel_at_small_deviations_are_replaced():
    """sin u sin v is a difference of exponentials, which are nearly equal at small deviations."""
    c = np.array([0.005, 0.05, 1.0, 60.0])
    k, _ = dual_activation("sin").grid(c, c, ANGLES)
    product = np.multiply.outer(c, c)[:, :, None]
    # exp(-(c1² + c2²)/2) sinh(c1 c2 cos θ)
    size = np.abs(product * np.cos(ANGLES))
    decay = np.exp(size - np.add.outer(c**2, c**2)[:, :, None] / 2)
    want = np.sign(np.cos(ANGLES)) * decay * -np.expm1(-2 * size) / 2
    n = np.sqrt(-np.expm1(-2 * c**2) / 2)
    # At deviation 60 the rounding of the angle and of its cosine is magnified by the product of the deviations.
    rounding = 1e-15 * np.maximum(product, 100)
    assert np.all(np.abs(k - want) <= rounding * np.multiply.outer(n, n)[:, :, None])


@pytest.mark.parametrize("name", ["elu", "hardtanh", "silu"])
def test_values_do_not_depend_on_their_company(name):
    c1, c2 = np.array([0.3, 0.9, 2.0]), np.array([0.5, 4.0])
    owner = dual_activation(name)
    for whole, part in zip(owner.grid(c1, c2, ANGLES), owner.grid(c1[1:2], c2[:1], ANGLES[3:]), strict=True):
        assert np.allclose(whole[1:2, :1, 3:], part, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["gelu_tanh", "resin", "exp(u/3)", "Abs(u)^3"])
def test_moments_do_not_depend_on_their_company(name):
    c = np.array([1e-3, 0.7, 5.0, 30.0])
    together = DualActivation(activation(name))
    found = together.norms(c), together.slope_norms(c), together.means(c)
    for index, one in enumerate(c):
        alone = DualActivation(activation(name))
        single = alone.norms(c[index : index + 1]), alone.slope_norms(np.array([one])), alone.means(np.array([one]))
        assert [float(values[index]) for values in found] == [float(values[0]) for values in single]


def test_nothing_asked_nothing_given():
    k, kdot = dual_activation("tanh").grid(np.ones(2), np.ones(3), np.empty(0))
    assert k.shape == kdot.shape == (2, 3, 0)


def exact_loss(name, c1, c2, theta):
    """1 - k/(n1 n2) with 60 digits, by the closed forms of ReLU, erf and GELU."""
    with mpmath.workdps(60):
        c1, c2, theta = map(mpmath.mpf, (c1, c2, theta))

        def k(a, b, t):
            r = mpmath.cos(t)
            if name == "relu":
                return a * b * (mpmath.sin(t) + (mpmath.pi - t) * r)
            if name == "erf":
                return mpmath.asin(2 * a * b * r / mpmath.sqrt((1 + 2 * a * a) * (1 + 2 * b * b)))
            s1, s2, s = a * a, b * b, a * b * r
            total = (1 + s1) * (1 + s2)
            f = mpmath.mpf(1) / 4 + mpmath.asin(s / mpmath.sqrt(total)) / (2 * mpmath.pi)
            p = 1 / (2 * mpmath.pi * mpmath.sqrt(total - s * s))
            return s1 * p * (s2 - s * s / (1 + s1)) + s * f + s * s * p / (1 + s2)

        return float(1 - k(c1, c2, theta) / mpmath.sqrt(k(c1, c1, 0) * k(c2, c2, 0)))


@pytest.mark.parametrize("theta", [0.0, 1e-9, 1e-6, 1e-3, 0.02, 1.0])
@pytest.mark.parametrize("c2", [1.3, 1.3001, 1.7])
@pytest.mark.parametrize("name", ["erf", "gelu", "relu"])
def test_losses_keep_their_digits(name, c2, theta):
    lost, _ = dual_activation(name).losses(np.array([1.3]), np.array([c2]), np.array([theta]))
    exact = exact_loss(name, 1.3, c2, theta)
    # Half the next chord is the root of the loss, so this is what the next layer sees.
    assert np.sqrt(lost[0]) == pytest.approx(np.sqrt(max(exact, 0.0)), rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("name", ["elu", "hardtanh", "silu", "Heaviside(u - 1)*sin(u - 1)"])
def test_losses_follow_the_formula_of_price(name):
    """At equal deviations 1 - k/n² = c² ∫ k′ sin over (0, θ) / n²; for small θ that is c² θ² k′/(2n²) nearly."""
    owner, c, theta = dual_activation(name), np.array([0.8]), np.array([1e-5])
    lost, slope = owner.losses(c, c, theta)
    want = (c * theta * owner.slope_norms(c) / owner.norms(c)) ** 2 / 2
    assert lost[0] == pytest.approx(want[0], rel=2e-5)
    assert slope[0] == pytest.approx(owner.slope_norms(c)[0] ** 2, rel=2e-5)


@pytest.mark.parametrize("theta", [1e-2, 1e-4, 3e-6])
@pytest.mark.parametrize("name", ["erf(u) + Abs(u - 1/2)/3", "u*exp(-u^2) + Heaviside(u - 1)", "tanh", "hardtanh"])
def test_losses_are_integrals_of_slopes(name, theta):
    """The same formula of Price in full, where points are near and breaks lie away from zero."""
    owner, c = dual_activation(name), 0.8
    nodes, weights = np.polynomial.legendre.leggauss(20)
    t = theta * (nodes + 1) / 2
    slopes = dual(name, c, c, theta=t, method="quadrature").kdot
    want = c**2 * theta / 2 * np.sum(weights * np.sin(t) * slopes) / owner.norms(np.array([c]))[0] ** 2
    lost, _ = owner.losses(np.array([c]), np.array([c]), np.array([theta]))
    assert lost[0] == pytest.approx(want, rel=1e-9)


def test_losses_of_equal_points_are_zero():
    for name in ("gelu", "hardtanh", "step", "tanh"):
        lost, _ = dual_activation(name).losses(np.full(2, 1.1), np.full(2, 1.1), np.zeros(2))
        assert lost.tolist() == [0.0, 0.0]


def test_slopes_of_parallel_points_are_those_at_the_angle_zero():
    """Not at a small angle: k′ of ReLU is (π - θ)/(2π)."""
    _, slope = dual_activation("relu").losses(np.array([1.0]), np.array([2.0]), np.array([0.0]))
    assert slope[0] == pytest.approx(0.5, rel=4e-16)


def test_losses_of_odd_and_even_activations_count_from_the_nearer_end():
    c = np.array([1.1, 0.7])
    for name in ("cos", "erf"):
        owner = dual_activation(name)
        near = owner.losses(c, c[::-1], np.array([0.01, 1.0]))
        far = owner.losses(c, c[::-1], np.pi - np.array([0.01, 1.0]))
        for a, b in zip(near, far, strict=True):
            assert np.allclose(a, b, rtol=1e-12)


LIMITS = {
    "relu": (0.0, np.sqrt(0.5), 0.0, 0.5),
    "sigmoid": (0.5, 0.25, 0.5, 0.25),
    "cos": (1.0, 0.0, 1.0, 0.0),
    "step": (np.sqrt(0.5), 0.0, 0.5, 0.0),
    "hardtanh": (0.0, 1.0, 0.0, 1.0),
}


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_limits_at_zero_vectors(name):
    limits = dual_activation(name).limits
    assert (limits.norm, limits.slope, limits.mean, limits.mean_slope) == pytest.approx(LIMITS[name], abs=1e-15)


@pytest.mark.parametrize("name", ["sigmoid", "gelu", "elu", "softplus"])
def test_limits_are_approached(name):
    owner, c = dual_activation(name), np.array([1e-5])
    limits = owner.limits
    assert owner.norms(c)[0] == pytest.approx(limits.norm, abs=2e-5)
    assert owner.slope_norms(c)[0] == pytest.approx(limits.slope, abs=2e-5)
    assert owner.means(c)[0] == pytest.approx(limits.mean, abs=2e-5)
    assert owner.mean_slopes(c)[0] == pytest.approx(limits.mean_slope, abs=2e-5)


@pytest.mark.parametrize("name", ["gelu", "hardtanh", "resin", "relu"])
def test_norms_and_means_are_those_of_k(name):
    owner, c = dual_activation(name), np.array([0.4, 1.0, 3.0])
    exact = dual(name, c, c, theta=np.zeros(3), method="quadrature")
    assert np.allclose(owner.norms(c) ** 2, exact.k, rtol=1e-13)
    assert np.allclose(owner.slope_norms(c) ** 2, exact.kdot, rtol=1e-13)
    # At a right angle the variables are independent.
    exact = dual(name, c, c, 0.0, method="quadrature")
    assert np.allclose(owner.means(c) ** 2, exact.k, rtol=0, atol=1e-13 * np.max(owner.norms(c) ** 2))
    assert np.allclose(owner.mean_slopes(c) ** 2, exact.kdot, rtol=0, atol=1e-13)


def test_values_come_with_an_error():
    found = dual_activation("silu").values(np.array([1.0]), np.array([2.0]), np.array([0.7]))
    exact = dual("silu", 1.0, 2.0, theta=0.7, method="quadrature")
    assert abs(found.k - exact.k) <= found.error + exact.error


@pytest.mark.parametrize(
    ("name", "fold", "jumps", "kinks", "rough", "homogeneity"),
    [
        ("relu", 0, False, True, False, 1.0),
        ("abs", 1, False, True, False, 1.0),
        ("sign", -1, True, True, False, 0.0),
        ("squared_relu", 0, False, True, False, 2.0),
        ("tanh", -1, False, False, False, None),
        ("hardtanh", -1, False, True, True, None),
        ("hardshrink", -1, True, True, True, None),
        ("gelu", 0, False, False, False, None),
        ("sqrt(Abs(u))", 1, True, True, True, 0.5),
        ("Max(u, 0)^(3/2)", 0, False, True, True, 1.5),
    ],
)
def test_properties(name, fold, jumps, kinks, rough, homogeneity):
    owner = dual_activation(name)
    assert (owner.fold, owner.jumps, owner.kinks, owner.is_rough) == (fold, jumps, kinks, rough)
    assert owner.homogeneity == homogeneity
    assert (owner.hinges is not None) is any(b != 0 for b in owner.activation.breaks)
    assert owner.smallest_angles == ((0.4, 0.2, 0.1, 0.05, 0.025) if rough else (0.4, 0.2, 0.1, 0.0))


@pytest.mark.parametrize("name", ["hardtanh", "relu6", "softshrink"])
def test_tiles_of_hinges_against_losses(name):
    owner, c = dual_activation(name), np.array([0.6, 1.0, 2.5])
    theta = np.array([[0.3, 1.0, 2.0], [1e-3, 1.5, 3.0], [0.7, 1.57, 2.2]])
    lost, slope = owner.hinge_tile(theta, *owner.hinge_sides(c, c[::-1].copy()))
    a, b = (x.ravel() for x in np.broadcast_arrays(c[:, None], c[::-1]))
    want = owner.losses(a, b, theta.ravel())
    assert np.allclose(lost.ravel(), want[0], rtol=0, atol=1e-13)
    assert np.allclose(slope.ravel(), want[1], rtol=0, atol=1e-13)


def test_only_piecewise_polynomials_have_hinges():
    with pytest.raises(Unsupported, match="not piecewise polynomial"):
        dual_activation("gelu").hinge_sides(np.ones(1), np.ones(1))


def test_one_object_for_one_activation():
    assert dual_activation("silu") is dual_activation(activation("silu"))
    assert dual_activation("silu") == DualActivation(activation("silu"))
    assert hash(dual_activation("silu")) == hash(DualActivation(activation("silu")))
    assert dual_activation("silu") != dual_activation("gelu")
    assert dual_activation("silu") != "silu"


def test_pickles_are_the_same_object():
    for source in ("gelu", "Max(u - 1, 0) + tanh(u)"):
        owner = dual_activation(source)
        owner.norms(np.ones(1))
        assert pickle.loads(pickle.dumps(owner)) is owner


def test_it_is_immutable():
    with pytest.raises(AttributeError):
        dual_activation("gelu").activation = activation("relu")


def test_sines_on_half_lines_need_no_mesh(monkeypatch):
    """A mesh takes a tenth of a second at a deviation of 150; an integral over one angle less than a millisecond."""
    monkeypatch.setattr(kept_rows, "PointRow", None)
    owner, c, d, theta = DualActivation(activation("resin")), *np.array([[150.0, 2.0], [151.0, 3.0], [0.05, 1.0]])
    exact = dual("resin", c, d, theta=theta, method="quadrature")
    n, m = owner.norms(c), owner.norms(d)
    lost, kdot = owner.losses(c, d, theta)
    assert np.max(np.abs(n * m * (1 - lost) - exact.k)) < 1e-13
    assert np.max(np.abs(kdot - exact.kdot)) < 1e-13
