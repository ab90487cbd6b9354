"""Activations given by a linear ODE and the data that fixes the solution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial, inf
from typing import Any

import numpy as np
from flint import arb

from holokern.activation.named import read_rational
from holokern.activation.ode.annihilator import (
    affine_operator,
    derivative_operator,
    right_coefficients,
    saturated_annihilator,
)
from holokern.activation.ode.branches import Branch, Value, as_value, may_vanish, plus, read_branches, scaled
from holokern.activation.ode.continuation import LinearOde
from holokern.activation.ode.solution import Solution, solution
from holokern.activation.ring.expansions import LocalSeries
from holokern.activation.ring.relation import D1, operator_from
from holokern.activation.values.constants import ExactReal, exact
from holokern.activation.values.evaluate import UNITS, on_floats
from holokern.errors import BadInput, BadOperator, CheckFailed, NotHolonomic, Unsupported
from holokern.numeric import Array, to_ball, to_fmpq, to_fraction, working_precision
from holokern.weyl import Operator, UnivariateIdeal, bernstein_basis

_CHECK_BITS = 256
_JUMP_TERMS = 24


@dataclass(frozen=True, slots=True)
class OdeActivation:
    """A solution σ of linear ODEs with polynomial coefficients, on the whole line or piecewise; immutable.

    Make one with :func:`ode_activation`.  ``operators`` generate the annihilator, ``branches`` hold the data.

    >>> resin = ode_activation("u*(D^2 + 1)", {(None, 0): 0, (0, None): {0: [0, 1]}})
    >>> abs(resin(1.0) - 0.8414709848078965) < 1e-15, resin(-1.0)
    (True, 0.0)
    >>> resin.annihilator, resin.breaks, resin.jump_order
    ((u*D^2 + u,), (Fraction(0, 1),), 1)
    """

    operators: tuple[Operator, ...]
    branches: tuple[Branch, ...]
    # σ and its derivatives are read from the same charts: the activation whose derivative of this order it is
    origin: tuple[OdeActivation, int] | None = field(default=None, compare=False)

    # -- values ------------------------------------------------------------------------------------------------------

    @property
    def equation(self) -> Operator:
        """The operator of least order over Q(u) in the annihilator, without content."""
        return _equation(self.operators)

    def solution(self, index: int, precision: int | None = None) -> Solution:
        """The solution on branch number ``index``."""
        if precision is None:
            return solution(self.equation, self.branches[index])
        return solution(self.equation, self.branches[index], precision)

    def __call__(self, x: Any) -> Any:
        """The value: a float for a scalar, else an array of the shape of ``x``; float32 stays float32.

        At a break it is the mean of both sides; NaN at NaN and at the infinities.
        """
        return on_floats(x, self._floats)

    def noise(self, x: Array) -> Array:
        """How far the values may be off: some units in the last place."""
        return np.asarray(UNITS * np.abs(self(x)))

    def _floats(self, flat: Array) -> Array:
        result = np.full_like(flat, np.nan)
        weight = np.zeros_like(flat)
        finite = np.isfinite(flat)
        function, order = self.origin or (self, 0)
        for index, branch in enumerate(self.branches):
            low = -inf if branch.low is None else float(branch.low)
            high = inf if branch.high is None else float(branch.high)
            here = finite & (flat >= low) & (flat <= high)
            if here.any():
                values = function.solution(index).floats(flat[here], order)
                result[here] = np.where(weight[here] > 0, (result[here] + values) / 2, values)
                weight[here] += 1
        return result

    def ball(self, x: arb | Fraction | int, precision: int = 128) -> arb:
        """A flint ball that contains σ at ``x``; proven by Cauchy's majorant in every Taylor step.

        Raises Unsupported when the data stands at a singular point of the equation, where the first step is not proven.

        >>> sine = ode_activation("D^2 + 1", {0: [0, 1]})
        >>> sine.ball(2).overlaps(arb(2).sin()) and sine.ball(2).rel_accuracy_bits() > 100
        True
        """
        with working_precision(precision + 32):
            point = Fraction(x) if isinstance(x, int | Fraction) else x
            place = to_ball(point) if isinstance(point, Fraction) else arb(point)
            found = None
            for index, branch in enumerate(self.branches):
                low, high = (end if end is None else to_ball(end) for end in (branch.low, branch.high))
                if (low is not None and place < low) or (high is not None and place > high):
                    continue
                inside = (low is None or place >= low) and (high is None or place <= high)
                if not inside:
                    return arb.nan()
                part = self.solution(index, precision + 32)
                if not part.is_zero and not part.flow.is_ordinary(branch.point):
                    raise Unsupported(f"the data at the singular point u = {branch.point} gives no proven ball")
                value = part.state(point, 1)[0]
                found = value if found is None else (found + value) / 2
            return arb.nan() if found is None else found

    # -- exact properties --------------------------------------------------------------------------------------------

    @property
    def annihilator(self) -> tuple[Operator, ...]:
        """The reduced Gröbner basis of the annihilator for the Bernstein degree."""
        return bernstein_basis(self.operators)

    @property
    def annihilator_scale(self) -> ExactReal | None:
        """Always None: the operators annihilate σ itself."""
        return None

    @property
    def is_holonomic(self) -> bool:
        """Always True."""
        return True

    @property
    def breaks(self) -> tuple[Fraction, ...]:
        """The ends of the intervals of the data."""
        return tuple(branch.low for branch in self.branches[1:] if branch.low is not None)

    @property
    def jump_order(self) -> int | None:
        """The order of the first derivative that jumps at a break; None when none of the first 24 does."""
        orders = []
        for index in range(len(self.breaks)):
            left, right = self.one_sided(index, _JUMP_TERMS)
            jump = (
                n for n, (a, b) in enumerate(zip(left, right, strict=True)) if not may_vanish(plus(a, scaled(b, -1)))
            )
            orders.append(next(jump, None))
        return min((order for order in orders if order is not None), default=None)

    @property
    def parity(self) -> str | None:
        """``"even"`` or ``"odd"`` when the operators and the data show it, else None."""
        mirrored = self.scale(-1)
        if UnivariateIdeal(D1, mirrored.operators) != UnivariateIdeal(D1, self.operators):
            return None
        if mirrored.branches == self.branches:
            return "even"
        return "odd" if mirrored.branches == (self * -1).branches else None

    def one_sided(self, index: int, terms: int) -> tuple[list[Value], list[Value]]:
        """Taylor coefficients at break number ``index`` from the left and the right."""
        point = self.breaks[index]
        sides = [self.solution(index + k, _CHECK_BITS) for k in (0, 1)]
        return taylor_at(sides[0], point, terms), taylor_at(sides[1], point, terms)

    def expansions(self, index: int, order: int) -> tuple[LocalSeries, LocalSeries]:
        """Exact expansions at a break in s = |u - break|, for data that stands at the break or is zero."""
        result = []
        for side, coefficients in zip((-1, 1), self.one_sided(index, order + 1), strict=True):
            series: LocalSeries = {}
            for n, c in enumerate(coefficients):
                if not isinstance(c, ExactReal):
                    raise Unsupported(
                        f"the whole annihilator needs exact one-sided values at the break u = {self.breaks[index]}; "
                        "give the data there"
                    )
                if c:
                    series[Fraction(n), 0] = c * side**n
            result.append(series)
        return result[0], result[1]

    # -- new activations ---------------------------------------------------------------------------------------------

    @property
    def derivative(self) -> OdeActivation:
        """The classical derivative on each interval."""
        branches = []
        equation = derivative_operator(self.equation)
        ode = LinearOde(equation.polynomials())
        for index, branch in enumerate(self.branches):
            count = max(ode.determining_terms(branch.point), len(branch.values))
            coefficients = self.solution(index).taylor(count + 1)
            kept = tuple(scaled(as_value(c), factorial(n)) for n, c in enumerate(coefficients))[1:]
            vanishes = all(isinstance(value, ExactReal) and not value for value in kept)
            branches.append(Branch(branch.low, branch.high, branch.point, () if vanishes else kept))
        function, order = self.origin or (self, 0)
        return replace(assembled(equation, tuple(branches)), origin=(function, order + 1))

    def scale(self, c: object) -> OdeActivation:
        """The activation σ(c·u), c a rational number that is not zero."""
        factor = read_rational(c, "the scale")
        if not factor:
            raise BadInput("the scale of an activation must not be zero")
        return self._substituted(factor, Fraction(0))

    def shift(self, c: object) -> OdeActivation:
        """The activation σ(u + c), c a rational number."""
        return self._substituted(Fraction(1), read_rational(c, "the shift"))

    def _substituted(self, a: Fraction, b: Fraction) -> OdeActivation:
        branches = []
        for branch in self.branches:
            low, high = (None if end is None else (end - b) / a for end in (branch.low, branch.high))
            low, high = (low, high) if a > 0 else (high, low)
            values = tuple(scaled(y, a**n) for n, y in enumerate(branch.values))
            branches.append(Branch(low, high, (branch.point - b) / a, values))
        ordered = tuple(branches if a > 0 else reversed(branches))
        return OdeActivation(tuple(affine_operator(op, a, b) for op in self.operators), ordered)

    def __mul__(self, other: object) -> OdeActivation:
        from holokern.activation.ode.arithmetic import multiply

        return multiply(self, other)

    def __add__(self, other: object) -> OdeActivation:
        from holokern.activation.ode.arithmetic import add

        return add(self, other)

    __rmul__, __radd__ = __mul__, __add__

    def __repr__(self) -> str:
        return f"OdeActivation({', '.join(map(str, self.operators)):.200})"

    def latex(self) -> str:
        """The equations in LaTeX."""
        return r",\quad ".join(f"\\left({operator.latex()}\\right) \\sigma = 0" for operator in self.operators)


def ode_activation(operator: object, values: object, *, whole: bool = False, check: bool = True) -> OdeActivation:
    """The solution of ODEs that the data fixes, as an activation.

    ``operator``: in u and D; together they are taken as the annihilator of σ.
    ``values``: the data, in the form that :mod:`holokern.activation.ode.branches` describes.
    ``whole``: enlarge the annihilator to all operators that annihilate σ: by the Weyl closure when σ has no break, else
    by the exact jumps, which needs the data of both sides at each break (or zero there).
    ``check``: verify that the operators annihilate σ as a distribution, that is, that no δ-term is left at a break.
    Raises BadOperator for operators that cannot be read, or the operator 0; BadInput for data that cannot be read, does
    not fix a solution or contradicts the equation; CheckFailed when an operator leaves a δ-term at a break.

    >>> bessel = ode_activation("u*D^2 + D + u", {0: [1, 0]})
    >>> round(bessel(2.0), 12)
    0.223890779141
    >>> ode_activation("u*D - 1", {0: [0, 1]}, whole=True).annihilator
    (u*D - 1, D^2)
    """
    given = [operator] if isinstance(operator, str | Operator) or not isinstance(operator, Iterable) else list(operator)
    if not given:
        raise BadOperator("expected at least one operator such as 'D^2 + 1'")
    operators = tuple(_read_operator(item) for item in given)
    if not any(operators):
        raise NotHolonomic("the operator 0 annihilates every function, so it fixes none; give a non-zero operator")
    result = OdeActivation(tuple(op for op in operators if op), read_branches(values))
    for index in range(len(result.branches)):
        result.solution(index)
    if check:
        _check_distribution(result)
    if whole:
        found = saturated_annihilator(result.equation, result)
        result = OdeActivation(found.operators, result.branches)
    return result


def _read_operator(item: object) -> Operator:
    if not isinstance(item, str | Operator):
        raise BadOperator(f"expected an operator in u and D as text such as 'u*D - 1', got {type(item).__name__}")
    return D1(item)


def _check_distribution(function: OdeActivation) -> None:
    """Raise when some operator leaves a δ-term: for Q = Σ D^i a_i that of δ^(j) is the jump of Σ (a_i σ)^(i-1-j)."""
    terms = max(operator.order for operator in function.operators)
    for index, point in enumerate(function.breaks):
        left, right = function.one_sided(index, max(terms, 1))
        jumps = [scaled(plus(b, scaled(a, -1)), factorial(n)) for n, (a, b) in enumerate(zip(left, right, strict=True))]
        for operator in function.operators:
            for j in range(operator.order):
                total = _delta(operator, point, jumps, j)
                if not may_vanish(total):
                    size = float(total if isinstance(total, ExactReal) else total.middle)
                    raise CheckFailed(
                        f"the operator {operator} does not annihilate σ: it leaves {size:.6g} times "
                        f"derivative {j} of delta at u = {point}; multiply it by a power of (u - {point}) or correct "
                        "the values"
                    )


def _delta(operator: Operator, point: Fraction, jumps: list[Value], j: int) -> Value:
    total: Value = exact(0)
    for i, a in enumerate(right_coefficients(operator)):
        n = i - 1 - j
        derivative = a
        for k in range(n + 1):
            factor = derivative(to_fmpq(point)) * comb(n, k)
            if factor != 0:
                total = plus(total, scaled(jumps[n - k], to_fraction(factor)))
            derivative = derivative.derivative()
    return total


@lru_cache(maxsize=256)
def _equation(operators: tuple[Operator, ...]) -> Operator:
    return operator_from(UnivariateIdeal(D1, operators).basis[0].polynomials())


def assembled(equation: Operator, branches: tuple[Branch, ...]) -> OdeActivation:
    """The activation with the whole annihilator when the data at its breaks is exact, else with a sufficient one."""
    plain = OdeActivation((equation,), branches)
    try:
        return OdeActivation(saturated_annihilator(equation, plain).operators, branches)
    except Unsupported:
        factor = D1.one
        for point in plain.breaks:
            factor = factor * (D1.gen("u") - D1(point)) ** equation.order
        return OdeActivation((factor * equation,), branches)


def taylor_at(part: Solution, point: Fraction, terms: int) -> list[Value]:
    """Taylor coefficients at any point of the closed interval: exact constants where the data allows, else balls."""
    if part.is_zero or point == part.branch.point:
        return [as_value(c) for c in part.taylor(max(terms, len(part.branch.values)))[:terms]]
    if not part.flow.is_ordinary(point):
        raise Unsupported(
            f"the equation is singular at u = {point}, so the values there are unknown; give the data at u = {point} "
            "if the solution is analytic there, or write the activation as an expression"
        )
    with working_precision(part.precision):
        state = part.state(point, part.flow.order)
        first = [y / factorial(i) for i, y in enumerate(state)]
        known = part.flow.series(point, first, max(terms, len(first)), arb)
    assert known is not None
    return [as_value(c) for c in known[:terms]]
