from __future__ import annotations

import pytest

from holokern.errors import BadInput, CheckFailed
from holokern.weyl import weyl_algebra
from holokern.weyl.algebra.orders import grevlex, weight_order
from holokern.weyl.groebner.certificate import membership_certificate
from holokern.weyl.groebner.checker import check_groebner_basis, check_membership

D = weyl_algebra("x y")
GENERATORS = [D("x*dx + y*dy"), D("dx*dy")]
BASIS = [D("dx*dy"), D("x*dx + y*dy"), D("y*dy^2 + dy")]


def test_good_basis_with_and_without_certificates() -> None:
    check_groebner_basis(BASIS, GENERATORS, grevlex(D))
    check_groebner_basis(BASIS, GENERATORS, grevlex(D), membership_certificate(BASIS, GENERATORS))


def test_missing_element_is_found() -> None:
    with pytest.raises(CheckFailed, match="S-pair"):
        check_groebner_basis(BASIS[:2], GENERATORS, grevlex(D))


def test_smaller_ideal_is_found() -> None:
    with pytest.raises(CheckFailed, match="generator"):
        check_groebner_basis(BASIS[:1], GENERATORS, grevlex(D))


def test_larger_ideal_is_found() -> None:
    with pytest.raises(CheckFailed, match="does not lie"):
        check_groebner_basis([D.one], GENERATORS, grevlex(D))
    with pytest.raises(CheckFailed, match="certificate"):
        check_groebner_basis([D.one], GENERATORS, grevlex(D), [[D.zero, D.zero]])


def test_zero_and_wrong_numbers_of_certificates() -> None:
    with pytest.raises(CheckFailed, match="operator 0"):
        check_groebner_basis([D.zero], GENERATORS, grevlex(D))
    with pytest.raises(BadInput, match="one certificate"):
        check_groebner_basis(BASIS, GENERATORS, grevlex(D), [])
    with pytest.raises(BadInput, match="one cofactor"):
        check_membership(D.one, GENERATORS, [D.one])


def test_homogenised_check_of_a_wrong_basis() -> None:
    """For (-w, w) the two generators are no basis: x·dx + y·dy and dx·dy give y·dy² + dy."""
    order = weight_order(D, (-1, -1, 1, 1))
    with pytest.raises(CheckFailed, match="S-pair"):
        check_groebner_basis(GENERATORS, GENERATORS, order)
    check_groebner_basis(BASIS, GENERATORS, order)


def test_certificates() -> None:
    (cofactors,) = membership_certificate([D("y^2*dy^2 + y*dy")], GENERATORS)
    check_membership(D("y^2*dy^2 + y*dy"), GENERATORS, cofactors)
    assert membership_certificate([], GENERATORS) == []
    assert membership_certificate([D.zero], GENERATORS) == [[D.zero, D.zero]]
    with pytest.raises(BadInput, match="does not lie"):
        membership_certificate([D("dx")], GENERATORS)
    with pytest.raises(CheckFailed):
        check_membership(D("dx"), GENERATORS, [D.one, D.one])
