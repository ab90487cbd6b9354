"""`GaussianForm`: a Gaussian, whose k is one over a root."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from holokern.activation import Activation, closed_terms
from holokern.dual.forms.form import Code, LineForm, Places
from holokern.numeric import Array


@dataclass(frozen=True)
class GaussianForm(LineForm):
    """σ(u) = height · exp(-rate · u²).

    Examples
    --------
    >>> from holokern.activation import activation
    >>> gaussian_form(activation("2*exp(-3*u^2)"))
    GaussianForm(height=2.0, rate=3.0)
    """

    height: float
    rate: float

    def norms(self, c: Array) -> Array:
        """E[σ(cz)²]^(1/2) for deviations c ≥ 0."""
        return np.asarray(abs(self.height) / np.sqrt(self._root(c)))

    def slope_norms(self, c: Array) -> Array:
        """E[σ′(cz)²]^(1/2)."""
        return np.asarray(2 * self.rate * abs(self.height) * c * self._root(c) ** -1.5)

    def means(self, c: Array) -> Array:
        """E[σ(cz)]."""
        return np.asarray(self.height / np.sqrt(1 + 2 * self.rate * c**2))

    def _root(self, c: Array) -> Array:
        return np.asarray(np.sqrt(1 + 4 * self.rate * c**2))

    @property
    def count(self) -> int:
        """How many numbers the machine code needs of a deviation."""
        return 3

    def numbers(self, c: Array) -> Array:
        """These numbers: c, 1/c (0 for zeros), and the root of 1 + 4 rate c²."""
        return np.stack([c, 1 / np.where(c > 0, c, np.inf), self._root(c)])

    def code(self, places: Places) -> Code:
        """The machine code for numbers in these places."""
        from holokern.dual.forms.pair_lines import Formula, gaussian_lines

        return partial(gaussian_lines, Formula(self.count, (self.height, self.rate)), places)


def gaussian_form(activation: Activation) -> GaussianForm | None:
    """The form of an activation, None if it is not a Gaussian around zero.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> gaussian_form(activation("exp(-u^2) + 1")), gaussian_form(activation("u*exp(-u^2)"))
    (None, None)
    """
    terms = closed_terms(activation)
    if isinstance(terms, str) or terms.family != "smooth" or len(terms.value) != 1:
        return None
    (term,) = terms.value
    if term.power or term.rate or term.wave or term.bend >= 0:
        return None
    form = GaussianForm(float(term.coefficient), -float(term.bend) * float(terms.scale) ** 2)
    return form if np.isfinite(form.height) and np.isfinite(form.rate) and form.rate > 0 else None
