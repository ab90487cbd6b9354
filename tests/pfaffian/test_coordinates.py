"""Reading bases, and the exact change between Σ and x."""

from __future__ import annotations

import pytest

from holokern.errors import BadInput, TooLarge, UnknownName
from holokern.pfaffian import pfaffian
from holokern.pfaffian.coordinates import COORDINATES, coordinates_named, read_basis
from holokern.pfaffian.ideal import matrices_along
from holokern.weyl import gauge_transform

SIGMA, X = COORDINATES["sigma"], COORDINATES["x"]


def test_names():
    assert coordinates_named("Σ") == coordinates_named("sigma") == SIGMA
    assert coordinates_named(X) == X
    for bad in ("y", "", 3, None):
        with pytest.raises(UnknownName, match="sigma"):
            coordinates_named(bad)


def test_texts_read_back():
    for coordinates in (SIGMA, X):
        for element in [(0, 0), (1, 1), (4, 2), (0, 0, 1), (2, 1, 3)]:
            (read,) = read_basis([coordinates.text(element)], coordinates)
            assert coordinates.monomial(read) == coordinates.monomial(element)


def test_derivations_are_multiples_of_monomials():
    assert [str(SIGMA.monomial(e)[0]) for e in [(1, 0, 0), (0, 1, 0), (1, 0, 1)]] == ["1/2", "1", "1/4"]
    assert [str(X.monomial(e)[0]) for e in [(1, 0, 0), (0, 1, 0), (1, 1, 1)]] == ["1", "2", "2"]


@pytest.mark.parametrize(
    "bad",
    ["", [], 3, None, "a + b", "1, c", "1, a*d12", [(1,)], [(0, 0, 0, 0)], [(-1, 1)], [(0.5, 0.5)], [True], "1, u*v"],
)
def test_what_is_no_basis(bad):
    with pytest.raises(BadInput):
        read_basis(bad, SIGMA)


def test_mixed_odd_double_and_huge_elements():
    with pytest.raises(BadInput, match="one kind"):
        read_basis("a*b, d12", SIGMA)
    with pytest.raises(BadInput, match="odd degree"):
        read_basis("1, a", SIGMA)
    with pytest.raises(BadInput, match="multiples of each other"):
        read_basis("d12^2, d11*d22", X)
    with pytest.raises(TooLarge):
        read_basis([(1000, 0)], SIGMA)
    with pytest.raises(BadInput):
        read_basis("a^1000000", SIGMA)


def pull_back(matrices, source, target):
    """The matrices of dF = PF in the other coordinates, for the same vector times the ratio of normalisations.

    From Σ to x the vector F is multiplied by π/√det x, and divided by it on the way back.
    """
    m11, m12, m22 = target.field.gens
    # d log(π/√det x) = -½ d log det x; back, -d log(π/√det x) = -½ d log det Σ since 4 det x det Σ = 1
    det = m11 * m22 - m12 * m12
    # M -> -½M⁻¹ on symmetric matrices, its own inverse
    images = (-m22 / (2 * det), m12 / (2 * det), -m11 / (2 * det))
    moved = matrices_along(matrices, dict(zip(source.variables, images, strict=True)))
    extra = [det.derivative(variable) / (-2 * det) for variable in target.variables]
    return tuple(
        tuple(tuple(e + more if i == j else e for j, e in enumerate(row)) for i, row in enumerate(matrix))
        for matrix, more in zip(moved, extra, strict=True)
    )


def test_pull_back_twice_is_the_identity():
    system = pfaffian(operator="u*D - 1", cache=False)
    there = pull_back(system.matrices, SIGMA, X)
    assert pull_back(there, X, SIGMA) == system.matrices


def derivation_rows(matrices, coordinates, elements):
    """Each ∂11^p ∂12^q ∂22^r of the first entry as a row vector, by row(∂f) = ∂row + row·P."""
    field = coordinates.field
    rank = len(matrices[0])
    rows = []
    for element in elements:
        row = [field.one if j == 0 else field.zero for j in range(rank)]
        for variable, matrix, times in zip(coordinates.variables, matrices, element, strict=True):
            for _ in range(times):
                row = [
                    row[j].derivative(variable) + sum((row[i] * matrix[i][j] for i in range(rank)), field.zero)
                    for j in range(rank)
                ]
        rows.append(tuple(row))
    return tuple(rows)


@pytest.mark.parametrize("operator", ["u*D - 1", "D^2 + 2*u*D", "D^2 + 1", "u*(D^2 + 1)"])
def test_the_two_coordinate_systems_agree(operator: str):
    """The x-system derived by the Fourier transform is the Σ-system after substitution and gauge transformation."""
    sigma = pfaffian(operator=operator, cache=False)
    x = sigma.to_coordinates("x")
    moved = pull_back(sigma.matrices, SIGMA, X)
    change = derivation_rows(moved, X, x.basis)
    assert gauge_transform(moved, change, X.variables) == x.matrices
