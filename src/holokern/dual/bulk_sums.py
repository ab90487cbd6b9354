"""The machine code that sums series of cosines; apart, as importing numba takes a while."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

__all__ = ["sum_cosines"]

_CHUNK = 64


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def sum_cosines(coefficients: Any, angle: Any, result: Any) -> None:
    """Write Σ coefficients[p, m] cos(m angle[p, j]); the cosines by rotation, which keeps small angles exact."""
    count, terms = coefficients.shape
    step, turn = np.empty(_CHUNK), np.empty(_CHUNK)
    cosine, sine, total = np.empty(_CHUNK), np.empty(_CHUNK), np.empty(_CHUNK)
    for p in range(count):
        for start in range(0, angle.shape[1], _CHUNK):
            size = min(_CHUNK, angle.shape[1] - start)
            for j in range(size):
                step[j], turn[j] = math.cos(angle[p, start + j]), math.sin(angle[p, start + j])
                cosine[j], sine[j], total[j] = 1.0, 0.0, 0.0
            for m in range(terms):
                a = coefficients[p, m]
                for j in range(size):
                    total[j] += a * cosine[j]
                    old = cosine[j]
                    cosine[j] = old * step[j] - sine[j] * turn[j]
                    sine[j] = sine[j] * step[j] + old * turn[j]
            for j in range(size):
                result[p, start + j] = total[j]
