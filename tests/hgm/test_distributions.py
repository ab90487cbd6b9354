"""Ready distributions against quadrature that shares nothing with them, to 1e-10, and balls against floats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from scipy import special, stats
from scipy.spatial.transform import Rotation

import holokern as hk
from holokern.errors import BadInput, TooLarge, UnknownName

hgm = hk.hgm


def circle(count):
    angle = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angle), np.sin(angle)], axis=1), np.full(count, 2 * np.pi / count)


def sphere(p, count=48):
    """Nodes and weights on the unit sphere of R^p: (cos a, sin a · lower sphere)."""
    if p == 2:
        return circle(2 * count)
    inner, weights = sphere(p - 1, count)
    x, w = special.roots_gegenbauer(count, (p - 2) / 2)
    nodes = np.concatenate(
        [
            np.repeat(x, len(inner))[:, None],
            np.tile(inner, (count, 1)) * np.sqrt(1 - np.repeat(x, len(inner)) ** 2)[:, None],
        ],
        axis=1,
    )
    return nodes, np.repeat(w, len(inner)) * np.tile(weights, count)


def random_parameters(p, scale, seed=0):
    random = np.random.default_rng(seed)
    A = random.normal(size=(p, p)) * scale
    return (A + A.T) / 2, random.normal(size=p) * scale


@pytest.mark.parametrize("p", [2, 3, 4])
def test_fisher_bingham_and_its_gradient_against_quadrature(p):
    nodes, weights = sphere(p)
    for scale in (0.5, 3.0):
        A, b = random_parameters(p, scale)
        density = weights * np.exp(np.einsum("ti,ij,tj->t", nodes, A, nodes) + nodes @ b)
        c = hgm.fisher_bingham(A, b)
        assert abs(c.value / density.sum() - 1) < 1e-12
        assert c.error < 1e-12
        density /= density.sum()
        assert np.allclose(c.mean, density @ nodes, atol=1e-12)
        assert np.allclose(c.second, np.einsum("t,ti,tj->ij", density, nodes, nodes), atol=1e-12)


def test_equal_eigenvalues_and_many_parameters():
    nodes, weights = sphere(4)
    A = np.array([np.diag([1.0, 1.0, -2.0, -2.0]), np.zeros((4, 4)), -np.eye(4)])
    b = np.array([0.3, 0.0, -1.0, 2.0])
    c = hgm.fisher_bingham(A, b)
    for k in range(3):
        truth = weights @ np.exp(np.einsum("ti,ij,tj->t", nodes, A[k], nodes) + nodes @ b)
        assert abs(c.value[k] / truth - 1) < 1e-12
    assert np.allclose(hgm.bingham(A).value[1], 2 * np.pi**2, rtol=1e-14)


def test_von_mises_fisher_is_a_bessel_function():
    for p, kappa in ((2, 3.0), (3, 700.0), (5, 20.0), (4, 0.0)):
        b = np.zeros(p)
        b[0] = kappa
        found = hgm.von_mises_fisher(b)
        order = p / 2 - 1
        if kappa:
            truth = p / 2 * np.log(2 * np.pi) + np.log(special.ive(order, kappa)) + kappa - order * np.log(kappa)
        else:
            truth = np.log(2 * np.pi ** (p / 2) / special.gamma(p / 2))
        assert abs(found.log_value - truth) < max(found.error, 2e-14) + 1e-13


@pytest.mark.parametrize("p", [2, 3, 4])
def test_balls_hold_the_floats_and_have_their_digits(p):
    A, b = random_parameters(p, 1.0, seed=5)
    quick, proved = hgm.fisher_bingham(A, b), hgm.fisher_bingham(A, b, balls=True, digits=40)
    assert proved.error < 1e-39
    assert abs(float(proved.log_value) - quick.log_value) <= quick.error
    assert np.max(np.abs(proved.mean.astype(float) - quick.mean)) < 1e-14
    assert np.max(np.abs(proved.second.astype(float) - quick.second)) < 1e-14


def test_balls_of_a_known_constant():
    """On S² with b = (0, 0, 1): 4π sinh 1."""
    ball = hgm.von_mises_fisher([0, 0, 1], balls=True, digits=30).value
    assert ball.overlaps(4 * arb.pi() * arb(1).sinh())


@pytest.mark.parametrize("p", [2, 3])
def test_the_ideal_annihilates_the_constant(p):
    """Carried by the HGM along the derived Pfaffian system, values agree with those computed directly."""
    ideal = hgm.fisher_bingham_ideal(p)
    system = hk.pfaffian(ideal)
    assert system.rank == 2 * p

    def vector(x, y):
        c = hgm.fisher_bingham(np.diag(x), y)
        known = {"1": c.value}
        known |= {f"dy{i + 1}": c.value * c.mean[i] for i in range(p)}
        known |= {f"dx{i + 1}": c.value * c.second[i, i] for i in range(p - 1)}
        return known

    x, y = np.array([0.0, 1.0, 2.5])[:p], np.array([0.5, -0.5, 1.0])[:p]
    goal = [*(x * 1.5 + [0.0, 0.5, 1.0][:p]), *(y + 1)]
    found = hgm.solve(system, start=[*x, *y], values=vector(x, y), targets=goal, outputs=["1", "dy1"])
    truth = hgm.fisher_bingham(np.diag(goal[:p]), goal[p:])
    assert abs(found.values[0] / truth.value - 1) < 1e-11
    assert abs(found.values[1] / (truth.value * truth.mean[0]) - 1) < 1e-11


def test_rotations_against_quadrature():
    nodes, weights = sphere(4, 32)
    R = Rotation.from_quat(nodes, scalar_first=True).as_matrix()
    weights = weights / weights.sum()
    random = np.random.default_rng(3)
    for F in (np.diag([1.0, 0.5, -0.7]), random.normal(size=(3, 3)), np.zeros((3, 3))):
        density = weights * np.exp(np.einsum("ij,tij->t", F, R))
        c = hgm.fisher_rotation(F)
        assert abs(c.value / density.sum() - 1) < 1e-12
        assert np.allclose(c.mean, np.einsum("t,tij->ij", density, R) / density.sum(), atol=1e-12)
    proved = hgm.fisher_rotation(F + np.eye(3), balls=True)
    assert abs(float(proved.log_value) - hgm.fisher_rotation(np.eye(3)).log_value) < 1e-14
    assert proved.error < 1e-29


# -- the largest root of a Wishart matrix ----------------------------------------------------------------------------


def pfaffian_of(matrix):
    if not len(matrix):
        return 1.0
    total = 0.0
    for j in range(1, len(matrix)):
        keep = [k for k in range(1, len(matrix)) if k != j]
        total += (-1) ** (j - 1) * matrix[0, j] * pfaffian_of(matrix[np.ix_(keep, keep)])
    return total


def null_case(x, m, n):
    """Σ = I by de Bruijn's formula: a Pfaffian of double integrals of incomplete gamma functions."""

    def integral(top):
        t, w = special.roots_legendre(200)
        u, w = top * (t + 1) / 2, top * w / 2
        power = (n - m - 1) / 2
        # the scale keeps numbers of order one
        shapes = np.arange(m) + power + 1
        weight = [u ** (s - 1) * np.exp(-u / 2) / (2**s * special.gamma(s)) for s in shapes]
        lower = [special.gammainc(s, u / 2) for s in shapes]
        whole = [special.gammainc(s, top / 2) for s in shapes]
        size = m + m % 2
        table = np.zeros((size, size))
        for i in range(m):
            for j in range(m):
                table[i, j] = np.sum(w * weight[i] * (whole[j] - 2 * lower[j]))
            if m % 2:
                table[i, m], table[m, i] = whole[i], -whole[i]
        return pfaffian_of((table - table.T) / 2)

    return integral(x) / integral(400.0)


