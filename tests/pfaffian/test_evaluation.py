"""Numerical values of the matrices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_mat

from holokern.errors import BadInput
from holokern.pfaffian import pfaffian

POINT = (Fraction(3, 2), Fraction(-2, 5), Fraction(7, 3))


@pytest.fixture(params=["u*D - 1", "u*(D^2 + 1)", "D^2 + 2*u*D", "D^2 + 1", "u*(D^3 - D^2)"])
def system(request):
    return pfaffian(operator=request.param, cache=False)


def exact(system, point):
    values = dict(zip(system.variables, point, strict=True))
    return np.array([[[float(e.evaluate(values)) for e in row] for row in m] for m in system.matrices])


def test_one_point(system):
    np.testing.assert_allclose(system.evaluate(*map(float, POINT)), exact(system, POINT), rtol=1e-12, atol=1e-13)


def test_many_points(system):
    s12 = np.linspace(-0.6, 0.7, 6).reshape(2, 3)
    values = system.evaluate(1.5, s12, 2.25)
    assert values.shape == (3, 2, 3, system.rank, system.rank)
    for index in np.ndindex(2, 3):
        np.testing.assert_allclose(values[(slice(None), *index)], system.evaluate(1.5, s12[index], 2.25), rtol=1e-13)


def test_the_singular_locus_gives_no_numbers_and_no_warning():
    values = pfaffian(operator="u*D - 1", cache=False).evaluate(1.0, 1.0, 1.0)
    assert not np.all(np.isfinite(values))


def test_matrices_that_vanish():
    constant = pfaffian(operator="D", cache=False)
    np.testing.assert_array_equal(constant.evaluate([1.0, 2.0], 0.5, 1.0), np.zeros((3, 2, 1, 1)))


def test_balls_contain_the_truth(system):
    values = dict(zip(system.variables, POINT, strict=True))
    for matrix, found in zip(system.matrices, system.evaluate_ball(*POINT), strict=True):
        assert isinstance(found, arb_mat)
        for i, row in enumerate(matrix):
            for j, entry in enumerate(row):
                truth = Fraction(entry.evaluate(values))
                assert (found[i, j] * truth.denominator - truth.numerator).contains(0)
                assert found[i, j].rel_accuracy_bits() > 30 or truth == 0


def test_balls_of_balls():
    system = pfaffian(operator="u*D - 1", cache=False)
    wide = system.evaluate_ball(arb(1, 1e-3), arb("0.5", 1e-3), arb(1, 1e-3))
    sharp = system.evaluate_ball(1, Fraction(1, 2), 1)
    assert all(w[i, j].contains(s[i, j]) for w, s in zip(wide, sharp, strict=True) for i in (0, 1) for j in (0, 1))


def test_bad_points():
    system = pfaffian(operator="u*D - 1", cache=False)
    with pytest.raises(BadInput, match="3 coordinates"):
        system.evaluate(1.0, 0.5)
    with pytest.raises(BadInput, match="exact"):
        system.evaluate_ball(0.5, 1, 1)


def test_scale_is_a_change_of_variables():
    """σ(u) = τ(κu): matrices at Σ follow from those of τ at κ²Σ by the chain rule; κ = 2 is exact either way."""
    from dataclasses import replace

    for coordinates in ("sigma", "x"):
        tau = pfaffian(operator="u*(D^2 + 1)", coordinates=coordinates, cache=False)
        scaled = replace(tau, scale=(Fraction(2), Fraction(3)))
        # sin(2u)-like functions satisfy u(D² + 4), sin(3v)-like ones v(D² + 9)
        direct = pfaffian(
            operator="u*(D^2 + 4)", other_operator="u*(D^2 + 9)", coordinates=coordinates, basis=tau.basis, cache=False
        )
        point = (-1.3, 0.3, -0.9) if coordinates == "x" else (1.3, 0.3, 0.9)
        np.testing.assert_allclose(scaled.evaluate(*point), direct.evaluate(*point), rtol=1e-10, atol=1e-10)
        exact_point = [Fraction(str(x)) for x in point]
        for ours, theirs in zip(scaled.evaluate_ball(*exact_point), direct.evaluate_ball(*exact_point), strict=True):
            assert all(ours[i, j].overlaps(theirs[i, j]) for i in range(5) for j in range(5))
