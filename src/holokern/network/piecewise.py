"""Layers whose activation breaks away from zero: hinges in closed form, or else quadrature pair by pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holokern.dual.closed.hinges import Pieces
from holokern.dual.closed.wedge import WedgeSide
from holokern.dual.compiled import breaks_away
from holokern.dual.quadrature.method import quadrature
from holokern.dual.quadrature.pairing import Side as Deviations
from holokern.dual.quadrature.pairing import distance
from holokern.dual.quadrature.profile import profile_of
from holokern.errors import Unsupported
from holokern.network.layer_spec import LayerSpec, Side
from holokern.numeric.gauss import legendre_rule
from holokern.numeric.panels import Array

__all__ = ["DirectPlan", "PairwisePlan", "WedgePlan"]

_TOLERANCE = 1e-13
_NEAR = 1e-4
_NODES, _HALVINGS = 10, 8


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
        from holokern.dual.closed.wedge_sums import wedge_tile

        lost, slope = np.empty_like(theta), np.empty_like(theta)
        first, second = self.wedges[0].part(some), self.wedges[1].part(others)
        flags = (self.fold, not self.has_slope, self.mirrored)
        arguments: list[Any] = [theta, *flags, first.jumps, *first.arrays, *second.arrays, lost, slope]
        wedge_tile(*arguments)
        return lost, slope


@dataclass(frozen=True)
class DirectPlan(PairwisePlan):
    """Any activation, by quadrature: right, but thousands of times slower."""

    def tile(self, theta: Array, some: slice, others: slice) -> tuple[Array, Array]:
        """Both 1 - k/(n₁n₂) and k̇ for a tile of angles."""
        c1, c2 = np.broadcast_arrays(self.sides[0].safe[some][:, None], self.sides[1].safe[others])
        n1, n2 = (side.numbers[1] / np.sqrt(self.spec.weight) for side in self.sides)
        n1, n2 = np.broadcast_arrays(n1[some][:, None], n2[others])
        angle = np.minimum(theta, np.pi - theta) if self.fold else theta
        flat = [np.ascontiguousarray(a).ravel() for a in (c1, c2, np.clip(angle, 1e-12, np.pi - 1e-12))]
        k, kdot, _, _ = quadrature(self.spec.activation, flat[0], flat[1], flat[2], _TOLERANCE)
        scale = np.where(n1 * n2 > 0, n1 * n2, 1.0)
        lost = np.maximum(1.0 - k.reshape(theta.shape) / scale, 0.0)
        positive = (self.sides[0].numbers[3][some][:, None] > 0) & (self.sides[1].numbers[3][others] > 0)
        near = (lost < _NEAR) & positive & (n1 * n2 > 0)
        if np.any(near):
            lost[near] = self._lost(c1[near], c2[near], angle[near], (n1[near], n2[near]))
        return np.ascontiguousarray(lost), np.ascontiguousarray(kdot.reshape(theta.shape))

    def _lost(self, c1: Array, c2: Array, theta: Array, norms: tuple[Array, Array]) -> Array:
        """1 - k/(n₁n₂) for nearly equal points: the loss at θ = 0, and c1 c2 ∫ k̇ sin over (0, θ) by [Price1958]."""
        profile = profile_of(self.spec.activation)
        at_zero = distance(Deviations.of(profile, c1), Deviations.of(profile, c2), norms)
        nodes, weights = legendre_rule(_NODES)
        # Breaks away from zero make k̇ rough as t → 0 unless the deviations are equal: panels are halved towards it.
        halvings = _HALVINGS if breaks_away(self.spec.activation) else 0
        ends = np.concatenate([[0.0], 0.5 ** np.arange(halvings, -1.0, -1.0)])
        at = (ends[:-1, None] + np.diff(ends)[:, None] * nodes).ravel()
        t = np.multiply.outer(theta, at).clip(min=1e-12)
        first, second = (np.repeat(c, len(at)) for c in (c1, c2))
        kdot = quadrature(self.spec.activation, first, second, t.ravel(), _TOLERANCE)[1].reshape(t.shape)
        integral = (np.sin(t) * kdot) @ np.outer(np.diff(ends), weights).ravel()
        return np.where(theta > 0, at_zero + c1 * c2 * theta * integral / (norms[0] * norms[1]), at_zero)
