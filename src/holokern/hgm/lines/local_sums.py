"""Sums of series with logarithms at a regular singular point, with proved tails.

With t = x - x0 the operator is a power of t times Σ_j t^j Q_j(θ), θ = t d/dt.  A solution is t^ρ Σ_n t^n y_n, where y_n
is a vector of coefficients of log(t)^k/k!, on which θ acts as ρ + n + S with the shift S.  So Frobenius' recurrence is

    Q_0(ρ + n + S) y_n = - Σ_(j≥1) Q_j(ρ + n - j + S) y_(n-j),

and at a root of Q_0 of multiplicity μ the left side is S^μ times a unit: μ more logarithms appear [SST2000, Sect. 2.5].

A partial sum p leaves a residual that vanishes to high order N at t = 0.  Along the ray t = t1 exp(s) the error e of
(y, θy, …) solves e' = Ae - q, so Gronwall's inequality from s = -∞ bounds it as soon as N exceeds ‖A‖.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import acb, acb_poly, arb, arb_poly, ctx, fmpq_poly, fmpz_poly

from holokern.errors import PrecisionLost
from holokern.hgm.steps.balls import smallest_on_unit
from holokern.hgm.steps.fixed_point import Ball
from holokern.numeric import to_fmpq, working_precision
from holokern.pfaffian import coefficient_polynomials
from holokern.weyl import Operator

_MOST_TERMS = 6  # terms in units of the working precision; with the ratio 1/2 one such unit is enough
_EXTRA_BITS = 32  # bits beyond the working precision that the terms are computed with


@dataclass(frozen=True)
class Exponent:
    """A local exponent ρ: a rational number, or the ``index``-th root of an irreducible polynomial plus ``shift``."""

    rational: Fraction | None
    polynomial: fmpz_poly | None = None
    index: int = 0
    shift: int = 0

    def value(self) -> Ball:
        """ρ at flint's working precision."""
        if self.rational is not None:
            return arb(to_fmpq(self.rational))
        assert self.polynomial is not None
        roots: Any = self.polynomial.complex_roots()
        root = sorted((acb(r) for r, _ in roots), key=lambda r: (float(r.real), float(r.imag)))[self.index]
        return (root.real if root.imag == 0 else root) + self.shift

    def __repr__(self) -> str:
        if self.rational is not None:
            return str(self.rational)
        number = complex(acb(self.value()))
        return f"{number:.6g}" if number.imag else f"{number.real:.6g}"


@dataclass(frozen=True)
class Group:
    """Exponents that differ by integers: the least one, and the offsets with their multiplicities."""

    base: Exponent
    members: tuple[tuple[int, int], ...]


def theta_parts(operator: Operator, point: Fraction | None) -> list[fmpq_poly]:
    """Q_j with operator = t^(-m) Σ t^j Q_j(θ), t = x - point; t = 1/x for the point None, infinity."""
    line = fmpq_poly([0, 1]) if point is None else fmpq_poly([to_fmpq(point), 1])
    parts: dict[int, fmpq_poly] = {}
    falling = fmpq_poly([1])
    for k, a in enumerate(coefficient_polynomials(operator)):
        moved = fmpq_poly(a)(line)
        for i in range(moved.degree() + 1):
            # x^i ∂^k = x^(i-k) θ(θ-1)…(θ-k+1), and θ changes its sign with 1/x
            j, action = (i - k, falling) if point is not None else (k - i, falling(fmpq_poly([0, -1])))
            if moved[i] != 0:
                parts[j] = parts.get(j, fmpq_poly([])) + moved[i] * action
        falling = falling * fmpq_poly([-k, 1])
    parts = {j: q for j, q in parts.items() if q.degree() >= 0}
    low = min(parts)
    return [parts.get(j, fmpq_poly([])) for j in range(low, max(parts) + 1)]


