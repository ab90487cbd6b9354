"""A factor exp(q₁u² + q₂v²) turns one normal law into another one: covariances without cancellation near r = ±1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holokern.numeric import Array


@dataclass(frozen=True)
class Law:
    """A weight times a centred normal law: deviations c1, c2 and the cosine and sine of the angle, flat arrays."""

    c1: Array
    c2: Array
    cos: Array
    sin: Array
    weight: Array

    @classmethod
    def of(cls, c1: Array, c2: Array, theta: Array) -> Law:
        """The normal law of deviations c1, c2 and correlation cos θ."""
        return cls(c1, c2, np.cos(theta), np.sin(theta), np.ones(len(theta)))

    @property
    def covariance(self) -> Array:
        """E[uv]."""
        return self.c1 * self.c2 * self.cos

    @property
    def covariance_size(self) -> Array:
        """What the rounding error of E[uv] is measured by: it does not vanish with cos θ."""
        return self.c1 * self.c2 * (np.abs(self.cos) + self.sin)

    @property
    def angle(self) -> Array:
        """θ in [0, π]."""
        return np.arctan2(self.sin, self.cos)

    def times_gaussian(self, q1: float, q2: float) -> Law:
        """The law with density multiplied by exp(q₁u² + q₂v²), q₁, q₂ ≤ 0; its mass goes into the weight.

        With b = -2q: det(1 + Σ diag b) = 1 + b₁c₁² + b₂c₂² + b₁b₂ det Σ, a sum of positive terms.
        """
        if q1 == 0 and q2 == 0:
            return self
        b1, b2 = -2 * q1, -2 * q2
        first, second = self.c1**2, self.c2**2
        det = first * second * self.sin**2
        mass = 1 + b1 * first + b2 * second + b1 * b2 * det
        c1, c2 = np.sqrt((first + b2 * det) / mass), np.sqrt((second + b1 * det) / mass)
        cos, sin = self.covariance / (mass * c1 * c2), np.sqrt(det / mass) / (c1 * c2)
        length = np.hypot(cos, sin)
        return Law(c1, c2, cos / length, sin / length, self.weight / np.sqrt(mass))

    def quadratic_form(self, a: complex, b: complex) -> tuple[Array, Array]:
        """(a, b) Σ (a, b)ᵀ and the size of its parts, by half angles: opposite a, b do not cancel near r = 1."""
        half = self.angle / 2
        near = self.cos >= 0
        product = a * b * self.c1 * self.c2
        square = np.where(near, a * self.c1 + b * self.c2, a * self.c1 - b * self.c2) ** 2
        rest = np.where(near, -4 * product * np.sin(half) ** 2, 4 * product * np.cos(half) ** 2)
        return square + rest, np.abs(square) + np.abs(rest)
