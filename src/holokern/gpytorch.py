"""Kernels of infinitely wide networks for GPyTorch and BoTorch (extras ``gpytorch`` and ``botorch``).

>>> import torch                                                        # doctest: +SKIP
>>> from holokern.gpytorch import NNGPKernel                            # doctest: +SKIP
>>> kernel = NNGPKernel("elu", depth=2, bias=0.3, weight_variance=1.5)  # doctest: +SKIP
>>> kernel(torch.rand(5, 3, dtype=torch.float64)).to_dense().shape      # doctest: +SKIP
torch.Size([5, 5])
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from holokern.activation import activation as make_activation
from holokern.errors import BadInput, Unsupported
from holokern.model import LearnableKernel
from holokern.network import Network

try:
    import torch

    with warnings.catch_warnings():
        # GPyTorch compiles some functions by a deprecated way of torch when it is imported.
        warnings.simplefilter("ignore", DeprecationWarning)
        from gpytorch.constraints import Interval
        from gpytorch.kernels import Kernel
except ImportError as error:
    raise ImportError("holokern.gpytorch needs GPyTorch; install it with: pip install 'holokern[gpytorch]'") from error

# Steps and weights of the central difference of order six, for parameters of activations.
_WEIGHTS = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
_STEP = 0.02
# The range of a learnable number, as in `holokern.model.NNGPKernel`: a line search without it tries variances of
# 1e-128, which no table serves.
_BOUNDS = (1e-3, 1e3)
_ROOM = 10.0  # A start value outside is this far from the end of its range.
# Tables are made for ranges that end at powers of this, so that small moves of points and variances meet the same one.
_GRID = 2.0


class NetworkKernel(Kernel):  # type: ignore[misc]
    """The NNGP kernel or the NTK of a network of dense layers, with learnable variances.

    Parameters
    ----------
    activation
        What `holokern.Network` takes, or a `holokern.Network`, whose depth, bias and variance then count.
    depth, bias, weight_variance
        The network. The bias is learnable unless it is 0, the weight variance unless it is None (normalised by c_σ).
    kind
        ``"nngp"`` or ``"ntk"``.
    per_layer
        Whether the input and every hidden layer have variances of their own.
    activation_parameters
        Names and positive start values of learnable parameters of a named activation, such as ``{"alpha": 1.0}`` of
        elu. Their derivatives are differences of order six, so each costs six more kernels in every step.
    batch_shape, active_dims
        As in other kernels of GPyTorch: every batch has variances of its own.

    Notes
    -----
    Parameters and results are in double precision, whatever the type of the points. On the diagonal and at antipodal
    points values are exact and first derivatives are right. Parameters of activations have no batches. Learnable
    numbers stay between 0.001 and 1000; `register_constraint` sets another range.
    """

    has_lengthscale: ClassVar[bool] = False
    kind: Literal["nngp", "ntk"] = "nngp"

    def __init__(
        self,
        activation: object = "relu",
        depth: int | None = 3,
        bias: float = 0.1,
        weight_variance: float | None = None,
        *,
        kind: Literal["nngp", "ntk"] | None = None,
        per_layer: bool = False,
        activation_parameters: Mapping[str, float] | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(batch_shape=batch_shape, active_dims=active_dims)
        self.kind = kind or type(self).kind
        self.activation = activation
        self.parameter_names = tuple(activation_parameters or ())
        if self.parameter_names and not isinstance(activation, str):
            raise BadInput(f"activation_parameters need an activation given by its name, got {activation!r}")
        if isinstance(activation, Network):
            self._start = activation
        else:
            self._start = self._network(activation_parameters or {}, depth, bias, weight_variance)
        count = (len(self._start.hidden_layers) + 1,) if per_layer else ()
        self._learn("bias", self._start.bias or None, count)
        self._learn("weight_variance", self._start.weight_variance, count)
        for name in self.parameter_names:
            self._learn(f"activation_{name}", float((activation_parameters or {})[name]), (), batched=False)
        self._compiled((1.0, 1.0), dict(activation_parameters or {}))  # refuses what cannot be differentiated

    def _network(
        self, values: Mapping[str, float], depth: int | None, bias: float, weight_variance: float | None
    ) -> Network:
        parameters: dict[str, Any] = dict(values)
        sigma = make_activation(self.activation, **parameters) if values else self.activation
        return Network(sigma, depth, bias=bias, weight_variance=weight_variance)

    def _learn(self, name: str, start: float | None, count: tuple[int, ...], *, batched: bool = True) -> None:
        """A positive parameter ``raw_<name>`` with a range, unless there is no start value."""
        if start is None:
            return
        shape = (*(self.batch_shape if batched else ()), *count)
        self.register_parameter(f"raw_{name}", torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)))
        self.register_constraint(
            f"raw_{name}", Interval(min(_BOUNDS[0], start / _ROOM), max(_BOUNDS[1], start * _ROOM))
        )
        value = torch.full(shape, start, dtype=torch.float64)
        self.initialize(**{f"raw_{name}": getattr(self, f"raw_{name}_constraint").inverse_transform(value)})

    def _value(self, name: str) -> torch.Tensor | None:
        raw = self._parameters.get(f"raw_{name}")
        return None if raw is None else getattr(self, f"raw_{name}_constraint").transform(raw)

    @property
    def bias(self) -> torch.Tensor | None:
        """The standard deviation of the biases; None if it is fixed at 0."""
        return self._value("bias")

    @property
    def weight_variance(self) -> torch.Tensor | None:
        """The variance of the weights; None if layers are normalised by c_σ."""
        return self._value("weight_variance")

    def activation_parameter(self, name: str) -> torch.Tensor:
        """A learnable parameter of the activation."""
        value = self._value(f"activation_{name}")
        if value is None:
            raise BadInput(f"{name!r} is not learnable; learnable are {self.parameter_names!r}")
        return value

    def forward(
        self, x1: torch.Tensor, x2: torch.Tensor, diag: bool = False, last_dim_is_batch: bool = False, **_: Any
    ) -> torch.Tensor:
        """The kernel between points ``batch × n × d`` and ``batch × m × d``, or its diagonal."""
        if last_dim_is_batch:
            raise Unsupported("a network has no kernel for each feature; leave out last_dim_is_batch")
        same = x1 is x2 or (x1.shape == x2.shape and not x2.requires_grad and torch.equal(x1, x2))
        left, right = x1.double(), x1.double() if x1 is x2 else x2.double()
        norms = _range(torch.cat([left.detach().flatten(0, -2), right.detach().flatten(0, -2)]).norm(dim=-1))
        learned = {name: self.activation_parameter(name) for name in self.parameter_names}
        current = {name: float(value.detach()) for name, value in learned.items()}
        shape: torch.Size = torch.broadcast_shapes(  # type: ignore[no-untyped-call]
            self.batch_shape, left.shape[:-2], right.shape[:-2]
        )

        def evaluate(values: Mapping[str, float]) -> torch.Tensor:
            return self._batches(self._compiled(norms, values), left, right, shape, diag, same and not x1.requires_grad)

        result = evaluate(current)
        for name, value in learned.items():
            if torch.is_grad_enabled() and value.requires_grad:
                with torch.no_grad():
                    rate = sum(
                        weight * (evaluate(_moved(current, name, n)) - evaluate(_moved(current, name, -n)))
                        for n, weight in _WEIGHTS
                    )
                # Zero, with the derivative of the kernel along the logarithm of the parameter.
                result = result + rate / _STEP * (value / value.detach() - 1.0)
        return result

    def _compiled(self, norms: tuple[float, float], values: Mapping[str, float]) -> LearnableKernel:
        """The kernel for points with these norms and the variances of now."""
        start = self._start
        network = self._network(values, start.depth, start.bias, start.weight_variance) if values else start
        ranges = [None if value is None else _range(value.detach()) for value in (self.weight_variance, self.bias)]
        return LearnableKernel(network, self.kind, norms, *ranges)

    def _batches(
        self,
        kernel: LearnableKernel,
        left: torch.Tensor,
        right: torch.Tensor,
        shape: torch.Size,
        diag: bool,
        same: bool,
    ) -> torch.Tensor:
        """One kernel for each batch, all at once."""

        def one(x: torch.Tensor, y: torch.Tensor, options: dict[str, torch.Tensor]) -> Any:
            if not diag:
                return kernel(x, None if same else y, **options)
            if same:
                return kernel.diagonal(x, **options)
            return torch.func.vmap(lambda a, b: kernel.pair(a, b, **options))(x, y)

        options = {
            name: value for name, value in (("weight", self.weight_variance), ("bias", self.bias)) if value is not None
        }
        if not shape:
            alone: torch.Tensor = one(left, right, options)
            return alone
        x, y = (part.expand(*shape, *part.shape[-2:]).flatten(0, len(shape) - 1) for part in (left, right))
        batched = {
            name: value.expand(*shape, *value.shape[len(self.batch_shape) :]).flatten(0, len(shape) - 1)
            for name, value in options.items()
            if self.batch_shape
        }
        fixed = {name: value for name, value in options.items() if name not in batched}
        made: torch.Tensor = torch.func.vmap(lambda a, b, mine: one(a, b, fixed | mine))(x, y, batched)
        return made.reshape(*shape, *made.shape[1:])


class NNGPKernel(NetworkKernel):
    """The NNGP kernel: the prior of an infinitely wide Bayesian network. Parameters as in `NetworkKernel`."""

    kind = "nngp"


class NTKKernel(NetworkKernel):
    """The neural tangent kernel. Parameters as in `NetworkKernel`."""

    kind = "ntk"


def _range(values: torch.Tensor) -> tuple[float, float]:
    """The smallest and the largest positive value, rounded outwards to the grid."""
    positive = values[values > 0]
    if not len(positive.flatten()):
        return 1.0, 1.0
    low, high = (np.log(float(end)) / np.log(_GRID) for end in (positive.min(), positive.max()))
    return float(_GRID ** np.floor(low - 1e-9)), float(_GRID ** np.ceil(high + 1e-9))


def _moved(values: Mapping[str, float], name: str, steps: int) -> dict[str, float]:
    """The parameters with the logarithm of one of them moved by so many steps."""
    return {**values, name: values[name] * float(np.exp(steps * _STEP))}
