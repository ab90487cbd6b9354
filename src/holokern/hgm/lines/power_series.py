"""Power series in several variables as initial values at a point of the singular locus.

A solution that is analytic there is fixed by finitely many Taylor coefficients, and the ideal gives the others.  On a
ray from the point every entry of F satisfies an ODE in one variable, whose series :func:`frobenius` sums with proved
tails.  So F is known at a regular point of the ray, from where it is carried on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import factorial, prod

from flint import acb, arb, fmpq, fmpq_mat

from holokern.errors import BadInput, Unsupported
from holokern.hgm.lines.initial import CONTRADICTION, Scalar, as_ball, as_fraction
from holokern.hgm.lines.rays import Ray, ray_towards
from holokern.hgm.steps.fixed_point import Ball
from holokern.numeric import to_fmpq
from holokern.pfaffian import PfaffianSystem
from holokern.weyl import LeftIdeal, Operator, RationalOperator, of_degree, translate

Exponents = tuple[int, ...]

_MOST_UNKNOWN = 1500  # unknown coefficients of one linear system; beyond it elimination takes minutes
_MARGIN = 6  # coefficients of higher degree than those that are wanted: equations hold with all of their terms only


@dataclass(frozen=True)
class PowerSeriesStart:
    """A solution near a singular point, from some of its Taylor coefficients."""

    system: PfaffianSystem  # of an ideal: its generators give the coefficients that are not known
    point: tuple[Fraction, ...]
    given: Mapping[Exponents, object]  # Taylor coefficients at the point
    ray: Ray  # on which the series are summed

    @cached_property
    def _orders(self) -> list[Exponents]:
        """The derivatives that are the entries of F."""
        found = []
        for element in self.system.basis:
            terms = list(element) if isinstance(element, (Operator, RationalOperator)) else []
            if len(terms) != 1 or str(terms[0][1]) != "1" or self.system.frame is not None:
                raise Unsupported(
                    f"power series at a singular point need derivatives as basis, got {element}; leave out basis="
                )
            found.append(tuple(map(int, terms[0][0][-len(self.point) :])))
        return found

    @cached_property
    def _wanted(self) -> int:
        """The highest degree of a Taylor coefficient of f that a series begins with."""
        degrees = [
            int(rho.rational) + sum(order)
            for order, basis in zip(self._orders, self.ray.bases, strict=True)
            for rho, _ in basis.exponents
            if rho.rational is not None and rho.rational.denominator == 1
        ]
        return max([*degrees, 0])

    @cached_property
    def _rules(self) -> dict[Exponents, dict[Exponents, fmpq]]:
        """Every wanted Taylor coefficient as a combination of those given."""
        top = max([self._wanted, *(sum(key) for key in self.given)]) + _MARGIN
        n = len(self.point)
        keys = [key for degree in range(top, -1, -1) for key in of_degree(n, degree)]
        if len(keys) > _MOST_UNKNOWN:
            raise Unsupported(
                f"{len(keys)} Taylor coefficients are too many; start off the singular locus, or pull the system back "
                "to a curve"
            )
        columns = [key for key in keys if key not in self.given] + list(self.given)
        place = {key: k for k, key in enumerate(columns)}
        rows = self._equations(place)
        free = {key: {key: fmpq(1)} for key in self.given}
        known: dict[Exponents, dict[Exponents, fmpq]] = dict(free)
        if rows:
            reduced, rank = fmpq_mat(rows).rref()
            for r in range(rank):
                entries = [(columns[c], reduced[r, c]) for c in range(len(columns)) if reduced[r, c] != 0]
                (pivot, _), others = entries[0], entries[1:]
                if all(key in self.given for key, _ in others):
                    known[pivot] = {key: -c for key, c in others}
        missing = [key for key in reversed(keys) if key not in known and sum(key) <= self._wanted]
        if missing:
            raise BadInput(
                f"the Taylor coefficients {', '.join(map(str, self.given)) or 'of nothing'} do not fix the solution: "
                f"give that of {missing[0]} as well"
            )
        return known

    def _equations(self, place: Mapping[Exponents, int]) -> list[list[fmpq]]:
        """What the generators of the ideal say, for each monomial that has all its coefficients below the bound."""
        if not self.system.annihilators:
            raise Unsupported("a system of given matrices has no power series at a singular point; give an ideal")
        cleared = [P if isinstance(P, Operator) else P.clear_denominators() for P in self.system.annihilators[0]]
        names = dict(zip(self.system.variables, self.point, strict=True))
        moved = translate(LeftIdeal(cleared[0].algebra, cleared), names)
        n = len(self.point)
        rows = []
        for g in moved.generators:
            terms = [(tuple(map(int, key[:n])), tuple(map(int, key[n:])), c) for key, c in g]
            for gamma in place:
                row = _equation(terms, gamma, place)
                if row is not None and any(row):
                    rows.append(row)
        return rows

    def values(self) -> list[Ball]:
        """F at the regular end of the ray, at flint's working precision."""
        numbers = {key: as_ball(value) for key, value in self.given.items()}
        coefficients: dict[Exponents, Ball] = {}
        for key, rule in self._rules.items():
            value = sum((arb(c) * numbers[other] for other, c in rule.items()), arb(0))
            if key in numbers and key not in rule:
                size = max(abs(complex(acb(numbers[key]))), *(abs(complex(acb(a))) for a in numbers.values()))
                if abs(complex(acb(value - numbers[key]))) > CONTRADICTION * size:
                    raise BadInput(
                        f"the Taylor coefficient {numbers[key].str(6, radius=False)} of {key} contradicts the system: "
                        f"from the others follows {value.str(6, radius=False)}; correct one of them"
                    )
            coefficients[key] = value
        speed = [arb(to_fmpq(v)) for v in self.ray.direction]
        t = arb(to_fmpq(self.ray.reach))
        found = []
        for order, basis in zip(self._orders, self.ray.bases, strict=True):
            total: Ball = arb(0)
            for (rho, k), jet in zip(basis.exponents, basis.jets(t), strict=True):
                exact = rho.rational
                if k == 0 and exact is not None and exact.denominator == 1 and exact >= 0:
                    total = total + _along(coefficients, order, int(exact), speed) * jet[0]
            found.append(total)
        return found


