"""`NetworkFeatures`: features of a network kernel for any linear model, with a measured error."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from holokern.model.estimators.kernel_ridge import NetworkEstimator
from holokern.model.features.feature_map import FeatureError, FeatureMap, Landmarks, draw, draw_by_leverage, measure
from holokern.model.features.harmonics import HarmonicFeatures
from holokern.model.kernel import NetworkKernel, row_blocks
from holokern.numeric import Array
from holokern.progress import report

_HELD_OUT = 200  # Points on each side of the pairs that the error is measured on.
_KEPT = 20_000  # Points kept of a stream: enough for pools of landmarks, little beside the data.
_FIRST_COUNT = 64  # where the search for a tolerance starts


@dataclass(eq=False, repr=False)
class NetworkFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NetworkEstimator):  # type: ignore[misc]
    """Features whose inner products approximate the NNGP kernel or the NTK, for linear models on many points.

    Parameters
    ----------
    activation, depth, bias, weight_variance
        The network, as in :class:`~holokern.model.NTKRegressor`.
    n_components : int, default=1000
        The number of features, or the most that a ``tolerance`` may take.
    kernel : {"ntk", "nngp"}, default="ntk"
        Which of the two kernels.
    method : {"landmarks", "leverage", "harmonics"}, default="landmarks"
        ``"landmarks"``: Nyström features from points drawn uniformly among the data. ``"leverage"``: the same with
        points drawn by ridge leverage scores, for data with a few distant points. ``"harmonics"``: from the exact
        expansion of the kernel in spherical harmonics, which needs only the range of the lengths of the data; low
        degrees are exact, the others random with the right expectation. Compare ``error_``: harmonics have the smaller
        one for isotropic data, landmarks for data that vary in few directions.
    tolerance : float or None, default=None
        The mean error on held-out pairs, relative to the mean of the kernel, at which the number of features stops
        growing; None takes ``n_components`` of them.
    random_state : int, RandomState or None, default=None
        Chooses landmarks, directions and held-out pairs.

    Attributes
    ----------
    error_ : FeatureError
        The error on held-out pairs, and what is proved.
    map_ : Landmarks or HarmonicFeatures
        The features as a function; ``map_.features(X)`` also takes arrays of JAX and torch, traced or not.
    network_ : Network
        The network.

    Notes
    -----
    ``transform`` also takes JAX and torch arrays and returns arrays of their kind. ``partial_fit`` sees the data block
    by block and keeps a uniform sample of 20 000 points.

    Examples
    --------
    >>> import numpy as np
    >>> from holokern.model import NetworkFeatures
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = NetworkFeatures("gelu", depth=2, bias=0.1, n_components=200, random_state=0).fit(X)
    >>> features = model.transform(X)
    >>> features.shape, model.error_.mean < 1e-3
    ((500, 200), True)
    >>> bool(np.mean(np.abs(features @ features.T - model.network_.ntk(X))) < 1e-2)
    True
    """

    _: KW_ONLY
    n_components: int = 1000
    kernel: str = "ntk"
    method: str = "landmarks"
    tolerance: float | None = None
    random_state: Any = None
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NetworkEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions({"ntk", "nngp"})],
        "method": [StrOptions({"landmarks", "leverage", "harmonics"})],
        "tolerance": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> NetworkFeatures:
        """Make the features for data such as ``X``; ``y`` is ignored."""
        X = validate_data(self, X, dtype=np.float64)
        self._random = check_random_state(self.random_state)
        self._seen = len(X)
        self._build(X if len(X) <= _KEPT else draw(X, _KEPT, self._random))
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None) -> NetworkFeatures:
        """Take one more block of data into account; the features are made again from a uniform sample of all blocks."""
        first = not hasattr(self, "_sample")
        X = validate_data(self, X, dtype=np.float64, reset=first)
        if first:
            self._random, self._seen = check_random_state(self.random_state), 0
            self._sample = np.empty((0, X.shape[1]))
        # Each point of the stream stays with the same probability (Vitter's reservoir).
        room = max(0, _KEPT - len(self._sample))
        sample = np.concatenate([self._sample, X[:room]])
        places = self._random.randint(0, self._seen + room + 1 + np.arange(len(X[room:]))) if len(X) > room else []
        for row, place in zip(X[room:], places, strict=True):
            if place < _KEPT:
                sample[place] = row
        self._seen += len(X)
        self._build(sample)
        return self

    def _build(self, sample: Array) -> None:
        self._sample = sample
        kernel = self._network_kernel("ntk" if self.kernel == "ntk" else "nngp")
        kernel.diagonal(sample)  # refuses data that overflow
        mixed = self._random.permutation(len(sample))
        held = min(2 * _HELD_OUT, len(sample) // 3)
        rest = sample[np.sort(mixed[held:])]
        rows, columns = (sample[mixed[:held:2]], sample[mixed[1:held:2]]) if held > 1 else (sample[:1], sample[:1])
        count = int(self.n_components)
        size = count if self.tolerance is None else min(_FIRST_COUNT, count)
        while True:
            # The held-out points may be landmarks only if there are too few others.
            pool = rest if size < len(rest) else sample
            self.map_, self.error_ = self._made(kernel, pool, size, rows, columns)
            if self.tolerance is None or self.error_.mean <= self.tolerance or size >= count:
                break
            size = min(2 * size, count)
        if self.tolerance is not None and self.error_.mean > self.tolerance:
            warnings.warn(
                f"{count} features have a mean error of {self.error_.mean:.1e} on held-out pairs, above "
                f"tolerance={self.tolerance:.1e}; raise n_components",
                stacklevel=3,
            )
        self.network_ = kernel.network

    def _made(
        self, kernel: NetworkKernel, pool: Array, count: int, rows: Array, columns: Array
    ) -> tuple[FeatureMap, FeatureError]:
        if self.method == "harmonics":
            harmonics = HarmonicFeatures.of(kernel, pool, count, self._random)
            return harmonics, measure(harmonics, rows, columns, harmonics.truncation)
        by_leverage = self.method == "leverage"
        chosen = draw_by_leverage(kernel, pool, count, self._random) if by_leverage else draw(pool, count, self._random)
        landmarks = Landmarks.at(kernel, chosen)
        return landmarks, measure(landmarks, rows, columns)

    def transform(self, X: Any) -> Any:
        """The features, one row for each point: an array of the kind that was given."""
        check_is_fitted(self)
        if _is_other_kind(X):
            return self.map_.features(X)
        X = np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        result = np.empty((len(X), self.map_.count))
        for rows in row_blocks(len(X), self.map_.count):
            result[rows] = self.map_.features(X[rows])
            report("features", rows.stop, len(X))
        return result

    @property
    def _n_features_out(self) -> int:
        return self.map_.count


def _is_other_kind(X: Any) -> bool:
    """Whether this is an array of JAX or torch."""
    if isinstance(X, (np.ndarray, list, tuple)):
        return False
    from array_api_compat import is_jax_array, is_torch_array

    return bool(is_jax_array(X) or is_torch_array(X))


@dataclass(eq=False, repr=False)
class NTKTransformer(NetworkFeatures):
    """Nyström features from landmarks: :class:`NetworkFeatures` with ``method="landmarks"`` and no held-out pairs.

    Parameters
    ----------
    activation, depth, bias, weight_variance, n_components, kernel, random_state
        As in :class:`NetworkFeatures`; at most as many landmarks as there are points are used.

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

    _: KW_ONLY
    n_components: int = 100
    method: str = field(default="landmarks", init=False)
    tolerance: float | None = field(default=None, init=False)

    @property
    def landmarks_(self) -> Array:
        """The landmarks."""
        check_is_fitted(self)
        assert isinstance(self.map_, Landmarks)
        return self.map_.points
