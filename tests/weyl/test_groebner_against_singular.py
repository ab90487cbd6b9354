"""The same Gröbner bases and initial ideals as Singular."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from holokern.weyl import Operator, WeylAlgebra, weyl_algebra
from holokern.weyl.modules.koyama_takemura import koyama_takemura_ideal_of_product

D = weyl_algebra("x y")
D1 = weyl_algebra("u", "D")

SYSTEMS = [
    ["x*dx + y*dy", "dx*dy"],
    ["dx^2 - dy", "x*dx + 2*y*dy - 3"],
    ["(x^3-y^2)*dx + 3*x^2", "(x^3-y^2)*dy - 2*y"],
    ["x^2*dx - y*dy + 3", "y^2*dy^2 - x*dx + x*y"],
    ["x*dx^2 + dy - y", "y*dy^2 - dx*dy"],
]


def singular_ring(algebra: WeylAlgebra) -> tuple[str, dict[str, str]]:
    """Singular's declaration of the same Weyl algebra with neutral names, and the names of ours."""
    names = {name: f"v{i}" for i, name in enumerate((*algebra.variables, *algebra.derivations))}
    return f"ring r=0,({','.join(names.values())}),dp; def W=Weyl(); setring W;", names


def to_singular(operators: tuple[Operator, ...], names: dict[str, str]) -> str:
    word = re.compile(r"[A-Za-z]\w*")
    return ",".join(word.sub(lambda found: names[found[0]], str(f)) for f in operators)


def from_singular(text: str, algebra: WeylAlgebra, names: dict[str, str]) -> list[Operator]:
    back = {short: name for name, short in names.items()}
    text = re.sub(r"v\d+", lambda found: back[found[0]], text.replace("\n", ""))
    return [algebra(part) for part in text.split(",")]


@pytest.mark.parametrize("texts", SYSTEMS, ids=lambda texts: texts[0])
def test_reduced_bases_are_the_same(texts: list[str], run_singular: Callable[[str], str]) -> None:
    ideal = D.ideal(texts)
    ring, names = singular_ring(D)
    script = f'LIB "nctools.lib"; {ring} option(redSB); ideal I={to_singular(ideal.generators, names)};'
    found = from_singular(run_singular(script + "string(groebner(I));"), D, names)
    assert {g.primitive() for g in ideal.groebner()} == {g.primitive() for g in found}


@pytest.mark.parametrize("weights", [(1, 1), (1, 0), (2, 1)], ids=str)
@pytest.mark.parametrize("texts", SYSTEMS[:4], ids=lambda texts: texts[0])
def test_initial_ideals_are_the_same(
    texts: list[str], weights: tuple[int, int], run_singular: Callable[[str], str]
) -> None:
    ideal = D.ideal(texts)
    ours = ideal.initial((-weights[0], -weights[1], *weights))
    ring, names = singular_ring(D)
    script = f'LIB "dmodapp.lib"; {ring} ideal I={to_singular(ideal.generators, names)};'
    script += f"intvec w={weights[0]},{weights[1]}; string(initialIdealW(I,-w,w));"
    assert ours == D.ideal(from_singular(run_singular(script), D, names))


@pytest.mark.parametrize("operator", ["u*D - 1", "u*D", pytest.param("u*(D^2 + 1)", marks=pytest.mark.slow)])
def test_initial_ideals_of_koyama_takemura_are_the_same(operator: str, run_singular: Callable[[str], str]) -> None:
    ideal = koyama_takemura_ideal_of_product([[D1(operator)], [D1(operator)]])
    algebra = ideal.algebra
    assert algebra.dimension == 5
    w = tuple(int(name.startswith("y")) for name in algebra.variables)
    ours = ideal.initial((*(-e for e in w), *w))
    ring, names = singular_ring(algebra)
    script = f'LIB "dmodapp.lib"; {ring} ideal I={to_singular(ideal.generators, names)};'
    script += f"intvec w={','.join(map(str, w))}; ideal J=initialIdealW(I,-w,w); option(redSB); string(groebner(J));"
    found = from_singular(run_singular(script), algebra, names)
    assert {g.primitive() for g in ours.groebner()} == {g.primitive() for g in found}
