"""`NTKRegressor` and `NNGPRegressor`: ridge regression, and Gaussian processes, with the kernels of wide networks.

Gaussian processes may choose their hyperparameters by the largest marginal likelihood.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import ceil
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from holokern.errors import BadInput
from holokern.model.estimators.kernel_ridge import ManyTargets, NetworkRidge
from holokern.model.features.feature_map import draw
from holokern.model.gaussian_process.kernels import NNGPKernel
from holokern.model.kernel import Kind
from holokern.model.solvers.ridge import CholeskyRidge
from holokern.network import Network
from holokern.numeric import Array


class _NetworkRegressor(ManyTargets, NetworkRidge):
    """Regression with one or several targets."""

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict block by block; the matrix between all of X and all training points is never stored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        return_std : bool, default=False
            Also return the posterior standard deviation of the Gaussian process whose covariance is the kernel and
            whose noise variance is ``alpha``; the noise itself is not included.
        return_cov : bool, default=False
            Also return the posterior covariance between the rows instead.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predictions.
        std : ndarray of the same shape
            Only with ``return_std=True``.
        cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets)
            Only with ``return_cov=True``.
        """
        if return_std and return_cov:
            raise BadInput("at most one of return_std and return_cov can be asked for")
        X = self._checked(X)
        mean = self._shaped(self.solution_.mean(X))
        if return_std:
            return mean, self._repeated(np.sqrt(self.solution_.variance(X)))
        return (mean, self._repeated(self.solution_.covariance(X))) if return_cov else mean

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draw functions from the posterior and evaluate them at X; the noise is not included.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Where to evaluate.
        n_samples : int, default=1
            The number of functions.
        random_state : int, RandomState or None, default=0
            Chooses the functions.

        Returns
        -------
        ndarray of shape (n_points, n_samples) or (n_points, n_targets, n_samples)
            As in :class:`sklearn.gaussian_process.GaussianProcessRegressor`.
        """
        X = self._checked(X)
        mean = self.solution_.mean(X)
        values, vectors = np.linalg.eigh(self.solution_.covariance(X))
        normal = check_random_state(random_state).standard_normal((len(X), mean.shape[1] * n_samples))
        drawn = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * normal)
        samples = mean[:, :, None] + drawn.reshape(len(X), mean.shape[1], n_samples)
        return np.asarray(samples[:, 0] if self._flat else samples)

    def leave_one_out(self) -> Array:
        """The prediction of every training target by a fit without its point, from the factorisation of the fit."""
        check_is_fitted(self)
        return self._shaped(self.solution_.leave_one_out())

    def _repeated(self, values: Array) -> Array:
        """The same for every target, in a last axis."""
        return values if self._flat else np.repeat(values[..., None], self._targets.shape[1], axis=-1)


class NTKRegressor(_NetworkRegressor):
    """Kernel ridge regression with the neural tangent kernel: an infinitely wide network trained to the end.

    Parameters
    ----------
    activation : str, Activation or list of these, default="relu"
        A name, an expression in u, an :class:`~holokern.Activation`, or one of these for each layer.
    depth : int or None, default=3
        The number of hidden layers.
    bias : float, default=0.0
        The standard deviation of the biases.
    weight_variance : float or None, default=None
        The variance of the weights; None normalises every layer by c_σ = 1/E[σ(z)²].
    alpha : float or array-like of float, default=0.01
        The ridge, which is the noise variance of the Gaussian process. If several values are given, the one with the
        least leave-one-out squared error is used; one diagonalisation serves them all.
    solver : {"cholesky", "eigh", "nystrom", "harmonics", "cg"}, default="cholesky"
        ``"nystrom"`` and ``"harmonics"`` fit on the features of :class:`~holokern.model.NetworkFeatures`, in one pass
        over blocks of points; ``"cg"`` solves the exact equations by conjugate gradients with a Nyström preconditioner
        and never stores the kernel.
    n_landmarks : int, default=1000
        The number of landmarks of ``"nystrom"`` and ``"cg"``, and of the features of ``"harmonics"``.
    tol : float, default=1e-8
        The relative residual at which ``"cg"`` stops.
    max_iter : int, default=1000
        The largest number of steps of ``"cg"``.
    random_state : int, RandomState or None, default=None
        Chooses the landmarks.
    remainder : bool, default=False
        Whether ``"nystrom"`` and ``"harmonics"`` count what their features miss of the kernel's diagonal as noise. For
        ``"harmonics"`` in many dimensions predictions are much closer to those of the exact kernel then.

    Attributes
    ----------
    alpha_ : float
        The ridge that was used.
    dual_coef_ : ndarray of shape (n_samples, n_targets)
        The coefficients C; absent for ``"nystrom"`` and ``"harmonics"``.
    loo_errors_ : ndarray
        Mean squared leave-one-out errors, when several ridges were given.
    residual_ : float
        The relative residual of ``"cg"``.
    n_iter_ : int
        The steps of ``"cg"``; 1 for the direct solvers.
    network_ : Network
        The network.

    Examples
    --------
    >>> import numpy as np
    >>> from holokern.model import NTKRegressor
    >>> X = np.linspace(-1, 1, 15)[:, None]
    >>> model = NTKRegressor("relu", depth=2, bias=0.5, alpha=1e-4).fit(X, np.sin(np.pi * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - 1) < 0.05)
    True
    """

    _kind: ClassVar[Kind] = "ntk"


@dataclass(eq=False, repr=False)
class NNGPRegressor(_NetworkRegressor):
    """Gaussian process regression with the NNGP kernel: the Bayesian posterior of an infinitely wide network.

    Parameters
    ----------
    activation, depth, bias, weight_variance, alpha, solver, n_landmarks, tol, max_iter, random_state, remainder
        As in :class:`NTKRegressor`.
    fit_parameters : tuple of str, default=()
        Which of ``"alpha"``, ``"bias"`` and ``"weight_variance"`` to choose by the largest marginal likelihood,
        starting from the values given. If there are more than 2000 points, a random choice of 2000 is used for this.

    Attributes
    ----------
    alpha_, bias_, weight_variance_
        The values used.
    dual_coef_, loo_errors_, residual_, n_iter_, network_
        As in :class:`NTKRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from holokern.model import NNGPRegressor
    >>> X = np.linspace(-1, 1, 15)[:, None]
    >>> model = NNGPRegressor("erf", depth=2, bias=0.5, alpha=1e-4).fit(X, X[:, 0] ** 2)
    >>> mean, std = model.predict([[0.5], [3.0]], return_std=True)
    >>> bool(abs(mean[0] - 0.25) < 0.01), bool(std[0] < std[1])
    (True, True)
    >>> fitted = NNGPRegressor("erf", 2, 0.5, alpha=1e-4, fit_parameters=("alpha", "bias")).fit(X, X[:, 0] ** 2)
    >>> fitted.log_marginal_likelihood() > model.log_marginal_likelihood()
    True
    """

    _: KW_ONLY
    fit_parameters: tuple[str, ...] = ()
    _kind: ClassVar[Kind] = "nngp"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_NetworkRegressor._parameter_constraints,
        "fit_parameters": [tuple, list],
    }

    def _solve(self, X: Array, targets: Array) -> None:
        chosen = most_likely(self, X, targets) if self.fit_parameters else {}
        self.bias_ = chosen.get("bias", self.bias)
        self.weight_variance_ = chosen.get("weight_variance", self.weight_variance)
        self._fit_problem(X, targets, chosen)


_NAMES = ("alpha", "bias", "weight_variance")
_MOST_POINTS = 2000  # Points that decide; a step costs a few factorisations of a matrix of this size.
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
    try:
        factor = CholeskyRidge.of(matrix, alpha)
    except np.linalg.LinAlgError:
        return -1e300, np.zeros(rates.shape[2] + 1)
    inverse = factor.solve(np.eye(len(matrix)))
    solved = inverse @ targets
    logs = factor.log_determinant() + len(matrix) * np.log(2 * np.pi)
    value = -0.5 * (float(np.sum(targets * solved)) + targets.shape[1] * float(logs))
    slope = 0.5 * (solved @ solved.T - targets.shape[1] * inverse)
    return value, np.append(np.tensordot(slope, rates, axes=((0, 1), (0, 1))), alpha * float(np.trace(slope)))
