"""Whether a network has a tangent kernel."""

from __future__ import annotations

from holokern.errors import Unsupported
from holokern.network.hidden_layer import HiddenLayer


def jumping(layers: tuple[HiddenLayer, ...]) -> bool:
    """Whether an activation jumps."""
    return any(layer.dual.jumps for layer in layers)


def require_tangent(layers: tuple[HiddenLayer, ...]) -> None:
    """Refuse layers whose NTK is infinite on the diagonal.

    Raises
    ------
    Unsupported
        If an activation jumps.
    """
    for layer in layers:
        if layer.dual.jumps:
            raise Unsupported(
                f"the NTK of a network with {layer.activation} does not exist: the activation jumps, so k′ is infinite "
                "on the diagonal; use nngp, or a continuous activation"
            )
