"""Activations with roots |u|^e: slopes that are unbounded, kernels that are not smooth at small angles."""

from __future__ import annotations

from math import gamma, pi, sqrt

import mpmath as mp
import numpy as np
import pytest

import holokern as hk
from holokern.errors import Unsupported

METHODS = ("auto", "hgm", "all_at_once", "taylor", "quadrature")


def moment(p: float) -> float:
    """E|z|^p of a standard normal z."""
    return 2 ** (p / 2) * gamma((p + 1) / 2) / sqrt(pi)


def slope(e: str, c1: int, c2: int, r: float) -> mp.mpf:
    """k′ of |u|^e, a hypergeometric function of r²."""
    with mp.workdps(40):
        a, r = mp.mpf(e) - 1, mp.mpf(r)
        series = mp.hyp2f1((1 - a) / 2, (1 - a) / 2, mp.mpf(3) / 2, r * r)
        return (a + 1) ** 2 * mp.mpf(c1 * c2) ** a * 2 ** (a + 1) * mp.gamma(1 + a / 2) ** 2 / mp.pi * r * series


@pytest.mark.parametrize("e", ["1/10", *(pytest.param(e, marks=pytest.mark.slow) for e in ("3/10", "3/5"))])
def test_slopes_next_to_equal_points(e: str) -> None:
    numerator, denominator = map(int, e.split("/"))
    r = np.array([0.3, 0.9999, 1 - 1e-9])
    exact = np.array([slope(mp.mpf(numerator) / denominator, 1, 2, one) for one in r])
    for method in METHODS:
        value = hk.dual(f"Abs(u)^({e})", 1, 2, r, method=method)
        assert np.all(np.abs(value.kdot - exact) <= 3 * value.kdot_error)
        if method != "quadrature":
            assert np.all(value.kdot_error < 1e-13 * np.maximum(exact, 1))


@pytest.mark.parametrize("e", [0.75, 0.6, 0.55])
def test_norms_of_unbounded_slopes(e: float) -> None:
    dual = hk.dual_activation(f"Abs(u)^({e})")
    exact = e * e * moment(2 * e - 2)
    c = np.array([0.5, 1.0, 3.0])
    assert dual.slope_norms(c) ** 2 == pytest.approx(exact * c ** (2 * e - 2), rel=1e-13)
    assert dual.moments_in_range(c)[1] ** 2 == pytest.approx(exact * c ** (2 * e - 2), rel=1e-13)
    assert hk.dual(f"Abs(u)^({e})", 1, 1, 1.0).kdot == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize(
    "name",
    [
        "sqrt(Abs(u))",
        "sign(u)*Abs(u)^(1/3)",
        "Heaviside(u-1)*sqrt(Abs(u-1))",
        "Abs(u)^(1/2)+tanh(u)",
        pytest.param("Abs(u)^(-3/4)*tanh(u)", marks=pytest.mark.slow),
        pytest.param("tanh(sqrt(Abs(u)))", marks=pytest.mark.slow),
        "Max(tanh(u)-1/2,0)^(1/2)",
    ],
)
def test_an_infinite_tangent_kernel_is_refused(name: str) -> None:
    net = hk.Network(name, depth=2, b_std=0.1)
    with pytest.raises(Unsupported, match="as steep as a root"):
        net.ntk(np.eye(2))
    assert np.all(np.isfinite(net.nngp(np.eye(2))))
    assert np.all(np.isinf(net.diagonals(np.eye(2)).ntk))


@pytest.mark.parametrize(("name", "degree"), [("sqrt(Abs(u))", 0.5), ("Max(u,0)^(3/2)", 1.5), ("relu", 1.0)])
def test_degrees_may_be_fractions(name: str, degree: float) -> None:
    assert hk.dual_activation(name).homogeneity == degree


@pytest.mark.parametrize("engine", ["pairs", "layers", "network"])
def test_a_network_of_roots(engine: str) -> None:
    square = theta = 1.01
    for _ in range(2):
        rate = 9 / 16 * moment(-0.5) / moment(1.5) * square**-0.25
        square = square**0.75 + 0.01
        theta = theta * rate + square
    net = hk.Network("sign(u)*Abs(u)^(3/4)", depth=2, b_std=0.1)
    nngp, ntk = net.both(np.eye(3), engine=engine)
    assert np.diag(nngp) == pytest.approx(square, rel=1e-13)
    assert np.diag(ntk) == pytest.approx(theta, rel=1e-13)


