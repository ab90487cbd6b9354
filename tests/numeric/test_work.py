"""Limits of work: of numbers and of exact computations."""

import pytest

import holokern as hk
from holokern.errors import PrecisionLost, TooLarge
from holokern.numeric import bounded, charge, limited_work, units_left
from holokern.weyl import bernstein_sato, integration_ideal, rational_weyl_algebra, weyl_algebra, weyl_closure


@pytest.fixture
def impatient(monkeypatch):
    """A limit of a tenth of a millisecond for exact computations."""
    monkeypatch.setenv("HOLOKERN_PATIENCE", "1e-7")


def exact_work():
    D = weyl_algebra("x y")
    yield lambda: D.ideal("x*dx^2 - y*dy", "dy^2 - x").groebner()
    yield lambda: rational_weyl_algebra("x y").ideal("x*dx^2 - y*dy", "dy^2 - x").groebner()
    yield lambda: bernstein_sato("x^3 + y^4 + x*y^2")
    yield lambda: integration_ideal(weyl_algebra("x t").ideal("dx - t^2", "dt - 2*x*t - t^3"), "t")
    yield lambda: weyl_closure(
        [weyl_algebra("u", "D")("u^4*D^3 - 2*u^2*D + u - 2"), weyl_algebra("u", "D")("u^5*D^2 - 3")]
    )
    yield lambda: hk.pfaffian("besselj(0,u)*exp(-u)", cache=False)


@pytest.mark.parametrize("number", range(6))
def test_exact_computations_end_with_advice(impatient, number):
    with pytest.raises(TooLarge, match="HOLOKERN_PATIENCE=1e-06"):
        list(exact_work())[number]()


def test_a_limit_of_numbers_does_not_stop_what_is_derived():
    with limited_work(1.0):
        assert str(bernstein_sato("x^2 + y^3")) == "(s + 5/6)*(s + 1)*(s + 7/6)"
        assert units_left() == 1.0


def test_one_limit_for_all_that_a_call_does():
    @bounded
    def inner():
        charge(4e7)

    @bounded
    def outer():
        inner()
        inner()

    inner()
    with pytest.raises(TooLarge, match="about ten minutes"):
        outer()


def test_numbers_lose_precision_instead():
    with pytest.raises(PrecisionLost, match="fewer digits"), limited_work(1.0):
        charge(2.0)
