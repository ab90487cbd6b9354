"""`TableForm` against values of single pairs by quadrature."""

import numpy as np
import pytest

from holokern.activation import activation
from holokern.dual import dual, dual_activation
from holokern.network.architecture.table_form.form import TableForm
from holokern.numeric import Range

COSINES = np.array(
    [1.0, 1 - 1e-9, 0.999, 0.85, 0.7, 0.649, 0.55, 0.03, 1e-4, -1e-4, -0.05, -0.48, -0.6, -0.65, -0.9995, -1.0]
)


def form_of(name: str, low: float, high: float) -> TableForm:
    span = Range(float(np.log(low)), float(np.log(high)))
    form = TableForm.of(dual_activation(activation(name)), span, span)
    assert form is not None
    return form


def pairs(form: TableForm, c: float, d: float) -> tuple[np.ndarray, np.ndarray]:
    """k and k′ at `COSINES`, one line with a second variable for each."""
    given = 0.5 * (c - d) ** 2 + c * d * (1 - COSINES)
    sides = [form.numbers(np.array([[c]])), form.numbers(np.full((1, len(COSINES)), d))]
    gap, slope = form.tiles(
        *(np.moveaxis(side, 0, 1) for side in sides), given[None, None], np.ones((1, 1, len(given)))
    )
    squares = form.norms(np.array([c])) ** 2, form.norms(np.array([d])) ** 2
    return 0.5 * (squares[0] + squares[1]) - gap[0, 0], slope[0, 0]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("elu", 0.1, 2.5),
        ("tanh", 0.1, 2.5),
        ("gaussian", 0.1, 2.5),
        ("softplus", 1e-3, 5.0),
        ("cos", 0.05, 3.0),
        ("silu", 0.5, 0.5),
        pytest.param("tanh", 0.05, 30.0, marks=pytest.mark.slow),
        pytest.param("elu", 0.1, 100.0, marks=pytest.mark.slow),
        pytest.param("silu", 0.1, 100.0, marks=pytest.mark.slow),
        pytest.param("u**2*exp(-u**2) + Heaviside(u)*u", 0.2, 4.0, marks=pytest.mark.slow),
    ],
)
def test_values_and_slopes_of_all_angles(name, low, high):
    form, middle = form_of(name, low, high), (low * high) ** 0.5
    for c, d in ((low, high), (high, high), (low, low), (middle, 0.9 * middle + 0.1 * high)):
        value, slope = pairs(form, c, d)
        exact = dual(name, c, d, COSINES, method="quadrature")
        n, steep = (np.prod([f(np.array([x]))[0] for x in (c, d)]) for f in (form.norms, form.slope_norms))
        assert np.max(np.abs(value - exact.k)) < 2e-12 * n
        assert np.max(np.abs(slope - exact.kdot)) < 1e-11 * max(steep, 1e-3 * n / (c * d))


def test_a_jump_has_values_at_all_angles():
    form = form_of("Heaviside(u)*(1 + u*exp(u/4 - u**2))", 0.3, 2.0)
    value, _ = pairs(form, 0.4, 1.7)
    exact = dual("Heaviside(u)*(1 + u*exp(u/4 - u**2))", 0.4, 1.7, COSINES, method="quadrature")
    assert np.max(np.abs(value - exact.k)) < 1e-11


def test_zeros_have_finite_numbers():
    form = form_of("softplus", 0.1, 2.0)
    numbers = form.numbers(np.array([0.0, 1.0]))
    assert np.all(np.isfinite(numbers))
    assert numbers[0, 0] == numbers[1, 0] == 0
    assert form.norms(np.zeros(1))[0] == pytest.approx(np.log(2), rel=1e-15)


@pytest.mark.parametrize(("name", "height", "width"), [("elu", 6, 130), ("tanh", 133, 17), ("silu", 3, 5)])
def test_tiles_of_all_shapes(name, height, width):
    # Most lines have only pairs that the series serves, so that others come at any place of a group of lines.
    form, random = form_of(name, 0.2, 2.0), np.random.default_rng(height)
    c, d = (np.exp(random.uniform(np.log(0.2), np.log(2.0), size)) for size in (height, width))
    r = random.uniform(-0.45, 0.45, (height, width))
    r[random.uniform(size=r.shape) < 0.02] = 0.96
    r[random.uniform(size=r.shape) < 0.02] = -0.6
    given = 0.5 * (c[:, None] - d) ** 2 + np.outer(c, d) * (1 - r)
    sides = form.numbers(c)[None], form.numbers(d)[None]
    gap, slope = form.tiles(*sides, given[None], np.ones((1, height, width)))
    k, kdot = (
        part.reshape(r.shape) for part in form.table(np.repeat(c, width), np.tile(d, height), np.arccos(r).ravel())
    )
    n, m = form.norms(c)[:, None], form.norms(d)
    assert np.max(np.abs(0.5 * (n**2 + m**2) - gap[0] - k) / (n * m)) < 1e-12
    assert np.max(np.abs(slope[0] - kdot)) < 2e-12
    # Nothing depends on which other pairs there are.
    part, part_slope = form.tiles(
        form.numbers(c[2:3])[None], form.numbers(d[1:])[None], given[None, 2:3, 1:], np.ones((1, 1, width - 1))
    )
    assert np.array_equal(part[0, 0], gap[0, 2, 1:]) and np.array_equal(part_slope[0, 0], slope[0, 2, 1:])


def test_coinciding_parallel_and_opposite_pairs():
    form, c = form_of("elu", 0.2, 2.0), np.array([0.3, 1.1])
    given = np.array([[0.0, 0.5 * 0.8**2], [0.5 * 1.4**2, 0.5 * 2.2**2]])
    sides = form.numbers(c)[None]
    gap, slope = form.tiles(sides, sides, given[None], np.ones((1, 2, 2)))
    exact = dual("elu", np.repeat(c, 2), np.tile(c, 2), np.array([1.0, 1.0, -1.0, -1.0]), method="quadrature")
    n = form.norms(c)
    found = 0.5 * (n[:, None] ** 2 + n**2) - gap[0]
    assert gap[0, 0, 0] == 0.0
    assert np.max(np.abs(found.ravel() - exact.k)) < 1e-12
    assert np.max(np.abs(slope[0].ravel() - exact.kdot)) < 1e-11
