"""Solutions of linear ODEs with polynomial coefficients by rigorous Taylor steps in ball arithmetic.

The tail of each Taylor series is bounded by Cauchy's majorant: if Y' = B Y with ‖B(t)‖ ≤ β on |t| ≤ ρ, the coefficients
satisfy ‖Y_n‖ ≤ ‖Y_0‖ C(βρ+n-1, n) ρ^-n, and a step uses |t| ≤ ρ/4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import factorial, inf, log2, perm
from typing import Any

from flint import acb, arb, fmpq, fmpq_poly

from holokern.errors import PrecisionLost, Unsupported
from holokern.numeric import natural_roots, to_fmpq, working_precision

_FLOAT_BITS = 160
_MAX_STEPS = 20_000
_CLOSEST = Fraction(1, 2**100)
_SHARE = 4
_MAX_GROWTH = 6.0


@dataclass(frozen=True)
class Chart:
    """A solution near ``centre`` as Σ start_j φ_j, used for |u - centre| ≤ reach.

    ``columns[j]`` are Taylor coefficients of φ_j.  Keeping the φ_j apart from the start values stops the radii of the
    start values from growing by cancellation inside the series.
    """

    centre: Fraction
    reach: Fraction
    start: list[arb]
    columns: list[list[arb]]
    tails: list[arb]
    weight: Fraction

    def state(self, t: arb, order: int) -> list[arb]:
        """Balls for y, y', …, y^(order-1) at centre + t, |t| ≤ reach."""
        result = []
        for i in range(order):
            total = arb(0)
            for start, column, tail in zip(self.start, self.columns, self.tails, strict=True):
                value = arb(0)
                for n in range(len(column) - 1, i - 1, -1):
                    value = value * t + column[n] * perm(n, i)
                total += start * (value + arb(0, tail / _ball(self.weight) ** i))
            result.append(total)
        return result

    def coefficients(self) -> list[arb]:
        """Balls for the Taylor coefficients of the solution."""
        rows = zip(*self.columns, strict=True)
        return [sum((y * c for y, c in zip(self.start, row, strict=True)), arb(0)) for row in rows]

    @cached_property
    def floats(self) -> list[float]:
        """The coefficients in powers of t/reach as floats, without those that cannot matter."""
        with working_precision(_FLOAT_BITS):
            power, scaled = arb(1), []
            for c in self.coefficients():
                scaled.append(float((c * power).mid()))
                power *= _ball(self.reach)
        size = max(map(abs, scaled))
        while len(scaled) > 1 and abs(scaled[-1]) < 1e-20 * size:
            scaled.pop()
        return scaled


