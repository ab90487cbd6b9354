"""Whether a network has a tangent kernel."""

from __future__ import annotations

from holokern.network.hidden_layer import HiddenLayer


def jumping(layers: tuple[HiddenLayer, ...]) -> bool:
    """Whether an activation jumps, or is as steep as a root."""
    return any(layer.dual.jumps for layer in layers)


def require_tangent(layers: tuple[HiddenLayer, ...]) -> None:
    """Refuse layers whose NTK is infinite on the diagonal.

    Raises
    ------
    Unsupported
        If an activation jumps, or is as steep as a root.
    """
    for layer in layers:
        layer.dual.require_tangent()
