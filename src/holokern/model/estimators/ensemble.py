"""`GradientDescentEnsemble`: mean and covariance of infinitely wide networks while they are trained [Lee2019].

Gradient descent on the loss ½ mean (f - y)² moves the outputs of a wide network by a linear equation. With the training
kernel Θ, the kernel K of the outputs at random initialisation, the rate η and m = number of training targets,

    f_t(x) = f_0(x) + Θ(x, X) M_t (y - f_0(X)),    M_t = (Θ + α)⁻¹ (1 - exp(-η t (Θ + α)/m)),

so f_t is a Gaussian process. The ridge α is weight decay towards the initial weights.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from holokern.errors import BadInput
from holokern.model.estimators.kernel_ridge import ManyTargets
from holokern.model.kernel import NetworkKernel
from holokern.model.solvers.ridge import EighRidge
from holokern.numeric import Array


@dataclass(eq=False, repr=False)
class GradientDescentEnsemble(ManyTargets):
    """Infinitely many infinitely wide networks, each from its own random start, trained by gradient descent.

    Parameters
    ----------
    activation, depth, bias, weight_variance
        The network, as in :class:`~holokern.model.NTKRegressor`.
    time : float, default=inf
        The training time: the number of steps of gradient descent at a small ``learning_rate``.
    learning_rate : float, default=1.0
        The rate η, for the loss ½ mean (f - y)² over all samples and targets.
    alpha : float, default=0.0
        Weight decay towards the initial weights, added to the kernel of the training.
    trained : {"all", "last"}, default="all"
        Train all layers (the NTK) or only the last one (the NNGP kernel).

    Attributes
    ----------
    max_learning_rate_ : float
        2m/λ_max: gradient descent with a fixed larger rate diverges.
    network_ : Network
        The network.

    Examples
    --------
    >>> import numpy as np
    >>> from holokern.model import GradientDescentEnsemble
    >>> X = np.linspace(-1, 1, 8)[:, None]
    >>> model = GradientDescentEnsemble("erf", depth=1, bias=0.5).fit(X, np.sin(2 * X[:, 0]))
    >>> mean, std = model.predict(X, return_std=True)
    >>> bool(np.allclose(mean, np.sin(2 * X[:, 0]), atol=1e-5)), bool(np.all(std < 1e-3))
    (True, True)
    >>> mean, std = model.predict(X, return_std=True, time=0.0)
    >>> mean.tolist() == [0.0] * 8, bool(np.all(std > 0.5))
    (True, True)
    """

    _: KW_ONLY
    time: float = np.inf
    learning_rate: float = 1.0
    alpha: float = 0.0
    trained: str = "all"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ManyTargets._parameter_constraints,
        "time": [Interval(Real, 0, None, closed="both")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "trained": [StrOptions({"all", "last"})],
    }

    def _solve(self, X: Array, targets: Array) -> None:
        """Diagonalise the kernel of the training; every time t is then cheap."""
        self._targets = targets
        self._training = self._network_kernel("ntk" if self.trained == "all" else "nngp")
        self._initial = NetworkKernel(self._training.network, "nngp")
        self._factor = EighRidge.of(self._training(X), float(self.alpha))
        self._rate = float(self.learning_rate) / self._targets.size
        largest = float(self._factor.values[-1]) + float(self.alpha)
        self.max_learning_rate_ = 2.0 * self._targets.size / largest if largest > 0 else np.inf
        self.network_ = self._training.network
        self.X_fit_ = X

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, time: float | None = None) -> Any:
        """Mean of the ensemble, and the standard deviation or covariance over its networks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        return_std : bool, default=False
            Also return the standard deviation over the networks at each row, the same for every target.
        return_cov : bool, default=False
            Also return the covariance between the rows instead.
        time : float or None, default=None
            A training time other than that of the constructor; may be ``inf``.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The mean.
        std or cov : ndarray of shape (n_samples,) or (n_samples, n_samples)
            Only when asked for.
        """
        X = self._checked(X)
        if return_std and return_cov:
            raise BadInput("at most one of return_std and return_cov can be asked for")
        until = float(self.time if time is None else time)
        if not until >= 0:
            raise BadInput(f"the training time must be >= 0, got {until}")
        vectors = self._factor.vectors
        weights = ((self._training(X, self.X_fit_) @ vectors) * self._gain(until)) @ vectors.T
        mean = self._shaped(weights @ self._targets)
        if return_std:
            return mean, np.sqrt(self._variance(X, weights))
        return (mean, self._covariance(X, weights)) if return_cov else mean

    def _gain(self, time: float) -> Array:
        """The eigenvalues of M_t; at t = ∞ those of the pseudo-inverse."""
        if np.isinf(time):
            return self._factor.inverse_values
        values, speed = self._factor.values + self._factor.alpha, self._rate * time
        # (1 - e^{-λs})/λ → s as λ → 0, without the division.
        small = values * speed < 1e-300
        safe = np.where(small, 1.0, values)
        return np.where(small, speed, -np.expm1(-safe * speed) / safe)

    def _covariance(self, X: Array, weights: Array) -> Array:
        """Covariance of f_0(x) - W f_0(X) for the weights W."""
        mixed = weights @ self._initial(self.X_fit_, X)
        return np.asarray(self._initial(X) + weights @ self._initial(self.X_fit_) @ weights.T - mixed - mixed.T)

    def _variance(self, X: Array, weights: Array) -> Array:
        within = np.einsum("ij,ij->i", weights @ self._initial(self.X_fit_), weights)
        mixed = np.einsum("ij,ij->i", weights, self._initial(X, self.X_fit_))
        return np.asarray(np.maximum(self._initial.diagonal(X) + within - 2.0 * mixed, 0.0))
