"""The function :func:`pfaffian`, which derives a Pfaffian system from an ideal, an activation or operators."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, overload

from holokern.activation import Activation, ExactReal
from holokern.errors import BadInput, CheckFailed, TooLarge
from holokern.pfaffian.coordinates import Coordinates, Element, coordinates_named, read_basis
from holokern.pfaffian.derivation.by_stein import derive, height, read_operators
from holokern.pfaffian.ideal import from_ideal, ideal_of
from holokern.pfaffian.system import PfaffianSystem
from holokern.pfaffian.unexpanded import UnexpandedSystem, unexpanded
from holokern.progress import display, report
from holokern.weyl import Operator

_SMALL = 16  # bits of a coefficient: every named activation has at most 4, but for selu with 104


@dataclass(frozen=True)
class _Side:
    """What stands for one of the two functions: its annihilator and, when it is known, the function itself."""

    operators: tuple[Operator, ...]
    function: Activation | None = None
    scale: ExactReal | None = None


@overload
def pfaffian(
    activation: object = None,
    other: object = None,
    *,
    operator: object = None,
    other_operator: object = None,
    coordinates: str = "sigma",
    basis: object = None,
    cache: bool | str | os.PathLike[str] | None = None,
    check: bool = True,
    expand: Literal[True] = True,
) -> PfaffianSystem: ...


@overload
def pfaffian(activation: object = None, *, basis: object = None, expand: Literal[False]) -> UnexpandedSystem: ...


def pfaffian(
    activation: object = None,
    other: object = None,
    *,
    operator: object = None,
    other_operator: object = None,
    coordinates: str = "sigma",
    basis: object = None,
    cache: bool | str | os.PathLike[str] | None = None,
    check: bool = True,
    expand: bool = True,
) -> PfaffianSystem | UnexpandedSystem:
    """Derive the Pfaffian system of a holonomic ideal, or of k = E[σ1(u)σ2(v)], (u, v) ~ N(0, Σ), exactly.

    Parameters
    ----------
    activation : ideal of a Weyl algebra, operator or list of operators
        A holonomic ideal with polynomial or rational coefficients; its variables are the coordinates.
    activation, other : Activation, str or SymPy expression, optional
        Or σ1 and σ2, given by anything that :func:`holokern.activation` reads; σ2 = σ1 when ``other`` is not given.
        The whole annihilator of σ as a distribution is used, so that the rank is least.  Only where parameters with
        many digits make that too slow (selu), generators with large coefficients are left out; ``annihilators`` of
        the result lists the ones that were used.
    operator, other_operator : str, Operator or list of them, optional
        Instead of a function: exactly these operators in u and D.
    coordinates : {"sigma", "x"}
        Σ and the expectation itself, or the paper's x = -½Σ⁻¹ and its unnormalised integral.
    basis : str or sequence, optional
        The entries of F, e.g. ``"1, dx"`` for an ideal, ``"1, a*b, a^2"`` in Σ or ``"1, d12"`` in x; chosen when not
        given: the standard monomials of an ideal; else with k and, if possible, E[σ1'σ2'] first.
    cache : bool or path, optional
        The folder where systems are kept on disk; False keeps none.
    check : bool
        Whether to check the system (integrability, and dF = PF against numbers when a function is given) before it is
        returned or stored.
    expand : bool
        False keeps the matrices of an ideal as linear relations, which give them at points and on curves; for ideals
        whose matrices are too large to write down.

    Returns
    -------
    PfaffianSystem, or UnexpandedSystem for ``expand=False``

    Raises
    ------
    NotHolonomic
        If the rank of an ideal is infinite, a function has no finite annihilator, or an operator is 0.
    BadInput
        If the input cannot be read, or the given basis is not a basis.
    CheckFailed
        If the result contradicts its checks.
    TooLarge
        If the matrices of an ideal have very large entries; use ``expand=False`` then.

    Examples
    --------
    >>> system = pfaffian(operator="u*D - 1", cache=False)
    >>> system.basis_text, system.singular_locus
    (('1', 'a*b'), (S11, S22, S12^2 - S11*S22))
    >>> system["S12"]
    ((0, 1), ((-1)/(S12^2 - S11*S22), S12/(S12^2 - S11*S22)))
    >>> from holokern.weyl import weyl_algebra
    >>> pfaffian(weyl_algebra("x").ideal("dx^2 - x"))["x"]
    ((0, 1), (x, 0))
    """
    ideal = ideal_of(activation)
    if ideal is not None:
        if any(given is not None for given in (other, operator, other_operator)):
            raise BadInput(
                "expected an ideal alone: it has its own operators and coordinates; drop the other arguments"
            )
        return from_ideal(ideal, basis) if expand else unexpanded(ideal, basis)
    if not expand:
        raise BadInput("expected an ideal for expand=False; systems of activations are expanded")
    chosen = coordinates_named(coordinates)
    elements = None if basis is None else read_basis(basis, chosen)
    if activation is None and operator is None:
        raise BadInput("expected an activation, or operator= with an operator such as 'u*D - 1'")
    left = _side(activation, operator)
    right = left if other is None and other_operator is None else _side(other, other_operator)

    def build() -> PfaffianSystem:
        with display():
            system = _derive(left, right, chosen, elements)
            if left.scale is not None or right.scale is not None:
                system = replace(system, scale=(left.scale or Fraction(1), right.scale or Fraction(1)))
            if check:
                _check(system, left, right)
        return system

    from holokern.pfaffian.cache import cached

    system: PfaffianSystem = cached(_request(left, right, chosen, elements, check), build, cache)
    return system


def _side(function: object, operator: object) -> _Side:
    if operator is not None:
        if function is not None:
            raise BadInput("expected an activation or an operator for one function, got both; drop one of them")
        return _Side(read_operators(operator))
    from holokern.activation import activation

    read = activation(function)
    return _Side(tuple(read.annihilator), read, read.annihilator_scale)


def _derive(left: _Side, right: _Side, coordinates: Coordinates, basis: Sequence[Element] | None) -> PfaffianSystem:
    """Use the whole annihilators, or, where large numbers forbid it, those generators that have small coefficients."""
    try:
        return derive(left.operators, right.operators, coordinates, basis)
    except TooLarge:
        first, second = _small(left), _small(right)
        if (first, second) == (left.operators, right.operators):
            raise
        return derive(first, second, coordinates, basis)


def _small(side: _Side) -> tuple[Operator, ...]:
    if side.function is None:
        return side.operators
    return tuple(P for P in side.operators if height([P]) <= _SMALL) or side.operators


def _check(system: PfaffianSystem, left: _Side, right: _Side) -> None:
    report(f"checking the system of rank {system.rank}")
    if not system.is_flat():
        raise CheckFailed(f"the derived system of rank {system.rank} is not integrable; please report this bug")
    if left.function is not None and right.function is not None:
        from holokern.pfaffian.check.against_numbers import check_against_numbers

        check_against_numbers(system, left.function, right.function)


def _request(
    left: _Side, right: _Side, coordinates: Coordinates, basis: Sequence[Element] | None, check: bool
) -> dict[str, object]:
    """What determines the answer; a function is part of it because the stored system was checked against it."""
    return {
        "annihilators": [[str(P) for P in side.operators] for side in (left, right)],
        "functions": [None if side.function is None else repr(side.function) for side in (left, right)],
        "coordinates": coordinates.name,
        "basis": None if basis is None else [list(element) for element in basis],
        "checked": check,
    }
