"""Maximum likelihood by holonomic gradient descent: directions on spheres and rotations [Nakayama2011].

The families are exponential, so the log-likelihood is concave.  The HGM gives log c with its gradient, the mean of the
sufficient statistics, and BFGS does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from holokern.errors import BadInput, PrecisionLost, UnknownName
from holokern.hgm.distributions.rotation import fisher_rotation
from holokern.hgm.distributions.sphere import fisher_bingham
from holokern.hgm.steps.series import Array

__all__ = ["FAMILIES", "MaximumLikelihood", "maximum_likelihood"]

FAMILIES = ("fisher_bingham", "bingham", "von_mises_fisher", "fisher_rotation")
"""The families that :func:`maximum_likelihood` fits."""

# unit vectors and rotations may be off by rounding
_OFF = 1e-6
# the gradient of the mean log-likelihood at the end
_TOLERANCE = 1e-8
# parameters beyond this mean that the likelihood grows without bound
_UNBOUNDED = 2e4


@dataclass(frozen=True)
class MaximumLikelihood:
    """The result of a fit.

    Attributes
    ----------
    quadratic, linear : arrays, optional
        A, with trace 0, and b of the density exp(tᵀAt + bᵀt)/c on the sphere.
    parameter : array, optional
        F of the density exp(tr(FᵀR))/c on the rotations.
    log_likelihood : float
        Of all observations together.
    gradient : float
        The largest entry of the gradient of the mean log-likelihood, which vanishes at the maximum.
    steps : int
        Evaluations of log c and its gradient.
    """

    quadratic: Array | None
    linear: Array | None
    parameter: Array | None
    log_likelihood: float
    gradient: float
    steps: int


def maximum_likelihood(data: ArrayLike, family: str = "fisher_bingham") -> MaximumLikelihood:
    """Fit a distribution on a sphere or on the rotations.

    Parameters
    ----------
    data : array_like
        Unit vectors, (observations, p), or rotations, (observations, 3, 3) for "fisher_rotation".
    family : {"fisher_bingham", "bingham", "von_mises_fisher", "fisher_rotation"}

    Raises
    ------
    BadInput
        If the data are no unit vectors or rotations, or so concentrated that the likelihood has no maximum.
    PrecisionLost
        If the descent does not reach a maximum.

    Examples
    --------
    >>> north = np.array([[0.6, 0.0, 0.8], [-0.6, 0.0, 0.8], [0.0, 0.6, 0.8], [0.0, -0.6, 0.8]])
    >>> fit = maximum_likelihood(north, "von_mises_fisher")
    >>> fit.linear.round(6).tolist()
    [0.0, 0.0, 4.997721]
    """
    if family not in FAMILIES:
        raise UnknownName(f"unknown family {family!r}; choose one of {', '.join(FAMILIES)}")
    given = np.asarray(data, dtype=float)
    if family == "fisher_rotation":
        return _fit_rotation(given)
    if given.ndim != 2 or given.shape[1] < 2 or not len(given):
        raise BadInput(f"expected unit vectors as an array of shape (observations, p), got shape {given.shape}")
    if not np.all(np.abs(np.linalg.norm(given, axis=1) - 1) < _OFF):
        raise BadInput("expected unit vectors; divide the rows by their norms")
    p = given.shape[1]
    mean, second = given.mean(axis=0), given.T @ given / len(given)
    pairs = np.triu_indices(p)
    parts = {"fisher_bingham": (True, True), "bingham": (True, False), "von_mises_fisher": (False, True)}[family]
    size = len(pairs[0]) * parts[0]

    def unpack(theta: Array) -> tuple[Array, Array]:
        A, b = np.zeros((p, p)), np.zeros(p)
        if parts[0]:
            A[pairs] = theta[:size] / 2
            A = A + A.T
            # a multiple of the identity changes nothing on the sphere
            A -= np.eye(p) * np.trace(A) / p
        if parts[1]:
            b = theta[size:]
        return A, b

    def loss(theta: Array) -> tuple[float, Array]:
        A, b = unpack(theta)
        c = fisher_bingham(A, b)
        slope = c.second - second
        slope -= np.eye(p) * np.trace(slope) / p
        grown = (slope + slope.T - np.diag(np.diag(slope)))[pairs] if parts[0] else np.zeros(0)
        whole = np.concatenate([grown, c.mean - mean]) if parts[1] else grown
        return float(c.log_value) - float(np.sum(A * second) + b @ mean), whole

    start = np.zeros(size + (p if parts[1] else 0))
    theta, value, gradient, steps = _descend(loss, start)
    A, b = unpack(theta)
    return MaximumLikelihood(
        A if parts[0] else None, b if parts[1] else None, None, -value * len(given), gradient, steps
    )


def _fit_rotation(given: Array) -> MaximumLikelihood:
    if given.ndim != 3 or given.shape[1:] != (3, 3) or not len(given):
        raise BadInput(f"expected rotations as an array of shape (observations, 3, 3), got shape {given.shape}")
    square = np.einsum("tki,tkj->tij", given, given)
    if not (np.all(np.abs(square - np.eye(3)) < _OFF) and np.all(np.linalg.det(given) > 0)):
        raise BadInput("expected rotation matrices: orthogonal ones of determinant 1")
    mean = given.mean(axis=0)

    def loss(theta: Array) -> tuple[float, Array]:
        c = fisher_rotation(theta.reshape(3, 3))
        return float(c.log_value) - float(theta @ mean.ravel()), (c.mean - mean).ravel()

    theta, value, gradient, steps = _descend(loss, np.zeros(9))
    return MaximumLikelihood(None, None, theta.reshape(3, 3), -value * len(given), gradient, steps)


def _descend(loss: Callable[[Array], tuple[float, Array]], start: Array) -> tuple[Array, float, float, int]:
    """BFGS with the holonomic gradient."""
    from scipy.optimize import minimize

    def bounded(theta: Array) -> tuple[float, Array]:
        if np.max(np.abs(theta)) > _UNBOUNDED:
            raise BadInput("the likelihood grows without bound: the data lie on a smaller sphere; give more of them")
        return loss(theta)

    found = minimize(bounded, start, jac=True, method="BFGS", options={"gtol": _TOLERANCE, "maxiter": 2000})
    gradient = float(np.max(np.abs(found.jac)))
    if not gradient < 100 * _TOLERANCE:
        raise PrecisionLost(f"the descent ended where the gradient is still {gradient:.2g}; are the data degenerate?")
    return np.asarray(found.x), float(found.fun), gradient, int(found.nfev)
