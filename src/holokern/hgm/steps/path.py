"""What the Taylor stepper needs to know of a path: at any point of its parameter's plane the ODE as power series.

A path holds many tracks, one for each start.  Along each the vector H satisfies D H' = N H with power series D and N.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from holokern.hgm.steps.series import Array


@dataclass(frozen=True)
class SeriesEquation:
    """D H' = N H at one point of each track, as power series in the distance x from it.

    Attributes
    ----------
    bottom : array, (tracks, order + 1)
        D.
    top : array, (tracks, order + 1, rank, rank)
        N.
    slope : array, (tracks, order + 1, rank), optional
        S with S H = D c1c2k′, where k′ is not an entry of H.
    sizes : pair of arrays, optional
        The sizes of the terms that make D and N, where those cancel: rounding errors are units in the last place of
        these.
    """

    bottom: Array
    top: Array
    slope: Array | None
    sizes: tuple[Array, Array] | None = None


class Path(Protocol):
    """What the stepper needs to know."""

    @property
    def rank(self) -> int:
        """The number of entries of H."""

    @property
    def outputs(self) -> tuple[int, ...]:
        """The places of k and k′ in H; -1 for a k′ that is no entry."""

    def equation_at(self, tracks: Array, at: Array, order: int) -> SeriesEquation:
        """The equation of some tracks as series round one parameter value of each."""

    def distance(self, tracks: Array, at: Array) -> Array:
        """How far the nearest zero of D is; ``at`` may have more axes than ``tracks``."""


def batch_roots(dense: Array) -> Array:
    """Roots of polynomials given by rows of coefficients, lowest first; infinite where the degree is lower.

    Examples
    --------
    >>> batch_roots(np.array([[-4.0, 0.0, 1.0]])).real.round(12).tolist()
    [[-2.0, 2.0]]
    """
    rows, size = dense.shape
    degree = size - 1
    if degree == 0:
        return np.zeros((rows, 0), dtype=complex)
    top = np.max(np.abs(dense), axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        dense = dense / np.where(top > 0, top, 1.0)
    # roots of the reversed polynomial are reciprocals: a vanishing leading coefficient gives a root 0 there
    lead = dense[:, 0]
    tiny = np.abs(lead) < 1e-14
    lead = np.where(tiny, 1e-14, lead)
    companion = np.zeros((rows, degree, degree), dtype=dense.dtype)
    companion[:, np.arange(1, degree), np.arange(degree - 1)] = 1
    companion[:, :, -1] = -dense[:, :0:-1] / lead[:, None]
    values = np.linalg.eigvals(companion)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.where(np.abs(values) > 1e-14, 1 / values, np.inf)
    return np.asarray(np.sort_complex(result))