class LocalSum:
    """The series of one group of exponents summed at one point t, which is 1/x at infinity."""

    def __init__(self, parts: list[fmpq_poly], group: Group, t: Ball, infinite: bool = False) -> None:
        self.parts, self.group, self.t, self.infinite = parts, group, t, infinite
        self.order = parts[0].degree()
        self.rho = group.base.value()
        self.resonant = dict(group.members)

    def jets(self) -> list[list[Ball]]:
        """y, y′, … of every solution of the group."""
        bits = ctx.prec
        with working_precision(bits + _EXTRA_BITS):
            self.rho = self.group.base.value()
            thetas = [self._thetas(offset, k, bits) for offset, m in self.group.members for k in range(m)]
            return [self._derivatives(theta) for theta in thetas]

    def _shift(self, j: int, n: int) -> list[Ball]:
        """The Taylor coefficients of Q_j at ρ + n: how Q_j(θ) acts on the coefficients of logarithms."""
        at = self.rho + n
        kind: Any = acb_poly if isinstance(at, acb) else arb_poly
        return list(kind(self.parts[j])(kind([at, 1])).coeffs())

    def _terms(self, offset: int, k: int, count: int) -> list[list[Ball]]:
        """y_n for n below ``count``; each is a list over the powers of log(t)."""
        terms: list[list[Ball]] = [[] for _ in range(min(offset, count))]
        for n in range(offset, count):
            if n == offset:
                terms.append([arb(int(i == k)) for i in range(k + 1)])
                continue
            right = self._right(terms, n)
            lead = self._shift(0, n)
            mu = self.resonant.get(n, 0)
            unit = lead[mu:]
            solved = _divide([-a for a in right], unit)
            terms.append([*([arb(0)] * mu), *solved] if solved else [])
        return terms

    def _right(self, terms: Sequence[Sequence[Ball]], n: int) -> list[Ball]:
        """Σ_(j≥1) Q_j(ρ + n - j + S) y_(n-j)."""
        size = max((len(y) for y in terms[max(0, n - len(self.parts) + 1) :]), default=0)
        total: list[Ball] = [arb(0)] * size
        for j in range(1, min(len(self.parts), n + 1)):
            if n - j >= len(terms) or not terms[n - j] or self.parts[j].degree() < 0:
                continue
            y = terms[n - j]
            action = self._shift(j, n - j)
            for i in range(len(y)):
                total[i] = total[i] + sum((action[e] * y[i + e] for e in range(min(len(action), len(y) - i))), arb(0))
        return total

    def _thetas(self, offset: int, k: int, bits: int) -> list[Ball]:
        """Balls of θ^i y for i below the order."""
        polynomials = [[arb(q[i]) if i <= q.degree() else arb(0) for q in self.parts] for i in range(self.order + 1)]
        bound, weight, smallest = self._norm(polynomials)
        reach = max(offset + 1, int(float(bound.upper()) - float(acb(self.rho).real)) + 2)
        count = reach + bits
        for _ in range(_MOST_TERMS):
            terms = self._terms(offset, k, count)
            rest = [self._right([*terms, *([[]] * j)], count + j) for j in range(len(self.parts) - 1)]
            error = self._error(rest, count, bound, weight, smallest)
            value = self._values(terms)
            largest = max(abs(acb(a)).upper() for a in value).max(arb(2) ** (-4 * bits))
            if error < largest * arb(2) ** -bits:
                break
            count += bits // 2
        if not error.is_finite():
            raise PrecisionLost("the tail of a series at a singular point has no bound here; take a closer point")
        real = not any(isinstance(a, acb) for a in value)
        found = []
        for i, a in enumerate(value):
            radius = (error * weight**i).upper()
            found.append(a + (arb(0, radius) if real else acb(arb(0, radius), arb(0, radius))))
        return found

    def _norm(self, polynomials: Sequence[Sequence[Ball]]) -> tuple[arb, arb, arb]:
        """A bound of ‖A‖ on the ray in the norm max |e_i|/w^i, that weight w, and min |q_r|."""
        size = abs(acb(self.t))
        lead = acb_poly([acb(c) for c in polynomials[-1]])(acb_poly([acb(0), acb(self.t)]))
        smallest = smallest_on_unit(lead)
        tops = [
            (sum((abs(acb(c)) * size**j for j, c in enumerate(row)), arb(0)) / smallest).upper()
            for row in polynomials[:-1]
        ]
        best: tuple[arb, arb] | None = None
        for power in range(0, 12):
            weight = arb(2) ** power
            rest = sum((c * weight ** (i + 1 - self.order) for i, c in enumerate(tops)), arb(0))
            bound = (weight if self.order > 1 else arb(0)).max(rest).upper()
            if best is None or bound < best[0]:
                best = bound, weight
        assert best is not None
        return best[0], best[1], smallest

    def _error(self, rest: Sequence[Sequence[Ball]], count: int, bound: arb, weight: arb, smallest: arb) -> arb:
        """∫ exp(-νs)|q| over the ray, in the weighted norm."""
        size, rate = abs(acb(self.t)), acb(self.rho).real + count - bound
        if not rate > 0:
            return arb("inf")
        log_size = abs(acb(self.t).log())
        width = max((len(g) for g in rest), default=0)
        total = arb(0)
        for k in range(width):
            height = sum((abs(acb(g[k])) * size**j for j, g in enumerate(rest) if k < len(g)), arb(0))
            area = sum((log_size ** (k - i) / arb.fac_ui(k - i) / rate ** (i + 1) for i in range(k + 1)), arb(0))
            total += height * area
        front = (size.log() * (acb(self.rho).real + count)).exp()
        return arb((front * total / smallest * weight ** (1 - self.order)).upper())

    def _values(self, terms: Sequence[Sequence[Ball]]) -> list[Ball]:
        """θ^i of the partial sum, i below the order."""
        width = max((len(y) for y in terms), default=1)
        base, logs = self._powers(width)
        totals: list[Ball] = [arb(0)] * self.order
        power: Ball = arb(1)
        for n, y in enumerate(terms):
            moved = list(y)
            for i in range(self.order if y else 0):
                value = sum((c * logs[k] for k, c in enumerate(moved)), arb(0))
                totals[i] = totals[i] + power * value
                # θ acts as ρ + n + S
                following = [*moved[1:], arb(0)]
                moved = [(self.rho + n) * a + b for a, b in zip(moved, following, strict=True)]
            power = power * self.t
        return [base * a for a in totals]

    def _powers(self, width: int) -> tuple[Ball, list[Ball]]:
        """t^ρ and log(t)^k/k!, real where they can be."""
        exact = self.group.base.rational
        positive = isinstance(self.t, arb) and self.t > 0
        t = self.t if positive else acb(self.t)
        log = t.log() if width > 1 or exact is None or exact.denominator != 1 else arb(0)
        if exact is not None and exact.denominator == 1:
            base = self.t ** int(exact)
        else:
            base = (self.rho * log).exp() if isinstance(log, arb) else (acb(self.rho) * log).exp()
        return base, [log**k / arb.fac_ui(k) if k else arb(1) for k in range(width)]

    def _derivatives(self, thetas: Sequence[Ball]) -> list[Ball]:
        """t^k y^(k) = θ(θ-1)…(θ-k+1) y; at infinity derivatives in x = 1/t, where θ has the other sign."""
        falling, result = fmpz_poly([1]), []
        sign, x = (-1, 1 / self.t) if self.infinite else (1, self.t)
        for k in range(self.order):
            value = sum((int(falling[i]) * sign**i * thetas[i] for i in range(k + 1) if falling[i] != 0), arb(0))
            result.append(value / x**k)
            falling = falling * fmpz_poly([-k, 1])
        return result


def _divide(right: Sequence[Ball], unit: Sequence[Ball]) -> list[Ball]:
    """Solve U(S) z = right, U(S) = Σ unit_l S^l, from the highest logarithm down."""
    size = len(right)
    z: list[Ball] = [arb(0)] * size
    for i in range(size - 1, -1, -1):
        known = sum((unit[e] * z[i + e] for e in range(1, min(len(unit), size - i))), arb(0))
        z[i] = (right[i] - known) / unit[0]
    return z
