"""The Airy function Ai and its derivative at floats, with a phase to twice the precision far out.

Beyond |x| = 12 the asymptotic series [DLMF, 9.7.5, 9.7.6, 9.7.9, 9.7.10] have all digits of a float.  On the left Ai
oscillates with the phase ζ = (2/3)|x|^(3/2); a rounding of ζ would cost as many digits as ζ has.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from holokern.numeric import Array, two_product

FAR = 12.0
"""From here on ζ ≥ 27, where 18 terms leave 1e-17."""

_TERMS = 18
"""Fewer leave more than rounding at |x| = 12."""

_FARTHEST = 1e8
"""Up to here ζ lacks at most 1e-4, so that two terms turn by the rest."""


def airy(x: Array) -> tuple[Array, Array]:
    """Ai(x) and Ai′(x).

    >>> value, slope = airy(np.array([0.0, -1000.0]))
    >>> value.round(12).tolist(), slope.round(12).tolist()
    ([0.355028053888, 0.055971895773], [-0.258819403793, 2.633071019524])
    """
    from scipy import special

    x = np.asarray(x, dtype=float)
    size = np.abs(x)
    far = (size > FAR) & (size <= _FARTHEST)
    value, slope = np.empty_like(x), np.empty_like(x)
    value[~far], slope[~far] = special.airy(x[~far])[:2]
    for here, series in ((far & (x > 0), _decaying), (far & (x < 0), _oscillating)):
        if np.any(here):
            value[here], slope[here] = series(size[here])
    return value, slope


def _decaying(x: Array) -> tuple[Array, Array]:
    """On the right, where Ai falls like exp(-ζ)."""
    phase, rest = _phase(x)
    decay = np.exp(-phase) * (1 - rest) / (2 * sqrt(pi))
    root = np.sqrt(np.sqrt(x))
    return decay / root * np.polyval(_U, -1 / phase), -decay * root * np.polyval(_V, -1 / phase)


def _oscillating(x: Array) -> tuple[Array, Array]:
    """On the left, where Ai(-x) = π^(-1/2) x^(-1/4) (cos(ζ - π/4) P + sin(ζ - π/4) Q)."""
    phase, rest = _phase(x)
    sin, cos = np.sin(phase), np.cos(phase)
    turn_cos, turn_sin = 1 - rest * rest / 2, rest - rest**3 / 6
    sin, cos = sin * turn_cos + cos * turn_sin, cos * turn_cos - sin * turn_sin
    # of ζ - π/4
    sin, cos = (sin - cos) / sqrt(2 * pi), (cos + sin) / sqrt(2 * pi)
    root = np.sqrt(np.sqrt(x))
    square = -1 / (phase * phase)
    # the terms of even and of odd degree
    (odd, even), (slope_odd, slope_even) = ([np.polyval(c[k::2], square) for k in (0, 1)] for c in (_U, _V))
    odd, slope_odd = odd / phase, slope_odd / phase
    return (cos * even + sin * odd) / root, (sin * slope_even - cos * slope_odd) * root


def _phase(x: Array) -> tuple[Array, Array]:
    """ζ = (2/3) x^(3/2) as a float and what it lacks."""
    root = np.sqrt(x)
    square, error = two_product(root, root)
    root_rest = ((x - square) - error) / (2 * root)
    power, error = two_product(x, root)
    power_rest = error + x * root_rest
    third, error = two_product(power, np.full_like(x, _TWO_THIRDS[0]))
    return third, error + power * _TWO_THIRDS[1] + power_rest * _TWO_THIRDS[0]


def _coefficients() -> list[float]:
    """u_k of the series [DLMF, 9.7.2], those of low degree first."""
    found = [1.0]
    for k in range(1, _TERMS):
        found.append(found[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)))
    return found


_U = _coefficients()[::-1]  # the coefficients of the series of Ai and of Ai′, highest degree first
_V = [u * (6 * k + 1) / (1 - 6 * k) for k, u in enumerate(_U[::-1])][::-1]  # [DLMF, 9.7.2]
_TWO_THIRDS = (2 / 3, 2**-54 * 2 / 3)  # 2/3 as a float and what it lacks
