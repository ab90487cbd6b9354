"""The derivations of the paper again: rank, basis, locus and time, by its operators and by the whole annihilators."""

from __future__ import annotations

import time
from dataclasses import dataclass

from holokern.activation import activation
from holokern.paper.findings import Findings
from holokern.paper.numbers import DERIVATIONS, Derivation
from holokern.paper.problem import Problem
from holokern.paper.table import Cell, Table
from holokern.pfaffian import PfaffianSystem, pfaffian
from holokern.progress import report
from holokern.weyl.rational.fractions import function_field

__all__ = ["Derived", "derivations", "derive_both", "same_locus"]


@dataclass(frozen=True)
class Derived:
    """One case by the paper's operators and by the whole annihilators, with the seconds of each."""

    case: Derivation
    paper: PfaffianSystem
    seconds: float
    whole: PfaffianSystem
    whole_seconds: float


def derivations(_: Problem) -> Findings:
    """Derive every holonomic system of the paper, cold, and set it beside the paper's figures."""
    found = []
    for done, case in enumerate(DERIVATIONS):
        report(f"deriving {case.label}", done, len(DERIVATIONS))
        found.append(derive_both(case))
    return Findings("Derivations: from the operator to the Pfaffian system", (_times(found), _systems(found)))


def derive_both(case: Derivation) -> Derived:
    """Derive one case twice; the cache on disk is neither read nor written."""
    start = time.perf_counter()
    paper = pfaffian(operator=case.left, other_operator=case.right, coordinates="x", basis=case.basis, cache=False)
    middle = time.perf_counter()
    left = activation(case.whole_left)
    right = activation(case.whole_right) if case.whole_right != case.whole_left else None
    whole = pfaffian(left, right, cache=False)
    return Derived(case, paper, middle - start, whole, time.perf_counter() - middle)


def _times(found: list[Derived]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            one.case.label,
            one.paper.rank,
            one.case.rank,
            same_locus(one.paper, one.case.factors) if one.case.factors else None,
            one.paper.is_flat(),
            one.seconds,
            one.case.seconds,
            one.whole.rank,
            one.whole_seconds,
        )
        for one in found
    ]
    return Table(
        "Ranks and times",
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
            "it gives one time for the two systems of the parts of GELU' with g, and has a closed form for f(u) f(v). "
            "For GELU' itself it prints the rank only; our operator is the one of least order.",
        ),
    )


def _systems(found: list[Derived]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        sides = (one.case.left,) if one.case.left == one.case.right else (one.case.left, one.case.right)
        rows.append((one.case.label, "paper's, in x", "; ".join(sides), *_shown(one.paper)))
        first, second = ([str(P) for P in side] for side in one.whole.annihilators)
        sides = (", ".join(first),) if first == second else (", ".join(first), ", ".join(second))
        rows.append((one.case.label, "whole, in Σ", "; ".join(sides), *_shown(one.whole)))
    return Table(
        "Bases and singular loci",
        ("system", "which", "operators", "basis", "factors of the singular locus"),
        tuple(rows),
        (
            "In x the basis is applied to the unnormalised expectation, dij = ∂/∂xij; in Σ it stands for expectations "
            "of derivatives, a = ∂/∂u and b = ∂/∂v. Operators for u and for v are divided by a semicolon.",
        ),
    )


def _shown(system: PfaffianSystem) -> tuple[str, str]:
    return ", ".join(system.basis_text), ", ".join(str(factor) for factor in system.singular_locus)


def same_locus(system: PfaffianSystem, factors: tuple[str, ...]) -> bool:
    """Whether the irreducible factors of the singular locus are those given, up to sign."""
    field = function_field(system.variables)
    printed = {factor for text in factors for factor in (field(text), -field(text))}
    found = set(system.singular_locus)
    return found <= printed and len(found) == len(factors)
