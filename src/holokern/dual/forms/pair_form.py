"""`PairForm`: activations whose k and k′ have closed forms in distances, which networks evaluate pair by pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import pi, sqrt

import numpy as np

from holokern.activation import Activation, closed_terms
from holokern.dual.forms.form import Code, DistanceForm, Places
from holokern.errors import PrecisionLost
from holokern.numeric import Array

_LARGEST = 1e60
"""Deviations of error functions, times γ, whose fifth powers are floats, and the inverses of these."""

KINK, ERF, LINEAR_ERF = 0, 1, 2
"""σ(u) is a u + b |u|, or a + b erf(γu), or a u + b u erf(γu)."""


@dataclass(frozen=True)
class PairForm(DistanceForm):
    """The closed form of an activation, as constants.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> form = pair_form(activation("gelu"), None)
    >>> form.kind == LINEAR_ERF, form.a, form.b, round(form.gamma, 6)
    (True, 0.5, 0.5, 0.707107)
    """

    kind: int  # KINK, ERF or LINEAR_ERF
    # a, b, gamma: the constants of σ; γ > 0 counts for error functions only
    a: float
    b: float
    gamma: float = 1.0

    @property
    def is_smooth(self) -> bool:
        """Whether σ has no kink, so that distances tell k′ as well as angles do."""
        return self.kind != KINK

    def norms(self, c: Array) -> Array:
        """E[σ(cz)²]^(1/2) for deviations c > 0."""
        if self.kind == KINK:
            return np.asarray(sqrt(self.a**2 + self.b**2) * c)
        t, root, angle = self._basics(c)
        if self.kind == ERF:
            return np.asarray(np.sqrt(self.a**2 + 2 / pi * self.b**2 * angle))
        # c is taken out, as its square is no float for small ones
        part = 2 / pi * self.b**2 * (angle + 2 * t**2 / (root * (1 + t**2)))
        return np.asarray(c * np.sqrt(self.a**2 + part))

    def slope_norms(self, c: Array) -> Array:
        """E[σ′(cz)²]^(1/2)."""
        if self.kind == KINK:
            return np.full(np.shape(c), sqrt(self.a**2 + self.b**2))
        t, root, angle = self._basics(c)
        if self.kind == ERF:
            return np.asarray(2 / sqrt(pi) * abs(self.b) * self.gamma / np.sqrt(root))
        flat = t**2 / root * (2 / (1 + t**2) + 1 / root**2)
        return np.asarray(np.sqrt(self.a**2 + 2 / pi * self.b**2 * (angle + flat)))

    def means(self, c: Array) -> Array:
        """E[σ(cz)]."""
        if self.kind == KINK:
            return np.asarray(self.b * sqrt(2 / pi) * c)
        if self.kind == ERF:
            return np.full(np.shape(c), self.a)
        t = sqrt(2) * self.gamma * c
        return np.asarray(self.b * sqrt(2 / pi) * c * t / np.sqrt(1 + t**2))

    def numbers(self, c: Array) -> Array:
        """What the machine code needs to know of deviations c ≥ 0, along a first axis."""
        if self.kind == KINK:
            return np.stack([c, 1 / np.where(c > 0, c, np.inf)])
        if np.max(c, initial=0.0) * self.gamma > _LARGEST:
            raise PrecisionLost(
                f"an error function at the deviation {np.max(c):.3g}: its closed form has no floats above "
                f"{_LARGEST / self.gamma:.3g}; rescale the data"
            )
        t, root, angle = self._basics(c)
        inverse = 1 / np.sqrt(1 + t**2)
        found = [c, inverse, root * inverse**2]
        return np.stack(found if self.kind == ERF else [*found, root, 1 / root, angle])

    @property
    def count(self) -> int:
        """How many numbers these are."""
        return {KINK: 2, ERF: 3, LINEAR_ERF: 6}[self.kind]

    def _basics(self, c: Array) -> tuple[Array, Array, Array]:
        """T = √2 γc, √(1 + 2T²) and the arcsine of T²/(1 + T²)."""
        t = sqrt(2) * self.gamma * c
        root = np.sqrt(1 + 2 * t**2)
        return t, root, np.arctan2(t**2, root)

    def code(self, places: Places) -> Code:
        """The machine code for numbers in these places."""
        from holokern.dual.forms.pair_lines import Formula, erf_lines, kink_lines, linear_erf_lines

        if self.kind == KINK:
            return partial(kink_lines, Formula(self.count, (self.a, self.b)), places)
        if self.kind == ERF:
            return partial(erf_lines, Formula(self.count, (self.b, self.gamma)), places)
        return partial(linear_erf_lines, Formula(self.count, (self.a, self.b, self.gamma)), places)

    def scale(self, high: float) -> float:
        """The angle over which k changes next to θ = 0: the distance of a branch point of the root in k."""
        return 1 / (self.gamma * high)

    @property
    def oscillates(self) -> bool:
        """Whether k also changes over this distance in the logarithms of the deviations: it does not."""
        return False

    def values(self, c: Array, d: Array, theta: Array) -> tuple[Array, Array]:
        """The values k and k′ of pairs: an arcsine, and what Stein's identity adds to it."""
        cosine, square = np.cos(theta), self.b**2 * 2 / pi
        t1, t2 = sqrt(2) * self.gamma * c, sqrt(2) * self.gamma * d
        most, sides = t1 * t2, (1 + t1**2) * (1 + t2**2)
        given = most * cosine
        total = 1 + t1**2 + t2**2
        root = np.sqrt(total + (most * np.sin(theta)) ** 2)
        angle = np.arctan2(given, root)
        if self.kind == ERF:
            return self.a**2 + square * angle, 2 * square * self.gamma**2 / root
        curved = given * angle + ((most * root) ** 2 + given**2) / (sides * root)
        value = self.a**2 * c * d * cosine + square / (2 * self.gamma**2) * curved
        return value, self.a**2 + square * (angle + given / root * ((total + 1) / sides + 1 / root**2))


def pair_form(activation: Activation, homogeneity: float | None) -> PairForm | None:
    """The closed form of an activation in distances, if it is one of the three kinds.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> pair_form(activation("leaky_relu"), 1.0).kind == KINK, pair_form(activation("tanh"), None)
    (True, None)
    """
    if homogeneity == 1.0:
        right, left = (float(v) for v in activation(np.array([1.0, -1.0])))
        return PairForm(KINK, (right - left) / 2, (right + left) / 2)
    terms = closed_terms(activation)
    if isinstance(terms, str) or terms.family != "erf":
        return None
    curved = [term for term in terms.value if term.erf is not None]
    plain = [term for term in terms.value if term.erf is None]
    more = any(term.side or term.rate or term.bend or term.wave or term.offset for term in terms.value)
    if len(curved) != 1 or len(plain) > 1 or more:
        return None
    power = curved[0].power
    if power > 1 or any(term.power != power for term in plain):
        return None
    assert curved[0].erf is not None
    scale, slope = float(terms.scale), float(curved[0].erf)
    # τ(scale·u) has its powers of u scaled; erf is odd
    a, b = (float(part[0].coefficient) * scale**power if part else 0.0 for part in (plain, curved))
    return PairForm(LINEAR_ERF if power else ERF, a, -b if slope * scale < 0 else b, abs(slope * scale))
