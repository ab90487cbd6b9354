"""`LearnableKernel`: NNGP and NTK as functions of points, weight variances and biases, for JAX and torch.

Everything is arithmetic on arrays of the caller's kind, so derivatives go to the points and to the variances. Angles
come from chords and gaps that keep their digits, hence nothing is clamped: where two points coincide or are antipodal,
values are exact and first derivatives are right; where the kernel has a tip there, they are the mean over directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from holokern.model.kernel import Kind
from holokern.network import ArrayKernel, Network

Interval = tuple[float, float]


@dataclass(frozen=True)
class LearnableKernel:
    """The kernel of a network of dense layers, for a range of norms and of variances.

    Attributes
    ----------
    network
        The network; its activations, its residual connections and, unless other ones are given, its variances.
    kind
        ``"nngp"`` or ``"ntk"``.
    norms
        The smallest and the largest norm of the points. Zero vectors are always allowed; outside, values are NaN.
    weights, biases
        Ranges of the weight variances and of the standard deviations of the biases; None for those of the network.

    Examples
    --------
    ``jax.jit(kernel)``, ``jax.grad``, ``jax.vmap`` and ``torch.func`` go through a call; so do second derivatives.

    >>> import numpy as np
    >>> kernel = LearnableKernel(Network("erf", 2, bias=0.5, weight_variance=1.0), "ntk", (0.5, 3.0), (0.5, 4.0))
    >>> x = np.array([[1.0, 2.0], [0.5, -1.0]])
    >>> exact = Network("erf", 2, bias=0.5, weight_variance=2.0).ntk(x)
    >>> bool(np.allclose(kernel(x, weight=np.float64(2.0)), exact, rtol=1e-12))
    True
    """

    network: Network
    kind: Kind
    norms: Interval
    weights: Interval | None = None
    biases: Interval | None = None
    _kernel: ArrayKernel = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind == "ntk":
            self.network.require_tangent()
        object.__setattr__(self, "_kernel", ArrayKernel(self.network, *self.norms, self.weights, self.biases))

    def __call__(self, X: Any, Y: Any = None, *, weight: Any = None, bias: Any = None) -> Any:
        """The kernel between the rows of X and of Y, or of X itself.

        ``weight`` and ``bias`` are scalars, or have one entry for the input and one for each hidden layer; None
        stands for those of the network.
        """
        return getattr(self._kernel, self.kind)(X, Y, weight=weight, bias=bias)

    def diagonal(self, X: Any, *, weight: Any = None, bias: Any = None) -> Any:
        """The kernel of each point with itself."""
        return getattr(self._kernel.diagonals(X, weight=weight, bias=bias), self.kind)

    def pair(self, x: Any, y: Any, *, weight: Any = None, bias: Any = None) -> Any:
        """The kernel of two points, given as vectors; this is the function that GPJax calls."""
        return self(x[None, :], y[None, :], weight=weight, bias=bias)[0, 0]