MIXED = "Abs(u)^(2/3)+tanh(u)"
"""Continuous, with a tangent kernel since 2/3 > 1/2, and outside every exact ring."""


def mixed(c: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """z, weights and the values of σ and σ′ of MIXED at cz = ±t³, where all is smooth in t."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    t = np.cbrt(9) * (nodes + 1) / 2
    z = np.concatenate([-(t**3), t**3])
    weights = np.tile(3 * t**2 * np.cbrt(9) / 2 * weights, 2)
    u = c * z
    return z, weights, np.abs(u) ** (2 / 3) + np.tanh(u), 2 / 3 / np.cbrt(u) + 1 / np.cosh(u) ** 2


def mixed_moments(c: float) -> tuple[float, float]:
    """E[σ(cz)²] and E[σ′(cz)²]."""
    z, weights, value, slope = mixed(c)
    density = weights * np.exp(-z * z / 2) / sqrt(2 * pi)
    return float(density @ value**2), float(density @ slope**2)


@pytest.mark.parametrize(("c1", "c2", "r"), [(1.0, 1.0, 0.5), (1.0, 3.0, -0.8), (0.2, 1.0, 0.9)])
def test_roots_beside_functions_without_an_equation(c1: float, c2: float, r: float) -> None:
    (x, wx, *first), (y, wy, *second) = mixed(c1), mixed(c2)
    q = 1 - r * r
    density = np.exp(-(x[:, None] ** 2 - 2 * r * np.multiply.outer(x, y) + y**2) / (2 * q)) / (2 * pi * sqrt(q))
    k, kdot = ((f * wx) @ density @ (g * wy) for f, g in zip(first, second, strict=True))
    value = hk.dual(MIXED, c1, c2, r)
    assert abs(value.k - k) <= 5 * value.error + 1e-13
    assert abs(value.kdot - kdot) <= 5 * value.kdot_error + 1e-13
    assert value.kdot_error < 1e-11


def test_the_tangent_kernel_of_a_root_beside_tanh() -> None:
    k, kdot = mixed_moments(1.0)
    value = hk.dual(MIXED, 1, 1, 1.0)
    assert value.k == pytest.approx(k, rel=1e-13)
    assert value.kdot == pytest.approx(kdot, rel=1e-12)
    at, rate = mixed_moments(sqrt(1.01))
    square = at / k + 0.01
    nngp, ntk = hk.Network(MIXED, depth=1, b_std=0.1).both(np.eye(2))
    assert np.diag(nngp) == pytest.approx(square, rel=1e-12)
    assert np.diag(ntk) == pytest.approx(1.01 * rate / k + square, rel=1e-12)


@pytest.mark.slow
def test_small_angles_of_roots() -> None:
    rng = np.random.default_rng(3)
    first = rng.standard_normal((1, 3))
    x = np.concatenate([first, first + 0.2 * rng.standard_normal((1, 3)), 1e-6 + first])
    net = hk.Network("Max(u,0)^(3/2)", depth=1, b_std=0.1)
    for layers, pairs in zip(net.both(x, engine="layers"), net.both(x, engine="pairs"), strict=True):
        root = np.sqrt(np.diag(pairs))
        assert np.max(np.abs(layers - pairs) / np.outer(root, root)) < 1e-12


@pytest.mark.parametrize(
    "name", ["tanh(1/u)", pytest.param("1/(1+exp(1/u))", marks=pytest.mark.slow), "u*tanh(1/u)", "tanh(1/(u-1))"]
)
def test_jumps_at_poles_inside_functions(name: str) -> None:
    """∂k/∂r is c1 c2 k′, with the δ-terms of the jumps."""
    nodes, r = np.polynomial.chebyshev.chebpts1(24) / 2, np.array([0.3, -0.2])
    k = np.polynomial.Chebyshev.fit(nodes, hk.dual(name, 1, 2, nodes).k, 23, domain=[-0.5, 0.5])
    assert hk.dual(name, 1, 2, r).kdot == pytest.approx(k.deriv()(r) / 2, rel=1e-8)
