"""Integration ideals: Gaussian, Laplace, Airy, Bessel, Euler integrals, and several variables at once."""

from __future__ import annotations

import pytest

from holokern.errors import BadInput, NotHolonomic
from holokern.weyl import weyl_algebra
from holokern.weyl.modules.automorphisms import fourier_transform
from holokern.weyl.modules.restriction import integration_ideal, integration_module

D = weyl_algebra("t x")
E = weyl_algebra("x")


@pytest.mark.parametrize(
    ("generators", "expected"),
    [
        # ∫ exp(-x t²) dt = (π/x)^(1/2)
        (["dt + 2*t*x", "dx + t^2"], ["x*dx + 1/2"]),
        # ∫_0^∞ t exp(-x t²) dt = 1/(2x), from the operator of the ReLU-like factor t
        (["t*dt - 1 + 2*x*t^2", "dx + t^2"], ["x*dx + 1"]),
        # Airy: ∫ exp(x t - t³/3) dt
        (["dt - x + t^2", "dx - t"], ["dx^2 - x"]),
        # Pearcey-like: ∫ exp(x t - t⁴) dt
        (["dt + 4*t^3 - x", "dx - t"], ["4*dx^3 - x"]),
        # Bessel: ∫ exp(x (t - 1/t)/2) t^(-ν-1) dt with ν = 1/3
        (["t^2*dt - 1/2*x*(t^2 + 1) + 4/3*t", "t*dx - 1/2*(t^2 - 1)"], ["x^2*dx^2 + x*dx + x^2 - 1/9"]),
        # ∫ exp(-t² + x t) dt = π^(1/2) exp(x²/4)
        (["dt + 2*t - x", "dx - t"], ["dx - x/2"]),
        # ∫_0^∞ t^(1/2) exp(-x t) dt = Γ(3/2) x^(-3/2)
        (["t*dt - 1/2 + x*t", "dx + t"], ["x*dx + 3/2"]),
        # ∫ dt / ((x - t) (t² + 1)) over the cycles around x, i, -i: multiples of 1/(x - i), 1/(x + i)
        (["(x - t)*dx + 1", "(t^2 + 1)*(dt + dx) + 2*t"], ["dx^2*(x^2 + 1)"]),
    ],
)
def test_known_integrals(generators: list[str], expected: list[str]) -> None:
    assert integration_ideal(D.ideal(generators), "t") == E.ideal(expected)


def euler(a: str, b: str, c: str) -> list[str]:
    """Operators of t^(b-1) (1-t)^(c-b-1) (1 - x t)^(-a)."""
    return [
        f"t*(1 - t)*(1 - x*t)*dt - ({b} - 1)*(1 - t)*(1 - x*t) + ({c} - {b} - 1)*t*(1 - x*t) - {a}*x*t*(1 - t)",
        f"(1 - x*t)*dx - {a}*t",
    ]


@pytest.mark.parametrize(("a", "b", "c"), [("1/5", "1/2", "7/6"), ("1/3", "2/7", "5/2"), ("3/4", "5/3", "1/6")])
def test_euler_integral_is_gauss(a: str, b: str, c: str) -> None:
    gauss = E.ideal(f"x*(1 - x)*dx^2 + ({c} - ({a} + {b} + 1)*x)*dx - {a}*{b}")
    assert integration_ideal(D.ideal(euler(a, b, c)), "t") == gauss


def test_laplace_transform_and_fourier_agree() -> None:
    """∫ f(t) exp(-x t) dt: the transform of Ann f annihilates it, here f with t f'' + f' + t f = 0 (Bessel's J0)."""
    ideal = D.ideal("t*(dt + x)^2 + (dt + x) + t", "dx + t")
    found = integration_ideal(ideal, "t")
    transformed = fourier_transform(E("x*dx^2 + dx + x"))
    assert found == E.ideal(transformed)
    # the Laplace transform (x² + 1)^(-1/2)
    assert transformed in (E("(x^2 + 1)*dx + x"), -E("(x^2 + 1)*dx + x"))


def test_two_variables_at_once() -> None:
    """∫∫ exp(-s² - t² - x s t) ds dt is proportional to (4 - x²)^(-1/2)."""
    ideal = weyl_algebra("s t x").ideal("ds + 2*s + x*t", "dt + 2*t + x*s", "dx + s*t")
    assert integration_ideal(ideal, "s t") == E.ideal("(4 - x^2)*dx - x")
    assert integration_ideal(integration_ideal(ideal, "s"), "t") == E.ideal("(4 - x^2)*dx - x")


def test_two_parameters() -> None:
    """∫ exp(-x t² - y t) dt is proportional to x^(-1/2) exp(y²/(4x))."""
    ideal = weyl_algebra("t x y").ideal("dt + 2*t*x + y", "dx + t^2", "dy + t")
    found = integration_ideal(ideal, "t")
    assert found == weyl_algebra("x y").ideal("2*x*dy - y", "dx + dy^2", "2*x*dx + y*dy + 1")
    assert found.rank() == 1


def test_order_two_module() -> None:
    """∫ exp(t³ - x t²) dt: the classes of 1 and t are tied, and the ideal of the integral itself has rank 2."""
    ideal = D.ideal("dt - 3*t^2 + 2*x*t", "dx + t^2")
    found = integration_ideal(ideal, "t")
    assert found.rank() == 2
    assert E("9*x*dx^2 + (4*x^3 - 9)*dx + 2*x^2") in found


def test_even_moment() -> None:
    """The moment integral ∫ t^6 exp(-x t²) dt decays like x^(-7/2)."""
    found = integration_ideal(D.ideal("t*dt - 6 + 2*x*t^2", "dx + t^2"), "t")
    assert found == E.ideal("x*dx + 7/2")


def test_integral_that_vanishes() -> None:
    """A total derivative integrates to zero: f = t exp(-t²), f dt = d(-exp(-t²)/2), so 1 is in the ideal."""
    found = integration_ideal(D.ideal("t*dt - 1 + 2*t^2", "dx - 1"), "t")
    # t dt + 2t² - 1 also kills |t| exp(-t²), whose integral does not vanish
    assert found == E.ideal("dx - 1")
    whole = integration_ideal(D.ideal("t*dt - 1 + 2*t^2", "dt^2 + 2*t*dt + 4", "dx - 1"), "t")
    assert whole == E.ideal("1")


def test_trivial_ideals_and_bad_input() -> None:
    assert integration_ideal(D.ideal("1"), "t") == E.ideal("1")
    # dt f = 0 has no integral without boundary terms
    assert integration_ideal(D.ideal("dt", "dx"), "t") == E.ideal("1")
    with pytest.raises(NotHolonomic):
        integration_ideal(D.ideal([]), "t")
    with pytest.raises(BadInput, match="keep at least one"):
        integration_ideal(D.ideal("dt", "dx"), "t x")
    with pytest.raises(BadInput, match="no variable"):
        integration_ideal(D.ideal("dt", "dx"), "y")


def test_module_generators_are_moments() -> None:
    module = integration_module(D.ideal("dt - 3*t^2 + 2*x*t", "dx + t^2"), "t")
    assert module.basis[0] == (0,)
    assert module.algebra == E
