"""Truncated power series of many points at once, and what the Taylor stepper needs to know of a path.

The last axis of an array holds the coefficients.  A path holds many tracks, one for each start.  Along each the vector
H satisfies D H' = N H with power series D and N at any point of the plane of its parameter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holokern.errors import PrecisionLost

Array: TypeAlias = NDArray[Any]
"""Floats, long floats or complex floats: the same code carries all three."""


def multiply_series(one: Array, other: Array, order: int) -> Array:
    """The product of two arrays of series, up to and including the power ``order``; other axes broadcast.

    >>> multiply_series(np.array([1.0, 1.0]), np.array([1.0, -1.0]), 2)
    array([ 1.,  0., -1.])
    """
    if one.shape[-1] > other.shape[-1]:
        one, other = other, one
    if one.shape[-1] == 1 and other.shape[-1] == order + 1:
        return np.asarray(one * other)
    shape = np.broadcast_shapes(one.shape[:-1], other.shape[:-1])
    total = np.zeros((*shape, order + 1), dtype=np.result_type(one, other))
    for j in range(min(one.shape[-1], order + 1)):
        width = min(other.shape[-1], order + 1 - j)
        total[..., j : j + width] += one[..., j : j + 1] * other[..., :width]
    return total


def power_table(series: Array, highest: int, order: int) -> Array:
    """The powers 0, …, ``highest`` of each series, along a new axis before the last.

    >>> power_table(np.array([1.0, 1.0]), 2, 2)
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 2., 1.]])
    """
    table = np.zeros((*series.shape[:-1], highest + 1, order + 1), dtype=series.dtype)
    table[..., 0, 0] = 1
    width = min(series.shape[-1], order + 1)
    table[..., 1:2, :width] = series[..., None, :width]
    for k in range(1, highest):
        table[..., k + 1, :] = multiply_series(series, table[..., k, :], order)
    return table


def power_of_series(series: Array, exponent: float) -> Array:
    """A real power f^α of each series, by f y' = α f' y; the constant terms must not vanish.

    >>> power_of_series(np.array([1.0, -1.0, 0.0]), -1.0)
    array([1., 1., 1.])
    """
    order = series.shape[-1] - 1
    result = np.zeros_like(series)
    result[..., 0] = series[..., 0] ** exponent
    for n in range(1, order + 1):
        j = np.arange(1, n + 1)
        weight = exponent * j - (n - j)
        result[..., n] = np.sum(weight * series[..., j] * result[..., n - j], axis=-1) / (n * series[..., 0])
    return result


def trigonometric_series(angle: Array, speed: Array | float, order: int) -> tuple[Array, Array]:
    """The series in x of cos and sin of ``angle + speed x``.

    >>> [series.tolist() for series in trigonometric_series(np.array([0.0]), 1.0, 2)]
    [[[1.0, -0.0, -0.5]], [[0.0, 1.0, -0.0]]]
    """
    cosine, sine = np.cos(angle), np.sin(angle)
    steps = np.asarray(speed)[..., None] ** np.arange(order + 1)
    factorial = np.cumprod(np.concatenate([[1.0], np.arange(1.0, order + 1)]))
    pattern = np.arange(order + 1) % 4
    waves = []
    for first, second in ((cosine, -sine), (sine, cosine)):
        cycle = np.stack([first, second, -first, -second], axis=-1)
        waves.append(cycle[..., pattern] * steps / factorial)
    return waves[0], waves[1]


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

    >>> batch_roots(np.array([[-4.0, 0.0, 1.0]])).real.round(12).tolist()
    [[-2.0, 2.0]]
    """
    rows, size = dense.shape
    degree = size - 1
    if degree == 0:
        return np.zeros((rows, 0), dtype=complex)
    if not np.all(np.isfinite(dense)):
        raise PrecisionLost(
            "the system along the path has numbers beyond floats; rescale the variables, or use method='quadrature'"
        )
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


def nearest_root(at: Array, roots: Array) -> Array:
    """How far the nearest root of its track, (tracks, roots), is from each point of ``at``, (tracks, …); NaN is none.

    >>> nearest_root(np.array([0.0, 5.0]), np.array([[1.0, np.nan], [3j, 9.0]])).tolist()
    [1.0, 4.0]
    """
    gaps = np.abs(at[..., None] - roots.reshape(len(roots), *(1,) * (at.ndim - 1), roots.shape[1]))
    return np.asarray(np.min(np.where(np.isnan(gaps), np.inf, gaps), axis=-1, initial=np.inf))
