"""`NTKClassifier` and `NNGPClassifier`: regression on targets -1 and 1, one class against the rest."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from holokern.errors import BadInput
from holokern.model.estimators.kernel_ridge import NetworkRidge
from holokern.model.kernel import Kind
from holokern.numeric import Array


class _NetworkClassifier(ClassifierMixin, NetworkRidge):  # type: ignore[misc]
    """Classification by ridge regression of signs."""

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> _NetworkClassifier:
        """Fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, finite.
        y : array-like of shape (n_samples,)
            The labels: numbers or strings, at least two different ones.

        Returns
        -------
        self
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, allow_nd=self._takes_positions)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        binarizer = LabelBinarizer(neg_label=-1, pos_label=1).fit(y)
        self.classes_ = binarizer.classes_
        if len(self.classes_) < 2:
            raise BadInput(
                f"{type(self).__name__} needs samples of at least two classes, got one class: {self.classes_[0]!r}"
            )
        self._solve(X, binarizer.transform(y).astype(float))
        return self

    def decision_function(self, X: Any) -> Array:
        """The regressed signs: (n_samples,) for two classes, else (n_samples, n_classes)."""
        X = self._checked(X)
        return _flat(self.solution_.mean(X))

    def predict(self, X: Any) -> Any:
        """The class with the largest regressed sign."""
        X = self._checked(X)
        return self._labels(_flat(self.solution_.mean(X)))

    def leave_one_out(self) -> Any:
        """The label of every training point predicted by a fit without it."""
        check_is_fitted(self)
        return self._labels(_flat(self.solution_.leave_one_out()))

    def _labels(self, decisions: Array) -> Any:
        chosen = (decisions > 0).astype(int) if decisions.ndim == 1 else np.argmax(decisions, axis=1)
        return self.classes_[chosen]


def _flat(decisions: Array) -> Array:
    return decisions[:, 0] if decisions.shape[1] == 1 else decisions


class NTKClassifier(_NetworkClassifier):
    """Classification by kernel ridge regression with the neural tangent kernel.

    The parameters are those of :class:`~holokern.model.NTKRegressor`. There are decision values but no probabilities,
    as in :class:`sklearn.linear_model.RidgeClassifier`, because the NTK does not give a Bayesian posterior. For
    ``predict_proba`` wrap the estimator in :class:`sklearn.calibration.CalibratedClassifierCV`, or use
    :class:`NNGPClassifier`.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    alpha_, dual_coef_, loo_errors_, residual_, n_iter_, network_
        As in :class:`~holokern.model.NTKRegressor`, with one column for each class (a single one for two classes).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holokern.model import NTKClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(NTKClassifier("relu", depth=2).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _kind: ClassVar[Kind] = "ntk"


class NNGPClassifier(_NetworkClassifier):
    """Classification by Gaussian process regression of signs with the NNGP kernel, with probabilities.

    The parameters and attributes are those of :class:`NTKClassifier`.

    Notes
    -----
    Each class has a Gaussian process that regresses its sign. At x it is normal with the mean m_c(x) and the predictive
    variance s²(x) = v(x) + α, which is the same for all classes. The probability of a class is the probability that its
    process is the largest, P(m_c + s z_c > m_j + s z_j for all j ≠ c) with independent normal z. For two classes it is
    Φ(m/s) [RasmussenWilliams2006, Sec. 6.5]. The most probable class is predicted. Far from the data the variance
    grows and the probabilities become equal. They are not calibrated on data; for that, wrap the estimator in
    :class:`sklearn.calibration.CalibratedClassifierCV`.

    Examples
    --------
    >>> from holokern.model import NNGPClassifier
    >>> model = NNGPClassifier("erf", depth=1, alpha=0.1).fit([[-1.0], [1.0]], ["left", "right"])
    >>> model.predict([[2.0]]).tolist(), model.predict_proba([[0.0]]).round(12).tolist()
    (['right'], [[0.5, 0.5]])
    """

    _kind: ClassVar[Kind] = "nngp"

    def decision_function(self, X: Any) -> Array:
        """The regressed signs divided by their standard deviations, so they are ordered as the probabilities are."""
        X = self._checked(X)
        means = self.solution_.mean(X)
        return _flat(means / self._deviations(X)[:, None])

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, one column for each class; see the notes of the class."""
        X = self._checked(X)
        return class_probabilities(self.solution_.mean(X), self._deviations(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _deviations(self, X: Array) -> Array:
        """Predictive standard deviations, the noise included; never zero."""
        return np.asarray(np.sqrt(np.maximum(self.solution_.variance(X) + self.alpha_, np.finfo(float).tiny)))


# Nodes on [-_REACH, _REACH]: the trapezoidal rule converges faster than any power, beyond 1e-15 with these.
_NODES, _REACH = 97, 8.5


def class_probabilities(means: Array, deviations: Array) -> Array:
    """One row for each point, one column for each class; a single column of means belongs to the second of two classes.

    >>> class_probabilities(np.array([[0.0], [1.96]]), np.ones(2)).round(3).tolist()
    [[0.5, 0.5], [0.025, 0.975]]
    >>> class_probabilities(np.array([[1.0, 1.0, 1.0, -99.0]]), np.ones(1)).round(12).tolist()
    [[0.333333333333, 0.333333333333, 0.333333333333, 0.0]]
    """
    from scipy.special import log_ndtr, ndtr

    scaled = means / deviations[:, None]
    if means.shape[1] == 1:
        return np.asarray(np.concatenate([ndtr(-scaled), ndtr(scaled)], axis=1))
    nodes = np.linspace(-_REACH, _REACH, _NODES)
    density = np.exp(-0.5 * nodes**2)
    result = np.empty_like(scaled)
    for own in range(scaled.shape[1]):
        # P(z_j < z + m_c - m_j for all j ≠ c), averaged over z.
        gaps = np.delete(scaled[:, [own]] - scaled, own, axis=1)
        below = sum(log_ndtr(nodes + gaps[:, [j]]) for j in range(gaps.shape[1]))
        result[:, own] = np.exp(below) @ density
    return np.asarray(result / np.sum(result, axis=1, keepdims=True))
