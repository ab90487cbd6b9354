"""What the four ridge estimators share: parameters, their constraints, and the fit of a matrix of targets."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from holokern.errors import BadInput
from holokern.model.kernel import Kind, NetworkKernel
from holokern.model.solvers.ridge import EighRidge, RidgePath
from holokern.model.solvers.solution import SOLVERS, CgSolution, DenseSolution, FeatureRidge, Problem, solve
from holokern.network import Network, layers
from holokern.numeric import Array


@dataclass(eq=False, repr=False)
class NetworkEstimator(BaseEstimator):  # type: ignore[misc]
    """What all estimators share: the parameters of a network, and data that may have positions, as images do.

    The fields of an estimator are its parameters; scikit-learn compares and shows them.
    """

    activation: object = "relu"
    depth: int | None = 3
    bias: float = 0.0
    weight_variance: float | None = None
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "activation": "no_validation",
        "depth": [Interval(Integral, 1, None, closed="left"), None],
        "bias": [Interval(Real, 0, None, closed="left")],
        "weight_variance": [Interval(Real, 0, None, closed="neither"), None],
    }

    def _network_kernel(self, kind: Kind, chosen: dict[str, float] | None = None) -> NetworkKernel:
        """The kernel of the network that the parameters describe; the activation may be a network or layers."""
        if isinstance(self.activation, Network):
            return NetworkKernel(self.activation, kind)
        if isinstance(self.activation, layers.Layer):
            return NetworkKernel(Network(self.activation), kind)
        chosen = chosen or {}
        bias, variance = chosen.get("bias", self.bias), chosen.get("weight_variance", self.weight_variance)
        return NetworkKernel(Network(self.activation, self.depth, bias, variance), kind)

    @property
    def _takes_positions(self) -> bool:
        """Whether the data may be (n_samples, positions, n_channels)."""
        given = self.activation
        return isinstance(given, layers.Layer) or (isinstance(given, Network) and not given.hidden_layers)

    def _checked(self, X: Any) -> Array:
        """Data for a fitted estimator."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False, allow_nd=self._takes_positions))


class ManyTargets(RegressorMixin, NetworkEstimator):  # type: ignore[misc]
    """Regression with one or several targets; ``_solve`` fits a matrix of them, one column each."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, finite.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets.

        Returns
        -------
        self
            The fitted estimator.
        """
        nd = self._takes_positions
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, allow_nd=nd)
        y = np.asarray(y, dtype=float)
        self._flat = y.ndim == 1
        self._solve(X, y.reshape(len(y), -1))
        return self

    def _shaped(self, values: Array) -> Array:
        """One column for each target, as the targets were given."""
        return values[:, 0] if self._flat else values


@dataclass(eq=False, repr=False)
class NetworkRidge(NetworkEstimator):
    """Kernel ridge regression with the kernel of an infinitely wide network; the public estimators are its children."""

    alpha: Any = 0.01
    _: KW_ONLY
    solver: str = "cholesky"
    n_landmarks: int = 1000
    tol: float = 1e-8
    max_iter: int = 1000
    random_state: Any = None
    remainder: bool = False
    _kind: ClassVar[Kind]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NetworkEstimator._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "solver": [StrOptions(set(SOLVERS))],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "remainder": ["boolean"],
    }

    def _solve(self, X: Array, targets: Array) -> None:
        """Fit a matrix of targets to checked data."""
        self._fit_problem(X, targets, {})

    def _fit_problem(self, X: Array, targets: Array, chosen: dict[str, float]) -> None:
        """Fit with some parameters other than those of the constructor."""
        problem = Problem(
            kernel=self._network_kernel(self._kind, chosen),
            points=X,
            targets=targets,
            alphas=_ridges(chosen.get("alpha", self.alpha)),
            landmarks=int(self.n_landmarks),
            tolerance=float(self.tol),
            max_steps=int(self.max_iter),
            random_state=check_random_state(self.random_state),
            remainder=bool(self.remainder),
        )
        solution = solve(problem, self.solver)
        self.network_ = problem.kernel.network
        self.solution_ = solution
        self.alpha_ = solution.alpha
        self.n_iter_ = solution.steps
        self.X_fit_ = X
        self._targets = targets
        for stale in ("dual_coef_", "residual_", "loo_errors_"):
            self.__dict__.pop(stale, None)
        if isinstance(solution, FeatureRidge):
            return
        self.dual_coef_ = solution.coefficients
        if isinstance(solution, CgSolution):
            self.residual_ = solution.residual
        elif solution.path is not None:
            self.loo_errors_ = solution.path.errors

    def log_marginal_likelihood(self) -> float:
        """The log density of the targets under the Gaussian process with this kernel and noise variance ``alpha_``.

        Several targets count as independent, so their log densities are added.
        """
        check_is_fitted(self)
        return self.solution_.log_marginal_likelihood()

    def ridge_path(self, alphas: Any) -> RidgePath:
        """Coefficients, leave-one-out predictions and errors for every ridge, from one diagonalisation.

        Parameters
        ----------
        alphas : array-like of float
            The ridges; the estimator itself stays as it is.

        Returns
        -------
        RidgePath
            With the attributes ``alphas``, ``coefficients``, ``left_out``, ``errors`` and ``best``.

        Examples
        --------
        >>> from holokern.model import NTKRegressor
        >>> X = np.linspace(-1, 1, 9)[:, None]
        >>> model = NTKRegressor("relu", depth=1, bias=0.5).fit(X, X[:, 0] ** 2)
        >>> path = model.ridge_path([1e-4, 1e-2, 1.0])
        >>> path.errors.shape, path.best
        ((3,), 0.0001)
        """
        check_is_fitted(self)
        solution = self.solution_
        if isinstance(solution, DenseSolution) and isinstance(solution.factor, EighRidge):
            factor = solution.factor
        else:
            factor = EighRidge.of(NetworkKernel(self.network_, self._kind)(self.X_fit_), 0.0)
        return RidgePath.of(factor, self._targets, _ridges(alphas))


def _ridges(alpha: Any) -> tuple[float, ...]:
    values = np.atleast_1d(np.asarray(alpha, dtype=float))
    if values.ndim != 1 or not len(values) or not np.all(np.isfinite(values)) or np.any(values < 0):
        raise BadInput(f"alpha must be a number >= 0 or a sequence of such numbers, got {alpha!r}")
    return tuple(values.tolist())
