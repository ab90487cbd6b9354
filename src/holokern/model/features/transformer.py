"""`NTKTransformer`: Nyström features of a network kernel for any pipeline."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from holokern.model.estimators.kernel_ridge import NETWORK_CONSTRAINTS, build_kernel
from holokern.model.features.landmarks import Landmarks
from holokern.model.kernel import Array

__all__ = ["NTKTransformer"]


class NTKTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features whose inner products approximate the kernel, exactly so at the landmarks.

    Parameters
    ----------
    activation, depth, bias, weight_variance
        The network, as in :class:`~holokern.model.NTKRegressor`.
    n_components : int, default=100
        The number of landmarks, drawn among the training points; at most all of them are used.
    kernel : {"ntk", "nngp"}, default="ntk"
        Which of the two kernels.
    random_state : int, RandomState or None, default=None
        Chooses the landmarks.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_components, n_features)
        The landmarks.
    network_ : Network
        The network.

    Examples
    --------
    >>> import numpy as np
    >>> from holokern.model import NTKTransformer
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> model = NTKTransformer("relu", depth=2, n_components=20).fit(X)
    >>> features = model.transform(X)
    >>> bool(np.allclose(features @ features.T, model.network_.ntk(X)))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NETWORK_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions({"ntk", "nngp"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        activation: Any = "relu",
        depth: int | None = 3,
        bias: float = 0.0,
        weight_variance: float | None = None,
        *,
        n_components: int = 100,
        kernel: str = "ntk",
        random_state: Any = None,
    ) -> None:
        self.activation = activation
        self.depth = depth
        self.bias = bias
        self.weight_variance = weight_variance
        self.n_components = n_components
        self.kernel = kernel
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> NTKTransformer:
        """Choose the landmarks among the rows of ``X``; ``y`` is ignored."""
        X = validate_data(self, X, dtype=np.float64)
        kernel = build_kernel(self, "ntk" if self.kernel == "ntk" else "nngp")
        self._map = Landmarks.choose(kernel, X, int(self.n_components), check_random_state(self.random_state))
        self.landmarks_ = self._map.points
        self.network_ = kernel.network
        return self

    def transform(self, X: Any) -> Array:
        """The features, one column a landmark."""
        check_is_fitted(self)
        return self._map.features(np.asarray(validate_data(self, X, dtype=np.float64, reset=False)))

    @property
    def _n_features_out(self) -> int:
        return len(self.landmarks_)
