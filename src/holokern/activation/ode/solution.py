"""One branch of an ODE activation: Taylor charts on demand, for floats and for balls."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from holokern.activation.ode.branches import Branch, Value, dyadic
from holokern.activation.ode.continuation import Chart, LinearOde, march
from holokern.activation.values.constants import ExactReal
from holokern.errors import BadInput, Unsupported
from holokern.numeric import Array, to_ball, to_fraction, working_precision
from holokern.weyl import Operator, UnivariateIdeal

_BITS = 160
_MAX_REACH = 4096
# on one side of the data: they take up to two milliseconds each, and steps of 2 come as far as the reach
_MAX_CHARTS = 2200


class Solution:
    """The solution of one equation on one interval, with charts that grow as they are asked for."""

    def __init__(self, operator: Operator, branch: Branch, precision: int = _BITS) -> None:
        self.ode = LinearOde(operator.polynomials())
        self.flow = _desingularised(operator, self.ode, branch)
        self.branch = branch
        self.precision = precision
        self.is_zero = not branch.values
        self.right: list[Chart] = []
        self.left: list[Chart] = []
        if not self.is_zero:
            self._start(operator)

    def _start(self, operator: Operator) -> None:
        point, values = self.branch.point, self.branch.values
        if self.ode.is_ordinary(point) and len(values) < self.ode.order:
            raise BadInput(f"the operator {operator} needs {self.ode.order} values at u = {point}, got {len(values)}")
        self._check_interior(operator)
        ordinary = self.flow.is_ordinary(point)
        # more terms than the data, so that a contradiction between them and the equation shows
        known = self.taylor(len(values) + self.flow.order + (0 if ordinary else self.precision // 2))
        self.is_zero = all(isinstance(y, ExactReal) and not y for y in known)
        with working_precision(self.precision):
            if ordinary:
                state = [to_ball(known[i]) * factorial(i) for i in range(self.flow.order)]
                first = self.flow.chart(point, state, self.precision)
            else:
                first = self.flow.singular_chart(point, [to_ball(y) for y in known])
        self.right, self.left = [first], [first]

    def _check_interior(self, operator: Operator) -> None:
        branch = self.branch
        for root in _real_singularities(self.flow, branch):
            inside = (branch.low is None or root > to_ball(branch.low)) and (
                branch.high is None or root < to_ball(branch.high)
            )
            if inside and not root.overlaps(to_ball(branch.point)):
                raise BadInput(
                    f"the operator {operator} is singular at u = {float(root):.6g}, inside the interval "
                    f"({branch.low}, {branch.high}) of the data; split the interval there"
                )

    def taylor(self, terms: int) -> list[Value | Any]:
        """Taylor coefficients at the point of the data: exact constants, or balls when the data are balls."""
        values = self.branch.values
        if self.is_zero:
            return [ExactReal({})] * terms
        if self.branch.is_exact:
            first: list[Any] = [y * Fraction(1, factorial(i)) for i, y in enumerate(values)]  # type: ignore[operator]
            known = self.ode.series(self.branch.point, first, terms, to_fraction)
        else:
            with working_precision(self.precision):
                balls = [to_ball(y) / factorial(i) for i, y in enumerate(values)]
                known = self.ode.series(self.branch.point, balls, terms, arb)
        if known is None:
            raise BadInput(
                f"the values at u = {self.branch.point} contradict the operator or do not fix its solution; at a "
                "singular point give every Taylor value that the operator leaves free"
            )
        return known

    def state(self, x: Any, order: int) -> list[Any]:
        """Balls for σ, σ', …, σ^(order-1) at a Fraction or ball inside the closed interval."""
        if self.is_zero:
            return [arb(0)] * order
        exact_point = isinstance(x, Fraction)
        middle = x if exact_point else dyadic(x.mid())
        with working_precision(self.precision):
            chart = self._chart(middle)
            t = to_ball(x - chart.centre) if exact_point else x - to_ball(chart.centre)
            if not abs(t) <= to_ball(chart.reach):
                raise Unsupported(f"the ball {x} is wider than the Taylor chart around it; use a smaller one")
            return chart.state(t, order)

    def _chart(self, point: Fraction) -> Chart:
        side = self.right if point >= self.branch.point else self.left
        if abs(point - self.branch.point) > _MAX_REACH:
            raise Unsupported(
                f"u = {float(point):.6g} is more than {_MAX_REACH} away from the data at u = {self.branch.point}; give "
                "data closer to it, or use an expression"
            )
        if abs(point - side[-1].centre) > side[-1].reach and _beyond(side, point):
            side += march(self.flow, side[-1], point, self.precision, _MAX_CHARTS - len(side))[1:]
        target = abs(point - self.branch.point)
        return side[max(bisect_right(side, target, key=lambda chart: abs(chart.centre - self.branch.point)) - 1, 0)]

    def floats(self, x: Array, order: int = 0) -> Array:
        """The derivative of that order at finite floats of the closed interval."""
        result = np.zeros_like(x)
        if self.is_zero or not x.size:
            return result
        middle = float(self.branch.point)
        for side, chosen in ((self.right, x >= middle), (self.left, x < middle)):
            if not chosen.any():
                continue
            points = x[chosen]
            far = points.max() if side is self.right else points.min()
            self._chart(Fraction(float(far)))
            places = np.array([chart.place for chart in side])
            distances = np.abs(places[:, 0] - middle)
            index = np.clip(np.searchsorted(distances, np.abs(points - middle), side="right") - 1, 0, None)
            centres, reaches = places[index].T
            result[chosen] = _horner(side, index, (points - centres) / reaches, order)
        return result


def _horner(side: list[Chart], index: NDArray[np.intp], t: Array, order: int) -> Array:
    """Derivatives of the Taylor polynomials of these charts; the scaled variable keeps the coefficients in range."""
    used, place = np.unique(index, return_inverse=True)
    rows = [side[k].floats(order) for k in used]
    table = np.zeros((max(map(len, rows)), len(rows)))
    for column, row in enumerate(rows):
        table[: len(row), column] = row
    total = np.zeros_like(t)
    for coefficients in table[::-1]:
        total = total * t + coefficients[place]
    return total


def _real_singularities(ode: LinearOde, branch: Branch) -> list[Any]:
    """The real singular points in the closed interval of a branch, as balls."""
    low, high = (None if end is None else to_ball(end) for end in (branch.low, branch.high))
    real = [root.real for root, _ in ode.singular if root.imag == 0]
    return [root for root in real if (low is None or not root < low) and (high is None or not root > high)]


def _desingularised(operator: Operator, ode: LinearOde, branch: Branch) -> LinearOde:
    """An equation of higher order without the apparent singularities of the given one: the last in its Weyl closure."""
    if not branch.values or not _real_singularities(ode, branch):
        return ode
    closed = UnivariateIdeal(operator.algebra, [operator]).closure().basis
    return LinearOde(closed[-1].polynomials())


@lru_cache(maxsize=128)
def solution(operator: Operator, branch: Branch, precision: int = _BITS) -> Solution:
    """The solution, remembered together with the charts that it has made so far."""
    return Solution(operator, branch, precision)


def _beyond(side: list[Chart], point: Fraction) -> bool:
    first, last = side[0].centre, side[-1].centre
    return abs(point - first) > abs(last - first)
