import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, TooLarge
from holokern.pfaffian.scalar.exponents import rational_solutions
from holokern.pfaffian.scalar.scalar_ode import CurveSystem, scalar_ode
from holokern.weyl import weyl_algebra
from holokern.weyl.rational.fractions import function_field

D = weyl_algebra("t")
K = function_field("t")


def _apply(operator, function):
    """The operator on a rational function, by repeated derivatives."""
    total, value = K.zero, function
    for order in range(operator.order + 1):
        for (degree, k), c in operator:
            if k == order:
                total = total + K(c) * K("t") ** degree * value
        value = value.derivative("t")
    return total


@pytest.mark.parametrize(
    ("text", "solutions"),
    [
        ("dt^3", ["1", "t", "t^2"]),
        ("t^2*dt^2 + 3*t*dt - 3", ["1/t^3", "t"]),
        ("(t^2 - 2)*dt + 6*t", ["1/(t^2 - 2)^3"]),
        ("(t^3 - t - 1)*dt - 2*(3*t^2 - 1)", ["(t^3 - t - 1)^2"]),
        ("t*dt^2 + dt", ["1"]),
        ("(1 - t^2)*dt^2 - 2*t*dt + 12", ["5*t^3 - 3*t"]),
        ("dt - 1", []),
        ("t*dt - 1/2", []),
        ("t^2*dt - 1", []),
        ("t", []),
        ("1", []),
    ],
)
def test_known_equations(text, solutions):
    found = rational_solutions(D(text))
    assert len(found) == len(solutions)
    assert all(_apply(D(text), y).is_zero for y in found)
    ratios = [y / K(expected) for y, expected in zip(found, solutions, strict=True)]
    assert all(ratio.constant_value() is not None for ratio in ratios)


polynomials = st.lists(st.integers(-4, 4), min_size=1, max_size=3).map(
    lambda cs: K.ctx.from_dict({(i,): c for i, c in enumerate(cs) if c})
)


@settings(deadline=None, max_examples=30)
@given(polynomials, polynomials, polynomials, polynomials)
def test_two_planted_solutions_are_found(a, b, c, d):
    if any(p.is_zero() for p in (a, b, c, d)):
        return
    first, second = K.fraction(a, b), K.fraction(c, d)
    # F = (y1, y2) with y' = (y_i'/y_i) y; the sum y1 + y2 has an ODE with exactly these solutions
    logs = [f.derivative("t") / f for f in (first, second)]
    ode = scalar_ode(CurveSystem("t", (), ((logs[0], K(0)), (K(0), logs[1])), (), ()), (1, 1))
    found = rational_solutions(ode)
    assert len(found) == ode.order
    assert all(_apply(ode, y).is_zero for y in (*found, first, second))


def test_the_relu_ode_has_none():
    """Its solutions have the exponents 0 and -3/2 at ±1 and a logarithm at infinity."""
    assert rational_solutions(D("(1 - t^2)*dt^2 - 5*t*dt - 4")) == ()


def test_an_exponent_beyond_the_limit_is_refused():
    assert rational_solutions(D("t*dt - 300")) == (K("t^300"),)
    with pytest.raises(TooLarge, match="degree 100000"):
        rational_solutions(D("t*dt - 100000"))


def test_bad_operators():
    with pytest.raises(BadInput, match="operator 0"):
        rational_solutions(D.zero)
    with pytest.raises(BadInput, match="one variable"):
        rational_solutions(weyl_algebra("x y")("dx"))
