"""Exponentials of machine code."""

import mpmath
import numpy as np

from holokern.numeric import machine


@machine.entry
def _values(x, out):
    for j in range(len(x)):
        out[j] = machine.exponential_less_one(x[j])


def test_values_have_all_digits():
    rng = np.random.default_rng(0)
    x = -np.concatenate([10 ** rng.uniform(-300, 2.8, 2000), np.arange(40) * np.log(2) / 2, [0.0, 699.9, 701.0, 1e9]])
    out = np.empty(len(x))
    _values(x, out)
    with mpmath.workdps(40):
        wanted = [mpmath.expm1(mpmath.mpf(float(v))) for v in x]
        off = [abs((mpmath.mpf(float(a)) - b) / b) if b else abs(a) for a, b in zip(out, wanted, strict=True)]
    assert max(map(float, off)) < 4e-16
    assert out[-1] == -1.0
