"""Solutions of an ODE at a regular singular point as series with logarithms, and proved values of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from flint import acb, arb, fmpq, fmpq_poly, fmpz_poly

from holokern.errors import BadInput, Unsupported
from holokern.hgm.lines.initial import as_ball, as_complex
from holokern.hgm.lines.local_sums import Exponent, Group, LocalSum, theta_parts
from holokern.hgm.steps.fixed_point import Ball
from holokern.numeric import to_fmpq
from holokern.pfaffian import coefficient_polynomials, local_exponents
from holokern.weyl import LeftIdeal, Operator

INFINITE = ("oo", "inf", "infinity")
"""Names of the point at infinity."""

_REACH = 0.5  # a value is taken at most this far out, relative to the next singular point: each term then gains a bit


@dataclass(frozen=True)
class LocalBasis:
    """A basis of the solutions near a point, made by :func:`frobenius`; a sequence of :class:`LocalSeries`.

    Attributes
    ----------
    operator : Operator
    point : Fraction or "oo"
    """

    operator: Operator
    point: Fraction | str
    groups: tuple[Group, ...]

    @property
    def exponents(self) -> tuple[tuple[Exponent, int], ...]:
        """ρ and k of each solution, which begins with t^ρ log(t)^k/k!, where t = x - point, or 1/x at infinity."""
        return tuple(
            (_shifted(group.base, offset), k)
            for group in self.groups
            for offset, multiplicity in group.members
            for k in range(multiplicity)
        )

    def __len__(self) -> int:
        return len(self.exponents)

    def __getitem__(self, index: int) -> LocalSeries:
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"expected a solution between 0 and {size - 1}, got {index}")
        return LocalSeries(self, tuple(arb(int(i == index % size)) for i in range(size)))

    def __iter__(self) -> Iterator[LocalSeries]:
        return (self[i] for i in range(len(self)))

    @cached_property
    def _parts(self) -> list[fmpq_poly]:
        """Q_0, Q_1, … as polynomials in θ."""
        return theta_parts(self.operator, self.point if isinstance(self.point, Fraction) else None)

    @cached_property
    def radius(self) -> float:
        """The distance in t to the next singular point."""
        lead = coefficient_polynomials(self.operator)[-1]
        roots: Any = lead.complex_roots()
        places = [complex(acb(r)) for r, _ in roots]
        if not isinstance(self.point, Fraction):
            return 1 / max((abs(place) for place in places if place), default=0.0) if any(places) else np.inf
        x0 = float(self.point)
        gaps = [abs(place - x0) for place in places]
        return min((g for g in gaps if g > 1e-12 * max(1.0, abs(x0))), default=np.inf)

    def reach(self, goal: Ball) -> Ball:
        """The point on the way to ``goal`` where the series are summed, ``goal`` itself when it is close enough."""
        if not isinstance(self.point, Fraction):
            return self._from_infinity(goal)
        x0 = arb(to_fmpq(self.point))
        gap = goal - x0
        distance = abs(complex(acb(gap)))
        if not distance:
            raise BadInput(f"the target is the singular point {self.point} itself; choose another one")
        if distance <= _REACH * self.radius:
            return goal
        ratio = Fraction(_REACH * self.radius / distance).limit_denominator(1 << 20)
        return x0 + gap * arb(to_fmpq(ratio))

    def _from_infinity(self, goal: Ball) -> Ball:
        """The place on the ray from 0 through ``goal``, on the positive axis for 0, where 1/x is small enough."""
        away = 1.0 if np.isinf(self.radius) else 1 / (_REACH * self.radius)
        distance = abs(complex(acb(goal)))
        if distance >= away:
            return goal
        if not distance:
            return arb(ceil(away))
        ratio = Fraction(1.01 * away / distance).limit_denominator(1 << 20)
        return goal * arb(to_fmpq(ratio))

    def jets(self, x: Ball) -> list[list[Ball]]:
        """For each solution proved balls of y, y′, …, y^(r-1) at ``x``, which lies within the disc of convergence."""
        infinite = not isinstance(self.point, Fraction)
        t = 1 / x if infinite else x - as_ball(self.point)
        return [jet for group in self.groups for jet in LocalSum(self._parts, group, t, infinite).jets()]


@dataclass(frozen=True)
class LocalSeries:
    """A combination of the solutions of a :class:`LocalBasis`; add them and multiply them by numbers.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> bessel = frobenius(weyl_algebra("x")("x*dx^2 + dx + x"), 0)
    >>> bessel.exponents
    ((0, 0), (0, 1))
    >>> print(bessel[0](arb(1) / 4).str(15, radius=False))
    0.984435929295853
    """

    basis: LocalBasis
    coefficients: tuple[Ball, ...]

    @property
    def point(self) -> Fraction | str:
        """Where the series is one."""
        return self.basis.point

    def __add__(self, other: LocalSeries) -> LocalSeries:
        if not isinstance(other, LocalSeries) or other.basis != self.basis:
            return NotImplemented
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return LocalSeries(self.basis, tuple(a + b for a, b in pairs))

    def __mul__(self, factor: object) -> LocalSeries:
        number = as_ball(factor)
        return LocalSeries(self.basis, tuple(number * c for c in self.coefficients))

    __rmul__ = __mul__

    def jet(self, x: Ball) -> list[Ball]:
        """Balls of the solution and its derivatives at ``x``; logarithms are principal ones of x - point."""
        total: list[Ball] = [arb(0)] * len(self.basis)
        for c, jet in zip(self.coefficients, self.basis.jets(x), strict=True):
            if not (isinstance(c, arb) and c == 0):
                total = [a + c * b for a, b in zip(total, jet, strict=True)]
        return total

    def __call__(self, x: object) -> Ball:
        """A ball that contains the value at ``x``."""
        return self.jet(as_ball(x))[0]

    def towards(self, goal: Ball) -> tuple[Ball, list[Ball]]:
        """A point on the way to ``goal`` and the jet there."""
        where = self.basis.reach(goal)
        return where, self.jet(where)


def frobenius(operator: Operator | LeftIdeal, point: object = 0) -> LocalBasis:
    """A basis of the solutions of an ODE near an ordinary or regular singular point.

    Parameters
    ----------
    operator : Operator, or an ideal with one generator
        In one variable.
    point : rational number or "oo"
        Where; at infinity the series are in t = 1/x.

    Returns
    -------
    LocalBasis

    Raises
    ------
    Unsupported
        At an irregular singular point.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> frobenius(weyl_algebra("x")("x^2*dx^2 + x*dx + x^2 - 1/9"), 0).exponents
    ((-1/3, 0), (1/3, 0))
    >>> frobenius(weyl_algebra("x")("x*(1-x)*dx^2 + (3/4 - 11/6*x)*dx - 1/6"), "oo").exponents
    ((1/3, 0), (1/2, 0))
    """
    if isinstance(operator, LeftIdeal):
        if len(operator.generators) != 1:
            raise BadInput(f"expected one operator, got an ideal with {len(operator.generators)} generators")
        operator = operator.generators[0]
    local = local_exponents(operator, point)
    if isinstance(local.point, fmpz_poly):
        raise Unsupported(
            f"series at the roots of {local.point} are not available; start at a rational point, and go round "
            "such a root with hgm.monodromy(…, around=number)"
        )
    if local.kind == "irregular":
        raise Unsupported(
            f"{local.point} is an irregular singular point of {operator}: solutions behave like exponentials there, "
            "and series need not converge. Start at an ordinary point, and carry values from there with hgm.solve"
        )
    rational = [(fmpz_poly([-root.numerator, root.denominator]), m) for root, m in local.exponents]
    return LocalBasis(operator, local.point, tuple(_groups(rational) + _groups(local.others)))


def same_place(given: object, point: Fraction | str) -> bool:
    """Whether a start is the point of a series."""
    if isinstance(point, str) or given in INFINITE:
        return isinstance(point, str) and given in INFINITE
    return as_complex(given) == as_complex(point)


def _shifted(base: Exponent, offset: int) -> Exponent:
    if base.rational is not None:
        return Exponent(base.rational + offset)
    return Exponent(None, base.polynomial, base.index, base.shift + offset)


def _groups(factors: Sequence[tuple[fmpz_poly, int]]) -> list[Group]:
    """Irreducible factors p(s) and p(s - n) have roots that differ by n; the mean of the roots tells n."""
    left = sorted(factors, key=lambda pair: _mean(pair[0]))
    groups = []
    while left:
        first, multiplicity = left.pop(0)
        members = [(0, multiplicity)]
        for other in list(left):
            offset = _mean(other[0]) - _mean(first)
            if offset.denominator == 1 and _monic(other[0]) == _monic(first)(fmpq_poly([-int(offset), 1])):
                members.append((int(offset), other[1]))
                left.remove(other)
        rational = first.degree() == 1
        bases = [Exponent(_mean(first))] if rational else [Exponent(None, first, i) for i in range(first.degree())]
        groups += [Group(base, tuple(members)) for base in bases]
    return groups


def _mean(p: fmpz_poly) -> Fraction:
    d = p.degree()
    return Fraction(-int(p[d - 1]), d * int(p[d]))


def _monic(p: fmpz_poly) -> fmpq_poly:
    return fmpq_poly(p) * fmpq(1, int(p[p.degree()]))
