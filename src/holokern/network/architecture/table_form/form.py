"""`TableForm`: an activation with a table, whose pairs machine code looks up like those of closed forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from holokern.dual import Code, DualActivation, DualTable, LineForm, Places
from holokern.network.architecture.table_form.chords import Chords, chords_of
from holokern.network.architecture.table_form.polynomials import in_fours
from holokern.network.architecture.table_form.series_terms import terms_of
from holokern.numeric import Array, Range, Series


@dataclass(frozen=True, eq=False)
class TableForm(LineForm):
    """An activation for deviations in a range.

    Attributes
    ----------
    dual
        The activation.
    table
        Its table for all angles.
    chords
        Polynomials of chords and of functions of deviations.
    functions
        log n, log gn and log d, as the columns of one series.
    """

    dual: DualActivation
    table: DualTable
    chords: Chords
    functions: Series

    @classmethod
    def of(cls, dual: DualActivation, whole: Range, span: Range) -> TableForm | None:
        """The form for a part of a range of log c that has a table; None if the activation is too rough on it."""
        from holokern.network.architecture.table_form.chord_code import KNOWN, RANK, TERMS

        table = dual.table(*whole.ends, 0.0)
        part = table.table.range if table.homogeneity is not None else span
        made = chords_of(table, terms_of(dual, table, part, TERMS - 3), span, KNOWN, RANK)
        return None if made is None else cls(dual, table, *made)

    def norms(self, c: Array) -> Array:
        """E[σ(cz)²]^(1/2) for deviations c ≥ 0."""
        if self.table.homogeneity is None:
            safe = self._safe(c)
            return self._with_zeros(np.exp(_at(self.functions, 0, np.log(safe))), c, self.dual.limits.norm)
        return self._usual(self.table.norms, c, self.dual.limits.norm)

    def slope_norms(self, c: Array) -> Array:
        """E[σ′(cz)²]^(1/2), and 0 for zeros, where Θ is zero."""
        if self.table.homogeneity is None:
            return self._with_zeros(np.exp(_at(self.table.log_slope, 0, np.log(self._safe(c)))), c, 0.0)
        return self._usual(self.table.slope_norms, c, 0.0)

    def means(self, c: Array) -> Array:
        """E[σ(cz)]."""
        if self.table.homogeneity is None:
            found = _at(self.table.mean, 0, np.log(self._safe(c))) * self.norms(c)
            return self._with_zeros(found, c, self.dual.limits.mean)
        return self._usual(self.table.means, c, self.dual.limits.mean)

    def _safe(self, c: Array) -> Array:
        """With another deviation instead of zeros."""
        return np.where(c > 0, c, np.exp(self.functions.range.low)) if has_zeros(c) else c

    def _usual(self, function: Callable[[Array], Array], c: Array, limit: float) -> Array:
        return self._with_zeros(function(self._safe(c).reshape(-1)).reshape(c.shape), c, limit)

    @staticmethod
    def _with_zeros(found: Array, c: Array, limit: float) -> Array:
        return np.where(c > 0, found, limit) if has_zeros(c) else found

    @property
    def count(self) -> int:
        """How many numbers the machine code needs of a variable."""
        from holokern.network.architecture.table_form.chord_code import GIVEN

        return GIVEN

    def numbers(self, c: Array) -> Array:
        """c, 1/c, log c, n, gn and d; 1/c is 0 for zeros."""
        found, safe = np.empty((self.count, *c.shape)), self._safe(c)
        found[0] = c
        np.divide(1.0, np.where(c > 0, c, np.inf) if safe is not c else c, out=found[1])
        np.log(safe, out=found[2])
        _sums(self.functions, found[2], found[3:])
        np.exp(found[3:], out=found[3:])
        if self.table.homogeneity is not None:
            found[4] *= self.norms(c) / found[3]
            found[5] = self.slope_norms(c)
        if self.table.homogeneity is not None or safe is not c:
            found[3] = self.norms(c)
        return found

    def norms_of(self, numbers: Array) -> Array:
        """They are among the numbers."""
        return np.asarray(numbers[3])

    def slope_norms_of(self, numbers: Array) -> Array:
        """They are among the numbers."""
        return self._with_zeros(np.asarray(numbers[5]), numbers[0], 0.0)

    def code(self, places: Places) -> Code:
        """The machine code for numbers in these places; lines have one first variable each."""
        from holokern.network.architecture.table_form.chord_lines import chord_lines

        assert not places.is_tied
        return partial(chord_lines, self.chords, places)


def has_zeros(c: Array) -> bool:
    """Whether some deviations are zero: a minimum takes a tenth of the time of `numpy.all`."""
    return bool(np.min(c, initial=1.0) == 0.0)


def _at(series: Series, column: int, logs: Array) -> Array:
    """The values of a series, by machine code: images have many positions."""
    found, given = np.empty((1, *logs.shape)), series.coefficients.reshape(len(series.coefficients), -1)
    _sums(Series(series.range, given[:, column : column + 1]), logs, found)
    return np.asarray(found[0])


def _sums(series: Series, logs: Array, out: Array) -> None:
    """The values of several series, which are the columns of one."""
    from holokern.network.architecture.table_form.series_code import chebyshev_sums

    given = series.coefficients
    places = np.ascontiguousarray(series.range.place(logs)).reshape(-1)
    chebyshev_sums(*in_fours(given), given.shape[1], places, out.reshape(-1))
