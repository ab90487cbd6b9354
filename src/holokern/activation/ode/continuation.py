"""Solutions of linear ODEs with polynomial coefficients by rigorous Taylor steps in ball arithmetic.

The tail of each Taylor series is bounded by Cauchy's majorant: if Y' = B Y with ‖B(t)‖ ≤ β on |t| ≤ ρ, the coefficients
satisfy ‖Y_n‖ ≤ ‖Y_0‖ C(βρ+n-1, n) ρ^-n, and a step uses |t| ≤ ρ/4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import factorial, inf, log2, perm
from typing import Any, TypeAlias

from flint import acb, arb, arb_poly, fmpq, fmpq_poly

from holokern.errors import PrecisionLost, Unsupported
from holokern.numeric import natural_roots, to_ball, to_fmpq, working_precision

Number: TypeAlias = Any
"""``Fraction``, ``ExactReal`` or ``arb``: one code serves all, and a union of them has no operators."""

_FLOAT_BITS = 160
_CLOSEST = Fraction(1, 2**100)
_SHARE = 4
_WEIGHTS = 4  # w = ρ/8 makes 1/w as large as βρ may be
_MAX_GROWTH = 8.0  # of βρ: a series of floats then loses at most exp(βρ/4) by cancellation inside a chart, one digit


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
    _floats: dict[int, list[float]] = field(default_factory=dict, repr=False, compare=False)

    def state(self, t: arb, order: int) -> list[arb]:
        """Balls for y, y', …, y^(order-1) at centre + t, |t| ≤ reach."""
        result = []
        columns = [arb_poly(column) for column in self.columns]
        for i in range(order):
            total, rest = arb(0), 1 / to_ball(self.weight) ** i
            for start, series, tail in zip(self.start, columns, self.tails, strict=True):
                total += start * (series(t) + arb(0, tail * rest))
            result.append(total)
            columns = [series.derivative() for series in columns]
        return result

    def coefficients(self) -> list[arb]:
        """Balls for the Taylor coefficients of the solution."""
        rows = zip(*self.columns, strict=True)
        return [sum((y * c for y, c in zip(self.start, row, strict=True)), arb(0)) for row in rows]

    @cached_property
    def place(self) -> tuple[float, float]:
        """The centre and the reach as floats."""
        return float(self.centre), float(self.reach)

    def floats(self, order: int) -> list[float]:
        """The derivative of that order in powers of t/reach as floats, without coefficients that cannot matter."""
        if order not in self._floats:
            with working_precision(_FLOAT_BITS):
                power, scaled = arb(1), []
                for n, c in enumerate(self.coefficients()[order:], order):
                    scaled.append(float((c * power * perm(n, order)).mid()))
                    power *= to_ball(self.reach)
            size = max(map(abs, scaled))
            while len(scaled) > 1 and abs(scaled[-1]) < 1e-20 * size:
                scaled.pop()
            self._floats[order] = scaled
        return self._floats[order]


@dataclass(frozen=True, slots=True)
class _Relation:
    """lead · y_index + Σ c_n y_n = 0 over the pairs (n, c_n) of ``others``; ``solved`` is -1/lead, None if it is 0."""

    index: int
    lead: Number
    solved: Number | None
    others: tuple[tuple[int, Number], ...]


def _relations(shifted: list[list[fmpq]], terms: int, convert: Callable[[fmpq], Number]) -> list[_Relation]:
    """The equation in t^m as a relation of Taylor coefficients, for every m that concerns the first ``terms``."""
    shifts: dict[int, fmpq_poly] = {}
    for i, a in enumerate(shifted):
        for k, c in enumerate(a):
            if c == 0:
                continue
            # t^k D^i takes y_n to t^m, n = m + i - k, with the factor n(n-1)…(n-i+1)
            factor = fmpq_poly([c])
            for step in range(i):
                factor = factor * fmpq_poly([i - k - step, 1])
            shifts[i - k] = shifts.get(i - k, fmpq_poly()) + factor
    top = max(shifts)
    lead = shifts.pop(top)
    found = []
    for m in range(max(-top, 0), terms - min(top, 0)):
        value = lead(m)
        others = tuple([(m + s, convert(g(m))) for s, g in shifts.items() if m + s >= 0])
        found.append(_Relation(m + top, convert(value), convert(-1 / value) if value != 0 else None, others))
    return found