@pytest.mark.parametrize(("m", "n"), [(2, 5), (3, 8), (4, 9), (5, 10)])
def test_equal_variances_against_de_bruijn(m, n):
    points = np.array([0.6, 1.2]) * (np.sqrt(n) + np.sqrt(m)) ** 2
    found = hgm.largest_root(np.eye(m), n)(points)
    truth = np.array([null_case(x, m, n) for x in points])
    assert np.all(np.abs(found.value - truth) < 1e-10)
    assert np.all(found.error < 1e-10)


def test_two_different_variances_against_quadrature():
    """The density of the roots has a Bessel function for the angle between the axes."""
    s, n = np.array([1.0, 0.4]), 7

    def integral(top):
        t, w = special.roots_legendre(160)
        big, small = np.meshgrid(top * (t + 1) / 2, (t + 1) / 2, indexing="ij")
        small = small * big
        area = np.outer(w * top / 2, w / 2) * big
        gap = (s[0] - s[1]) * (big - small) / 4
        density = (big - small) * (big * small) ** ((n - 3) / 2) * np.exp(-s.sum() * (big + small) / 4)
        return np.sum(area * density * special.iv(0, gap))

    law = hgm.largest_root(np.diag(1 / s), n)
    whole = integral(250.0)
    for x in (5.0, 15.0, 40.0):
        assert abs(law(x).value - integral(x) / whole) < 1e-10


