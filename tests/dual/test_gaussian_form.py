"""Gaussians in closed form: distances and slopes of lines of pairs, and convolutions without tables."""

import mpmath
import numpy as np
import pytest

import holokern as hk
from holokern.dual import dual_activation

NAMES = {"gaussian": (1, 0.5), "rbf": (1, 1.0), "-3*exp(-u^2/8)": (-3, 0.125)}


@pytest.mark.parametrize("name", NAMES)
def test_lines_of_pairs_agree_with_quadrature(name):
    rng = np.random.default_rng(0)
    c, d = np.exp(rng.uniform(-4, 3, (2, 40)))
    theta = rng.uniform(0, np.pi, 40)
    theta[:3] = 0.0, np.pi, np.pi / 2
    dual = dual_activation(name)
    form = dual.line_form
    given = 0.5 * (c - d) ** 2 + 2 * c * d * np.sin(theta / 2) ** 2
    sides = (form.numbers(side).T[:, :, None] for side in (c, d))
    gap, slope = form.tiles(*sides, given[:, None, None], np.ones((40, 1, 1)))
    true = hk.dual(name, c, d, theta=theta, method="quadrature")
    n, m, slopes = form.norms(c), form.norms(d), form.slope_norms(c) * form.slope_norms(d)
    assert np.max(np.abs((n**2 + m**2) / 2 - true.k - gap[:, 0, 0]) / (n**2 + m**2)) < 1e-14
    assert np.max(np.abs(true.kdot - slope[:, 0, 0]) / slopes) < 1e-12
    np.testing.assert_allclose(form.norms(c), dual.norms(c), rtol=1e-13)
    np.testing.assert_allclose(form.slope_norms(c), dual.slope_norms(c), rtol=1e-13)
    np.testing.assert_allclose(form.means(c), dual.means(c), rtol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_nearly_equal_points_keep_their_digits(name):
    height, rate = NAMES[name]
    form = dual_activation(name).line_form
    for c in (1e-3, 0.3, 2.0, 1000.0):
        for shift in (0.0, 1e-9, 1e-5, 0.3):
            for theta in (1e-9, 1e-6, 1e-3):
                d = c * (1 + shift)
                given = 2 * c * d * np.sin(theta / 2) ** 2 + (c - d) ** 2 / 2
                sides = (form.numbers(np.array([side]))[None] for side in (c, d))
                found = form.tiles(*sides, np.full((1, 1, 1), given), np.empty((0, 0, 0)))[0][0, 0, 0]
                with mpmath.workdps(60):
                    v, w, cov = mpmath.mpf(c) ** 2, mpmath.mpf(d) ** 2, mpmath.mpf(0)
                    cov = (v + w) / 2 - mpmath.mpf(given)

                    def k(v, w, cov):
                        a = mpmath.mpf(rate)
                        return height**2 / mpmath.sqrt((1 + 2 * a * v) * (1 + 2 * a * w) - 4 * a**2 * cov**2)

                    exact = (k(v, v, v) + k(w, w, w)) / 2 - k(v, w, cov)
                    assert float(abs(found / exact - 1)) < 1e-9


def test_convolutions_need_no_table(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(tmp_path))
    layers = hk.layers
    images = np.random.default_rng(0).standard_normal((4, 5, 5, 1)) * np.array([1e-3, 1, 30, 1000])[:, None, None, None]
    images[1, :2] = 0
    hidden = [layers.Conv(3, padding="same"), layers.Activation("gaussian")] * 2
    for end in (layers.Flatten(), layers.GlobalAvgPool()):
        nngp, ntk = hk.Network(layers.Serial(*hidden, end, layers.Dense())).both(images)
        for kernel in (nngp, ntk):
            assert np.all(np.isfinite(kernel))
            assert np.min(np.linalg.eigvalsh(kernel)) > -1e-13 * np.max(kernel)
    assert not list(tmp_path.rglob("*.npz"))


def test_very_long_vectors_give_numbers():
    images = np.random.default_rng(1).standard_normal((3, 4, 4, 1)) * 1e90
    images[2] = -images[0]
    layers = hk.layers
    network = hk.Network(
        layers.Serial(layers.Conv(3, padding="same"), layers.Activation("gaussian"), layers.Flatten(), layers.Dense())
    )
    nngp, ntk = network.both(images)
    assert np.all(np.isfinite(nngp)) and np.all(np.isfinite(ntk))
    assert nngp[0, 2] == pytest.approx(nngp[0, 0], rel=1e-12)