def _solved(relations: Sequence[_Relation], values: Sequence[Number], terms: int) -> list[Number] | None:
    """So many Taylor coefficients that begin with ``values``; None when a relation contradicts or does not fix one."""
    known = list(values)
    zero = known[0] - known[0]
    for relation in relations:
        count = len(known)
        if count >= terms and relation.index >= terms:
            break
        total = zero
        for n, c in relation.others:
            if n < count:
                total = total + known[n] * c
        if relation.index < count:
            left = total + known[relation.index] * relation.lead
            if not left.contains(0) if isinstance(left, arb) else left:
                return None
        elif relation.solved is None:
            return None
        elif relation.index < terms:
            known.append(total * relation.solved)
    return known[:terms]


class LinearOde:
    """The equation Σ a_i y^(i) = 0, a_i in Q[u] without common factor, a_r ≠ 0.

    >>> ode = LinearOde([fmpq_poly([1]), fmpq_poly([]), fmpq_poly([1])])
    >>> ode.series(Fraction(0), [Fraction(0), Fraction(1)], 4, lambda c: Fraction(int(c.p), int(c.q)))
    [Fraction(0, 1), Fraction(1, 1), Fraction(0, 1), Fraction(-1, 6)]
    """

    def __init__(self, coefficients: Sequence[fmpq_poly]) -> None:
        self.coefficients = list(coefficients)
        self.order = len(self.coefficients) - 1
        lead = self.coefficients[-1]
        self._last: tuple[object, tuple[list[list[arb]], list[arb]]] | None = None
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
            gap = float(abs(root - to_ball(point)).lower())
            if not (skip_itself and gap < 1e-9):
                gaps.append(gap)
        return min(gaps, default=inf)

    def shifted(self, point: Fraction) -> list[list[fmpq]]:
        """The coefficients of the a_i as polynomials in t = u - point."""
        shift = fmpq_poly([to_fmpq(point), 1])
        return [list(a(shift).coeffs()) for a in self.coefficients]

    def series(
        self, point: Fraction, values: Sequence[Number], terms: int, convert: Callable[[fmpq], Number]
    ) -> list[Number] | None:
        """Taylor coefficients of the solution with the given first coefficients, in any arithmetic.

        ``convert`` makes a number of that arithmetic from an ``fmpq``.  At a singular point the coefficients that the
        equation leaves free must be among ``values``.  None when the equation contradicts a value or leaves another
        one free.
        """
        return _solved(_relations(self.shifted(point), terms, convert), values, terms)

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
        shifted = self.shifted(centre)
        radius, beta, weight = self._radius(centre, shifted)
        local = shifted, radius, precision
        # an equation with constant coefficients is the same everywhere
        if self._last is None or self._last[0] != local:
            self._last = local, self._columns(shifted, beta * to_ball(radius), to_ball(weight), precision)
        columns, tails = self._last[1]
        start = [y / factorial(i) for i, y in enumerate(state)]
        return Chart(centre, _rounded(radius / _SHARE), start, columns, tails, weight)

    def _columns(
        self, shifted: list[list[fmpq]], growth: arb, weight: arb, precision: int
    ) -> tuple[list[list[arb]], list[arb]]:
        """The Taylor coefficients of the solutions with the unit vectors as start values, and bounds of their tails."""
        rough = float(growth.upper())
        terms = max(8, int(precision / log2(_SHARE)) + int(rough) + 8)
        # 2 C(βρ + terms - 1, terms) / 4^terms
        bound = 2 * growth.rising(terms) / arb(terms + 1).gamma() / arb(_SHARE) ** terms
        # from here on consecutive terms of the majorant shrink at least by a half, hence the factor 2 above
        assert (rough + terms) / (terms + 1) <= _SHARE / 2
        columns, tails = [], []
        relations = _relations(shifted, terms + self.order, arb)
        for i in range(self.order):
            column = _solved(relations, [arb(int(i == k)) for k in range(self.order)], terms + self.order)
            assert column is not None
            columns.append(column)
            tails.append((bound * weight**i * factorial(i)).upper())
        return columns, tails

    def singular_chart(self, centre: Fraction, known: list[arb]) -> Chart:
        """The chart at a singular point from Taylor coefficients there; its tail is estimated, not proven."""
        gap = self.distance(centre, skip_itself=True)
        reach = _rounded(Fraction(min(gap, 8.0)) / 8)
        size = max((abs(y) * to_ball(reach) ** n for n, y in enumerate(known[-8:], len(known) - 8)), key=float)
        return Chart(centre, reach, [arb(1)], [known], [(4 * size).upper()], reach)

    def _radius(self, centre: Fraction, shifted: list[list[fmpq]]) -> tuple[Fraction, arb, Fraction]:
        """A radius ρ, a bound β of ‖B‖ on it and the weight w of the norm max |w^i y^(i)|, with βρ moderate."""
        gap = self.distance(centre)
        radius = Fraction(min(gap * 0.75, 8.0)).limit_denominator(10**6) if gap > 1e-3 else Fraction(gap * 0.75)
        for _ in range(200):
            beta, weight = self._bound(centre, shifted, radius)
            if float((beta * to_ball(radius)).upper()) <= _MAX_GROWTH:
                return radius, beta, weight
            radius = radius / 2
        raise PrecisionLost(f"no Taylor step of useful size at u = {float(centre):.6g}")

    def _bound(self, centre: Fraction, shifted: list[list[fmpq]], radius: Fraction) -> tuple[arb, Fraction]:
        rho = to_ball(radius)
        bottom = abs(arb(self.coefficients[-1].leading_coefficient()))
        for root, multiplicity in self.singular:
            bottom *= (abs(root - to_ball(centre)) - rho).lower() ** multiplicity
        tops = [sum((abs(arb(c)) * rho**k for k, c in enumerate(a)), arb(0)) / bottom for a in shifted[:-1]]
        # smaller weights make the last row smaller and the others larger
        best, found = arb("inf"), radius
        for weight in (radius / 2**k for k in range(1, _WEIGHTS)):
            w = to_ball(weight)
            rows = sum((top * w ** (self.order - 1 - i) for i, top in enumerate(tops)), arb(0)).upper()
            beta = rows if self.order == 1 else rows.max(1 / w).upper()
            if not beta < best:
                break
            best, found = beta, weight
        return best, found


