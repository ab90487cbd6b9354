"""Closed forms in distances, which convolutional networks evaluate pair by pair."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special  # noqa: F401 (its warning filter is there before the first test)

import holokern as hk
from holokern import layers as L
from holokern.dual import dual_activation
from holokern.errors import PrecisionLost

NAMES = ["relu", "leaky_relu", "abs", "erf", "gelu", "3*u - 2*u*erf(u/3)", "1 + 2*erf(-u/2)"]


def through(name, c, d, gap):
    """G and k′ of pairs of deviations, one tile with one row for each pair."""
    form = dual_activation(name).pair_form
    first, second = (form.numbers(np.asarray(x, dtype=float)).T[:, :, None] for x in (c, d))
    after, slope = form.tiles(first, second, np.asarray(gap, dtype=float)[:, None, None], np.ones((len(c), 1, 1)))
    return after[:, 0, 0], slope[:, 0, 0]


@pytest.mark.parametrize("name", NAMES)
def test_forms_agree_with_quadrature_and_formulas(name):
    rng = np.random.default_rng(0)
    c, d = np.exp(rng.uniform(-4, 3, (2, 60)))
    theta = rng.uniform(0, np.pi, 60)
    form, dual = dual_activation(name).pair_form, dual_activation(name)
    after, slope = through(name, c, d, 0.5 * (c - d) ** 2 + 2 * c * d * np.sin(theta / 2) ** 2)
    true = hk.dual(name, c, d, theta=theta, method="quadrature")
    n, m = form.norms(c), form.norms(d)
    np.testing.assert_allclose(0.5 * (n**2 + m**2) - after, true.k, rtol=0, atol=1e-13 * np.max(n * m))
    assert np.max(np.abs(0.5 * (n**2 + m**2) - after - true.k) / (n**2 + m**2)) < 1e-13
    np.testing.assert_allclose(slope, true.kdot, rtol=1e-11, atol=1e-12 * form.slope_norms(c).max() ** 2)
    np.testing.assert_allclose(n, dual.norms(c), rtol=1e-13)
    np.testing.assert_allclose(form.slope_norms(c), dual.slope_norms(c), rtol=1e-12)
    np.testing.assert_allclose(form.means(c), dual.means(c), rtol=1e-12, atol=1e-14 * np.max(n))


def exact(name, c, d, gap):
    """G after erf or GELU with 60 digits, from E[u e(u) v e(v)] before it is simplified."""
    with mpmath.workdps(60):
        c, d, gap = map(mpmath.mpf, (c, d, gap))
        square = 2 if name == "erf" else 1  # 2γ²

        def k(v, w, cov):
            s, t = mpmath.sqrt(1 + square * v), mpmath.sqrt(1 + square * w)
            x = square * cov / (s * t)
            if name == "erf":
                return 2 / mpmath.pi * mpmath.asin(x)
            rest = v * w - cov**2 + cov**2 / s**2 + cov**2 / t**2
            curved = 2 / mpmath.pi * (cov * mpmath.asin(x) + rest / (s * t * mpmath.sqrt(1 - x**2)))
            return (cov + curved) / 4

        cov = (c**2 + d**2) / 2 - gap
        return (k(c**2, c**2, c**2) + k(d**2, d**2, d**2)) / 2 - k(c**2, d**2, cov)


@pytest.mark.parametrize("name", ["erf", "gelu"])
@pytest.mark.parametrize("c", [1e-3, 0.1, 1.0, 20.0])
def test_nearly_equal_variables_keep_their_digits(name, c):
    # Half a bit of c is what its difference to d is known to.
    for d, more, digits in ((c, 1e-25, 1e-13), (c * (1 + 1e-5), 0.0, 1e-9), (c * (1 + 1e-5), 1e-12, 1e-9)):
        gap = 0.5 * (c - d) ** 2 + more * c**2
        found = through(name, [c], [d], [gap])[0][0]
        assert abs(found / exact(name, c, d, gap) - 1) < digits


@pytest.mark.parametrize("name", NAMES)
def test_extreme_deviations_give_finite_distances(name):
    c = np.array([1e-140, 1e-140, 1.0, 1e6, 1e6])
    d = np.array([1e-140, 1.0, 1e-140, 1e6, 1e-6])
    for angle in (0.0, math.pi / 2, math.pi):
        after, slope = through(name, c, d, 0.5 * (c - d) ** 2 + 2 * c * d * math.sin(angle / 2) ** 2)
        assert np.all(np.isfinite(after)) and np.all(np.isfinite(slope))
        assert np.all(after >= -1e-15 * (c**2 + d**2))


@pytest.mark.parametrize("name", ["tanh", "elu", "step", "u^2", "sin", "erf(u + 1)", "u*erf(u) + 1", "u^2*erf(u)"])
def test_other_activations_have_no_form(name):
    assert dual_activation(name).pair_form is None


@pytest.mark.parametrize("name", ["gelu", "erf", "erf(u/3) - 1/5", "u*erf(2*u) + u/7"])
def test_losses_are_those_of_pairs_by_themselves(name):
    """Deviations from 1e-3 to 1e3, nearly equal ones, and angles next to 0 and π."""
    random = np.random.default_rng(0)
    dual = hk.dual_activation(name)
    c = np.exp(random.uniform(np.log(1e-3), np.log(1e3), 12))
    c[:2] = c[2:4] * (1 + 1e-9)
    theta = random.uniform(0, np.pi, (12, 12))
    theta[:2] *= 1e-8
    theta[2:4] = np.pi - 1e-8 * theta[2:4]
    lost, slope = dual.pair_form.losses(theta, c, c, dual.fold != 0, True)
    rows, columns = np.indices(theta.shape).reshape(2, -1)
    angle = (np.minimum(theta, np.pi - theta) if dual.fold else theta).ravel()
    exact = hk.dual(name, c[rows], c[columns], theta=angle)
    norms, slopes = (f(c)[:, None] * f(c) for f in (dual.pair_form.norms, dual.pair_form.slope_norms))
    assert np.max(np.abs(norms * (1 - lost) - exact.k.reshape(12, 12)) / norms) < 1e-13
    assert np.max(np.abs(slope - exact.kdot.reshape(12, 12)) / slopes) < 1e-13


@pytest.mark.parametrize("name", ["erf", "gelu"])
def test_deviations_whose_fifth_powers_overflow_are_refused(name):
    """Kernels of images of size 1e90 were NaN."""
    net = hk.Network(L.Serial(L.Conv(3), L.Activation(name), L.Flatten(), L.Dense()))
    x = np.random.default_rng(0).standard_normal((2, 4, 4, 1))
    assert np.all(np.isfinite(net.both(1e59 * x)))
    with pytest.raises(PrecisionLost, match="rescale the data"):
        net.both(1e90 * x)
