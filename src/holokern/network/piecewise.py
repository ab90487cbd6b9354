"""Layers whose activation breaks away from zero: hinges in closed form, or else quadrature pair by pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holokern.dual.compiled_pieces import Pieces
from holokern.dual.compiled_wedge import WedgeSide
from holokern.dual.panels import Array
from holokern.dual.quadrature import quadrature
from holokern.errors import Unsupported
from holokern.network.layer_spec import LayerSpec, Side

__all__ = ["DirectPlan", "PairwisePlan", "WedgePlan"]

_TOLERANCE = 1e-13


@dataclass(frozen=True)
class PairwisePlan(ABC):
    """One layer for all tiles, whose plan knows 1 - k/(n₁n₂) and k̇ of a tile."""

    spec: LayerSpec
    sides: tuple[Side, Side]

    @cached_property
    def fold(self) -> int:
        """+1 if k is even in r, -1 if it is odd: then tiles hold |k| past π/2."""
        return {"even": 1, "odd": -1}.get(self.spec.activation.parity or "", 0)

    @cached_property
    def has_slope(self) -> bool:
        """Whether k̇ is a function on all of [0, π]."""
        return bool(self.spec.activation.jump_order != 0)

    @property
    def local(self) -> Any:
        """There are no tensors.

        Raises
        ------
        Unsupported
            Always.
        """
        raise Unsupported(
            f"{self.spec.activation} has no compiled tensors, its kernels are computed pair by pair; pass numpy arrays"
        )

    @abstractmethod
    def tile(self, theta: Array, some: slice, others: slice) -> tuple[Array, Array]:
        """Both 1 - k/(n₁n₂) and k̇ for a tile of angles."""


@dataclass(frozen=True)
class WedgePlan(PairwisePlan):
    """A piecewise polynomial activation."""

    pieces: Pieces
    wedges: tuple[WedgeSide, WedgeSide]

    @cached_property
    def mirrored(self) -> bool:
        """Whether the hinges on one side of zero are mirror images of the others."""
        hinges = {(h.at, h.sign) for h in self.pieces.hinges}
        return self.fold != 0 and all(at > 0 and (at, -sign) in hinges for at, sign in hinges)

    def tile(self, theta: Array, some: slice, others: slice) -> tuple[Array, Array]:
        """Both 1 - k/(n₁n₂) and k̇ for a tile of angles."""
        from holokern.dual.compiled_wedge_sums import wedge_tile

        lost, slope = np.empty_like(theta), np.empty_like(theta)
        first, second = self.wedges[0].part(some), self.wedges[1].part(others)
        flags = (self.fold, not self.has_slope, self.mirrored)
        arguments: list[Any] = [theta, *flags, first.jumps, *first.arrays, *second.arrays, lost, slope]
        wedge_tile(*arguments)
        return lost, slope


@dataclass(frozen=True)
class DirectPlan(PairwisePlan):
    """Any activation, by quadrature: right, but thousands of times slower.

    Points that nearly coincide (angles below about 1e-6) lose digits: 1 - k/(n₁n₂) is a difference here.
    """

    def tile(self, theta: Array, some: slice, others: slice) -> tuple[Array, Array]:
        """Both 1 - k/(n₁n₂) and k̇ for a tile of angles."""
        c1, c2 = np.broadcast_arrays(self.sides[0].safe[some][:, None], self.sides[1].safe[others])
        n1, n2 = (side.numbers[1] / np.sqrt(self.spec.weight) for side in self.sides)
        far = (theta > np.pi / 2) if self.fold else np.zeros(theta.shape, dtype=bool)
        angle = np.where(far, np.pi - theta, theta)
        inside = np.clip(angle, 1e-12, np.pi - 1e-12)
        flat = [np.ascontiguousarray(a).ravel() for a in (c1, c2, inside)]
        k, kdot, _, _ = quadrature(self.spec.activation, flat[0], flat[1], flat[2], _TOLERANCE)
        scale = n1[some][:, None] * n2[others]
        lost = 1.0 - k.reshape(theta.shape) / np.where(scale > 0, scale, 1.0)
        lost = np.where((angle == 0) & (c1 == c2), 0.0, np.maximum(lost, 0.0))
        return lost, np.ascontiguousarray(kdot.reshape(theta.shape))