def march(ode: LinearOde, chart: Chart, target: Fraction, precision: int, most: int) -> list[Chart]:
    """Charts from ``chart`` to the rational point ``target``, each centred at the end of the one before.

    Raises Unsupported when a singular point of the equation is closer than 2^-100 to the target or lies on the way;
    PrecisionLost when more than ``most`` charts would be needed.
    """
    charts = [chart]
    with working_precision(precision):
        while abs(target - charts[-1].centre) > charts[-1].reach:
            last = charts[-1]
            step = last.reach if target > last.centre else -last.reach
            if len(charts) > most:
                raise PrecisionLost(
                    f"the solution of the ODE turns too often between u = {float(chart.centre):.6g} and "
                    f"{float(target):.6g} for {most} Taylor steps; use smaller deviations, or write the activation as "
                    "an expression"
                )
            if last.reach < _CLOSEST:
                raise Unsupported(
                    f"the ODE is singular too close to u = {float(target):.6g}; give data in each interval between its "
                    "singular points"
                )
            charts.append(ode.chart(last.centre + step, last.state(to_ball(step), ode.order), precision))
    return charts


def _rounded(radius: Fraction) -> Fraction:
    """A fraction with few digits just below ``radius``."""
    scale = Fraction(1)
    while radius * scale < 64:
        scale *= 2
    return Fraction(int(radius * scale)) / scale
