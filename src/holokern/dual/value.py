"""What `dual` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from holokern.numeric import Array

Number: TypeAlias = "float | Array"


@dataclass(frozen=True, eq=False)
class DualValue:
    """k = E[σ(u)σ(v)] and k′ = E[σ′(u)σ′(v)] with an estimate of the absolute error of each.

    The fields are floats when every input was a number, and arrays of the broadcast shape otherwise.

    Attributes
    ----------
    k, kdot
        The two expectations; k′ may be infinite where σ jumps and the covariance is singular.
    error, kdot_error
        Estimates of the absolute errors of ``k`` and ``kdot``.
    method
        The method that was used; several names are joined by " + ".
    """

    k: Number
    kdot: Number
    error: Number
    kdot_error: Number
    method: str

    @classmethod
    def shaped(cls, arrays: tuple[Array, Array, Array, Array], shape: tuple[int, ...], method: str) -> DualValue:
        """Flat arrays in the shape of the input; arrays without axes become numbers."""
        k, kdot, error, kdot_error = (a.reshape(shape) if shape else float(a[0]) for a in arrays)
        return cls(k, kdot, error, kdot_error, method)

    def __repr__(self) -> str:
        if isinstance(self.k, float):
            parts = f"k={self.k!r}, kdot={self.kdot!r}, error={self.error:.1e}, kdot_error={self.kdot_error:.1e}"
            return f"DualValue({parts}, method={self.method!r})"
        worst, worst_dot = (float(np.max(e, initial=0.0)) for e in (self.error, self.kdot_error))
        parts = f"{self.k.shape} values, error ≤ {worst:.1e}, kdot_error ≤ {worst_dot:.1e}"
        return f"DualValue({parts}, method={self.method!r})"
