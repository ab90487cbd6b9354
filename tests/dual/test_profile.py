"""What quadrature sees of a function."""

import numpy as np
import pytest

from holokern.activation import activation
from holokern.dual.quadrature.profile import limit_at_zero, profile_of
from holokern.numeric.panels import between


def test_piecewise_polynomials_need_no_ends_but_zero():
    for name in ("relu", "hardtanh", "relu6", "abs"):
        smooth = profile_of(activation(name)).panels(1000.0)
        assert set(smooth.ends) <= {0.0}
        assert set(map(float, activation(name).breaks)) <= set(smooth.crowded)


@pytest.mark.parametrize("name", ["erf", "exp(-u^2)", "tanh", "exp(-100*(u - 1)^2)"])
def test_a_narrow_feature_is_not_overlooked(name):
    smooth = profile_of(activation(name)).panels(2.0**14)
    assert 4 <= len(smooth.ends) <= 40
    assert np.min(np.abs(smooth.crowded)) < 8


def test_jumps():
    assert profile_of(activation("hardshrink")).jumps == pytest.approx([0.5, 0.5], abs=1e-14)
    assert profile_of(activation("relu6")).jumps.tolist() == [0.0, 0.0]
    assert profile_of(activation("relu6")).slope_jumps == pytest.approx([1.0, -1.0])
    assert profile_of(activation("Heaviside(u - 100)*u")).jumps == pytest.approx([100.0], rel=1e-12)


def test_growth():
    left, right = profile_of(activation("exp")).extra_reach(np.array([0.1, 5.0]))
    assert right[1] == pytest.approx(10, abs=0.5)
    assert np.all(left <= 0.01)
    assert np.all(profile_of(activation("tanh")).extra_reach(np.array([1.0, 1e3]))[1] == 0)


def test_limit_at_zero():
    at_zero = limit_at_zero(activation("elu", alpha=2))
    assert at_zero.value(np.array([-1.0, 1.0])).tolist() == [0.0, 0.0]
    assert at_zero.slope(np.array([-1.0, 1.0])).tolist() == [2.0, 1.0]


def test_panels():
    panels = between(np.array([[0.0, 3.0, 1.0], [5.0, 5.0, 5.0], [2.0, 2.0, 4.0]]))
    assert panels.owner.tolist() == [0, 0, 2]
    assert panels.halved(2).width.sum() == pytest.approx(5.0)
    assert panels.total(panels.width, 3).tolist() == [3.0, 0.0, 2.0]


def test_a_jump_from_a_side_that_ends_at_zero():
    """|u - b| is a few units in the last place beside b, and a thousand times as much a little farther."""
    profile = profile_of(activation("Heaviside(u - 1/2) + Abs(u - 1/2)"))
    assert profile.jumps.tolist() == [1.0]
    assert profile_of(activation("relu")).jumps.tolist() == [0.0]