def test_one_variance_is_a_chi_square_and_densities_are_derivatives():
    law = hgm.largest_root([[2.0]], 5)
    x = np.array([-1.0, 0.0, 3.0, 20.0])
    assert np.allclose(law(x).value, stats.chi2(5).cdf(x / 2), atol=1e-14)
    assert np.allclose(law(x).density[2:], stats.chi2(5).pdf(x[2:] / 2) / 2, atol=1e-14)
    three = hgm.largest_root(np.diag([1.0, 2.0, 4.0]), 6)
    slope = (three(20 + 1e-4).value - three(20 - 1e-4).value) / 2e-4
    assert abs(three(20.0).density - slope) < 1e-8


def test_a_full_covariance_has_the_law_of_its_eigenvalues():
    random = np.random.default_rng(2)
    S = np.cov(random.normal(size=(4, 20)))
    one, other = (hgm.largest_root(matrix, 9)(8.0) for matrix in (S, np.diag(np.linalg.eigvalsh(S))))
    assert abs(one.value - other.value) <= one.error + other.error


@pytest.mark.parametrize(
    "variances", [(1, Fraction(3, 2)), (1, 2, 3), (1, 1), pytest.param((1, 1, 2), marks=pytest.mark.slow)]
)
def test_largest_root_in_balls(variances):
    law = hgm.largest_root(np.diag(np.array(variances, dtype=object)), 6)
    proved, quick = law(12, balls=True, digits=25), law(12.0)
    assert proved.error < 1e-25
    assert abs(float(proved.value) - quick.value) <= quick.error


# -- orthants --------------------------------------------------------------------------------------------------------


def test_orthants_in_batches_with_gradients():
    random = np.random.default_rng(4)
    stack = np.stack([np.cov(random.normal(size=(3, 9))) for _ in range(7)])
    found = hgm.orthant(stack)
    for S, value, gradient in zip(stack, found.value, found.gradient, strict=True):
        scale = np.sqrt(np.diag(S))
        r = S / np.outer(scale, scale)
        angles = np.arcsin(r[np.triu_indices(3, 1)])
        assert abs(value - (0.125 + angles.sum() / (4 * np.pi))) < 1e-14
        assert abs(gradient[0, 2] - 1 / (4 * np.pi * np.sqrt(1 - r[0, 2] ** 2))) < 1e-13


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_orthants_in_balls(d):
    matrix = [[Fraction(1) if i == j else Fraction(1, 2) for j in range(d)] for i in range(d)]
    ball = hgm.orthant(matrix, balls=True, digits=25).value
    assert ball.overlaps(arb(1) / (d + 1))
    assert ball.rad() < 1e-25