class LinearOde:
    """The equation Σ a_i y^(i) = 0, a_i in Q[u] without common factor, a_r ≠ 0.

    Examples
    --------
    >>> ode = LinearOde([fmpq_poly([1]), fmpq_poly([]), fmpq_poly([1])])
    >>> ode.series(Fraction(0), [Fraction(0), Fraction(1)], 4, lambda y, c: y * Fraction(int(c.p), int(c.q)))
    [Fraction(0, 1), Fraction(1, 1), Fraction(0, 1), Fraction(-1, 6)]
    """

    def __init__(self, coefficients: Sequence[fmpq_poly]) -> None:
        self.coefficients = list(coefficients)
        self.order = len(self.coefficients) - 1
        lead = self.coefficients[-1]
        self.singular: list[tuple[acb, int]] = []
        for p, e in lead.numer().factor()[1]:
            pairs: Any = p.complex_roots()
            self.singular += [(acb(root), int(e)) for root, _ in pairs]

    def is_ordinary(self, point: Fraction) -> bool:
        """Whether the leading coefficient does not vanish at the point."""
        return bool(self.coefficients[-1](to_fmpq(point)) != 0)

    def distance(self, point: Fraction, skip_itself: bool = False) -> float:
        """A lower bound for the distance to the nearest singular point."""
        gaps = []
        for root, _ in self.singular:
            gap = float(abs(root - _ball(point)).lower())
            if not (skip_itself and gap < 1e-9):
                gaps.append(gap)
        return min(gaps, default=inf)

    def shifted(self, point: Fraction) -> list[list[fmpq]]:
        """The coefficients of the a_i as polynomials in t = u - point."""
        shift = fmpq_poly([to_fmpq(point), 1])
        return [list(a(shift).coeffs()) for a in self.coefficients]

    def series(
        self, point: Fraction, values: Sequence[Any], terms: int, scale: Callable[[Any, Any], Any]
    ) -> list[Any] | None:
        """Taylor coefficients of the solution with the given first coefficients, in any arithmetic.

        ``scale(y, c)`` multiplies a value by an ``fmpq``.  At a singular point the coefficients that the equation
        leaves free must be among ``values``.  None when the equation contradicts a value or leaves another one free.
        """
        shifted = self.shifted(point)
        # the equation in t^m relates y_n with n ≤ m + top; its coefficient at n = m + top is the indicial polynomial
        top = max(i - k for i, a in enumerate(shifted) for k, c in enumerate(a) if c != 0)
        known = list(values)
        zero = scale(known[0], to_fmpq(0))
        for m in range(-top if top < 0 else 0, terms):
            if len(known) >= terms and m + top >= terms:
                break
            total, lead = zero, to_fmpq(0)
            for i, a in enumerate(shifted):
                for k, c in enumerate(a):
                    n = m - k + i
                    if c == 0 or k > m or n < i:
                        continue
                    factor = c
                    for step in range(i):
                        factor = factor * (n - step)
                    if n == m + top:
                        lead = lead + factor
                    elif n < len(known):
                        total = total + scale(known[n], factor)
            n = m + top
            if n < 0:
                continue
            if n < len(known):
                if _certainly_not_zero(total + scale(known[n], lead)):
                    return None
            elif lead == 0:
                return None
            elif n < terms:
                known.append(scale(total, -1 / lead))
        return known[:terms]

    def determining_terms(self, point: Fraction) -> int:
        """How many Taylor coefficients at the point fix an analytic solution: one more than the largest exponent."""
        shifted = self.shifted(point)
        top = max(i - k for i, a in enumerate(shifted) for k, c in enumerate(a) if c != 0)
        indicial = fmpq_poly()
        for i, a in enumerate(shifted):
            if 0 <= i - top < len(a):
                falling = fmpq_poly([a[i - top]])
                for k in range(i):
                    falling = falling * fmpq_poly([-k, 1])
                indicial = indicial + falling
        return 1 + max(natural_roots([indicial]), default=-1)

    def chart(self, centre: Fraction, state: list[arb], precision: int) -> Chart:
        """The chart at an ordinary point from balls for y, …, y^(r-1), with a proven tail."""
        radius, beta, weight = self._radius(centre)
        growth = float((beta * _ball(radius)).upper())
        terms = max(8, int(precision / log2(_SHARE)) + int(growth) + 8)
        bound = arb(2)
        for n in range(terms):
            bound = bound * (beta * _ball(radius) + n) / (n + 1) / _SHARE
        # from here on consecutive terms of the majorant shrink at least by a half, hence the factor 2 above
        assert (growth + terms) / (terms + 1) <= _SHARE / 2
        columns, tails = [], []
        for i in range(self.order):
            unit = [arb(int(i == k)) for k in range(self.order)]
            column = self.series(centre, unit, terms + self.order, lambda y, c: y * arb(c))
            assert column is not None
            columns.append(column)
            tails.append((bound * _ball(weight) ** i * factorial(i)).upper())
        start = [y / factorial(i) for i, y in enumerate(state)]
        return Chart(centre, _rounded(radius / _SHARE), start, columns, tails, weight)

    def singular_chart(self, centre: Fraction, known: list[arb]) -> Chart:
        """The chart at a singular point from Taylor coefficients there; its tail is estimated, not proven."""
        gap = self.distance(centre, skip_itself=True)
        reach = _rounded(Fraction(min(gap, 8.0)) / 8)
        size = max((abs(y) * _ball(reach) ** n for n, y in enumerate(known[-8:], len(known) - 8)), key=float)
        return Chart(centre, reach, [arb(1)], [known], [(4 * size).upper()], reach)

    def _radius(self, centre: Fraction) -> tuple[Fraction, arb, Fraction]:
        """A radius ρ, a bound β of ‖B‖ on it and the weight w of the norm max |w^i y^(i)|, with βρ moderate."""
        gap = self.distance(centre)
        radius = Fraction(min(gap * 0.75, 8.0)).limit_denominator(10**6) if gap > 1e-3 else Fraction(gap * 0.75)
        shifted = self.shifted(centre)
        for _ in range(200):
            beta, weight = self._bound(centre, shifted, radius)
            if float((beta * _ball(radius)).upper()) <= _MAX_GROWTH:
                return radius, beta, weight
            radius = radius / 2
        raise PrecisionLost(f"no Taylor step of useful size at u = {float(centre):.6g}")

    def _bound(self, centre: Fraction, shifted: list[list[fmpq]], radius: Fraction) -> tuple[arb, Fraction]:
        rho = _ball(radius)
        bottom = abs(arb(self.coefficients[-1].leading_coefficient()))
        for root, multiplicity in self.singular:
            bottom *= (abs(root - _ball(centre)) - rho).lower() ** multiplicity
        tops = [sum((abs(arb(c)) * rho**k for k, c in enumerate(a)), arb(0)) / bottom for a in shifted[:-1]]
        # w of the size of the step makes derivatives of all orders comparable
        weight = radius / 2
        w = _ball(weight)
        rows = sum((top * w ** (self.order - 1 - i) for i, top in enumerate(tops)), arb(0))
        both = arb(1) / w
        return (rows if self.order == 1 or float(rows.upper()) > float(both.upper()) else both).upper(), weight


def march(ode: LinearOde, chart: Chart, target: Fraction, precision: int) -> list[Chart]:
    """Charts from ``chart`` to the rational point ``target``, each centred at the end of the one before.

    Raises
    ------
    Unsupported
        When a singular point of the equation is closer than 2^-100 to the target or lies on the way.
    """
    charts = [chart]
    with working_precision(precision):
        while abs(target - charts[-1].centre) > charts[-1].reach:
            last = charts[-1]
            step = last.reach if target > last.centre else -last.reach
            if last.reach < _CLOSEST or len(charts) > _MAX_STEPS:
                raise Unsupported(
                    f"the ODE is singular too close to u = {float(target):.6g}; give data in each interval between its "
                    "singular points"
                )
            charts.append(ode.chart(last.centre + step, last.state(_ball(step), ode.order), precision))
    return charts


def _rounded(radius: Fraction) -> Fraction:
    """A fraction with few digits just below ``radius``."""
    scale = Fraction(1)
    while radius * scale < 64:
        scale *= 2
    return Fraction(int(radius * scale)) / scale


def _ball(value: Fraction) -> arb:
    return arb(to_fmpq(value)) if isinstance(value, Fraction | int) else value


def _certainly_not_zero(value: Any) -> bool:
    return not value.contains(0) if isinstance(value, arb) else bool(value)
