"""Whether a network has a tangent kernel."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from holokern.errors import Unsupported
from holokern.network.plan import LayerSpec

__all__ = ["jumping", "require_tangent"]


@lru_cache(maxsize=256)
def jumping(specs: tuple[LayerSpec, ...]) -> tuple[Any, ...]:
    """The activations that jump."""
    return tuple(sigma for sigma in dict.fromkeys(spec.activation for spec in specs) if sigma.jump_order == 0)


def require_tangent(specs: tuple[LayerSpec, ...]) -> None:
    """Refuse layers whose NTK is infinite on the diagonal.

    Raises
    ------
    Unsupported
        If an activation jumps.
    """
    for sigma in jumping(specs):
        raise Unsupported(
            f"the NTK of a network with {sigma} does not exist: the activation jumps, so k̇ is infinite on the "
            "diagonal; use nngp, or a continuous activation"
        )
