"""`TableForm` against values of single pairs by quadrature."""

import numpy as np
import pytest

from holokern.activation import activation
from holokern.dual import dual, dual_activation
from holokern.network.architecture.table_form import TableForm
from holokern.numeric import Range

COSINES = np.array([1.0, 1 - 1e-9, 0.999, 0.7, 0.03, 1e-4, -1e-4, -0.05, -0.6, -0.9995, -1.0])


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
