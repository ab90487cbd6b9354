"""Sines and cosines in closed form: values, distances of nearly equal points, and networks on real kinds of data."""

import mpmath
import numpy as np
import pytest

import holokern as hk
from holokern.dual import dual_activation

NAMES = ["sin", "cos", "snake", "sin(-3*u) - u", "2 + cos(u/2) - sin(u/2)"]


# snake is slow: it is a wave beside a line, as sin(-3*u) - u is
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "snake" else ()) for name in NAMES]
)
def test_values_and_norms_agree_with_quadrature(name):
    rng = np.random.default_rng(0)
    c, d = np.exp(rng.uniform(-5, 2.5, (2, 60)))
    theta = rng.uniform(0, np.pi, 60)
    theta[:3] = 0.0, np.pi, np.pi / 2
    dual = dual_activation(name)
    form = dual.smooth_form
    k, kdot = form.values(c, d, theta)
    true = hk.dual(name, c, d, theta=theta, method="quadrature")
    assert np.max(np.abs(k - true.k) / (form.norms(c) * form.norms(d))) < 1e-13
    assert np.max(np.abs(kdot - true.kdot) / (form.slope_norms(c) * form.slope_norms(d))) < 1e-12
    np.testing.assert_allclose(form.norms(c), dual.norms(c), rtol=1e-13)
    np.testing.assert_allclose(form.slope_norms(c), dual.slope_norms(c), rtol=1e-13)
    np.testing.assert_allclose(form.means(c), dual.means(c), rtol=1e-12, atol=1e-14)


def exact_gap(name, c, d, gap):
    """½E[(σ(u) - σ(v))²] with 60 digits, from k before it is rewritten."""
    with mpmath.workdps(60):
        c, d, gap = map(mpmath.mpf, (c, d, gap))

        def k(v, w, cov):
            if name == "sin":
                return mpmath.exp(-(v + w) / 2) * mpmath.sinh(cov)
            if name == "cos":
                return mpmath.exp(-(v + w) / 2) * mpmath.cosh(cov)
            # u + 1/2 - cos(2u)/2
            waves = mpmath.exp(-2 * (v + w)) * mpmath.cosh(4 * cov)
            return cov + (1 - mpmath.exp(-2 * v) - mpmath.exp(-2 * w) + waves) / 4

        return (k(c**2, c**2, c**2) + k(d**2, d**2, d**2)) / 2 - k(c**2, d**2, (c**2 + d**2) / 2 - gap)


@pytest.mark.parametrize("name", ["sin", "cos", "snake"])
def test_nearly_equal_points_keep_their_digits(name):
    form = dual_activation(name).smooth_form
    for c in (1e-3, 0.3, 2.0, 40.0):
        for shift in (0.0, 1e-9, 1e-5):
            for theta in (1e-9, 1e-6, 1e-3 / max(1.0, c)):
                d = c * (1 + shift)
                gap = 2 * c * d * np.sin(theta / 2) ** 2 + (c - d) ** 2 / 2
                found = form.gaps(np.array([c]), np.array([d]), np.array([gap]))[0]
                assert float(abs(found / exact_gap(name, c, d, gap) - 1)) < 1e-9


def test_only_waves_of_one_frequency_have_this_form():
    for name in ("sin(u) + cos(2*u)", "u*sin(u)", "exp(u)*sin(u)", "resin", "u - sin(u)", "u^2 + cos(u)"):
        assert dual_activation(name).smooth_form is None


@pytest.mark.parametrize(("name", "low", "high"), [("snake", 0.1, 100.0), ("sin", 2.0, 20.0), ("cos", 1e-3, 1e3)])
def test_networks_agree_with_pairs_by_themselves(name, low, high):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((24, 5))
    x *= np.geomspace(low, high, 24)[:, None] / np.linalg.norm(x, axis=1, keepdims=True)
    x[3] = x[2] * (1 + 1e-9)
    x[5] = -x[4]
    net = hk.Network(name, depth=2, bias=0.1)
    for engine in ("layers", "network"):
        for found, true in zip(net.both(x, engine=engine), net.both(x, engine="pairs"), strict=True):
            root = np.sqrt(np.outer(np.diag(true), np.diag(true)))
            assert np.max(np.abs(found - true) / root) < 1e-11


@pytest.mark.parametrize("name", NAMES)
def test_lines_of_pairs_agree_with_values(name):
    rng = np.random.default_rng(2)
    c, d = np.exp(rng.uniform(-3, 4, (2, 30)))
    theta = rng.uniform(0, np.pi, (30, 30))
    theta[:2, :2] = 0.0, np.pi
    form = dual_activation(name).line_form
    given = 0.5 * (c[:, None] - d) ** 2 + 2 * c[:, None] * d * np.sin(theta / 2) ** 2
    sides = form.numbers(c)[None], form.numbers(d)[None]
    gap, slope = form.tiles(*sides, given[None], np.ones((1, 30, 30)))
    k, kdot = form.values(c[:, None], d, theta)
    n, m, slopes = form.norms(c)[:, None], form.norms(d), form.slope_norms(c)[:, None] * form.slope_norms(d)
    assert np.max(np.abs((n**2 + m**2) / 2 - k - gap[0]) / (n**2 + m**2)) < 1e-14
    # Distances of long vectors that are nearly opposite say less of their angle than the angle itself.
    assert np.max(np.abs(kdot - slope[0]) / slopes) < 1e-11


@pytest.mark.parametrize("name", ["sin", "cos", "sin(-3*u) - u"])
def test_convolutions_need_no_table(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(tmp_path))
    layers = hk.layers
    images = np.random.default_rng(0).standard_normal((4, 5, 5, 1)) * np.array([1e-3, 1, 30, 1000])[:, None, None, None]
    images[1, :2] = 0
    hidden = [layers.Conv(3, padding="same"), layers.Activation(name)] * 2
    for end in (layers.Flatten(), layers.GlobalAvgPool()):
        nngp, ntk = hk.Network(layers.Serial(*hidden, end, layers.Dense())).both(images)
        for kernel in (nngp, ntk):
            assert np.all(np.isfinite(kernel))
            assert np.min(np.linalg.eigvalsh(kernel)) > -1e-13 * np.max(kernel)
    assert not list(tmp_path.rglob("*.npz"))
