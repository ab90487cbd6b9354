"""Maximum likelihood by holonomic gradient descent: directions on spheres and rotations [Nakayama2011].

The families are exponential, so the log-likelihood is concave.  The HGM gives log c with its gradient, the mean of the
sufficient statistics; differences of that gradient at nearby parameters, all computed together, give the Hessian for
Newton's method.
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

FAMILIES = ("fisher_bingham", "bingham", "von_mises_fisher", "fisher_rotation")
"""The families that :func:`maximum_likelihood` fits."""

_OFF = 1e-6  # unit vectors and rotations may be off by rounding
# the gradient of the mean log-likelihood at the end; log c and its gradient have about twelve digits
_TOLERANCE = 1e-10
_CONTENT = 1e-7  # a gradient with which one is content when no step makes the likelihood larger
_UNBOUNDED = 2e4  # parameters beyond this mean that the likelihood grows without bound
_MOST_STEPS = 100  # steps of Newton's method; a dozen are usual
# differences for the Hessian, relative to one plus the parameter: errors of the gradient and curvature balance
_DIFFERENCE = 1e-4
_LENGTHS = 0.5 ** np.arange(0, 24)  # lengths of a step that are tried at once, relative to Newton's


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
        Steps of Newton's method.
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
        If the data are not unit vectors or rotations, or are so concentrated that the likelihood has no maximum.
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
    mean, second = given.mean(axis=0), given.T @ given / len(given)
    quadratic, linear = family != "von_mises_fisher", family != "bingham"
    forms = _traceless(given.shape[1]) if quadratic else np.zeros((0, given.shape[1], given.shape[1]))
    size, p = len(forms), given.shape[1]

    def model(theta: Array) -> tuple[Array, Array]:
        b = theta[:, size:] if linear else np.zeros((len(theta), p))
        c = fisher_bingham(np.einsum("tk,kij->tij", theta[:, :size], forms), b)
        moments = np.einsum("kij,tij->tk", forms, c.second)
        return np.asarray(c.log_value), np.concatenate([moments, c.mean], axis=1) if linear else moments

    wanted = np.einsum("kij,ij->k", forms, second)
    theta, value, gradient, steps = _newton(model, np.concatenate([wanted, mean]) if linear else wanted)
    return MaximumLikelihood(
        np.einsum("k,kij->ij", theta[:size], forms) if quadratic else None,
        theta[size:] if linear else None,
        None,
        -value * len(given),
        gradient,
        steps,
    )


def _traceless(p: int) -> Array:
    """A basis of the symmetric matrices of trace 0: a multiple of the identity changes nothing on the sphere."""
    unit = np.eye(p)
    mixed = [np.outer(unit[i], unit[j]) + np.outer(unit[j], unit[i]) for i in range(p) for j in range(i)]
    return np.array(mixed + [np.diag(unit[i] - unit[i + 1]) for i in range(p - 1)])


def _fit_rotation(given: Array) -> MaximumLikelihood:
    if given.ndim != 3 or given.shape[1:] != (3, 3) or not len(given):
        raise BadInput(f"expected rotations as an array of shape (observations, 3, 3), got shape {given.shape}")
    square = np.einsum("tki,tkj->tij", given, given)
    if not (np.all(np.abs(square - np.eye(3)) < _OFF) and np.all(np.linalg.det(given) > 0)):
        raise BadInput("expected rotation matrices: orthogonal ones of determinant 1")

    def model(theta: Array) -> tuple[Array, Array]:
        c = fisher_rotation(theta.reshape(-1, 3, 3))
        return np.asarray(c.log_value), c.mean.reshape(-1, 9)

    theta, value, gradient, steps = _newton(model, given.mean(axis=0).ravel())
    return MaximumLikelihood(None, None, theta.reshape(3, 3), -value * len(given), gradient, steps)


def _newton(model: Callable[[Array], tuple[Array, Array]], wanted: Array) -> tuple[Array, float, float, int]:
    """Minimise log c(θ) - θ·wanted; the parameters, the minimum, the largest entry of the gradient, and the steps."""
    theta = np.zeros(len(wanted))
    unit = np.eye(len(wanted))
    gradient = np.inf
    for step in range(1, _MOST_STEPS + 1):
        width = _DIFFERENCE * (1 + np.abs(theta))
        nearby = np.concatenate([theta[None], theta + unit * width, theta - unit * width])
        logs, moments = model(nearby)
        value, slope = float(logs[0] - theta @ wanted), moments[0] - wanted
        gradient = float(np.max(np.abs(slope)))
        if gradient < _TOLERANCE:
            return theta, value, gradient, step
        size = len(theta)
        hessian = (moments[1 : size + 1] - moments[size + 1 :]) / (2 * width[:, None])
        hessian = (hessian + hessian.T) / 2
        # the Hessian is a covariance; where rounding makes it indefinite, small eigenvalues are lifted
        eigenvalues, vectors = np.linalg.eigh(hessian)
        eigenvalues = np.maximum(eigenvalues, 1e-12 * max(float(eigenvalues[-1]), 1e-300))
        direction = -vectors @ ((vectors.T @ slope) / eigenvalues)
        trials = theta + _LENGTHS[:, None] * direction
        trials = trials[np.max(np.abs(trials), axis=1) <= _UNBOUNDED]
        if len(trials) < len(_LENGTHS) // 2 or np.max(np.abs(theta)) > _UNBOUNDED / 2:
            raise BadInput(
                f"the likelihood grows without bound, or beyond parameters of {_UNBOUNDED:.0f}: the data lie on a "
                "smaller sphere, or very close to one; give more of them, or a simpler family"
            )
        losses = model(trials)[0] - trials @ wanted
        best = int(np.argmin(losses))
        if not losses[best] < value:
            break
        theta = trials[best]
    if gradient < _CONTENT:
        return theta, value, gradient, step
    raise PrecisionLost(f"the descent ended where the gradient is still {gradient:.2g}; are the data degenerate?")
