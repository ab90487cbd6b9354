"""The verb of this folder: :func:`pfaffian`, from an activation or operators to a checked Pfaffian system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holokern.errors import BadInput
from holokern.pfaffian.coordinates import coordinates_named, read_basis
from holokern.pfaffian.derivation import derive, read_operators
from holokern.pfaffian.system import PfaffianSystem

__all__ = ["pfaffian"]


def pfaffian(
    activation: object = None,
    other: object = None,
    *,
    operator: object = None,
    other_operator: object = None,
    coordinates: str = "sigma",
    basis: object = None,
    cache: bool | str | Path | None = None,
    check: bool = True,
) -> PfaffianSystem:
    """Derive the Pfaffian system of E[σ1(u)σ2(v)], exactly."""
    chosen = coordinates_named(coordinates)
    elements = None if basis is None else read_basis(basis, chosen)
    if operator is None:
        raise BadInput("x")
    left = read_operators(operator)
    right = left if other_operator is None else read_operators(other_operator)
    return derive(left, right, chosen, elements)
