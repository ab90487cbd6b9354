"""Hyperparameters of largest marginal likelihood, for Gaussian processes with the NNGP kernel."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from holokern.errors import BadInput
from holokern.model.features.landmarks import draw
from holokern.model.gaussian_process.kernels import NNGPKernel
from holokern.model.kernel import Array
from holokern.network import Network

_NAMES = ("alpha", "bias", "weight_variance")
# Points that decide; a step costs a few factorisations of a matrix of this size.
_MOST_POINTS = 2000
# Natural logarithms of how far a parameter may move from where it starts, and of how far in one search: a line search
# that tries a bias of a thousand needs tables that take longer than all the rest.
_REACH, _STRIDE = 7.0, 1.5
# Relative gain of the log-likelihood in a step below which the search ends: for a few hundred points it is less than a
# thousandth, which no data can tell.
_ENOUGH = 1e-6


def most_likely(estimator: Any, X: Array, targets: Array) -> dict[str, float]:
    """The values of the parameters named by ``fit_parameters``, by L-BFGS in their logarithms."""
    from scipy.optimize import minimize

    names = _checked(estimator)
    if len(X) > _MOST_POINTS:
        rng = np.random.RandomState(0)
        both = draw(np.concatenate([X, targets], axis=1), _MOST_POINTS, rng)
        X, targets = both[:, : X.shape[1]], both[:, X.shape[1] :]
    kernel = NNGPKernel(
        estimator.activation,
        estimator.depth,
        float(estimator.bias),
        estimator.weight_variance,
        bias_bounds=(1e-9, 1e9) if "bias" in names else "fixed",
        weight_variance_bounds=(1e-9, 1e9) if "weight_variance" in names else "fixed",
    )
    start = np.append(kernel.theta, np.log(float(np.atleast_1d(estimator.alpha)[0])))
    moves_noise = "alpha" in names
    free = len(start) if moves_noise else len(start) - 1
    if not free:
        return {}

    def loss(theta: Array) -> tuple[float, Array]:
        whole = np.append(theta, start[free:])
        matrix, rates = kernel.clone_with_theta(whole[:-1]).with_gradient(X)
        value, slope = _evidence(matrix, rates, float(np.exp(whole[-1])), targets)
        return -value, -slope[:free]

    place = start[:free]
    for _ in range(ceil(2 * _REACH / _STRIDE)):
        low = np.maximum(place - _STRIDE, start[:free] - _REACH)
        high = np.minimum(place + _STRIDE, start[:free] + _REACH)
        bounds = list(zip(low, high, strict=True))
        found = minimize(loss, place, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": _ENOUGH})
        before, place = place, found.x
        if np.all(np.abs(place - before) < 0.999 * _STRIDE):
            break
    best = kernel.clone_with_theta(np.append(place, start[free:])[:-1])
    values = {"bias": best.bias, "weight_variance": best.weight_variance}
    chosen = {name: float(values[name]) for name in names if name in values}
    return chosen | ({"alpha": float(np.exp(place[-1]))} if moves_noise else {})


def _checked(estimator: Any) -> tuple[str, ...]:
    names = tuple(estimator.fit_parameters)
    for name in names:
        if name not in _NAMES:
            raise BadInput(f"fit_parameters = {names!r}: {name!r} is not one of {', '.join(_NAMES)}")
        value = getattr(estimator, name)
        if value is None or np.size(value) != 1 or not np.all(np.asarray(value, dtype=float) > 0):
            raise BadInput(f"fit_parameters names {name!r}, which starts at {value!r}; start it at one positive number")
    if isinstance(estimator.activation, Network) and set(names) - {"alpha"}:
        raise BadInput("the parameters of a given network are fixed; leave all but 'alpha' out of fit_parameters")
    return names


def _evidence(matrix: Array, rates: Array, alpha: float, targets: Array) -> tuple[float, Array]:
    """The evidence, and its derivatives along ``rates`` and in log α [RasmussenWilliams2006, Eq. 5.9]."""
    from scipy.linalg import cho_solve, cholesky

    shifted = matrix + alpha * np.eye(len(matrix))
    try:
        lower = cholesky(shifted, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return -1e300, np.zeros(rates.shape[2] + 1)
    inverse = cho_solve((lower, True), np.eye(len(matrix)), check_finite=False)
    solved = inverse @ targets
    logs = 2 * np.sum(np.log(np.diagonal(lower))) + len(matrix) * np.log(2 * np.pi)
    value = -0.5 * (float(np.sum(targets * solved)) + targets.shape[1] * float(logs))
    slope = 0.5 * (solved @ solved.T - targets.shape[1] * inverse)
    return value, np.append(np.tensordot(slope, rates, axes=((0, 1), (0, 1))), alpha * float(np.trace(slope)))
