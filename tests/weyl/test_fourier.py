"""The Fourier transform: an automorphism with inverse, and the sign convention that the docstring states."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput
from holokern.weyl import Operator, weyl_algebra
from holokern.weyl.modules.automorphisms import chosen_variables, fourier_transform, inverse_fourier_transform

D = weyl_algebra("x y")
operators = st.dictionaries(
    st.tuples(*[st.integers(0, 3)] * 4), st.fractions(-3, 3, max_denominator=4).filter(bool), max_size=4
).map(D.from_terms)
names = st.sampled_from(["x", "y", "x y", None])


def test_convention() -> None:
    x, y, dx, dy = D.gens
    assert fourier_transform(x, "x") == -dx
    assert fourier_transform(dx, "x") == x
    assert fourier_transform(y, "x") == y
    assert inverse_fourier_transform(x) == dx
    assert inverse_fourier_transform(dy) == -y


@settings(deadline=None, max_examples=60)
@given(operators, operators, names)
def test_automorphism(left: Operator, right: Operator, which: str | None) -> None:
    assert fourier_transform(left * right, which) == fourier_transform(left, which) * fourier_transform(right, which)
    assert fourier_transform(left + right, which) == fourier_transform(left, which) + fourier_transform(right, which)


@settings(deadline=None, max_examples=60)
@given(operators, names)
def test_inverse(operator: Operator, which: str | None) -> None:
    assert inverse_fourier_transform(fourier_transform(operator, which), which) == operator
    assert fourier_transform(inverse_fourier_transform(operator, which), which) == operator


@settings(deadline=None, max_examples=40)
@given(operators)
def test_fourth_power_is_the_identity(operator: Operator) -> None:
    image = operator
    for _ in range(4):
        image = fourier_transform(image)
    assert image == operator


def test_laplace_transform_of_a_cosine() -> None:
    """The transform of cos, s/(s²+1), has the annihilator's image up to boundary terms: (x² + 1) for ∂² + 1."""
    E = weyl_algebra("x")
    assert fourier_transform(E("dx^2 + 1")) == E("x^2 + 1")


def test_unknown_variable() -> None:
    with pytest.raises(BadInput, match="no variable"):
        fourier_transform(D("x"), "z")
    with pytest.raises(BadInput, match="at least one"):
        fourier_transform(D("x"), "")
    assert chosen_variables(D, ["y"]) == (1,)


def test_ideals_are_carried_along() -> None:
    """The Fourier transform of the δ-function's ideal is that of a constant, and back."""
    delta, constant = D.ideal("x", "y"), D.ideal("dx", "dy")
    assert fourier_transform(delta) == constant
    assert inverse_fourier_transform(constant) == delta
    assert delta.fourier("x") == D.ideal("dx", "y")
    assert fourier_transform(D.ideal([])).is_zero
