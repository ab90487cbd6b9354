"""`WaveForm`: a sine or a cosine beside a line, whose k and k′ are sums of a few exponentials."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from holokern.activation import Activation, closed_terms
from holokern.dual.forms.form import Code, DistanceForm, Places
from holokern.numeric import Array

_CANCELLED = 0.25
"""The share of the slope at zero that must be left when the line and the sine have opposite signs: u - sin(u) has none,
and its formula loses all digits for small deviations."""

_TINY = 1e-100
"""Deviations below this have squares that may be no floats; there σ is its tangent."""


@dataclass(frozen=True)
class WaveForm(DistanceForm):
    """σ(u) = start + line·u + even·(cos(wu) - 1) + odd·sin(wu).

    With α = w²c²/2, β = w²d²/2 and γ = w² Cov(u, v) the expectations of products are e^(-α-β) times cosh γ or sinh γ.
    They are written as differences that do not cancel.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> form = wave_form(activation("snake"))
    >>> form.start, form.line, form.even, form.odd, form.frequency
    (0.0, 1.0, -0.5, 0.0, 2.0)
    """

    start: float
    line: float
    even: float
    odd: float
    frequency: float

    def norms(self, c: Array) -> Array:
        """E[σ(cz)²]^(1/2) for deviations c > 0."""
        fall, twice, faded = self._alone(c)
        mixed = 2 * self.line * self.odd * self.frequency * faded
        odd = c**2 * (self.line**2 + mixed) - self.odd**2 * twice * (2 + twice) / 2
        odd = np.where(c < _TINY, (self.line + self.odd * self.frequency) ** 2 * c * c, odd)
        part = np.where(c < _TINY, np.abs(self.line + self.odd * self.frequency) * c, np.sqrt(odd))
        even = (self.start + self.even * fall) ** 2 + self.even**2 * twice**2 / 2
        return np.asarray(np.hypot(part, np.sqrt(even)))

    def slope_norms(self, c: Array) -> Array:
        """E[σ′(cz)²]^(1/2)."""
        _, twice, faded = self._alone(c)
        line = self.line**2 + 2 * self.line * self.odd * self.frequency * faded
        waves = self.odd**2 * (1 + (1 + twice) ** 2) - self.even**2 * twice * (2 + twice)
        return np.asarray(np.sqrt(line + self.frequency**2 * waves / 2))

    def means(self, c: Array) -> Array:
        """E[σ(cz)]."""
        return np.asarray(self.start + self.even * self._alone(c)[0])

    def _alone(self, c: Array) -> tuple[Array, Array, Array]:
        """e^(-α) - 1, e^(-2α) - 1 and e^(-α)."""
        alpha = (self.frequency * c) ** 2 / 2
        return np.expm1(-alpha), np.expm1(-2 * alpha), np.exp(-alpha)

    def values(self, c: Array, d: Array, theta: Array) -> tuple[Array, Array]:
        """The values k and k′ of pairs, for arrays that go together."""
        product, square = c * d, self.frequency**2
        # 1 - |cos θ|, e^(-α-β+|γ|) and e^(-|γ|) - 1, with all digits
        below = np.sin(np.minimum(theta, np.pi - theta) / 2) ** 2 * 2
        rest = np.exp(-square * ((c - d) ** 2 / 2 + product * below))
        less = np.expm1(square * product * (below - 1))
        far = theta > np.pi / 2
        sines = rest * less * (2 + less)
        np.negative(sines, out=sines, where=~far)
        value, slope = np.zeros_like(sines), np.zeros_like(sines)
        if self.line:
            faded = self._alone(c)[2] + self._alone(d)[2] if self.odd else 0.0
            mixed = self.line**2 + self.line * self.odd * self.frequency * faded
            value += mixed * product * np.where(far, below - 1, 1 - below)
            slope += mixed
        if self.odd:
            value += self.odd**2 / 2 * sines
            slope += square * self.odd**2 / 2 * rest * (1 + (1 + less) ** 2)
        if self.even or self.start:
            value += self.means(c) * self.means(d) + self.even**2 / 2 * rest * less**2
            slope += square * self.even**2 / 2 * sines
        return value, slope

    @property
    def count(self) -> int:
        """How many numbers the machine code needs of a deviation."""
        return 4

    def numbers(self, c: Array) -> Array:
        """These numbers: c, 1/c (0 for zeros), 1 - e^(-2α) and e^(-α)."""
        _, twice, faded = self._alone(c)
        return np.stack([c, 1 / np.where(c > 0, c, np.inf), -twice, faded])

    def code(self, places: Places) -> Code:
        """The machine code for numbers in these places."""
        from holokern.dual.forms.pair_lines import Formula, wave_lines

        formula = Formula(self.count, (self.line, self.even, self.odd, self.frequency))
        return partial(wave_lines, formula, places)

    def scale(self, high: float) -> float:
        """The angle over which k changes next to θ = 0, for deviations up to ``high``."""
        return 1 / (self.frequency * high)

    @property
    def oscillates(self) -> bool:
        """Whether k also changes over this distance in the logarithms of the deviations: it does."""
        return True


def wave_form(activation: Activation) -> WaveForm | None:
    """The form of an activation, None if it is not a line and waves of one frequency.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> wave_form(activation("cos")).frequency, wave_form(activation("sin(u) + sin(2*u)")), wave_form(activation("erf"))
    (1.0, None, None)
    """
    terms = closed_terms(activation)
    if isinstance(terms, str) or terms.family != "smooth":
        return None
    scale, found, frequencies = float(terms.scale), {"": 0.0, "u": 0.0, "cos": 0.0, "sin": 0.0}, set()
    for term in terms.value:
        if term.rate or term.bend or term.power > (0 if term.wave else 1):
            return None
        found[term.wave or ("u" if term.power else "")] += float(term.coefficient) * scale**term.power
        frequencies |= {float(term.frequency) * scale} if term.wave else set()
    if len(frequencies) != 1:
        return None
    (frequency,) = frequencies
    odd = found["sin"] if frequency > 0 else -found["sin"]
    form = WaveForm(found[""] + found["cos"], found["u"], found["cos"], odd, abs(frequency))
    sizes = abs(form.line) + abs(form.odd * form.frequency)
    cancels = abs(form.line + form.odd * form.frequency) < _CANCELLED * sizes
    return None if cancels or not all(map(np.isfinite, found.values())) else form
