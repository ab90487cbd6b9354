"""Systems that are known at points and on curves, beside those that are written down, and beside ready functions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

import holokern as hk
from holokern.errors import BadInput, SingularPath, TooLarge, UnknownName
from holokern.hgm import bingham_ideal, fisher_bingham, fisher_bingham_ideal, solve
from holokern.weyl import appell, weyl_algebra

CIRCLE = fisher_bingham_ideal(2, diagonal=False)
# tr(x E[tt']) has no apparent singularities
TRACES = ["1", "dy1", "dy2", "x11*dx11 + x12*dx12 + x22*dx22"]
POINT = ("1/2", -2, "3/7", 5, "-1/3")


def exact(matrices, point):
    values = [[[Fraction(e(*map(Fraction, point))) for e in row] for row in m] for m in matrices]
    return [[[fmpq(v.numerator, v.denominator) for v in row] for row in m] for m in values]


@pytest.mark.parametrize("basis", [None, TRACES])
def test_the_same_matrices_as_written_down(basis):
    written, lazy = hk.pfaffian(CIRCLE, basis=basis), hk.pfaffian(CIRCLE, basis=basis, expand=False)
    assert lazy.rank == written.rank == 4
    assert lazy.basis_text == written.basis_text
    found = lazy.matrices_at(*POINT)
    assert [m.tolist() for m in found] == exact(written.matrices, POINT)
    floats = lazy.evaluate(0.5, -2.0, 0.25, 5.0, 1.5)
    assert np.allclose(floats, written.evaluate(0.5, -2.0, 0.25, 5.0, 1.5), rtol=1e-14)


@pytest.mark.parametrize("basis", [None, TRACES])
def test_the_same_system_on_a_curve(basis):
    curve = {"x11": "t^2", "x12": "1/(t + 2)", "x22": "3*t - 1", "y1": "2", "y2": "t"}
    written, lazy = hk.pfaffian(CIRCLE, basis=basis), hk.pfaffian(CIRCLE, basis=basis, expand=False)
    assert lazy.pull_back(curve, "t").matrices == written.pull_back(curve, "t").matrices
    assert lazy.pull_back(curve, "t").function_row == written.pull_back(curve, "t").function_row


def test_generators_of_high_order():
    ideal = weyl_algebra("x y").ideal("dx^3 - dy", "x*dx + 3*y*dy - 1/2")
    lazy, written = hk.pfaffian(ideal, expand=False), hk.pfaffian(ideal)
    assert [m.tolist() for m in lazy.matrices_at(2, 3)] == exact(written.matrices, (2, 3))


@pytest.mark.parametrize("ideal", [appell(4, "1/2", "1/3", "1/5", "1/7"), bingham_ideal(4)], ids=["F4", "Bingham"])
def test_the_check_sees_a_wrong_rank(ideal):
    lazy = hk.pfaffian(hk.weyl.LeftIdeal(ideal.algebra, ideal.generators), expand=False)
    assert lazy.is_flat()
    rows = list(lazy.relations.rows)
    broken = {beta: (c + 1 if k == 0 else c) for k, (beta, c) in enumerate(rows[-1].items())}
    assert not replace(lazy, relations=replace(lazy.relations, rows=(*rows[:-1], broken))).is_flat()


def test_fisher_bingham_on_the_sphere_in_nine_coordinates():
    ideal = fisher_bingham_ideal(3, diagonal=False)
    system = hk.pfaffian(ideal, expand=False)
    assert system.rank == 6

    def constants(A, b):
        c = fisher_bingham(A, b, balls=True, digits=40)
        return {
            "1": c.value,
            **{f"dy{i + 1}": c.value * c.mean[i] for i in range(3)},
            **{f"dx{i}{j}": (1 + (i < j)) * c.value * c.second[i - 1, j - 1] for i, j in ((2, 3), (3, 3))},
        }

    A, b = [["1", "1/2", "1/4"], ["1/2", "-1", "3/4"], ["1/4", "3/4", "2"]], ["1/2", "-1/4", "1"]
    start = ["1", "1/2", "1/4", "-1", "3/4", "2", *b]
    goal = [1, "1/4", "1/8", "1/2", "-1/2", "3/2", "1/4", "3/4", 1]
    truth = constants([[1, "1/4", "1/8"], ["1/4", "1/2", "-1/2"], ["1/8", "-1/2", "3/2"]], goal[6:])
    ready = {"start": start, "values": lambda: constants(A, b), "targets": goal, "outputs": list(truth)}
    floats = solve(system, **ready)
    proved = solve(system, balls=True, digits=20, **ready)
    assert np.max(floats.error) < 1e-7
    for name, value in truth.items():
        assert abs(floats[name] - float(value)) <= floats.error[list(truth).index(name)] + 1e-14
        assert proved[name].overlaps(value)
        assert float(proved[name].rad()) < 1e-18


@pytest.mark.slow
def test_ideals_with_large_matrices_are_solved_on_lines():
    ideal = fisher_bingham_ideal(3, diagonal=False)
    with pytest.raises(TooLarge, match="expand=False"):
        hk.pfaffian(ideal)
    A, b = np.array([[1, 0.5, 0.25], [0.5, -1, 0.75], [0.25, 0.75, 2]]), np.array([0.5, -0.25, 1])
    c = fisher_bingham(A, b)
    known = dict(zip(("1", "dy1", "dy2", "dy3"), c.value * np.array([1, *c.mean]), strict=True))
    known |= {"dx33": c.value * c.second[2, 2], "dx23": 2 * c.value * c.second[1, 2]}
    goal = [1.5, 0.5, 0.25, -1.0, 0.75, 2.0, 0.5, 0.0, 1.0]
    z = solve(ideal, start=[*A[np.triu_indices(3)], *b], values=known, targets=goal, outputs=["1"])
    A[0, 0], b[1] = 1.5, 0.0
    assert abs(z["1"] - fisher_bingham(A, b).value) <= z.error[0] < 1e-8


def test_bad_input():
    lazy = hk.pfaffian(CIRCLE, expand=False)
    with pytest.raises(SingularPath, match="x11 = 1, x12 = 0"):
        lazy.matrices_at(1, 0, 1, 0, 0)
    with pytest.raises(SingularPath, match="another curve or another basis"):
        lazy.pull_back({"x11": "t", "x12": "0", "x22": "t", "y1": "1", "y2": "1"}, "t")
    with pytest.raises(UnknownName):
        lazy.pull_back({"x11": "t"}, "t")
    with pytest.raises(BadInput, match="5 coordinates"):
        lazy.matrices_at(1, 2)
    with pytest.raises(BadInput, match="basis of 4"):
        hk.pfaffian(CIRCLE, basis="1, dy1", expand=False)
    with pytest.raises(BadInput, match="expand=False"):
        hk.pfaffian("relu", expand=False)
    with pytest.raises(BadInput, match="rational coordinate"):
        solve(lazy, start=[1j, 0, 2, 1, 1], values=[1, 1, 1, 1], targets=[1, 1, 2, 1, 1])
