"""Ranks and bases of the quotient by the relations."""

from __future__ import annotations

import pytest

from holokern.errors import BadInput, NotHolonomic
from holokern.pfaffian.derivation.quotient import PRIMES, bernstein_multiplicity, quotient
from holokern.pfaffian.derivation.relations import Presentation
from holokern.weyl import weyl_algebra
from holokern.weyl.univariate.bernstein import bernstein_basis

D1 = weyl_algebra("u", "D")

PAPERS_GELU = "u^2*D^2 - 2*u*(1 - u^2)*D + 2*(1 - u^2)"
RANKS = {
    "relu": (["u*D - 1"], 2),
    "step": (["u*D"], 2),
    "resin": (["u*(D^2 + 1)"], 5),
    "resin, paper": (["u^2*(D^2 + 1)"], 8),
    "gelu, paper": ([PAPERS_GELU], 8),
    "u(1 + erf u)": (["D^3 + 4*u*D^2 + 4*u^2*D - 4*u", "u*D^3 + 2*u^2*D^2 + 4*u*D - 4"], 2),
    "its derivative": (["D^3 + 3*u*D^2 + (2*u^2 + 4)*D", "u*D^3 + (2*u^2 + 1)*D^2 + 8*u*D"], 2),
    "1 + erf": (["D^2 + 2*u*D"], 2),
    "sin": (["D^2 + 1"], 2),
    "gaussian": (["D + u"], 1),
    "exp": (["D - 1"], 1),
    "identity": (["u*D - 1", "D^2"], 1),
    "constant": (["D"], 1),
    "delta": (["u"], 1),
    "elu": (["u*(D^3 - D^2)"], 14),
}


def present(left, right=None) -> Presentation:
    sides = [bernstein_basis([D1(text) for text in texts]) for texts in (left, left if right is None else right)]
    return Presentation(*sides)


@pytest.mark.parametrize("name", RANKS)
def test_ranks(name: str):
    texts, rank = RANKS[name]
    found = quotient(present(texts))
    assert found.rank == rank
    assert found.basis[0] == (0, 0)
    assert rank == 1 or found.basis[1] == (1, 1)
    assert found.dimension == bernstein_multiplicity(bernstein_basis([D1(t) for t in texts])) ** 2


def test_rank_of_two_different_functions_is_symmetric():
    assert quotient(present(["u*D - 1"], ["u*(D^2 + 1)"])).rank == quotient(present(["u*(D^2 + 1)"], ["u*D - 1"])).rank


def test_rank_counts_even_and_odd_solutions():
    """The rank is e1·e2 + o1·o2 when the annihilators keep parity."""
    # u*D - 1 has |u| and u; D^2 + 1 has cos and sin
    assert quotient(present(["u*D - 1"], ["D^2 + 1"])).rank == 1 * 1 + 1 * 1
    # D has the even solution 1 only
    assert quotient(present(["D"], ["D^2 + 1"])).rank == 1


def test_a_basis_of_ones_own():
    basis = [(0, 0), (2, 0), (1, 1), (0, 2), (3, 3)]
    assert quotient(present(["u*(D^2 + 1)"]), basis).basis == tuple(basis)


def test_what_is_no_basis_is_refused():
    with pytest.raises(BadInput, match="not a basis: the rank is 2"):
        quotient(present(["u*D - 1"]), [(0, 0)])
    with pytest.raises(BadInput, match="not a basis: the rank is 2"):
        quotient(present(["u*D - 1"]), [(0, 0), (1, 1), (2, 2)])
    with pytest.raises(BadInput, match="not a basis"):
        # (uD - 1)² · 1 relates a² to nothing but itself and ab: 1 and a², b² are dependent for the identity
        quotient(present(["u*D - 1", "D^2"]), [(2, 0)])


def test_the_trivial_ideals():
    with pytest.raises(NotHolonomic, match="operator 0"):
        quotient(Presentation((D1(0),), (D1("D"),)))
    with pytest.raises(BadInput, match="only the function 0"):
        quotient(present(["1"]))
    with pytest.raises(BadInput, match="only the function 0"):
        quotient(present(["D", "u"]))


def test_normal_forms_of_relu_at_a_point():
    """a²b² in terms of 1 and ab for ReLU: ∂²k/∂Σ12² = (k - Σ12 k′)/det Σ."""
    found = quotient(present(["u*D - 1"]))
    prime = PRIMES[2]
    s11, s12, s22 = 5, 7, 11
    values = found.normal_forms(prime)((s11, s12, s22))
    row = found.targets.index((2, 2))
    inverse = pow(s11 * s22 - s12**2, -1, prime)
    assert values[2 * row : 2 * row + 2] == [inverse, -s12 * inverse % prime]


def test_a_degenerate_point_is_reported():
    found = quotient(present(["u*D - 1"]))
    with pytest.raises(ZeroDivisionError):
        found.normal_forms(PRIMES[0])((1, 1, 1))


def test_coefficients_beyond_a_machine_word():
    found = quotient(present([f"u*D - {2**70}"]))
    prime = PRIMES[1]
    s11, s12, s22 = 5, 7, 11
    values = found.normal_forms(prime)((s11, s12, s22))
    # E[(a·P) σσ] = Σ11 a² + Σ12 ab + (1 - 1 - 2^70) shows the normal form of a²: a·(uD) = D·u·D - D
    row = found.targets.index((2, 0))
    assert values[2 * row + 1] * s11 % prime == -s12 % prime
    assert values[2 * row] * s11 % prime == 2**70 % prime
