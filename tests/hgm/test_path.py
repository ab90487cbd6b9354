"""Paths give the ODE that the matrices of the Pfaffian system say, as power series and point by point."""

import numpy as np
import pytest

from holokern.errors import BadInput
from holokern.hgm.lines.segments import LinePath, LineTable
from holokern.hgm.polar.near_end import NearEnd
from holokern.hgm.polar.path import AnglePath, SegmentPath
from holokern.hgm.polar.tables import polar_table
from holokern.hgm.steps.series import batch_roots
from holokern.pfaffian import pfaffian

NAMES = ["relu", "step", "resin", "elu", "gelu", "hardtanh", "identity", "snake"]


def expected(system, table, c1, c2, theta):
    """The matrices of the scaled vector along log c1, log c2 and θ, from the matrices in Σ by the chain rule."""
    point = c1 * c1, c1 * c2 * np.cos(theta), c2 * c2
    p11, p12, p22 = system.evaluate(*point)
    factors = np.array([float(q) for q, _ in system.monomials])
    i, j = np.array([pair for _, pair in system.monomials]).T
    m = np.array(table.weights)
    gauge = c1**i * c2**j * np.sin(theta) ** m / factors
    s = point[1]
    along = (2 * point[0] * p11 + s * p12, 2 * point[2] * p22 + s * p12, -c1 * c2 * np.sin(theta) * p12)
    scaled = [a * gauge[:, None] / gauge[None, :] for a in along]
    extra = i, j, m * np.cos(theta) / np.sin(theta)
    return [a + np.diag(e) for a, e in zip(scaled, extra, strict=True)]


@pytest.mark.parametrize("name", NAMES)
def test_angle_path(polar, name):
    system, table = polar(name)
    c1, c2, theta = 0.8, 1.3, 1.1
    equation = AnglePath(table, np.array([c1]), np.array([c2])).equation_at(np.array([0]), np.array([theta]), 12)
    found = equation.top[0, 0] / equation.bottom[0, 0]
    np.testing.assert_allclose(found, expected(system, table, c1, c2, theta)[2], rtol=1e-10, atol=1e-11)
    x = 0.05
    powers = x ** np.arange(13)
    moved = np.tensordot(powers, equation.top[0], 1) / (powers @ equation.bottom[0])
    np.testing.assert_allclose(moved, expected(system, table, c1, c2, theta + x)[2], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_segment_path(polar, name):
    system, table = polar(name)
    start, end = np.array([[0.8, 1.3, 1.1]]), np.array([[0.9, 1.1, 1.4]])
    path = SegmentPath(table, start, end)
    equation = path.equation_at(np.array([0]), np.array([0.3]), 12)
    for x in (0.0, 0.1):
        t = 0.3 + x
        c1, c2 = (start[0, k] * (end[0, k] / start[0, k]) ** t for k in (0, 1))
        theta = start[0, 2] + t * (end[0, 2] - start[0, 2])
        first, second, angle = expected(system, table, c1, c2, theta)
        speed = np.log(end[0, :2] / start[0, :2])
        want = speed[0] * first + speed[1] * second + (end[0, 2] - start[0, 2]) * angle
        powers = x ** np.arange(13)
        found = np.tensordot(powers, equation.top[0], 1) / (powers @ equation.bottom[0])
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", NAMES)
def test_near_end_is_the_same_equation_in_the_distance(polar, name, sign):
    _, table = polar(name)
    c1, c2, phi = 0.7, 1.9, np.array([0.3, 1.2])
    bottom, top, _ = NearEnd.of(table, c1, c2, sign).at(phi)
    theta = phi if sign > 0 else np.pi - phi
    tracks = np.zeros(2, dtype=int)
    equation = AnglePath(table, np.array([c1]), np.array([c2])).equation_at(tracks, theta, 0)
    want = sign * equation.top[:, 0] / equation.bottom[:, 0, None, None]
    scale = np.max(np.abs(want))
    np.testing.assert_allclose(top / bottom[:, None, None], want, rtol=1e-9, atol=1e-11 * scale)


def test_near_end_loses_no_digits_close_to_the_end(polar):
    """At φ = 1e-7 sums of powers of cos θ have lost everything; the expansion in q has not."""
    from flint import arb, ctx

    _, table = polar("elu")
    phi = 1e-7
    bottom, top, _ = NearEnd.of(table, 0.7, 1.9, 1).at(np.array([phi]))
    rows, columns = table.places[0]
    with ctx.workprec(400):
        angle = arb(phi)
        powers = arb(0.7), arb(1.9), angle.cos(), angle.sin()

        def value(terms):
            total = arb(0)
            for key, c in terms.items():
                term = arb(c.numerator) / c.denominator
                for x, e in zip(powers, key, strict=True):
                    term *= x**e
                total += term
            return total

        want_bottom = value(table.exact[0])
        for place, terms in enumerate(table.exact[1 : 1 + len(rows)]):
            want = float(value(terms) / want_bottom)
            found = top[0, rows[place], columns[place]] / bottom[0]
            assert found == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("determinant", [True, False])
@pytest.mark.parametrize("coordinates", ["sigma", "x"])
@pytest.mark.parametrize("name", ["relu", "resin", "gelu"])
def test_line_path(name, coordinates, determinant):
    system = pfaffian(name, coordinates=coordinates)
    table = LineTable.of(system, determinant)
    start = np.array([[1.0, 0.2, 1.5]]) if coordinates == "sigma" else np.array([[-1.0, 0.2, -1.5]])
    end = start * 1.3 + 0.05
    path = LinePath(table, start, end)
    equation = path.equation_at(np.array([0]), np.array([0.25]), 10)
    for x in (0.0, 0.1):
        point = start[0] + (0.25 + x) * (end[0] - start[0])
        unscaled = system._compiled.floats(point)
        want = np.einsum("v,vij->ij", end[0] - start[0], unscaled)
        # the series are polynomials, and end with their degree
        powers = x ** np.arange(equation.bottom.shape[1])
        found = np.tensordot(powers, equation.top[0], 1) / (powers @ equation.bottom[0])
        np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-9)


def test_distance_to_an_apparent_singularity(polar):
    """For GELU at c1 = c2 = 1 the basis degenerates where r⁴ - 6r² + 4 = 0."""
    _, table = polar("gelu")
    c = np.ones(1)
    root = np.arccos(np.sqrt(3 - np.sqrt(5)))
    path = AnglePath(table, c, c)
    assert path.distance(np.array([0]), np.array([root]))[0] == pytest.approx(0, abs=1e-7)
    assert path.distance(np.array([0]), np.array([root + 0.1]))[0] == pytest.approx(0.1, abs=1e-7)


def test_roots_of_many_polynomials():
    found = batch_roots(np.array([[-6.0, 11.0, -6.0, 1.0], [0.0, -1.0, 0.0, 1.0], [-2.0, 1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(sorted(found[0].real), [1, 2, 3], atol=1e-10)
    np.testing.assert_allclose(sorted(found[1].real), [-1, 0, 1], atol=1e-10)
    finite = found[2][np.abs(found[2]) < 1e6]
    np.testing.assert_allclose(finite.real, [2], atol=1e-10)


def test_only_systems_in_sigma():
    with pytest.raises(BadInput, match="Σ"):
        polar_table(pfaffian("relu", coordinates="x"), 1)
