"""Bernstein–Sato polynomials with closed formulas or published values, and the same ones in Singular and Macaulay2."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from holokern.weyl import (
    BFunction,
    annihilator_of_symbolic_power,
    bernstein_operator,
    bernstein_sato,
    local_bernstein_sato,
    weyl_algebra,
)
from holokern.weyl.constructions.bernstein import of_graph

F = Fraction


def roots(*values: object) -> BFunction:
    found: dict[Fraction, int] = {}
    for value in values:
        found[-F(str(value))] = found.get(-F(str(value)), 0) + 1
    return BFunction.from_roots(found)


# Simple singularities: f, weights with f of weight 1, exponents of a basis of the Milnor algebra.
SIMPLE = {
    "A1": ("x^2 + y^2", (F(1, 2), F(1, 2)), [(0, 0)]),
    "A2": ("x^2 + y^3", (F(1, 2), F(1, 3)), [(0, 0), (0, 1)]),
    "A4": ("x^2 + y^5", (F(1, 2), F(1, 5)), [(0, j) for j in range(4)]),
    "D4": ("x^2*y + y^3", (F(1, 3), F(1, 3)), [(0, 0), (1, 0), (0, 1), (0, 2)]),
    "D5": ("x^2*y + y^4", (F(3, 8), F(1, 4)), [(0, 0), (1, 0), (0, 1), (0, 2), (0, 3)]),
    "E6": ("x^3 + y^4", (F(1, 3), F(1, 4)), list(product(range(2), range(3)))),
    "E7": ("x^3 + x*y^3", (F(1, 3), F(2, 9)), [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1)]),
    "E8": ("x^3 + y^5", (F(1, 3), F(1, 5)), list(product(range(2), range(4)))),
    "E8 in space": ("x^3 + y^5 + z^2", (F(1, 3), F(1, 5), F(1, 2)), [(*e, 0) for e in product(range(2), range(4))]),
}


@pytest.mark.parametrize("name", SIMPLE)
def test_simple_singularities(name: str) -> None:
    """b(s) = (s + 1) Π (s + ρ) over the different ρ = Σ w_i (a_i + 1), a in the Milnor basis [Yano1978]."""
    text, weights, basis = SIMPLE[name]
    spectrum = {sum((w * (a + 1) for w, a in zip(weights, exponents, strict=True)), F(0)) for exponents in basis}
    assert bernstein_sato(text) == roots(1, *spectrum)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_sums_of_squares(n: int) -> None:
    """Σ x_i²: (s + 1)(s + n/2), with the Laplacian as operator [Kashiwara1976]."""
    text = " + ".join(f"x{i}^2" for i in range(n))
    assert bernstein_sato(text) == roots(1, F(n, 2))
    b, P = bernstein_operator(text)
    assert P.algebra(" + ".join(f"1/4*dx{i}^2" for i in range(n))) == P
    assert b == roots(1, F(n, 2))


@pytest.mark.parametrize(
    ("text", "n", "d"), [("x*y*(x+y)", 2, 3), ("x*y*(x+y)*(x+2*y)", 2, 4), ("x*y*z*(x+y+z)", 3, 4)]
)
def test_generic_arrangements(text: str, n: int, d: int) -> None:
    """d generic hyperplanes in n-space: (s + 1)^(n-1) Π (s + j/d), j = n, …, 2d - 2 [Walther2005]."""
    assert bernstein_sato(text) == roots(*[1] * (n - 1), *(F(j, d) for j in range(n, 2 * d - 1)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a*d - b*c", (1, 2)),  # Cayley
        (
            "x^2*y^2 - 4*w*y^3 - 4*x^3*z + 18*w*x*y*z - 27*w^2*z^2",
            (1, 1, "5/6", "7/6"),
        ),  # binary cubics [SatoKimura1977]
        pytest.param("a*e*i + b*f*g + c*d*h - c*e*g - b*d*i - a*f*h", (1, 2, 3), id="3 x 3 determinant"),  # Cayley
    ],
)
def test_prehomogeneous_spaces(text: str, expected: tuple[object, ...]) -> None:
    assert bernstein_sato(text) == roots(*expected)


def test_reiffen_curves() -> None:
    """x^4 + y^5 + x y^4 is not quasi-homogeneous [LevandovskyyMartin2012]."""
    expected = "9/20 11/20 13/20 7/10 17/20 9/10 19/20 1 21/20 11/10 23/20 13/10 27/20"
    assert bernstein_sato("x^4 + y^5 + x*y^4") == roots(*expected.split())


@pytest.mark.parametrize("text", ["x^2*y + y^3", "x^2 - y^2*z", "x*y*z", "x^5 + y^5 + x^2*y^2"])
def test_two_algorithms_agree(text: str) -> None:
    """The annihilator of f^s, and the b-function of the graph embedding [Oaku1997]."""
    names = sorted(set(re.findall("[a-z]", text)))
    f = weyl_algebra(names)(text)
    assert bernstein_sato(f) == of_graph([f])


@pytest.mark.parametrize("text", ["x^2 + y^3", "x*y*(x+y)", "x^2 - y^2*z"])
def test_the_functional_equation_holds(text: str) -> None:
    """P f^(s+1) = b(s) f^s, checked at s = 0, 1, 2 by applying P to polynomials."""
    b, P = bernstein_operator(text)
    D = weyl_algebra(sorted(set(re.findall("[a-z]", text))))
    f, n = D(text), D.dimension
    for s in range(3):
        terms: dict[tuple[int, ...], object] = {}
        for key, c in P:
            short = (*key[:n], *key[n + 1 : -1])
            terms[short] = terms.get(short, 0) + c * s ** key[n]  # type: ignore[operator]
        value = b(F(s))
        assert D.from_terms(terms).apply(f ** (s + 1)) == D(value) * f**s


@pytest.mark.parametrize("text", ["x^2 + y^3", "x^4 + y^5 + x*y^4", "x^2 - y^2*z", "x*y*(x+y)"])
def test_annihilators_of_powers_annihilate(text: str) -> None:
    """Every generator, at s = 0, …, 3, applied to f^s."""
    ideal = annihilator_of_symbolic_power(text)
    D = weyl_algebra(sorted(set(re.findall("[a-z]", text))))
    f, n = D(text), D.dimension
    for g in ideal.generators:
        for s in range(4):
            terms: dict[tuple[int, ...], object] = {}
            for key, c in g:
                short = (*key[:n], *key[n + 1 : -1])
                terms[short] = terms.get(short, 0) + c * s ** key[n]  # type: ignore[operator]
            assert not D.from_terms(terms).apply(f**s)


def test_varieties() -> None:
    """Codimension r complete intersections of coordinates have s + r; (x², y³) from [BudurMustataSaito2006]."""
    assert bernstein_sato("x", "y", "z") == roots(3)
    assert bernstein_sato("x^2", "y^3") == roots("5/6", "7/6", "4/3", "3/2", "5/3", 2)


@pytest.mark.parametrize(
    ("text", "point", "expected"),
    [
        ("x^2 + y^3", {}, (1, "5/6", "7/6")),
        ("x^2 + y^3", {"x": 1, "y": -1}, (1,)),
        ("x^2 + y^3", {"x": 1}, ()),
        ("x^2*(x + y + 1) + y^3", {}, (1, "5/6", "7/6")),
        ("x*y*(x + 1)", {"x": -1}, (1, 1)),
        ("x*y*(x + 1)", {"x": 2}, (1,)),
    ],
)
def test_local_polynomials(text: str, point: dict[str, int], expected: tuple[object, ...]) -> None:
    assert local_bernstein_sato(text, point) == roots(*expected)


LIVE = ["x^2+y^3", "x^3+x*y^3", "x^2-y^2*z", "x*y*(x+y)*(x+2*y)"]


@pytest.mark.parametrize(
    "texts", [LIVE, pytest.param(["x^4+y^5+x*y^4", "x^5+y^5+x^2*y^2"], marks=pytest.mark.slow)], ids=["few", "more"]
)
def test_singular_finds_the_same(texts: list[str], run_singular: Callable[[str], str]) -> None:
    script = 'LIB "bfun.lib"; ring r=0,(x,y,z),dp; list L;'
    for text in texts:
        script += f'L=bfct({text}); print("ANSWER "+string(L[1])+";"+string(L[2]));'
    lines = re.findall(r"ANSWER ([^;]*);([\d,]*)", run_singular(script).replace("\n", " "))
    assert len(lines) == len(texts)
    for text, (values, powers) in zip(texts, lines, strict=True):
        pairs = zip(values.split(","), powers.split(","), strict=True)
        assert bernstein_sato(text).roots == dict(sorted((F(value.strip()), int(m)) for value, m in pairs))


def test_singular_finds_the_same_for_varieties(run_singular: Callable[[str], str]) -> None:
    script = 'LIB "dmodvar.lib"; ring r=0,(x,y),dp; ideal I=x2,y3; list L=bfctVarAnn(I);'
    script += 'print("ANSWER "+string(L[1])+";"+string(L[2]));'
    ((values, powers),) = re.findall(r"ANSWER ([^;]*);([\d,]*)", run_singular(script).replace("\n", " "))
    found = {F(v.strip()): int(m) for v, m in zip(values.split(","), powers.split(","), strict=True)}
    # Singular shifts by the codimension, as the polynomial of the variety itself
    ours = bernstein_sato("x^2", "y^3").roots
    assert found in (dict(ours), {root + 1: m for root, m in ours.items()})


@pytest.mark.slow
def test_macaulay2_finds_the_same(run_macaulay2: Callable[[str], str]) -> None:
    script = "W=makeWA(QQ[x,y,z]);"
    script += "".join(f"print toString factorBFunction globalBFunction({text});" for text in LIVE)
    lines = run_macaulay2(script).strip().splitlines()
    for text, line in zip(LIVE, lines, strict=True):
        found = {-F(c or 0): int(m or 1) for c, m in re.findall(r"[a-z]([+-][\d/]+)?\)?(?:\^(\d+))?", line)}
        assert bernstein_sato(text).roots == dict(sorted(found.items()))
