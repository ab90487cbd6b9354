"""Hypergeometric systems: ranks, singular loci and connection matrices known from the literature, with symbols."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from holokern.errors import BadInput, NotHolonomic
from holokern.weyl import appell, gauss, gkz, hypergeometric, lauricella, rational_extension, toric_ideal
from holokern.weyl.rational.ideal import RationalIdeal
from holokern.weyl.rational.matrices import Matrix

APPELL = {
    1: (["a", "b1", "b2", "c"], 3, "x y x-1 y-1 x-y"),
    2: (["a", "b1", "b2", "c1", "c2"], 4, "x y x-1 y-1 x+y-1"),
    3: (["a1", "a2", "b1", "b2", "c"], 4, "x y x-1 y-1 x*y-x-y"),
    4: (["a", "b", "c1", "c2"], 4, "x y x^2-2*x*y+y^2-2*x-2*y+1"),
}
GENERIC = [Fraction(1, p) for p in (2, 3, 5, 7, 11)]


def flat(ideal: RationalIdeal, matrices: tuple[Matrix, ...]) -> bool:
    """∂_j P_i + P_i P_j = ∂_i P_j + P_j P_i, by plain products of rational functions."""
    names, zero = ideal.algebra.variables, ideal.algebra.field.zero

    def side(i: int, j: int, r: int, c: int) -> object:
        inner = sum((matrices[i][r][k] * matrices[j][k][c] for k in range(len(matrices[i]))), zero)
        return matrices[i][r][c].derivative(names[j]) + inner

    size = range(len(matrices[0]))
    return all(side(0, 1, r, c) == side(1, 0, r, c) for r in size for c in size)


@pytest.mark.parametrize("kind", APPELL)
def test_appell_with_symbols(kind: int) -> None:
    """Ranks 3, 4, 4, 4 and the singular loci [AppellKampe1926]; the same for numbers in the Weyl algebra."""
    names, rank, locus = APPELL[kind]
    ideal = appell(kind, *names)
    field = ideal.algebra.field
    assert ideal.rank() == rank
    factors = set(ideal.singular_factors())
    assert {field(text) for text in locus.split()} <= factors
    assert flat(ideal, ideal.connection_matrices())
    numbers = appell(kind, *GENERIC[: len(names)])
    assert numbers.rank() == rank
    assert {str(f) for f in numbers.singular_factors()} == {str(field(text)) for text in locus.split()}


@pytest.mark.parametrize("kind", APPELL)
def test_values_for_symbols_commute_with_the_groebner_basis(kind: int) -> None:
    names = APPELL[kind][0]
    values = dict(zip(names, GENERIC, strict=False))
    put = appell(kind, *names).substitute(values)
    assert put.connection_matrices() == rational_extension(appell(kind, *GENERIC[: len(names)])).connection_matrices()
    assert put.algebra.parameters == ()


def test_gauss_connection_matrix_with_symbols() -> None:
    """In the basis (f, θf): θ²f from (1-x)θ²f = ((a+b)x - c + 1)θf + abxf [AppellKampe1926]."""
    ideal = gauss("a", "b", "c")
    K = ideal.algebra.field
    (matrix,) = ideal.connection_matrices(["1", "x*dx"])
    assert matrix == ((K(0), K("1/x")), (K("a*b/(1-x)"), K("((a+b)*x - c + 1)/(x*(1-x))")))


def test_exceptional_values_of_appell_f1() -> None:
    """The first two equations have rank 3, but a common right factor θ_x + θ_y + a where a = c - 1."""
    ideal = appell(1, "a", "b1", "b2", "c")
    two = ideal.algebra.ideal(ideal.generators[:2])
    assert two.rank() == 3
    assert [[str(f) for f in conditions] for conditions in two.exceptional_values()] == [["a - c + 1"]]
    with pytest.raises(BadInput, match="a - c \\+ 1 = 0"):
        two.substitute({"a": "c - 1"})
    special = two.substitute({"a": "1/2", "b1": "1/3", "b2": "1/5", "c": "3/2"}, check=False)
    with pytest.raises(NotHolonomic):
        special.rank()


@pytest.mark.parametrize(("kind", "rank"), [("A", 8), ("B", 8), ("C", 8), ("D", 4)])
def test_lauricella(kind: str, rank: int) -> None:
    """2^n, and n + 1 for F_D [AppellKampe1926]."""
    one, many = "1/2", ["1/3", "1/5", "1/7"]
    groups = {"A": (one, many, ["2/3", "2/5", "2/7"]), "B": (many, ["2/3", "2/5", "2/7"], one)}
    groups |= {"C": (one, "1/11", many), "D": (one, many, "2/11")}
    assert lauricella(kind, *groups[kind]).rank() == rank


def test_one_variable_lauricella_is_gauss() -> None:
    for kind in "ABCD":
        (ours,) = lauricella(kind, "1/2", "1/3", "1/5", "x").generators
        (known,) = gauss("1/2", "1/3", "1/5").generators
        assert ours == known
    assert hypergeometric(["a", "b"], ["c"]) == gauss("a", "b", "c")


PINCHED = [[1, 1, 1, 1], [0, 1, 3, 4]]


@pytest.mark.parametrize("beta", [(1, 2), (0, 0), (1, 1), (2, 4), ("1/2", "1/3"), (-1, -2)])
def test_rank_jump_of_the_pinched_quartic(beta: tuple[object, object]) -> None:
    """The only rank jump of 0134 is at β = (1, 2): 5 instead of the volume 4 [SturmfelsTakayama1998; SST2000, §4.2]."""
    assert gkz(PINCHED, beta).rank() == (5 if beta == (1, 2) else 4)


def test_the_rank_jump_is_found_with_symbols() -> None:
    ideal = gkz(PINCHED, ["b1", "b2"])
    assert ideal.rank() == 4
    with pytest.raises(BadInput, match="exceptional"):
        ideal.substitute({"b1": 1, "b2": 2})
    assert ideal.substitute({"b1": 1, "b2": 2}, check=False).rank() == 5
    assert ideal.substitute({"b1": "1/2", "b2": "1/3"}).rank() == 4


@pytest.mark.parametrize(
    ("matrix", "volume"),
    [
        ([[1, 1, 1], [0, 1, 2]], 2),
        ([[1, 1, 1, 1], [0, 1, 2, 3]], 3),
        ([[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]], 2),
        ([[1, 2, 3]], 3),
    ],
)
def test_ranks_are_volumes(matrix: list[list[int]], volume: int) -> None:
    """For generic β the rank is the normalised volume of A and the origin [SST2000, Thm 3.5.1]."""
    assert gkz(matrix, GENERIC[: len(matrix)]).rank() == volume


def test_toric_ideals() -> None:
    """The twisted cubic has three quadrics, the Segre square one, and (1, 0, -1) gives y1 y3 = 1, y2 = 1."""
    assert len(toric_ideal([[1, 1, 1, 1], [0, 1, 2, 3]])) == 3
    assert toric_ideal([[1, 0, -1]]) == [((0, 1, 0), (0, 0, 0)), ((1, 0, 1), (0, 0, 0))]
    assert toric_ideal([[1, 0], [0, 1]]) == []


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadInput, match="F4 has 4 parameters"):
        appell(4, 1, 2, 3)
    with pytest.raises(BadInput, match="1, 2, 3 or 4"):
        appell(5, 1)
    with pytest.raises(BadInput, match="A, B, C or D"):
        lauricella("E", 1, [1], 1)
    with pytest.raises(BadInput, match="rows of integers"):
        gkz([[1, 1], [0]], [0, 0])
    with pytest.raises(BadInput, match="2 entries of beta"):
        gkz([[1, 1], [0, 1]], [0])
    with pytest.raises(BadInput, match="expected integers"):
        gkz([[1, 0.5], [0, 1]], [0, 0])
    with pytest.raises(BadInput, match="exact"):
        gauss(0.5, 1, 1)
    with pytest.raises(BadInput, match="no parameter"):
        gauss("a", 1, 1).substitute({"b": 1})
    with pytest.raises(BadInput, match="depends on a variable"):
        gauss("a", 1, 1).substitute({"a": "x"})
    with pytest.raises(NotHolonomic, match="infinite"):
        gkz(PINCHED, [1, 2]).algebra.ideal("dx1").rank()


@pytest.mark.slow
def test_macaulay2_finds_the_same_ranks(run_macaulay2: Callable[[str], str]) -> None:
    script = "".join(
        f"print holonomicRank gkz(matrix{{{{1,1,1,1}},{{0,1,3,4}}}},{{{b1},{b2}}});" for b1, b2 in ((1, 2), (2, 1))
    )
    found = [int(line) for line in run_macaulay2(script).split()]
    assert found == [gkz(PINCHED, beta).rank() for beta in ((1, 2), (2, 1))]


def test_singular_finds_the_same_ranks(run_singular: Callable[[str], str]) -> None:
    script = 'LIB "dmodloc.lib"; ring r=0,(x,y,dx,dy),dp; def W=Weyl(); setring W; ideal I;'
    systems = [appell(kind, *GENERIC[: len(APPELL[kind][0])]) for kind in APPELL]
    for system in systems:
        script += f'I={",".join(map(str, system.generators))}; print("RANK "+string(holonomicRank(I)));'
    found = [int(word) for word in run_singular(script).replace("RANK", " ").split() if word.isdigit()]
    assert found == [system.rank() for system in systems] == [3, 4, 4, 4]
