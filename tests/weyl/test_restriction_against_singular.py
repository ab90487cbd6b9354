"""Restriction and integration ideals equal those of Singular 4.3.1 (dmodapp.lib), saved and, where installed, live.

``saved`` holds elements of Singular's answer that generate all of it.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

import numpy as np
import pytest

from holokern.weyl import weyl_algebra
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.modules.koyama_takemura import koyama_takemura_ideal_of_product

THETA = "(x*dx + y*dy)"


@dataclass(frozen=True)
class Case:
    kind: str
    ideal: LeftIdeal
    names: str
    saved: tuple[str, ...]
    rank: int

    def ours(self) -> LeftIdeal:
        return self.ideal.restriction(self.names) if self.kind == "restriction" else self.ideal.integration(self.names)


def case(kind: str, generators: list[str], names: str, saved: list[str], rank: int) -> Case:
    """The variables are the one-letter names in the generators; those that disappear come first."""
    text = " ".join(generators)
    others = sorted({letter for letter in text if letter.isalpha()} - {"d", *names.split()})
    algebra = weyl_algebra([*names.split(), *others])
    return Case(kind, algebra.ideal(generators), names, tuple(saved), rank)


def gaussian(operator: str, saved: list[str], rank: int) -> Case:
    """The Koyama–Takemura ideal of σ(u)σ(v), restricted to y = 0."""
    sigma = [weyl_algebra("u", "D")(operator)]
    return Case("restriction", koyama_takemura_ideal_of_product([sigma, sigma]), "y1 y2", tuple(saved), rank)


RESIN = [
    "dx12^2-4*dx11*dx22",
    "4*x12^2*dx11*dx22+4*x12*x22*dx12*dx22+4*x22^2*dx22^2+4*x12*dx12+10*x22*dx22+dx22+2",
    "4*x12^2*dx11*dx12+16*x12*x22*dx11*dx22+4*x22^2*dx12*dx22+8*x12*dx11+6*x22*dx12+dx12",
    "4*x11^2*dx11*dx12+16*x11*x12*dx11*dx22+4*x12^2*dx12*dx22+6*x11*dx12+8*x12*dx22+dx12",
]
RESIN_OF_THE_PAPER = [
    "dx12^2-4*dx11*dx22",
    "4*x12^2*dx11*dx22+4*x12*x22*dx12*dx22+4*x22^2*dx22^2+4*x12*dx12+10*x22*dx22+dx22+2",
    "4*x11^2*dx11^2+4*x11*x12*dx11*dx12+4*x12^2*dx11*dx22+10*x11*dx11+4*x12*dx12+dx11+2",
]
QUADRATIC = ["a*da + b*db + c*dc", "b*db + 2*c*dc + 1", "da*dc - db^2"]
CASES = {
    "relu": gaussian("u*D - 1", ["dx12^2-4*dx11*dx22", "x12*dx12+2*x22*dx22+2", "2*x11*dx11+x12*dx12+2"], 2),
    "heaviside": gaussian("u*D", ["dx12^2-4*dx11*dx22", "x12*dx12+2*x22*dx22+1", "x11*dx11-x22*dx22"], 2),
    "resin": gaussian("u*(D^2 + 1)", RESIN, 5),
    "appell": case(
        "restriction",
        [
            f"x*dx*({THETA} + 3/7 - 1) - x*({THETA} + 1/2)*(x*dx + 1/3)",
            f"y*dy*({THETA} + 3/7 - 1) - y*({THETA} + 1/2)*(y*dy + 1/5)",
            "(x - y)*dx*dy - 1/5*dx + 1/3*dy",
        ],
        "y",
        ["42*x^2*dx^2-42*x*dx^2+77*x*dx-18*dx+7"],
        2,
    ),
    "elimination": case("restriction", ["dx*dy - dx", "dx^2 - dx", "dy^3 - dy^2"], "y", ["dx^2-dx"], 2),
    "heat": case("restriction", ["x*dx + 2*y*dy - 3", "dx^2 - dy"], "x", ["2*y*dy-3"], 1),
    "roots_b": case("restriction", QUADRATIC, "b", ["2*c*dc+1", "2*a*da-1"], 1),
    "roots_a": case("restriction", QUADRATIC, "a", ["c*dc+1", "b*db-1", "c*db^2"], 1),
    "airy": case("integration", ["dt - x + t^2", "dx - t"], "t", ["dx^2-x"], 2),
    "bessel": case(
        "integration",
        ["t^2*dt - 1/2*x*(t^2 + 1) + 4/3*t", "t*dx - 1/2*(t^2 - 1)"],
        "t",
        ["9*x^2*dx^2+9*x*dx+9*x^2-1"],
        2,
    ),
    "cubic_phase": case(
        "integration",
        ["dt - 3*t^2 + 2*x*t", "dx + t^2"],
        "t",
        ["9*dx^3+4*x^2*dx^2+14*x*dx+4", "9*x*dx^2+4*x^3*dx-9*dx+2*x^2"],
        2,
    ),
    "two_gaussians": case("integration", ["ds + 2*s + x*t", "dt + 2*t + x*s", "dx + s*t"], "s t", ["x^2*dx-4*dx+x"], 1),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "resin" else ()) for name in CASES]
)
def test_equals_the_saved_answer(name: str) -> None:
    chosen = CASES[name]
    found = chosen.ours()
    expected = found.algebra.ideal(chosen.saved)
    assert found <= expected
    assert expected <= found
    assert found.rank() == chosen.rank


@pytest.mark.skipif(shutil.which("Singular") is None, reason="Singular is not installed; the saved answers are used")
@pytest.mark.parametrize("name", CASES)
def test_equals_singular_live(name: str) -> None:
    chosen = CASES[name]
    found = chosen.ours()
    expected = found.algebra.ideal(singular(chosen))
    assert found <= expected
    assert expected <= found


SIGMA = {"relu": lambda u: u, "heaviside": np.ones_like, "resin": np.sin}


@pytest.mark.parametrize("name", SIGMA)
def test_annihilates_the_integral(name: str) -> None:
    """Every generator kills g(x) = ∫∫ σ(u)σ(v) exp(x11 u² + 2 x12 uv + x22 v²), by quadrature at one point."""
    x11, x12, x22 = -1.0, 0.3, -1.2
    nodes, weights = np.polynomial.legendre.leggauss(80)
    u, w = 4.5 * (nodes + 1), 4.5 * weights
    grid, other = np.meshgrid(u, u, indexing="ij")
    density = np.exp(x11 * grid**2 + 2 * x12 * grid * other + x22 * other**2)
    values = np.outer(w, w) * SIGMA[name](grid) * SIGMA[name](other) * density

    def derivative(beta: tuple[int, ...]) -> float:
        return float(np.sum(values * grid ** (2 * beta[0]) * (2 * grid * other) ** beta[1] * other ** (2 * beta[2])))

    for generator in CASES[name].ours().generators:
        terms = [
            float(c.p) / float(c.q) * x11 ** key[0] * x12 ** key[1] * x22 ** key[2] * derivative(key[3:])
            for key, c in generator
        ]
        assert abs(sum(terms)) < 1e-12 * sum(map(abs, terms))


@pytest.mark.slow
def test_the_operator_of_the_paper_for_resin() -> None:
    """The operator u²(∂² + 1) admits spurious solutions: the rank is 8 instead of 5."""
    chosen = gaussian("u^2*(D^2 + 1)", RESIN_OF_THE_PAPER, 8)
    found = chosen.ours()
    assert found == found.algebra.ideal(chosen.saved)
    assert found.rank() == 8


def singular(chosen: Case) -> list[str]:
    """Singular's restrictionIdeal or integralIdeal, as texts."""
    algebra = chosen.ideal.algebra
    command, result = {
        "restriction": ("restrictionIdeal", "resIdeal"),
        "integration": ("integralIdeal", "intIdeal"),
    }[chosen.kind]
    weights = ",".join(str(int(name in chosen.names.split())) for name in algebra.variables)
    script = f"""
        LIB "dmodapp.lib";
        ring r = 0,({",".join((*algebra.variables, *algebra.derivations))}),dp;
        def W = Weyl(); setring W;
        ideal I = {",".join(map(str, chosen.ideal.generators))};
        intvec w = {weights};
        def R = {command}(I, w); setring R; short = 0; {result};
    """
    answer = subprocess.run(["Singular", "-q"], input=script, capture_output=True, text=True, timeout=120, check=True)
    lines = [line for line in answer.stdout.splitlines() if line.startswith(result)]
    assert lines, answer.stdout
    return [line.split("=", 1)[1] for line in lines]
