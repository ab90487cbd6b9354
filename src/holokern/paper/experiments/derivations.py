"""The derivations of the paper again: rank, basis, locus and time, by its operators and by all that annihilate σ."""

from __future__ import annotations

import time
from dataclasses import dataclass

from holokern.activation import activation
from holokern.paper.numbers import DERIVATIONS, Derivation
from holokern.paper.problem import Problem
from holokern.paper.results import Cell, Findings, Table, finished
from holokern.pfaffian import PfaffianSystem, pfaffian
from holokern.progress import report
from holokern.weyl import function_field


@dataclass(frozen=True)
class Derived:
    """One case by the paper's operators and by all that annihilate σ, with the seconds of each."""

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
    tables = finished(_times(found)), finished(_systems(found))
    return Findings("Derivations: from the operator to the Pfaffian system", tables, headline=_headline(found))


def _headline(found: list[Derived]) -> str:
    known = [one for one in found if one.case.rank is not None]
    same = sum(one.paper.rank == one.case.rank for one in known)
    slow = max(found, key=lambda one: one.case.seconds or 0.0)
    return (
        f"Derivations: {same} of the {len(known)} ranks that the paper prints come out the same. {slow.case.label} "
        f"takes {slow.seconds:.2g} s where the paper reports {slow.case.seconds:g} s, and {slow.whole_seconds:.2g} s "
        "from all operators that annihilate it."
    )


def derive_both(case: Derivation) -> Derived:
    """Derive one case twice; the cache on disk is neither read nor written."""
    start = time.perf_counter()
    paper = pfaffian(operator=case.left, other_operator=case.right, coordinates="x", basis=case.basis, cache=False)
    middle = time.perf_counter()
    right = None if case.other is None else activation(case.other)
    whole = pfaffian(activation(case.function), right, cache=False)
    return Derived(case, paper, middle - start, whole, time.perf_counter() - middle)


def _times(found: list[Derived]) -> Table:
    rows: list[dict[str, Cell]] = [
        {
            "system": one.case.label,
            "rank": one.paper.rank,
            "paper's rank": one.case.rank,
            "same singular locus": same_locus(one.paper, one.case.factors) if one.case.factors else None,
            "flat": one.paper.is_flat(),
            "seconds": one.seconds,
            "paper's seconds": one.case.seconds,
            "all operators: rank": one.whole.rank,
            "all operators: seconds": one.whole_seconds,
        }
        for one in found
    ]
    return Table.of(
        "Ranks and times",
        rows,
        (
            "The rank is the number of functions in the system. The first columns use the paper's operators, "
            "coordinates x and basis. The last two use all operators that annihilate the activation, jumps and kinks "
            "included, and the covariance Σ as coordinates. Nothing is read from the cache on disk.",
            "The paper measured its seconds on its own machine (AMD EPYC 7552, Risa/Asir). It gives one time for the "
            "two systems that contain g, and a closed form for f(u) f(v). For GELU' itself it prints only the rank, so "
            "we chose the operator of least order.",
        ),
    )


def _systems(found: list[Derived]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        sides = (one.case.left,) if one.case.right is None else (one.case.left, one.case.right)
        rows.append((one.case.label, "paper's, in x", "; ".join(sides), *_shown(one.paper)))
        first, second = ([str(P) for P in side] for side in one.whole.annihilators)
        sides = (", ".join(first),) if first == second else (", ".join(first), ", ".join(second))
        rows.append((one.case.label, "all, in Σ", "; ".join(sides), *_shown(one.whole)))
    return Table(
        "Bases and singular loci",
        ("system", "which", "operators", "basis", "factors of the singular locus"),
        tuple(rows),
        (
            "D or ∂ is d/du. In the coordinates x the basis is applied to the integral, and d12 or ∂12 is ∂/∂x12. In Σ "
            "it stands for expected derivatives, with a = ∂/∂u and b = ∂/∂v. A semicolon separates the operators for u "
            "from those for v.",
        ),
        formulas=("operators", "basis", "factors of the singular locus"),
    )


def _shown(system: PfaffianSystem) -> tuple[str, str]:
    return ", ".join(system.basis_text), ", ".join(str(factor) for factor in system.singular_locus)


def same_locus(system: PfaffianSystem, factors: tuple[str, ...]) -> bool:
    """Whether the irreducible factors of the singular locus are those given, up to sign."""
    field = function_field(system.variables)
    printed = {factor for text in factors for factor in (field(text), -field(text))}
    found = set(system.singular_locus)
    return found <= printed and len(found) == len(factors)