def regular_start(
    system: PfaffianSystem, point: Sequence[Scalar], values: object, goal: Sequence[complex]
) -> tuple[Sequence[Scalar], object]:
    """A start off the singular locus and values there, from a power series on it; other starts stay as they are."""
    exact = [as_fraction(x) for x in point]
    here = [x for x in exact if x is not None]
    if not isinstance(values, Mapping) or len(here) < len(exact) or all(f(*here) for f in system.singular_locus):
        return point, values
    given = {}
    for key, value in values.items():
        order = key if isinstance(key, tuple) else _derivative(system, key)
        if len(order) != len(here) or not all(isinstance(e, int) and e >= 0 for e in order):
            raise BadInput(f"expected {len(here)} exponents of a Taylor coefficient, got {key!r}")
        given[order] = value if isinstance(key, tuple) else as_ball(value) / prod(factorial(e) for e in order)
    begun = PowerSeriesStart(system, tuple(here), given, ray_towards(system, here, goal))
    return list(begun.ray.near), begun.values


def _derivative(system: PfaffianSystem, key: object) -> Exponents:
    """The exponents of a derivative given as an operator."""
    terms = list(system.annihilators[0][0].algebra(key)) if system.annihilators else []
    n = len(system.variables)
    if len(terms) != 1 or str(terms[0][1]) != "1" or any(terms[0][0][:-n]):
        raise BadInput(f"on the singular locus expected values of derivatives such as dx, got {key}")
    return tuple(map(int, terms[0][0][-n:]))


def _equation(
    terms: Sequence[tuple[Exponents, Exponents, fmpq]], gamma: Exponents, place: Mapping[Exponents, int]
) -> list[fmpq] | None:
    """The coefficient of x^γ in Σ c x^a ∂^b f; None when it has a coefficient of f beyond the bound."""
    row = [fmpq(0)] * len(place)
    for a, b, c in terms:
        low = tuple(g - e for g, e in zip(gamma, a, strict=True))
        if min(low) < 0:
            continue
        key = tuple(e + d for e, d in zip(low, b, strict=True))
        if key not in place:
            return None
        row[place[key]] += c * prod(factorial(e) // factorial(d) for e, d in zip(key, low, strict=True))
    return row


def _along(coefficients: Mapping[Exponents, Ball], order: Exponents, degree: int, speed: Sequence[Ball]) -> Ball:
    """The coefficient of t^degree of a derivative of f on the ray."""
    total: Ball = arb(0)
    for key in of_degree(len(order), degree):
        whole = tuple(a + b for a, b in zip(key, order, strict=True))
        factor = prod(factorial(w) // factorial(k) for w, k in zip(whole, key, strict=True))
        term = coefficients[whole] * factor
        for v, e in zip(speed, key, strict=True):
            term = term * v**e
        total = total + term
    return total
