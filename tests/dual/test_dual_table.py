"""Tables of k and k′ against quadrature, their errors, their ranges, and what they refuse."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation import activation, activations
from holokern.dual import dual_activation
from holokern.dual.dual import dual
from holokern.dual.tables import build, rows
from holokern.dual.tables.rows import hermite_rows, mesh_rows
from holokern.errors import BadInput, PrecisionLost, Unsupported
from holokern.numeric.table import Range
from holokern.progress import listen

PARAMETERS = {
    "polynomial": {"coefficients": ["1", "-2", "1/3", "1"]},
    "rectified_polynomial": {"coefficients": ["0", "1", "-1/2"]},
    "monomial": {"degree": 3},
    "hermite": {"degree": 4},
}
OFF_ZERO = {"hardtanh", "relu6", "hardsigmoid", "hardswish", "hardshrink", "softshrink"}
AT_ZERO = sorted(set(activations()) - OFF_ZERO)
FEW = {
    "elu",
    "exp",
    "gelu",
    "leaky_relu",
    "mish",
    "polynomial",
    "relu",
    "resin",
    "sin",
    "step",
}
"""One of every kind; the others are slow."""
WANTED = 1e-12


def named(name):
    return activation(name, **PARAMETERS.get(name, {}))


def covariances(count, low, high, smallest, seed=1):
    """Random covariances, the corners of the range, equal deviations, and angles next to the ends."""
    random = np.random.default_rng(seed)
    c1, c2 = (np.exp(random.uniform(np.log(low), np.log(high), count)) for _ in range(2))
    theta = smallest + (np.pi - 2 * smallest) * random.random(count)
    c1[-1], c2[-1] = low, high
    if smallest:
        theta[:2] = smallest, np.pi - smallest - 1e-9
    else:
        theta[:6] = 1e-6, 1e-3, 0.03, 0.3, np.pi - 0.02, np.pi - 1e-6
        c2[:2], c2[5] = c1[:2], c1[5]
    return c1, c2, theta


def disagreement(made, c1, c2, theta):
    """The largest difference to quadrature, relative to the norms, of k and of k′."""
    exact = dual(made.activation, c1, c2, theta=theta, method="quadrature")
    k, kdot = made(c1, c2, theta)
    found = [np.max(np.abs(k - exact.k) / made.norms(c1) / made.norms(c2))]
    if made.has_slope:
        found.append(np.max(np.abs(kdot - exact.kdot) / made.slope_norms(c1) / made.slope_norms(c2)))
    else:
        assert np.all(np.isnan(kdot))
    return max(found)


def check(sigma, low, high, smallest, count=8):
    made = dual_activation(sigma).table(low, high, smallest)
    assert made.error < WANTED
    found = disagreement(made, *covariances(count, low, high, smallest))
    # The error is measured elsewhere, and largest at the ends of a wide range; see also the honesty test below.
    assert found <= WANTED
    assert found <= 10 * made.error + 4e-15


@pytest.mark.parametrize("smallest", [0.4, 0.0])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in AT_ZERO]
)
def test_named_activations_against_quadrature(name, smallest):
    check(named(name), 0.6, 1.3 if name == "exp" else 1.6, smallest)


@pytest.mark.parametrize("smallest", [0.4, 0.0])
@pytest.mark.parametrize(
    "name", ["elu", "relu", "resin", "step", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gelu", "tanh"))]
)
def test_a_hundredfold_range(name, smallest):
    check(named(name), 0.1, 10.0, smallest)


@pytest.mark.slow
@pytest.mark.parametrize("smallest", [0.4, 0.0])
@pytest.mark.parametrize("name", sorted(set(AT_ZERO) - {"exp"}))
def test_every_activation_on_a_hundredfold_range(name, smallest):
    check(named(name), 0.1, 10.0, smallest, 16)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elu", "erf", "gelu", "resin", "silu", "softplus", "tanh"])
def test_norms_of_images(name):
    """The range [2, 20], on which the HGM gives 13 points a second for resin."""
    for smallest in (0.4, 0.0):
        check(named(name), 2.0, 20.0, smallest, 16)


@pytest.mark.parametrize("name", sorted(OFF_ZERO))
def test_breaks_away_from_zero_at_angles_away_from_the_ends(name):
    check(activation(name), 0.8, 1.3, 0.4)


@pytest.mark.parametrize("smallest", [0.2, 0.05])
@pytest.mark.parametrize(
    "text",
    [
        "Heaviside(u-1)*exp(-u)+erf(u)",
        "Max(Min(u,1),-1/2)",
        pytest.param("tanh(u)+Abs(u-1)*exp(-u^2)", marks=pytest.mark.slow),
    ],
)
def test_breaks_away_from_zero_at_small_angles(text, smallest):
    """One panel of angles, where functions are blurred, and its mirror image."""
    sigma, random = activation(text), np.random.default_rng(3)
    made = dual_activation(sigma).table(0.95, 1.1, smallest)
    assert made.error < WANTED
    c1, c2 = (random.uniform(0.95, 1.1, 8) for _ in range(2))
    c2[:2] = c1[:2]
    theta = smallest * (1 + random.random(8))
    theta[::2] = np.pi - theta[::2]
    assert disagreement(made, c1, c2, theta) <= 10 * made.error + 4e-15
    assert np.all(np.isnan(made(c1, c2, np.full(8, 2.1 * smallest))[0]))


@pytest.mark.parametrize("smallest", [0.4, 0.0])
@pytest.mark.parametrize(
    "text", ["Heaviside(u)*sin(u)*exp(-u)", "u*exp(-u^2)", "Max(u,0)*cos(u) + 1", "erf(u)*u + u^2/4", "Abs(u)^3 - u"]
)
def test_expressions_against_quadrature(text, smallest):
    check(activation(text), 0.7, 1.4, smallest)


def test_the_error_is_honest():
    """At many points it is of the size of the differences to quadrature: neither far below nor far above them."""
    made = dual_activation("gelu").table(0.5, 4.0)
    found = disagreement(made, *covariances(60, 0.5, 4.0, 0.0, seed=7))
    assert found <= 3 * made.error + 2e-15
    assert made.error <= 100 * found


def test_a_table_with_a_large_error_is_refused(monkeypatch):
    monkeypatch.setattr(build, "_WRONG", 1e-18)
    with pytest.raises(PrecisionLost, match="is off by"):
        build.build_table(activation("tanh"), Range(0.0, 0.1), None, 0.4)


def test_a_table_that_is_wrong_at_the_angle_zero_is_refused_before_its_panels(monkeypatch):
    monkeypatch.setattr(build, "_WRONG", 1e-18)
    monkeypatch.setattr(build._Builder, "panels", lambda *_: pytest.fail("panels are made"))
    with pytest.raises(PrecisionLost, match="is off by"):
        build.build_table(activation("tanh"), Range(0.0, 1.0), None, 0.0)


@pytest.mark.slow
def test_sines_on_half_lines_keep_their_digits_over_a_wide_range():
    """Deviations that differ two hundredfold: the gap grows like c² on the diagonal (it was off by 1.8e-11)."""
    assert build.build_table(activation("resin"), Range(np.log(0.1), np.log(20.0)), None, 0.0).error < 4e-12


def test_angles_that_need_too_many_terms_are_refused(monkeypatch):
    monkeypatch.setattr(build, "_COUNTS", (4,))
    with pytest.raises(PrecisionLost, match="terms do not resolve angles"):
        build.build_table(activation("tanh"), Range(0.0, 0.1), None, 0.4)


@pytest.mark.parametrize(
    ("name", "degree"), [("relu", 1), ("abs", 1), ("step", 0), ("sign", 0), ("squared_relu", 2), ("identity", 1)]
)
def test_homogeneous_activations_need_one_deviation(name, degree):
    made = dual_activation(name).table(0.5, 2.0)
    assert made.homogeneity == degree
    assert made.table.range.is_point
    assert all(tensor.functions.shape == (1, 1) for panel in made.table.panels for tensor in panel)
    assert disagreement(made, np.array([1e-3, 5.0]), np.array([40.0, 5.0]), np.array([1.0, 2.5])) < WANTED
    assert dual_activation(name).table(1e-30, 1e30) is made


def test_relu_at_its_closed_form():
    made = dual_activation("relu").table(1.0, 1.0)
    theta = np.linspace(0, np.pi, 101)
    k, kdot = made(np.full(101, 2.0), np.full(101, 3.0), theta)
    assert np.allclose(k, 6 * (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi), rtol=0, atol=1e-13)
    assert np.allclose(kdot, (np.pi - theta) / (2 * np.pi), rtol=0, atol=1e-14)


def test_erf_at_its_closed_form_on_a_wide_range():
    c1, c2, theta = covariances(500, 0.05, 20.0, 0.0)
    made = dual_activation("erf").table(0.05, 20.0)
    root = np.sqrt((1 + 2 * c1**2) * (1 + 2 * c2**2))
    exact = 2 / np.pi * np.arcsin(2 * c1 * c2 * np.cos(theta) / root)
    k, _ = made(c1, c2, theta)
    assert np.max(np.abs(k - exact) / made.norms(c1) / made.norms(c2)) < 1e-13


def test_steps_have_no_slope():
    made = dual_activation("step").table(1.0, 1.0)
    assert not made.has_slope
    k, kdot = made(np.ones(2), np.ones(2), np.array([0.0, 1.0]))
    assert np.allclose(k, [0.5, (np.pi - 1) / (2 * np.pi)], rtol=0, atol=1e-15)
    assert np.all(np.isnan(kdot))


def test_even_and_odd_activations_use_half_of_the_angles():
    for name, sign in (("cos", 1), ("tanh", -1)):
        made = dual_activation(name).table(0.9, 1.1)
        assert made.table.edges[-1] == np.pi / 2
        c, theta = np.full(3, 1.0), np.array([0.1, 0.7, 1.2])
        (near, near_slope), (far, far_slope) = made(c, c, theta), made(c, c, np.pi - theta)
        assert np.allclose(far, sign * near, rtol=1e-14)
        assert np.allclose(far_slope, -sign * near_slope, rtol=1e-14)


def test_tables_are_kept_by_what_was_asked_alone():
    """Similar ranges share a table; a wider one in memory does not change the bits of a narrower one."""
    dual = dual_activation("tanh(u) + u/7")
    first = dual.table(0.82, 1.22)
    assert dual.table(0.83, 1.21) is first
    far = dual.table(0.83, 1.21, 0.4)
    assert far is not first and far.smallest == 0.4
    one, angle = np.ones(1), np.array([0.9])
    before = far(one, one, angle)
    dual.table(0.1, 5.0, 0.4)
    assert dual.table(0.83, 1.21, 0.4)(one, one, angle) == before


def test_points_outside_the_range_are_refused():
    made = dual_activation("silu").table(0.8, 1.25)
    with pytest.raises(BadInput, match=r"is for deviations in .* ask for a table of the wider range"):
        made(np.array([5.0]), np.array([1.0]), np.array([1.0]))
    with pytest.raises(BadInput, match="is for deviations in"):
        made.norms(np.array([0.1]))


def test_angles_that_a_table_leaves_out_are_nan():
    made = dual_activation("mish").table(0.8, 1.25, 0.4)
    k, kdot = made(np.ones(3), np.ones(3), np.array([0.1, 1.0, np.pi - 0.1]))
    assert np.isnan(k).tolist() == np.isnan(kdot).tolist() == [True, False, True]


@pytest.mark.parametrize("bad", [(0.0, 1.0), (2.0, 1.0), (-1.0, 1.0), (1.0, np.inf), (np.nan, 1.0)])
def test_bad_ranges(bad):
    with pytest.raises(BadInput, match="range of standard deviations"):
        dual_activation("gelu").table(*bad)


def test_bad_angles():
    with pytest.raises(BadInput, match=r"smallest = 0\.3; choose one of"):
        dual_activation("gelu").table(0.5, 2.0, 0.3)


def test_breaks_away_from_zero_have_no_table_for_small_angles():
    with pytest.raises(Unsupported, match="has a break other than zero"):
        dual_activation("hardtanh").table(0.5, 2.0)
    with pytest.raises(Unsupported, match="has a break other than zero"):
        dual("Heaviside(u - 1)*sin(u)", 1, 1, 0.5, method="compiled")


def test_infinite_moments_are_refused_every_time():
    for _ in range(2):
        with pytest.raises(PrecisionLost):
            dual_activation("exp(u^2/4)").table(0.5, 2.0)


def test_the_method_of_dual():
    r = np.array([0.3, 1.0, -0.8])
    fast, slow = (dual("gelu", [1.0, 0.9, 1.2], 1.1, r, method=m) for m in ("compiled", "quadrature"))
    assert np.allclose(fast.k, slow.k, rtol=0, atol=1e-12)
    assert np.allclose(fast.kdot, slow.kdot, rtol=0, atol=1e-12)
    assert np.all(fast.error < 1e-13)


def erf_loss(c1, c2, theta):
    """1 - k/(n1 n2) of erf with 50 digits."""
    with mpmath.workdps(50):
        c1, c2, theta = map(mpmath.mpf, (c1, c2, theta))

        def k(a, b, cosine):
            return mpmath.asin(2 * a * b * cosine / mpmath.sqrt((1 + 2 * a * a) * (1 + 2 * b * b)))

        return float(1 - k(c1, c2, mpmath.cos(theta)) / mpmath.sqrt(k(c1, c1, 1) * k(c2, c2, 1)))


@pytest.mark.parametrize("theta", [0.0, 1e-9, 1e-5, 0.01, 0.3])
@pytest.mark.parametrize("c2", [1.3, 1.3 + 1e-9, 1.3001, 1.1])
def test_the_gap_survives_for_nearly_equal_points(c2, theta):
    """1 - k/(n1 n2) = δ²W + θ²H keeps its digits where the difference of the rounded numbers has none."""
    made = dual_activation("erf").table(1.0, 1.5)
    logs = np.log([1.3]), np.log([c2])
    w, h, _ = made.table(*logs, np.array([theta]))
    found = float(((logs[0] - logs[1]) ** 2 * w + theta**2 * h)[0])
    # The logarithms themselves are rounded.
    rounding = 4e-16 / max(abs(np.log(c2 / 1.3)), 1e-15) if theta < 1e-5 else 0.0
    assert found == pytest.approx(erf_loss(1.3, c2, theta), rel=1e-11 + rounding, abs=0)


@settings(deadline=None, max_examples=20, derandomize=True)
@given(st.floats(0.8, 1.2), st.floats(0.8, 1.2), st.floats(0, np.pi))
def test_tables_are_symmetric_and_bounded_by_the_norms(c1, c2, theta):
    made = dual_activation("elu").table(0.75, 1.3)
    a, b, t = np.array([c1]), np.array([c2]), np.array([theta])
    (k, kdot), (turned, turned_slope) = made(a, b, t), made(b, a, t)
    scale, slope = made.norms(a) * made.norms(b), made.slope_norms(a) * made.slope_norms(b)
    assert abs(k - turned) <= 1e-14 * scale
    assert abs(kdot - turned_slope) <= 1e-14 * slope
    assert abs(k) <= scale * (1 + 1e-14)
    assert abs(kdot) <= slope * (1 + 1e-14)


def test_norms_slopes_and_means_are_those_of_integrals():
    dual, c = dual_activation("softplus"), np.geomspace(0.6, 1.6, 7)
    for smallest in (0.4, 0.0):
        made = dual.table(0.6, 1.6, smallest)
        assert np.allclose(made.norms(c), dual.norms(c), rtol=2e-14)
        assert np.allclose(made.slope_norms(c), dual.slope_norms(c), rtol=2e-14)
        assert np.allclose(made.means(c), dual.means(c), rtol=2e-14)


def test_few_rows_stand_for_all_deviations():
    """On [0.1, 10] there are tens of functions of a deviation, not as many as Chebyshev nodes."""
    span = Range(float(np.log(0.1)), float(np.log(10.0)))
    for few in (mesh_rows(activation("tanh"), span), hermite_rows(activation("tanh"), span, 0.4)):
        assert few.functions.shape[1] < 40 < len(few.nodes.logs)
        assert np.allclose(few.functions.T @ few.functions, np.eye(few.functions.shape[1]), atol=1e-13)


def test_oscillations_on_a_wide_range_take_short_panels_only_where_they_are_seen():
    """From θ = 0.4 on, E[sin u sin v] is zero to rounding for c > 30."""
    span = Range(float(np.log(0.1)), float(np.log(100.0)))
    panels = hermite_rows(activation("sin"), span, 0.4).nodes.panels
    widths = [part.high - part.low for part in panels]
    assert len(panels) < 20
    assert min(widths) < 0.6 * min(widths[0], widths[-1])
    table = dual_activation("sin").table(0.1, 100.0, 0.4)
    assert table.error < 1e-12
    c1, c2, theta = (a.ravel() for a in np.meshgrid([0.1, 3.0, 17.0, 99.0], [0.2, 3.3, 16.0, 100.0], [0.4, 1.0, 2.5]))
    exact = np.exp(-(c1**2 + c2**2) / 2 + c1 * c2 * np.abs(np.cos(theta))) / 2 * np.sign(np.cos(theta))
    exact -= np.exp(-(c1**2 + c2**2) / 2 - c1 * c2 * np.abs(np.cos(theta))) / 2 * np.sign(np.cos(theta))
    assert np.max(np.abs(table(c1, c2, theta)[0] - exact) / table.norms(c1) / table.norms(c2)) < 1e-12


def test_activations_too_rough_for_a_mesh():
    with pytest.raises(PrecisionLost, match="too rough for"):
        mesh_rows(activation("sin(5000*u)"), Range(0.0, 0.0))


def test_tables_of_fast_oscillations_are_refused_before_any_sample(monkeypatch):
    """ReSin on pixels from 0 to 255 took 11 seconds to find out, and 48 on a narrower range to make a table."""
    monkeypatch.setattr(rows, "compressed", lambda *_: pytest.fail("samples were taken"))
    for low, high in ((0.3, 215.0), (100.0, 215.0)):
        with pytest.raises(PrecisionLost, match=r"oscillates too often .*divide pixels by 255"):
            mesh_rows(activation("resin"), Range(float(np.log(low)), float(np.log(high))))


def test_panels_of_oscillations_are_right_from_the_start():
    span, seen = Range(float(np.log(0.3)), float(np.log(40.0))), []
    sigma = activation("resin")
    with listen(lambda stage, done, total: seen.append((done, total))):
        panels = mesh_rows(sigma, span).nodes.panels
    assert [total for _, total in seen] == [len(panels)] * len(panels)
