"""The method ``compiled`` of `dual`: tables over the range of the given deviations, or hinges in closed form."""

from __future__ import annotations

import numpy as np

from holokern.activation import Activation
from holokern.dual.closed.wedge import hinged
from holokern.dual.dual_activation import dual_activation
from holokern.errors import PrecisionLost
from holokern.numeric import Array, limited_work

# units of work that a table may take, about five seconds, and of each point that it serves: a millisecond
_WORK, _WORK_OF_A_POINT = 5e5, 100.0


def cannot_compile(activation: Activation) -> str | None:
    """Why the method ``compiled`` does not serve an activation, or None."""
    owner = dual_activation(activation)
    if owner.is_rough and owner.hinges is None:
        off = [f"a break other than zero, at {float(b):.6g}" for b in activation.breaks if b != 0]
        return (
            f"it has {off[0] if off else 'a fractional power at zero'}, so k is not smooth in the deviations, and it "
            "is not piecewise polynomial; use method='quadrature'"
        )
    return None


def compiled(
    activation: Activation, c1: Array, c2: Array, theta: Array, tolerance: float
) -> tuple[Array, Array, Array, Array]:
    """k, k′ and their errors.

    A table costs seconds where σ is narrow beside the deviations, so the limit of work grows with the number of points.
    """
    owner = dual_activation(activation)
    if owner.is_rough:
        return hinged(activation, c1, c2, theta)
    both = np.concatenate([c1, c2])
    with limited_work(_WORK + _WORK_OF_A_POINT * len(theta)):
        try:
            made = owner.table(float(np.min(both)), float(np.max(both)))
        except PrecisionLost as error:
            raise PrecisionLost(
                f"no table of {activation} for deviations from {np.min(both):g} to {np.max(both):g} and {len(theta)} "
                f"points: {error}; or use method='quadrature'"
            ) from None
    k, kdot = made(c1, c2, theta)
    k_error = made.error * made.norms(c1) * made.norms(c2)
    kdot_error = made.error * made.slope_norms(c1) * made.slope_norms(c2) if made.has_slope else np.full_like(k, np.nan)
    return k, kdot, k_error, kdot_error
