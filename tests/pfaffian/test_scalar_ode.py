from fractions import Fraction

import numpy as np
import pytest

from holokern import activation, pfaffian
from holokern.errors import BadInput, SingularPath, UnknownName
from holokern.pfaffian.check.against_numbers import numeric_vector
from holokern.pfaffian.scalar.exponents import local_exponents, rational_solutions, singular_points
from holokern.pfaffian.scalar.scalar_ode import CurveSystem, restrict, scalar_ode
from holokern.weyl import weyl_algebra
from holokern.weyl.rational.fractions import function_field


def test_relu_on_the_papers_line(relu_x):
    curve = restrict(relu_x, {"x11": -1, "x12": "x", "x22": -1}, "x")
    D = weyl_algebra("x")
    assert curve.scalar_ode() == -D("(1 - x^2)*dx^2 - 5*x*dx - 4")
    assert curve.rank == 2
    assert curve.basis == relu_x.basis


def test_resin_in_the_direction_of_the_correlation(resin_sigma, functions):
    """The scalar ODE of E on Σ11 = Σ22 = 1 annihilates numbers from quadrature."""
    # only Σ12 moves, so the other two matrices are not used
    resin_sigma.variables, resin_sigma.matrices = ("S11", "S12", "S22"), resin_sigma.matrices * 3
    ode = restrict(resin_sigma, (1, "t", 1)).scalar_ode()
    assert ode.order <= 5
    t = 0.37
    derivatives, _ = numeric_vector(functions["resin"], None, [(k, k) for k in range(ode.order + 1)], (1, t, 1))
    terms = [float(int(c.p)) / int(c.q) * t**degree * derivatives[order] for (degree, order), c in ode]
    assert abs(sum(terms)) < 1e-8 * max(map(abs, terms))


def test_a_component_that_is_not_cyclic_has_a_smaller_order():
    K = function_field("t")
    diagonal = ((K("1/t"), K(0)), (K(0), K(2)))
    system = CurveSystem("t", (), diagonal, (), ())
    D = weyl_algebra("t")
    assert scalar_ode(system, 0) == D("t*dt - 1")
    assert scalar_ode(system, 1) == D("dt - 2")
    # t and exp(2t) together
    both = scalar_ode(system, (1, 1))
    assert both == D("(2*t - 1)*dt^2 - 4*t*dt + 4").primitive()
    assert scalar_ode(system, (0, 0)) == D.one


def test_the_chain_rule_along_a_curve(relu_x, functions):
    """Along a parabola the ODE annihilates g by central differences of quadrature values."""
    curve = restrict(relu_x, ("-1 - t^2", "t/2", "-1 + t/5"))
    t = np.array([0.3])
    values, _ = numeric_vector(
        functions["relu"], None, relu_x.basis, (-1 - t[0] ** 2, t[0] / 2, -1 + t[0] / 5), coordinates="x"
    )
    step = 1e-3
    stencil = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
    slope = sum(
        w
        * numeric_vector(
            functions["relu"],
            None,
            relu_x.basis,
            (-1 - (t[0] + m * step) ** 2, (t[0] + m * step) / 2, -1 + (t[0] + m * step) / 5),
            coordinates="x",
        )[0]
        / step
        for m, w in stencil.items()
    )
    matrix = np.array([[entry.evaluate({"t": t[0]}) for entry in row] for row in curve.matrix], dtype=float)
    assert slope == pytest.approx(matrix @ values, rel=1e-9)


def test_bad_curves(relu_x):
    with pytest.raises(SingularPath, match="singular locus"):
        restrict(relu_x, ("t", "t", "t"))
    with pytest.raises(UnknownName, match="x11, x12, x22"):
        restrict(relu_x, {"x11": 1, "x12": "t"})
    with pytest.raises(BadInput, match="3 coordinates"):
        restrict(relu_x, ("t", "t"))
    with pytest.raises(BadInput, match="functions of 't'"):
        restrict(relu_x, ("s", 0, 1), "t")
    with pytest.raises(BadInput, match="one field"):
        restrict(relu_x, (function_field("s")("s"), function_field("t")("t"), -1))
    with pytest.raises(BadInput, match="functions of"):
        restrict(relu_x, (-1, function_field("s")("s"), -1), "t")
    with pytest.raises(BadInput, match="exact rational"):
        restrict(relu_x, (-1.0, "t", -1))
    curve = restrict(relu_x, (-1, function_field("s")("s"), -1))
    assert curve.parameter == "s"
    with pytest.raises(BadInput, match="between 0 and 1"):
        curve.scalar_ode(2)
    with pytest.raises(BadInput, match="row of 2"):
        curve.scalar_ode((1, 0, 0))


@pytest.mark.parametrize(("name", "order"), [("relu", 2), ("resin", 4), ("gelu", 2), ("elu", 5), ("hardtanh", 8)])
def test_scalar_odes_of_activations_annihilate_numbers(name, order):
    """On Σ11 = Σ22 = 1 the k-th derivative of E in Σ12 is E[∂_u^k ∂_v^k σσ]."""
    a = activation(name)
    ode = pfaffian(a, cache=False).restrict({"S11": 1, "S12": "t", "S22": 1}).scalar_ode()
    assert ode.order <= order
    t = 0.3
    values, errors = numeric_vector(a, None, [(k, k) for k in range(ode.order + 1)], (1, t, 1))
    terms = [(int(c.p) / int(c.q) * t**degree, k) for (degree, k), c in ode]
    total = sum(c * values[k] for c, k in terms)
    noise = sum(abs(c) * errors[k] for c, k in terms)
    size = max(abs(c * values[k]) for c, k in terms)
    assert noise < 1e-4 * size
    assert abs(total) <= 100 * noise + 1e-10 * size


def test_the_scalar_ode_of_the_restricted_relu_system_has_the_exponents_of_the_arc_cosine_kernel():
    """k = (√(1-t²) + (π - arccos t) t)/2π has the exponents 0 and 3/2 at ±1, where Σ degenerates."""
    ode = pfaffian("relu", cache=False).restrict((1, "t", 1)).scalar_ode()
    assert singular_points(ode) == [-1, 1]
    for point in (-1, 1):
        found = local_exponents(ode, point)
        assert (found.kind, dict(found.exponents)) == ("regular", {0: 1, Fraction(3, 2): 1})
    assert rational_solutions(ode) == (function_field("t")("t"),)


def test_the_parameter_is_the_one_name_in_use():
    system = pfaffian(operator="u*D - 1", coordinates="x", basis="1, d12", cache=False)
    curve = system.restrict({"x11": -1, "x12": "x", "x22": -1})
    assert curve.parameter == "x"
    assert str(curve.scalar_ode()) in ("x^2*dx^2 - dx^2 + 5*x*dx + 4", "-x^2*dx^2 + dx^2 - 5*x*dx - 4")
    with pytest.raises(BadInput):
        system.restrict({"x11": -1, "x12": "x", "x22": "y"})
