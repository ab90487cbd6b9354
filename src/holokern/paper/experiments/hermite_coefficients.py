"""Hermite coefficients of ReSin by difference HGM, with the exact initial values, beside the paper's time."""

from __future__ import annotations

import math

from flint import arb, fmpq

from holokern.activation import activation
from holokern.dual import hermite_coefficients, hermite_recurrence
from holokern.numeric import working_precision
from holokern.paper.numbers import HERMITE
from holokern.paper.problem import Problem, best_of
from holokern.paper.results import Cell, Chart, Findings, Series, Table, finished
from holokern.progress import report

_COUNT = 101  # the paper's n ≤ 100
# the exact ones and a few more; c_99 is the one that the paper times in Mathematica
_SHOWN = (0, 1, 2, 3, 4, 5, 6, 7, 10, 20, 50, 99, 100)
_BITS = 420  # c_99 is of order one beside √99!, which has 260 bits

_DRAWN = 1e-18  # sin u/2, the odd part, falls to 1e-80; the chart is about the even one

# under the chart
_CAPTION = (
    "ReSin as a sum of Hermite polynomials: the size of its coefficients. Those of even degree fall slowly, because "
    "ReSin has a kink at 0; those of odd degree belong to the smooth function (sin u)/2 and fall very fast."
)

Exact = tuple[fmpq, fmpq, fmpq]


def hermite(_: Problem) -> Findings:
    """The paper's c_n for ReSin, n = 0, …, 100, from the shortest recurrence, and by the paper's own for a check."""
    report("Hermite coefficients of ReSin")
    resin = activation("resin")
    recurrence = hermite_recurrence(resin.annihilator, 1)
    values, first, seconds = best_of(lambda: hermite_coefficients(resin, _COUNT, bits=_BITS), least=2)
    with working_precision(2 * _BITS):
        mine = [(2 * arb.pi()).sqrt() * value for value in values]
        exact = [_ball(value) for value in exact_values(_COUNT)]
    names = [text for text, _ in initial_values()]
    agree = [bool(value.overlaps(other)) for value, other in zip(mine, exact, strict=True)]
    rows: list[tuple[Cell, ...]] = [
        (n, mine[n].str(20, radius=False), names[n] if n < len(names) else None, agree[n]) for n in _SHOWN
    ]
    table = Table(
        "Hermite coefficients of ReSin by difference HGM",
        ("n", "c_n = ∫ σ(u) He_n(u) exp(-u²/2) du", "exact value", "agrees"),
        tuple(rows),
        (
            f"All {_COUNT} coefficients take {seconds:.4f} s ({first:.4f} s the first time), and each is proved to at "
            f"least 20 digits. The paper needs {HERMITE['seconds']} s for n ≤ 100, and reports that Mathematica needs "
            f"{HERMITE['mathematica_c99']} s for c_99 alone.",
            f"Our recurrence has order {recurrence.order}, the paper's {HERMITE['order']}: {recurrence}. "
            "F is Dawson's function.",
            "The last column compares with the paper's recurrence, run in exact arithmetic from its initial values: "
            f"{sum(agree)} of {_COUNT} coefficients agree.",
        ),
    )
    headline = (
        f"Hermite coefficients: {_COUNT} of ReSin in {seconds:.2g} s, each proved to at least 20 digits; the paper "
        f"needs {HERMITE['seconds']:.2g} s."
    )
    return Findings("Hermite coefficients of ReSin", (finished(table),), (_chart(mine),), headline)


def initial_values() -> list[tuple[str, arb]]:
    """The paper's exact initial values, as text and as balls at the current precision."""
    texts = ("√2 F(1/√2)", "√(π/(2e))", "1 - √2 F(1/√2)", "-√(π/(2e))", "√2 F(1/√2) - 2", "√(π/(2e))")
    return [(text, _ball(value)) for text, value in zip(texts, _FIRST, strict=True)]


def _exact(one: int, d0: int, d1: int) -> Exact:
    return fmpq(one), fmpq(d0), fmpq(d1)


#: Coefficients of 1, d0 = √2 F(1/√2) and d1 = √(π/(2e)) in c_0, …, c_5.
_FIRST = (_exact(0, 1, 0), _exact(0, 0, 1), _exact(1, -1, 0), _exact(0, 0, -1), _exact(-2, 1, 0), _exact(0, 0, 1))


def exact_values(count: int) -> list[Exact]:
    """c_n as rational combinations of 1, d0 and d1, by the paper's recurrence of order 6.

    >>> exact_values(7)[6]
    (5, -1, 0)
    """
    values = list(_FIRST)
    for n in range(count - 6):
        factors = (2 * (n + 3), n * n + 5 * n + 7, (n + 1) * (n + 2))
        terms = (values[n + 4], values[n + 2], values[n])
        new = [-sum((f * t[i] for f, t in zip(factors, terms, strict=True)), fmpq(0)) for i in range(3)]
        values.append((new[0], new[1], new[2]))
    return values[:count]


def _ball(value: Exact) -> arb:
    half = arb(2).sqrt() / 2
    dawson = (-(half**2)).exp() * half.erfi() * arb.pi().sqrt() / 2
    d0, d1 = arb(2).sqrt() * dawson, (arb.pi() / 2 / arb(1).exp()).sqrt()
    return arb(value[0]) + arb(value[1]) * d0 + arb(value[2]) * d1


def _chart(values: list[arb]) -> Chart:
    """The size of the terms of the normalised expansion."""
    sizes = [abs(float(value)) / math.sqrt(2 * math.pi * math.factorial(n)) for n, value in enumerate(values)]
    parts = []
    for label, start in (("even n", 0), ("odd n", 1)):
        chosen = [n for n in range(start, len(values), 2) if sizes[n] > _DRAWN]
        parts.append(Series(label, tuple(map(float, chosen)), tuple(sizes[n] for n in chosen), "points"))
    return Chart(
        "hermite", "Hermite coefficients of ReSin", "n", "|cₙ| / √(2π n!)", tuple(parts), log="y", caption=_CAPTION
    )
