"""`NTKKernel` and `NNGPKernel`: kernels of `sklearn.gaussian_process` with gradients in their hyperparameters.

The derivatives in the bias and the weight variance are exact (see `kernel_gradient`). Those in the parameters of an
activation, those in the numbers of layers, and all those of activations with a break other than zero, are central
differences of order six: the kernels are analytic in the logarithms of the hyperparameters and are evaluated to about
1e-12, so that a generous step gives about 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from holokern.activation import activation as make_activation
from holokern.errors import BadInput
from holokern.model.gaussian_process.kernel_gradient import Rates, kernel_gradient
from holokern.model.kernel import Kind, NetworkKernel
from holokern.network import Network, layers
from holokern.numeric import Array

_WEIGHTS = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
_REACH = 0.08
_EXACT = {"bias": Rates(bias=1.0, weight=0.0), "weight_variance": Rates(bias=0.0, weight=1.0)}


@dataclass(eq=False, repr=False)
class _NetworkGaussianKernel(Kernel):  # type: ignore[misc]
    """A kernel of a network; hyperparameters are positive and optimised in their logarithms."""

    _kind: ClassVar[Kind]
    activation: object = "relu"
    depth: int = 3
    bias: float = 0.1
    weight_variance: float | None = None
    _: KW_ONLY
    parameter_names: tuple[str, ...] = ()
    parameter_values: Any = ()
    input_shape: tuple[int, ...] | None = None
    bias_bounds: Any = (1e-3, 1e3)
    weight_variance_bounds: Any = (1e-3, 1e3)
    parameter_bounds: Any = (1e-3, 1e3)

    def __post_init__(self) -> None:
        if isinstance(self.activation, layers.Layer) and not np.size(self.parameter_values):
            known = layers.deviations(self.activation)
            self.parameter_names = self.parameter_names or tuple(known)
            self.parameter_values = tuple(known.get(name, 1.0) for name in self.parameter_names)

    @property
    def _is_made(self) -> bool:
        """Whether the activation is a network already, or its layers."""
        return isinstance(self.activation, (Network, layers.Layer))

    @property
    def hyperparameter_bias(self) -> Hyperparameter:
        """The standard deviation of the biases; fixed when it is 0, and where layers have their own."""
        return Hyperparameter("bias", "numeric", self.bias_bounds if self.bias and not self._is_made else "fixed")

    @property
    def hyperparameter_parameter_values(self) -> Hyperparameter:
        """The parameters of the activation or of the layers; fixed when there are none."""
        count = len(self.parameter_names)
        return Hyperparameter("parameter_values", "numeric", self.parameter_bounds if count else "fixed", max(count, 1))

    @property
    def hyperparameter_weight_variance(self) -> Hyperparameter:
        """The variance of the weights; fixed when None (the normalisation c_σ), and where layers have their own."""
        bounds = "fixed" if self.weight_variance is None or self._is_made else self.weight_variance_bounds
        return Hyperparameter("weight_variance", "numeric", bounds)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """The matrix between the rows of X and Y, and with ``eval_gradient`` its gradient in ``theta``.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            Left points.
        Y : array-like of shape (n_samples_Y, n_features) or None, default=None
            Right points; None means X.
        eval_gradient : bool, default=False
            Only when Y is None.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            The kernel.
        K_gradient : ndarray of shape (n_samples_X, n_samples_X, n_dims)
            The derivatives with respect to the logarithms of the hyperparameters that are not fixed.
        """
        left = self._points(X)
        if Y is not None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated when Y is None.")
            return self._kernel()(left, self._points(Y))
        matrix = self._kernel()(left)
        return (matrix, self.with_gradient(left)[1]) if eval_gradient else matrix

    def diag(self, X: Any) -> Array:
        """The diagonal of the kernel."""
        return self._kernel().diagonal(self._points(X))

    def is_stationary(self) -> bool:
        """Never: the kernel depends on the lengths of the points."""
        return False

    def __repr__(self) -> str:
        parts = [f"activation={self.activation!r}"]
        if not self._is_made:
            parts += [f"depth={self.depth}", f"bias={self.bias:.3g}"]
        if self.weight_variance is not None:
            parts.append(f"weight_variance={self.weight_variance:.3g}")
        values = np.atleast_1d(np.asarray(self.parameter_values, dtype=float))
        parts += [f"{name}={value:.3g}" for name, value in zip(self.parameter_names, values, strict=True)]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _points(self, X: Any) -> Array:
        points = np.atleast_2d(np.asarray(X, dtype=float))
        return points if self.input_shape is None else points.reshape(len(points), *self.input_shape)

    def _kernel(self) -> NetworkKernel:
        sigma = self.activation
        values = np.atleast_1d(np.asarray(self.parameter_values, dtype=float))
        if len(values) != len(self.parameter_names):
            raise BadInput(f"{len(self.parameter_names)} parameter_names but {len(values)} parameter_values")
        named = dict(zip(self.parameter_names, values.tolist(), strict=True))
        if isinstance(sigma, layers.Layer):
            return NetworkKernel(Network(layers.with_deviations(sigma, named)), self._kind)
        if named and not isinstance(sigma, str):
            raise BadInput(f"parameter_names need layers or an activation given by its name, got {sigma!r}")
        if isinstance(sigma, Network):
            return NetworkKernel(sigma, self._kind)
        sigma = make_activation(sigma, **named) if named else sigma
        variance = None if self.weight_variance is None else float(self.weight_variance)
        network = Network(sigma, self.depth, bias=float(self.bias), weight_variance=variance)
        return NetworkKernel(network, self._kind)

    def with_gradient(self, points: Array) -> tuple[Array, Array]:
        """The matrix and its gradient, in half the time; the last bits of the matrix may differ from a call."""
        # The kernel grows with a power of the parameters that is about the number of layers with weights.
        reach = _REACH / (len(self.parameter_names) if self._is_made else self.depth + 1)
        theta = np.asarray(self.theta, dtype=float)
        result = np.empty((len(points), len(points), len(theta)))
        names = [part.name for part in self.hyperparameters if not part.fixed for _ in range(part.n_elements)]
        matrix, exact = self._exact(points, [name for name in names if name in _EXACT])
        for index, (name, unit) in enumerate(zip(names, np.eye(len(theta)), strict=True)):
            if name in exact:
                result[:, :, index] = exact[name]
            else:
                moved = partial(self._moved, points, theta, unit)
                result[:, :, index] = _derivative(moved, reach)
        return matrix, result

    def _exact(self, points: Array, names: list[str]) -> tuple[Array, dict[str, Array]]:
        """The matrix, and the derivatives that are found without differences."""
        kernel = self._kernel()
        if names:
            found = kernel_gradient(kernel.network, self._kind, points, [_EXACT[name] for name in names])
            if found is not None:
                return (found[0] + found[0].T) / 2, dict(zip(names, found[1:], strict=True))
        return kernel(points), {}

    def _moved(self, points: Array, theta: Array, unit: Array, step: float) -> Array:
        moved: _NetworkGaussianKernel = self.clone_with_theta(theta + step * unit)
        return moved._kernel()(points)


def _derivative(function: Callable[[float], Array], step: float) -> Array:
    """The derivative at 0 by the central difference of order six."""
    terms = [weight * (function(n * step) - function(-n * step)) for n, weight in _WEIGHTS]
    return np.asarray(sum(terms) / step)


class NTKKernel(_NetworkGaussianKernel):
    """The neural tangent kernel as a kernel of :mod:`sklearn.gaussian_process`.

    Parameters
    ----------
    activation : str, Activation, list of these, Layer or Network, default="relu"
        As in :class:`~holokern.model.NTKRegressor`. Layers have weights and biases of their own, which are
        hyperparameters; those of a network are fixed. Other parameters of the network are not used then.
    depth : int, default=3
        The number of hidden layers.
    bias : float, default=0.1
        The standard deviation of the biases; a hyperparameter unless it is 0.
    weight_variance : float or None, default=None
        The variance of the weights; a hyperparameter unless it is None (the normalisation c_σ).
    parameter_names : tuple of str, default=()
        Parameters of the named activation that are hyperparameters, such as ``("alpha",)`` of elu. For layers, names
        from :func:`holokern.layers.deviations`; all of them by default.
    parameter_values : tuple of float, default=()
        Their values, positive; those of the layers by default.
    input_shape : tuple of int or None, default=None
        The shape of an input with positions, such as (height, width, channels), as scikit-learn takes rows of numbers.
    bias_bounds, weight_variance_bounds, parameter_bounds : pair of float or "fixed", default=(1e-3, 1e3)
        As in scikit-learn's kernels.

    Notes
    -----
    Gradients in the bias and the weight variance are exact. Those in the parameters of the activation or of layers, and
    all gradients of activations with a break other than zero, come from differences of order six (errors about 1e-9).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from holokern.model import NTKKernel
    >>> X = np.linspace(-1, 1, 9)[:, None]
    >>> kernel = NTKKernel("relu", depth=1, bias=0.5)
    >>> model = GaussianProcessRegressor(kernel, alpha=1e-6, optimizer=None).fit(X, X[:, 0] ** 2)
    >>> bool(abs(model.predict([[0.6]])[0] - 0.36) < 0.05)
    True
    """

    _kind: ClassVar[Kind] = "ntk"


class NNGPKernel(_NetworkGaussianKernel):
    """The NNGP kernel as a kernel of :mod:`sklearn.gaussian_process`; the parameters are those of :class:`NTKKernel`.

    Examples
    --------
    >>> from holokern.model import NNGPKernel
    >>> kernel = 2.0 * NNGPKernel("elu", depth=1, bias=0.0, parameter_names=("alpha",), parameter_values=(1.5,))
    >>> kernel
    1.41**2 * NNGPKernel(activation='elu', depth=1, bias=0, alpha=1.5)
    >>> kernel.theta.round(4).tolist()
    [0.6931, 0.4055]

    Images of three by three pixels, as rows of nine numbers:

    >>> from holokern import layers as L
    >>> net = L.Serial(L.Conv(2, 1.4, 0.1), L.Activation("relu"), L.GlobalAvgPool(), L.Dense())
    >>> kernel = NNGPKernel(net, input_shape=(3, 3, 1))
    >>> kernel.parameter_names, kernel([[1.0] * 9, [0.0] * 9]).shape
    (('0.W_std', '0.b_std', '3.W_std'), (2, 2))
    """

    _kind: ClassVar[Kind] = "nngp"
