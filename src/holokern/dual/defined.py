"""Which activations have dual activations: those that are real and square-integrable under the normal law."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

import numpy as np

from holokern.activation import REGISTRY, Activation, not_square_integrable
from holokern.errors import BadInput, NotHolonomic, TooLarge, Unsupported

# distances from zero and from the breaks at which σ must be a real number
_PROBES = np.array([-3.1, -1.3, -0.37, -0.011, 0.011, 0.37, 1.3, 3.1])
_NUDGE = 1e-6  # from a probe to another one, between the same breaks


@lru_cache(maxsize=256)
def check_defined(sigma: Activation) -> None:
    """Refuse σ that is not a real number somewhere between its breaks, or not square-integrable.

    Raises BadInput with the place.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> check_defined(activation("gelu"))
    """
    # the tests check those of the catalogue; here it would cost a new process a fifth of a second
    if sigma.name in REGISTRY and sigma.is_plain():
        return
    refuse_undefined(sigma)


def refuse_undefined(sigma: Activation) -> None:
    """The check itself."""
    if not sigma.is_holonomic:
        with suppress(NotHolonomic, Unsupported, TooLarge):
            _ = sigma.annihilator
    breaks = np.array([float(b) for b in sigma.breaks])
    u = np.add.outer(np.append(breaks, 0.0), _PROBES).ravel()
    with np.errstate(all="ignore"):
        unreal = u[np.isnan(sigma(u))]
        # infinite at two points means on an interval
        infinite = u[np.isinf(sigma(u)) & np.isinf(sigma(u + _NUDGE))]
    with suppress(Unsupported):
        # balls do not overflow
        unreal = np.append(unreal, [place for place in infinite if not sigma.ball(Fraction(place)).is_finite()])
    if len(unreal):
        raise BadInput(f"{sigma} is not a real number at u = {unreal[0]:g}; use Abs or cases to make it real")
    reason = not_square_integrable(sigma)
    if reason is not None:
        raise BadInput(f"E[σ²] of {sigma} is infinite: {reason}; dual activations need a square-integrable σ")
