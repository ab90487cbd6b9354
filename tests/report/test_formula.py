"""Formulas as outlines: everything that pages show can be drawn, breaks into lines, and shares its glyphs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from holokern import activation, activations, closed_form, pfaffian
from holokern.errors import HolokernError
from holokern.report.algebra_section import fits_matrices, system_equations
from holokern.report.formula import Typesetter, pieces

# without a break, with one in words, with a long closed form, without one
FEW = ("gaussian", "relu", "gelu", "tanh")


@pytest.mark.parametrize("names", [FEW, pytest.param(activations(), marks=pytest.mark.slow)], ids=["few", "all"])
def test_named_activations_and_their_closed_forms_can_be_drawn(names: Sequence[str]) -> None:
    page = Typesetter()
    for name in names:
        try:
            sigma = activation(name)
        except HolokernError:
            # it needs a parameter
            continue
        assert "<code>" not in page.block(sigma.latex()), name
        try:
            form = closed_form(sigma)
        except HolokernError:
            continue
        assert "<code>" not in page.block(form.k_latex), name
        assert "<code>" not in page.block(form.kdot_latex), name


@pytest.mark.parametrize("name", ["relu", pytest.param("gelu", marks=pytest.mark.slow), "resin"])
def test_systems_can_be_drawn(name: str) -> None:
    page, system = Typesetter(), pfaffian(name)
    assert fits_matrices(system) is (name == "relu")
    lines, names = system_equations(system)
    assert len(lines) == system.rank * (1 + len(system.matrices))
    assert not any("<code>" in page.block(text) for text in (*lines, *names, system.latex()))
    # every name that is used is explained
    used = set(re.findall(r"(?:N|Q)_\{\d+\}", "".join(lines)))
    assert used <= {line.partition(" =")[0] for line in names}


def test_brackets_stretch_with_their_matrix() -> None:
    page = Typesetter()
    heights = []
    for rows in (1, 4):
        matrix = r"\begin{pmatrix} " + r" \\ ".join(["x"] * rows) + r" \end{pmatrix}"
        box = re.search(r'viewBox="0 (\S+) (\S+) (\S+)"', page.inline(matrix))
        heights.append(float(box[3]))
    assert heights[1] > 3 * heights[0]
    assert page.definitions().count('stroke="currentColor"') == 4


def test_primes_and_indices_are_drawn() -> None:
    page = Typesetter()
    assert page.inline("k'").count("<use") == 2
    assert page.inline(r"{\Sigma'}^{h}").count("<use") == 3


def test_glyphs_are_shared() -> None:
    page = Typesetter()
    page.block("x + x + x")
    before = page.definitions()
    page.block("x + x")
    assert page.definitions() == before


def test_pieces_keep_brackets_and_environments_whole() -> None:
    source = r"F = \left(a + b\right) c + \begin{pmatrix} 1 + x & 2 \end{pmatrix} - \frac{p + q}{r}"
    found = pieces(source)
    assert "".join(found).replace(" ", "") == source.replace(" ", "")
    for part in found:
        assert part.count("{") == part.count("}")
        assert part.count(r"\left") == part.count(r"\right")
        assert part.count(r"\begin") == part.count(r"\end")


def test_what_cannot_be_drawn_is_shown_as_text() -> None:
    page = Typesetter()
    assert page.inline(r"\unknown{<b>}") == r"<code>\unknown{&lt;b&gt;}</code>"
    assert r"<code>\begin{tikz}x\end{tikz}</code>" in page.block(r"\begin{tikz}x\end{tikz}")
