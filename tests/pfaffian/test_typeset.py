import re

import pytest

from holokern.pfaffian.coordinates import COORDINATES
from holokern.pfaffian.derivation.by_stein import derive, read_operators
from holokern.pfaffian.typeset import latex, text


def _derived(operator, coordinates="sigma", other=None, basis=None):
    left = read_operators(operator)
    return derive(left, read_operators(other) if other else left, COORDINATES[coordinates], basis)


@pytest.fixture
def relu():
    return _derived("u*D - 1", "x", basis=((0, 0, 0), (0, 1, 0)))


def test_the_papers_relu_system_as_text(relu):
    shown = text(relu)
    assert "annihilator     u*D - 1" in shown
    assert "rank            2" in shown
    assert "(1, d12) as derivatives of g" in shown
    assert re.search(r"\[-1/x11 +-x12/\(2\*x11\) +\]", shown)
    assert "-5*x12/(x12^2 - x11*x22)" in shown
    assert shown.splitlines()[-1] == "singular locus  x11, x22, x12^2 - x11*x22"


def test_every_entry_as_text_reads_back(relu):
    from holokern.pfaffian.typeset import _entry_text

    for matrix in relu.matrices:
        for row in matrix:
            for entry in row:
                assert relu.field(_entry_text(entry)) == entry


def test_the_papers_relu_system_as_latex(relu):
    source = latex(relu)
    assert source.startswith("\\begin{aligned}\nF &= \\begin{pmatrix} 1 \\\\ \\partial_{12} \\end{pmatrix} \\iint")
    assert r"\frac{\partial F}{\partial x_{11}}" in source
    assert r"-\frac{x_{12}}{2 x_{11}}" in source
    assert source.count("{") == source.count("}")
    assert source.count(r"\left(") == source.count(r"\right)")


def test_sigma_is_written_in_greek():
    source = latex(_derived("u*D"))
    assert r"\Sigma_{12}" in source
    assert "S_{" not in source


def test_large_systems_list_the_entries_that_are_not_zero():
    shown = text(_derived("u*(D^2 + 1)", "x"))
    assert "P12 F, where P12 is zero except for" in shown
    assert "P12[1,2] = " in shown
    assert "= 0\n" not in shown


def test_wide_matrices_do_not_need_a_latex_setting():
    system = _derived("u*(D^3 - D^2)")
    assert system.rank == 14
    assert r"\begin{array}{cccccccccccccc}" in latex(system)


def test_two_activations_and_scales_and_frames():
    from dataclasses import replace
    from fractions import Fraction

    mixed = _derived("u*D - 1", other="D^2 + 1")
    assert "of the other    D^2 + 1" in text(mixed)
    assert "σ1(u)σ2(v)" in text(mixed)
    assert r"\sigma_1(u)\sigma_2(v)" in latex(mixed)
    scaled = replace(mixed, scale=(Fraction(1, 2), Fraction(1)))
    assert "κ = 1/2, 1" in text(scaled)
    gauged = mixed.gauge([["S12" if i == j else 0 for j in range(mixed.rank)] for i in range(mixed.rank)])
    assert "T times" in text(gauged)
    assert latex(gauged).count("pmatrix") > latex(mixed).count("pmatrix")
    moments = _derived("u*D - 1", "x", basis=((0, 0), (1, 1)))
    assert "as moments of g" in text(moments)
    assert r"\iint \begin{pmatrix} 1 \\ u v \end{pmatrix}" in latex(moments)
