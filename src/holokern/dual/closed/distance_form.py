"""`DistanceForm`: a closed form of k and k′ that keeps the digits of nearly equal points, so that it needs no table."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from holokern.dual.line_form import Form
from holokern.numeric import Array

_NEAR = 0.01
"""Below this loss 1 - k/(n₁n₂) has lost two digits."""


class DistanceForm(Form):
    """Closed forms of k, k′ and of the distance ½E[(σ(u) - σ(v))²]."""

    @abstractmethod
    def values(self, c: Array, d: Array, theta: Array) -> tuple[Array, Array]:
        """The values k and k′ of pairs, for arrays that go together."""

    @abstractmethod
    def gaps(self, c: Array, d: Array, given: Array) -> Array:
        """½E[(σ(u) - σ(v))²] from ½E[(u - v)²], for flat arrays of pairs that nearly coincide."""

    @abstractmethod
    def scale(self, high: float) -> float:
        """The angle over which k changes next to θ = 0, for deviations up to ``high``."""

    @property
    @abstractmethod
    def oscillates(self) -> bool:
        """Whether k also changes over this distance in the logarithms of the deviations."""

    def losses(self, theta: Array, c: Array, d: Array, folded: bool, with_slope: bool) -> tuple[Array, Array]:
        """1 - |k|/(n₁n₂) and k′ for a matrix of angles between points with deviations c and d.

        If ``folded``, |k| is that of the supplement past π/2. Without slopes k′ is zero.

        Examples
        --------
        >>> from holokern.activation import activation
        >>> from holokern.dual.closed.pair_form import pair_form
        >>> form, c = pair_form(activation("erf"), None), np.array([0.5])
        >>> lost, slope = form.losses(np.full((1, 1), np.pi / 3), c, c, True, True)
        >>> k = form.norms(c)[0] ** 2 * (1 - lost[0, 0])
        >>> bool(abs(k - 2 / np.pi * np.arcsin(0.25 / 1.5)) < 1e-15)
        True
        """
        angle = np.minimum(theta, np.pi - theta) if folded else theta
        one, other = self.norms(c), self.norms(d)
        value, slope = self.values(c[:, None], d, angle)
        lost = 1 - value / (one[:, None] * other)
        rows, columns = np.nonzero(lost < _NEAR)
        if len(rows):
            # Nearly equal points keep their digits through their distance; that of different lengths says little.
            first, second, between = c[rows], d[columns], angle[rows, columns]
            apart = (first - second) ** 2
            given = 2 * first * second * np.sin(between / 2) ** 2 + apart / 2
            gap = self.gaps(first, second, given) - (one[rows] - other[columns]) ** 2 / 2
            kept = np.where(apart <= first * second / 4, gap / (one[rows] * other[columns]), lost[rows, columns])
            lost[rows, columns] = np.where((apart == 0) & (between == 0), 0.0, kept)
        return np.maximum(lost, 0.0, out=lost), slope if with_slope else np.zeros_like(lost)
