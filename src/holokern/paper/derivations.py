"""The derivations of the paper again: rank, singular locus and time, by its operators and by the whole annihilators."""

from __future__ import annotations

import time

from holokern.activation import activation
from holokern.paper.numbers import DERIVATIONS, Derivation
from holokern.paper.table import Table
from holokern.pfaffian import PfaffianSystem, pfaffian
from holokern.progress import report
from holokern.weyl.fractions import function_field

__all__ = ["derivations"]


def derivations() -> Table:
    """Derive every holonomic system of the paper, cold, and set it beside the paper's figures.

    Returns
    -------
    Table
        One row a system; the last columns are for the whole annihilator in the coordinates Σ.
    """
    rows = []
    for done, case in enumerate(DERIVATIONS):
        report(f"deriving {case.label}", done, len(DERIVATIONS))
        rows.append(_row(case))
    return Table(
        "Derivations: from the operator to the Pfaffian system",
        (
            "system",
            "rank",
            "paper's rank",
            "same singular locus",
            "flat",
            "seconds",
            "paper's seconds",
            "whole annihilator: rank",
            "seconds, whole",
        ),
        tuple(rows),
        (
            "First columns: the paper's operators, its coordinates x and its basis. Last two: the whole annihilator "
            "of the distribution, coordinates Σ, checked against numbers. Cold: the cache is neither read nor written.",
            "The paper's seconds are its own, on its machine (AMD EPYC 7552, Risa/Asir), scaled by nothing; "
            "it gives one time for the two systems of the parts of GELU'.",
        ),
    )


def _row(case: Derivation) -> tuple[str | int | float | bool | None, ...]:
    start = time.perf_counter()
    system = pfaffian(operator=case.left, other_operator=case.right, coordinates="x", basis=case.basis, cache=False)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    left = activation(case.whole_left)
    right = activation(case.whole_right) if case.whole_right != case.whole_left else None
    whole = pfaffian(left, right, cache=False)
    whole_seconds = time.perf_counter() - start
    return (
        case.label,
        system.rank,
        case.rank,
        same_locus(system, case.factors),
        system.is_flat(),
        seconds,
        case.seconds,
        whole.rank,
        whole_seconds,
    )


def same_locus(system: PfaffianSystem, factors: tuple[str, ...]) -> bool:
    """Whether the irreducible factors of the singular locus are those given, up to sign."""
    field = function_field(system.variables)
    printed = {factor for text in factors for factor in (field(text), -field(text))}
    found = set(system.singular_locus)
    return found <= printed and len(found) == len(factors)
