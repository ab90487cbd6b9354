"""`TableForm`: an activation with a table, whose pairs machine code looks up like those of closed forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from holokern.dual import Code, DualActivation, DualTable, LineForm, Places
from holokern.network.architecture.chords import Chords, chords_of
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
        These functions, as the columns of one series.
    """

    dual: DualActivation
    table: DualTable
    chords: Chords
    functions: Series

    @classmethod
    def of(cls, dual: DualActivation, whole: Range, span: Range) -> TableForm | None:
        """The form for a part of a range of log c that has a table; None if the activation is too rough on it."""
        from holokern.network.architecture.chord_lines import RANK

        table = dual.table(*whole.ends, 0.0)
        made = chords_of(table, span, RANK)
        return None if made is None else cls(dual, table, *made)

    def norms(self, c: Array) -> Array:
        """E[σ(cz)²]^(1/2) for deviations c ≥ 0."""
        return self._radical(self.table.log_norm, self.table.norms, c, self.dual.limits.norm)

    def slope_norms(self, c: Array) -> Array:
        """E[σ′(cz)²]^(1/2), and 0 for zeros, where Θ is zero."""
        return self._radical(self.table.log_slope, self.table.slope_norms, c, 0.0)

    def means(self, c: Array) -> Array:
        """E[σ(cz)]."""
        if self.table.homogeneity is None:
            found = _at(self.table.mean, np.log(self._safe(c))) * self.norms(c)
        else:
            found = self.table.means(self._safe(c).reshape(-1)).reshape(c.shape)
        return np.where(c > 0, found, self.dual.limits.mean)

    def _safe(self, c: Array) -> Array:
        """With another deviation instead of zeros."""
        return c if np.all(c) else np.where(c > 0, c, np.exp(self.functions.range.low))

    def _radical(self, series: Series, usual: Callable[[Array], Array], c: Array, limit: float) -> Array:
        safe = self._safe(c)
        if self.table.homogeneity is None:
            found = np.exp(_at(series, np.log(safe)))
        else:
            found = usual(safe.reshape(-1)).reshape(c.shape)
        return found if safe is c else np.where(c > 0, found, limit)

    @property
    def count(self) -> int:
        """How many numbers the machine code needs of a variable."""
        from holokern.network.architecture.chord_lines import HEAD

        return HEAD + int(self.functions.coefficients.shape[1])

    def numbers(self, c: Array) -> Array:
        """c, 1/c, log c, n, gn and the functions; 1/c is 0 for zeros."""
        safe, rank = self._safe(c), self.functions.coefficients.shape[1]
        logs, norms, found = np.log(safe), self.norms(c), np.empty((self.count, *c.shape))
        small = norms
        if self.table.power == 2:
            ratio = safe * self.slope_norms(c) / np.where(norms > 0, norms, 1.0)
            small = norms * ratio / (1 + ratio**2) ** 0.25
        found[:-rank] = c, 1 / np.where(c > 0, c, np.inf), logs, norms, small
        _sums(self.functions, logs, found[-rank:])
        return found

    def code(self, places: Places) -> Code:
        """The machine code for numbers in these places; lines have one first variable each."""
        from holokern.network.architecture.chord_lines import chord_lines

        assert not places.is_tied
        return partial(chord_lines, self.chords, places)


def _at(series: Series, logs: Array) -> Array:
    """The values of a series, by machine code: images have many positions."""
    found = np.empty((1, *logs.shape))
    _sums(Series(series.range, series.coefficients[:, None]), logs, found)
    return np.asarray(found[0])


def _sums(series: Series, logs: Array, out: Array) -> None:
    """The values of several series, which are the columns of one."""
    from holokern.network.architecture.series_code import chebyshev_sums

    given = series.coefficients.T
    even = np.ascontiguousarray(np.pad(given, ((0, 0), (0, given.shape[1] % 2))))
    chebyshev_sums(even, np.ascontiguousarray(series.range.place(logs)).reshape(-1), out)
