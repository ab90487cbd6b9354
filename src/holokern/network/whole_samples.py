"""A whole network at given deviations and angles: what its expansion is built from.

The entries of both kernels depend on the first deviations c1, c2 of two points and on their angle θ alone, whatever the
depth. Here they are computed layer by layer with the exact dual activations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holokern.dual.bulk import bulk
from holokern.dual.quadrature.pairing import Side, diagonal
from holokern.dual.quadrature.profile import profile_of
from holokern.network.layer_spec import LayerSpec
from holokern.numeric.panels import Array

__all__ = ["Track", "samples"]


@dataclass(frozen=True)
class Track:
    """Deviations followed through the layers.

    Attributes
    ----------
    deviations
        The deviations when they enter each layer, and at last the roots of the diagonal of the NNGP kernel.
    tangent
        The roots of the diagonal of the NTK; infinite where an activation jumps.
    """

    deviations: list[Array]
    tangent: Array

    @classmethod
    def of(cls, specs: tuple[LayerSpec, ...], c: Array) -> Track:
        """Follow positive deviations."""
        deviations, tangent = [c], c**2
        for spec in specs:
            side = Side.of(profile_of(spec.activation), deviations[-1])
            moments = diagonal(side, side, 1)
            new = spec.weight * moments.k + spec.bias**2
            slope = spec.weight * moments.kdot if spec.activation.jump_order != 0 else np.full_like(c, np.inf)
            kept = 1.0 if spec.residual else 0.0
            tangent = tangent * (slope + kept) + new
            deviations.append(np.sqrt(new + kept * deviations[-1] ** 2))
        return cls(deviations, np.sqrt(tangent))

    @property
    def nngp(self) -> Array:
        """The roots of the diagonal of the NNGP kernel."""
        return self.deviations[-1]


def samples(specs: tuple[LayerSpec, ...], first: Track, second: Track, theta: Array) -> tuple[Array, Array]:
    """Σ and Θ of the last layer, divided by the roots of their diagonals; Θ is NaN where an activation jumps.

    Parameters
    ----------
    specs
        The layers.
    first, second
        The deviations of the rows and of the columns.
    theta
        Angles, of shape (rows, columns, angles).

    Examples
    --------
    >>> from holokern.network import Network
    >>> specs = Network("relu", depth=2).layers_spec
    >>> track = Track.of(specs, np.ones(1))
    >>> [values.round(6).item() for values in samples(specs, track, track, np.full((1, 1, 1), np.arccos(0.6)))]
    [0.733434, 0.514805]
    """
    scale = first.deviations[0][:, None, None] * second.deviations[0][None, :, None]
    cosine = np.cos(theta)
    tangent = scale * cosine
    for h, spec in enumerate(specs):
        k, kdot = bulk(spec.activation, first.deviations[h], second.deviations[h], theta)
        new = spec.weight * k + spec.bias**2
        kept = 1.0 if spec.residual else 0.0
        tangent = tangent * (spec.weight * kdot + kept) + new
        total = new + kept * scale * cosine
        scale = first.deviations[h + 1][:, None, None] * second.deviations[h + 1][None, :, None]
        cosine = np.clip(total / scale, -1.0, 1.0)
        theta = np.arccos(cosine)
    return cosine, tangent / first.tangent[:, None, None] / second.tangent[None, :, None]
