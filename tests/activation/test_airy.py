"""Ai and Ai′ at floats against balls: all digits of the amplitude, however fast they turn."""

import numpy as np
import pytest
from flint import arb, ctx

from holokern.activation import activation
from holokern.activation.values.airy import airy


@pytest.mark.parametrize(("low", "high"), [(0.1, 12.0), (12.0, 13.0), (13.0, 100.0), (100.0, 1e4), (1e4, 1e8)])
@pytest.mark.parametrize("side", [-1, 1])
def test_against_balls(low, high, side):
    x = side * np.geomspace(low, min(high, 90.0) if side > 0 else high, 40)
    x = x[np.abs(x) <= high]
    for derivative, found in enumerate(airy(x)):
        for at, value in zip(x, found, strict=True):
            with ctx.workprec(250):
                true = arb(float(at)).airy_ai(derivative=derivative)
                off = float(abs(true - arb(float(value))))
            power = 0.25 if derivative else -0.25
            size = max(abs(at), 1.0) ** power if side < 0 else float(abs(true))
            assert off <= (2e-14 if abs(at) <= 12 else 1.5e-15) * size, at


def test_noise_covers_the_errors():
    sigma = activation("airyai(u)")
    x = -np.geomspace(0.5, 1e6, 60)
    for at, value, bound in zip(x, sigma(x), sigma.noise(x), strict=True):
        with ctx.workprec(250):
            assert float(abs(arb(float(at)).airy_ai() - arb(float(value)))) <= bound
