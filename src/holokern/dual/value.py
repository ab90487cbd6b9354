"""Values with errors: the flat arrays that the methods fill, and what `dual` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from holokern.numeric import Array, Index

Number: TypeAlias = "float | Array"


@dataclass(frozen=True, eq=False)
class Estimate:
    """Flat arrays of k, k′ and an error of each; an infinite error means that there is no value yet."""

    k: Array
    kdot: Array
    k_error: Array
    kdot_error: Array

    @classmethod
    def empty(cls, count: int) -> Estimate:
        """An estimate to be filled."""
        return cls(*(np.full(count, start) for start in (np.nan, np.nan, np.inf, np.inf)))

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """(k, k′, error of k, error of k′)."""
        return self.k, self.kdot, self.k_error, self.kdot_error

    def some(self, index: Index) -> Estimate:
        """Some of the entries."""
        return Estimate(*(values[index] for values in self.arrays))

    def put(self, where: Index, other: Estimate) -> None:
        """Overwrite the entries ``where`` with another estimate."""
        for mine, new in zip(self.arrays, other.arrays, strict=True):
            mine[where] = new

    def improve(self, where: Index, other: Estimate) -> None:
        """Overwrite those of the entries ``where`` for which the other estimate has the smaller error.

        A value is never given up for one that is not a number.
        """
        for mine, new in ((self.arrays[::2], other.arrays[::2]), (self.arrays[1::2], other.arrays[1::2])):
            better = np.isnan(mine[0][where]) | np.isnan(mine[1][where]) & ~np.isnan(new[0]) | (new[1] < mine[1][where])
            for old, fresh in zip(mine, new, strict=True):
                old[where[better]] = fresh[better]


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
    def shaped(cls, found: Estimate, shape: tuple[int, ...], method: str) -> DualValue:
        """Flat arrays in the shape of the input; arrays without axes become numbers."""
        k, kdot, error, kdot_error = (a.reshape(shape) if shape else float(a[0]) for a in found.arrays)
        return cls(k, kdot, error, kdot_error, method)

    def __repr__(self) -> str:
        if isinstance(self.k, float):
            parts = f"k={self.k!r}, kdot={self.kdot!r}, error={self.error:.1e}, kdot_error={self.kdot_error:.1e}"
            return f"DualValue({parts}, method={self.method!r})"
        worst, worst_dot = (float(np.max(e, initial=0.0)) for e in (self.error, self.kdot_error))
        parts = f"{self.k.shape} values, error ≤ {worst:.1e}, kdot_error ≤ {worst_dot:.1e}"
        return f"DualValue({parts}, method={self.method!r})"