def test_fractions_are_exact_in_balls():
    """A third has no finite binary expansion, and yet 30 digits are proved."""
    third = Fraction(1, 3)
    matrix = [[Fraction(1) if i == j else third for j in range(3)] for i in range(3)]
    p = hgm.orthant(matrix, balls=True).value
    with ctx.workdps(40):
        assert p.overlaps(arb(1) / 8 + 3 * (arb(1) / 3).asin() / (4 * arb.pi()))
        assert p.rad() < 1e-30
    c = hgm.fisher_bingham([["1/3", 0], [0, third]], ["1/7", 0], balls=True)
    with ctx.workdps(40):
        assert c.log_value.overlaps(arb(1) / 3 + (2 * arb.pi() * (arb(1) / 7).bessel_i(0)).log())
    assert c.error < 1e-30
    one, other = (hgm.largest_root([[a, 0], [0, b]], 7)("11/7", balls=True) for a, b in (("1/3", 1), (third, 1)))
    assert one.error < 1e-30
    assert one.value.overlaps(other.value)


# -- maximum likelihood ----------------------------------------------------------------------------------------------


def test_a_fit_finds_the_maximum():
    random = np.random.default_rng(6)
    data = random.normal(size=(200, 3)) + np.array([1.0, 0.0, 0.5])
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    best = hgm.maximum_likelihood(data)
    assert best.gradient < 1e-6
    c = hgm.fisher_bingham(best.quadratic, best.linear)
    assert np.allclose(c.mean, data.mean(axis=0), atol=1e-6)
    assert np.allclose(c.second, data.T @ data / len(data), atol=1e-6)
    smaller = hgm.maximum_likelihood(data, "von_mises_fisher")
    assert best.log_likelihood > smaller.log_likelihood > -len(data) * np.log(4 * np.pi)
    assert hgm.maximum_likelihood(data, "bingham").linear is None


def test_a_fit_of_rotations():
    turns = Rotation.from_rotvec(np.random.default_rng(7).normal(size=(60, 3)) * 0.4).as_matrix()
    best = hgm.maximum_likelihood(turns, "fisher_rotation")
    assert np.allclose(hgm.fisher_rotation(best.parameter).mean, turns.mean(axis=0), atol=1e-6)


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="not symmetric"):
        hgm.fisher_bingham([[1.0, 2.0], [0.0, 1.0]], [0.0, 0.0])
    with pytest.raises(BadInput, match="shape"):
        hgm.fisher_bingham(np.eye(3), [0.0, 0.0])
    with pytest.raises(TooLarge, match="too many terms"):
        hgm.fisher_bingham(np.diag([0.0, 1e9]), [0.0, 0.0])
    with pytest.raises(BadInput, match="more than 2 degrees"):
        hgm.largest_root(np.eye(3), 2)
    with pytest.raises(BadInput, match="positive definite"):
        hgm.largest_root(np.diag([1.0, 0.0]), 5)
    with pytest.raises(BadInput, match="diagonal"):
        hgm.largest_root([[2.0, 1.0], [1.0, 2.0]], 5)(3, balls=True)
    with pytest.raises(TooLarge, match="too large for the series"):
        hgm.largest_root(np.eye(2), 5)(1e6)
    with pytest.raises(BadInput, match="unit vectors"):
        hgm.maximum_likelihood([[1.0, 1.0]])
    with pytest.raises(BadInput, match="without bound"):
        hgm.maximum_likelihood([[1.0, 0.0]] * 3, "von_mises_fisher")
    with pytest.raises(UnknownName, match="fisher_bingham"):
        hgm.maximum_likelihood([[1.0, 0.0]], "kent")
    with pytest.raises(BadInput, match="rotation matrices"):
        hgm.maximum_likelihood([-np.eye(3)], "fisher_rotation")
    with pytest.raises(BadInput, match=r"\(…, 3, 3\)"):
        hgm.fisher_rotation(np.eye(2))
