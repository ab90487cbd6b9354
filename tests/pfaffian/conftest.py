"""Hand-written systems from the paper and the mathematics guide, used before any derivation is trusted."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from holokern.weyl.rational.fractions import function_field


class Function:
    """A callable with break points, standing in for an Activation."""

    def __init__(self, call, breaks=()):
        self.call, self.breaks = call, breaks

    def __call__(self, u):
        return self.call(u)


def _system(names, coordinates, basis, matrices, variables=None):
    field = function_field(names)
    tables = tuple(tuple(tuple(field(entry) for entry in row) for row in matrix) for matrix in matrices)
    return SimpleNamespace(
        rank=len(basis),
        coordinates=coordinates,
        variables=variables or field.variables,
        basis=basis,
        matrices=tables,
        annihilators=(),
        scale=None,
    )


@pytest.fixture
def make_system():
    return _system


@pytest.fixture
def functions():
    return {
        "relu": Function(lambda u: np.maximum(u, 0), (0,)),
        "step": Function(lambda u: (u > 0) * 1.0, (0,)),
        "resin": Function(lambda u: np.where(u > 0, np.sin(u), 0), (0,)),
        "exp": Function(np.exp),
        "sin": Function(np.sin),
        "growing": Function(lambda u: np.exp(u * u / 4)),
        "zero": Function(lambda u: 0 * u),
        "root": Function(lambda u: np.sqrt(np.abs(u)), (0,)),
        "hidden_relu": Function(lambda u: np.maximum(u - 0.3, 0)),
    }


@pytest.fixture
def relu_x():
    """[SakodaTakayama2024, th:rank-and-pf-of-ReLU], d = x12² - x11 x22."""
    d = "(x12^2 - x11*x22)"

    def side(x):
        return [
            [f"-1/{x}", f"-x12/(2*{x})"],
            [f"2*x12/({x}*{d})", f"(2*x12^2 + 3*x11*x22)/(2*{x}*{d})"],
        ]

    middle = [["0", "1"], [f"-4/{d}", f"-5*x12/{d}"]]
    return _system("x11 x12 x22", "x", ((0, 0, 0), (0, 1, 0)), [side("x11"), middle, side("x22")])


@pytest.fixture
def resin_sigma():
    """The ReSin system of the mathematics guide, which prints the matrix for Σ12 only."""
    d = "(S11*S22 - S12^2)"
    q = f"((S12*(1 + S22) - S12^3/S11)/{d})"
    middle = [
        ["0", "1", "0", "0", "0"],
        ["0", "0", "0", "0", "1"],
        ["0", "-1", "0", "-S12/S11", "-S12/S11"],
        ["0", "-1", "-S12/S22", "0", "-S12/S22"],
        [f"S12/{d}", "1", f"S12/{d} + S12/S22", q, f"{q} + S12/S22"],
    ]
    return _system("S11 S12 S22", "sigma", ((0, 0), (1, 1), (2, 0), (0, 2), (2, 2)), [middle], ("S12",))
