"""Hermite coefficients E[He_n(z) σ(cz)] by difference HGM in ball arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx, fmpq

from holokern.activation import ExactReal, PieceLine
from holokern.dual.enclosure.hermite_moments import hermite_moments
from holokern.dual.enclosure.moments import Number, hermite_moment
from holokern.dual.hermite.recurrence import Recurrence, hermite_recurrence
from holokern.errors import PrecisionLost
from holokern.numeric import charge, to_ball, working_precision
from holokern.weyl import Operator

# units of work of one term of a step: it takes a twentieth of the time of a value of an activation
_STEP = 0.05


@dataclass(frozen=True, slots=True)
class HermiteSequence:
    """Everything that Hermite coefficients of one activation need, for any standard deviation."""

    line: PieceLine  # the activation cut at its breaks, for the initial values
    operators: tuple[Operator, ...]  # the whole annihilator of τ, where σ(u) = τ(scale · u)
    # the shortest consequence for E[∂^n τ(cz)]; None when every coefficient is integrated
    recurrence: Recurrence | None
    scale: Number | ExactReal

    def coefficients(self, c: Number, count: int) -> list[arb]:
        """E[He_n(z) σ(cz)] for n < ``count`` and a deviation c > 0, at flint's working precision.

        The recurrence runs forwards, so the balls may widen; a caller who finds them too wide asks again with more
        bits.  Where the leading coefficient of the recurrence vanishes the value comes from its integral.

        Examples
        --------
        >>> from holokern.activation import activation
        >>> h = hermite_sequence(activation("Heaviside(u)*u^2").pieces)
        >>> [value.str(6, radius=False) for value in h.coefficients(Fraction(2), 3)]
        ['2.00000', '3.19154', '4.00000']
        """
        recurrence = self._recurrence_at(c)
        if recurrence is None:
            return _integrals(self.line, c, count)
        rows = [(k, row) for k, row in enumerate(recurrence.hermite_form(to_ball(c) * to_ball(self.scale)))]
        order, leading = rows.pop()
        rows = [(k, row) for k, row in rows if not all(a.is_zero() for a in row)]
        values = _integrals(self.line, c, min(count, recurrence.start + order))
        for n in range(recurrence.start, count - order):
            charge(len(rows) * _STEP, int(ctx.prec))
            divisor = _at(leading, n)
            if divisor.contains(0):
                values.append(hermite_moment(self.line, c, n + order))
                continue
            total = arb(0)
            for k, row in rows:
                total -= _at(row, n) * values[n + k]
            values.append(total / divisor)
        return values

    def _recurrence_at(self, c: Number) -> Recurrence | None:
        """The general recurrence, or that of this one c where the general one loses its leading term for every n."""
        if self.recurrence is None:
            return None
        leading = self.recurrence.hermite_form(to_ball(c) * to_ball(self.scale))[-1]
        if any(not a.contains(0) for a in leading):
            return self.recurrence
        if isinstance(c, Fraction) and self.scale == 1:
            return hermite_recurrence(self.operators, fmpq(c.numerator, c.denominator) ** 2)
        raise PrecisionLost(
            f"the recurrence of the Hermite coefficients is singular at or near c = {c}; give c exactly, or another c"
        )


@lru_cache(maxsize=128)
def hermite_sequence(line: PieceLine) -> HermiteSequence:
    """Prepare the Hermite coefficients of a function.

    Raises NotHolonomic when the function satisfies no linear ODE with polynomial coefficients.
    """
    annihilator = line.annihilator
    recurrence = hermite_recurrence(annihilator.operators)
    return HermiteSequence(line, annihilator.operators, recurrence, annihilator.scale)


def integral_sequence(line: PieceLine) -> HermiteSequence:
    """Hermite coefficients without a recurrence, one rigorous integral each: slow, but any pieces will do."""
    return HermiteSequence(line, (), None, Fraction(1))


def _integrals(line: PieceLine, c: Number, count: int) -> list[arb]:
    """E[He_n(z) σ(cz)] for n < ``count`` by integration; those at exact deviations are remembered."""
    if isinstance(c, arb):
        return hermite_moments(line, c, count)
    return list(_integrals_at(line, c, count, ctx.prec))


@lru_cache(maxsize=256)
def _integrals_at(line: PieceLine, c: Fraction, count: int, precision: int) -> tuple[arb, ...]:
    with working_precision(precision):
        return tuple(hermite_moments(line, c, count))


def _at(row: list[arb], n: int) -> arb:
    value = row[-1]
    for a in reversed(row[:-1]):
        value = value * n + a
    return value
