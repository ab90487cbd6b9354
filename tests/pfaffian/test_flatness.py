import random

import pytest

from holokern import pfaffian
from holokern.errors import BadInput
from holokern.pfaffian.check.flatness import flatness
from holokern.weyl.rational.fractions import function_field


def _mutants(system):
    """Every system that differs from ``system`` by one unit in one coefficient of one numerator."""
    field = function_field(system.variables)
    for m, matrix in enumerate(system.matrices):
        for i, row in enumerate(matrix):
            for j, entry in enumerate(row):
                for key in [*map(tuple, entry.numerator.monoms()), (0, 0, 0)]:
                    bump = field.ctx.from_dict({key: 1})
                    changed = field.fraction(entry.numerator + bump, entry.denominator)
                    rows = [list(r) for r in matrix]
                    rows[i][j] = changed
                    yield (*system.matrices[:m], rows, *system.matrices[m + 1 :])


def test_the_papers_relu_system_is_flat(relu_x):
    report = flatness(relu_x.matrices, relu_x.variables)
    assert report.flat
    assert report
    assert 0 < report.doubt < 1e-25


def test_every_single_perturbed_coefficient_is_detected(relu_x):
    mutants = list(_mutants(relu_x))
    assert len(mutants) > 20
    for mutant in mutants:
        report = flatness(mutant, relu_x.variables, trials=1)
        assert not report
        assert report.failing is not None


def test_a_gradient_is_flat_and_a_rotation_is_not():
    field = function_field("x y z")
    potential = field("x*y/(x + z^2) + y^3*z")
    gradient = [[[potential.derivative(name)]] for name in field.variables]
    assert flatness(gradient, field.variables)
    swapped = [gradient[1], gradient[0], gradient[2]]
    assert flatness(swapped, field.variables).failing == ("x", "y")


def test_constant_matrices_are_flat_exactly_when_they_commute():
    field = function_field("x y")
    diagonal = [[field(2), field(0)], [field(0), field(3)]]
    nilpotent = [[field(0), field(1)], [field(0), field(0)]]
    assert flatness([diagonal, diagonal], field.variables)
    assert not flatness([diagonal, nilpotent], field.variables)


def test_a_difference_that_one_prime_would_hide():
    field = function_field("x y")
    huge = field(2**61 - 1)
    assert not flatness([[[field("y") * huge]], [[field(0)]]], field.variables, trials=1)


def test_trivial_systems_and_bad_shapes():
    field = function_field("x y")
    assert flatness([[], []], field.variables)
    assert flatness([[[field("x")]]], ("x",)).doubt == 0
    with pytest.raises(BadInput, match="2 square matrices"):
        flatness([[[field(1)]]], field.variables)
    with pytest.raises(BadInput, match="square"):
        flatness([[[field(1), field(1)]], [[field(1)]]], field.variables)
    with pytest.raises(BadInput, match="trial"):
        flatness([[[field(1)]], [[field(1)]]], field.variables, trials=0)


@pytest.mark.parametrize(("name", "coordinates"), [("elu", "sigma"), ("resin", "x"), ("relu6", "sigma")])
def test_large_systems_are_flat_and_their_mutants_are_not(name, coordinates):
    system = pfaffian(name, coordinates=coordinates, cache=False, check=False)
    assert system.is_flat()
    source = random.Random(7)
    everything = [
        (m, i, j) for m in range(3) for i in range(system.rank) for j in range(system.rank) if system.matrices[m][i][j]
    ]
    for m, i, j in source.sample(everything, 12):
        entry = system.matrices[m][i][j]
        key = tuple(source.choice(list(entry.numerator.monoms())))
        changed = system.field.fraction(entry.numerator + system.field.ctx.from_dict({key: 1}), entry.denominator)
        rows = [list(row) for row in system.matrices[m]]
        rows[i][j] = changed
        mutant = (*system.matrices[:m], rows, *system.matrices[m + 1 :])
        assert not flatness(mutant, system.variables, trials=1), (m, i, j)
