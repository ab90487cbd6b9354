"""The paper's own route to a Pfaffian system, through D-modules; it shares nothing with the derivation by Stein.

The Koyama–Takemura ideal of σ1(u)σ2(v) is restricted to y = 0 (Oaku's algorithm), and a Gröbner basis of the rational
Weyl algebra gives the matrices [SakodaTakayama2024, Alg. 1, steps 1-3].  It finishes for small operators only (ReLU and
Heaviside in a fraction of a second, ReSin in seconds) and serves as an independent check of :func:`holokern.pfaffian`.
"""

from __future__ import annotations

from holokern.pfaffian.coordinates import COORDINATES, read_basis
from holokern.pfaffian.derivation.by_stein import read_operators
from holokern.pfaffian.system import PfaffianSystem
from holokern.weyl import koyama_takemura_ideal_of_product, monomial_text, rational_extension

_NAMES = ("dx11", "dx12", "dx22")  # of the derivations, as elements of a basis are read


def pfaffian_by_restriction(operator: object, other_operator: object = None, *, basis: object = None) -> PfaffianSystem:
    """Derive the Pfaffian system in the coordinates x as the paper does.

    Parameters
    ----------
    operator, other_operator : str, Operator or list of them
        Operators in u and D that annihilate σ1 and σ2; σ2 = σ1 when the second is not given.
    basis : str or sequence, optional
        Derivations such as ``"1, d12"``; the standard monomials of the Gröbner basis when not given.

    Returns
    -------
    PfaffianSystem
        In the coordinates x.

    Examples
    --------
    >>> pfaffian_by_restriction("u*D - 1", basis="1, d12")["x12"]
    ((0, 1), ((-4)/(x12^2 - x11*x22), (-5*x12)/(x12^2 - x11*x22)))
    """
    coordinates = COORDINATES["x"]
    elements = None if basis is None else read_basis(basis, coordinates)
    left = read_operators(operator)
    right = left if other_operator is None else read_operators(other_operator)
    ideal = koyama_takemura_ideal_of_product([left, right])
    rational = rational_extension(ideal.restriction(["y1", "y2"]))
    if elements is None:
        elements = tuple(rational.standard_exponents)
    matrices = rational.connection_matrices([monomial_text(_NAMES, element) or "1" for element in elements])
    return PfaffianSystem("x", elements, matrices, (left, right))
