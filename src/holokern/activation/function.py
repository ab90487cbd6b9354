"""`Activation`: a function of one variable, given by an expression, by its ODE or by its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from operator import add, mul
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holokern.activation.expression import Expression
from holokern.activation.foreign.sampled import SampledFunction
from holokern.activation.named import Parameters, Value, read_rational
from holokern.activation.ode.ode_activation import OdeActivation
from holokern.activation.pieces.piece_line import PieceLine, piece_line
from holokern.activation.ring.breaks import Break
from holokern.activation.tree.nodes import Call, Node, walk
from holokern.activation.tree.printing import to_text
from holokern.errors import BadInput, Unsupported
from holokern.weyl import Operator

if TYPE_CHECKING:
    from collections.abc import Callable

    from flint import arb
    from matplotlib.axes import Axes

    from holokern.activation.values.constants import ExactReal

# Questions about an activation that a later folder answers: imports only go backwards, so that folder registers itself.
_SERVED_LATER: dict[str, Callable[[Activation], Any]] = {}


def serve(question: str, answer: Callable[[Activation], Any]) -> None:
    """Let ``answer`` serve the method called ``question`` of every activation."""
    _SERVED_LATER[question] = answer


@dataclass(frozen=True, slots=True, repr=False)
class Activation:
    """A real function σ of one variable u, immutable; make one with :func:`holokern.activation`.

    Two activations are equal when their expressions, or their operators and data, are equal; the name does not count.

    Attributes
    ----------
    function : Expression, OdeActivation or SampledFunction
        What the activation is made of.
    name : str or None
        Its name, if it was made by name.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> relu = activation("relu")
    >>> relu([-1.0, 2.0])
    array([0., 2.])
    >>> relu.derivative, relu.breaks, relu.jump_order, relu.annihilator
    (activation('Heaviside(u)'), (Fraction(0, 1),), 1, (u*D - 1,))
    """

    function: Expression | OdeActivation | SampledFunction
    name: str | None = field(default=None, compare=False)
    _parameters: Parameters = field(default=(), compare=False)

    def __call__(self, x: Any) -> Any:
        """The value: a float for a scalar, else an array of the shape and type of ``x``, float32 for float32.

        NaN gives NaN, and an expression has its limits at the infinities.  No input makes it warn.
        """
        return self.function(x)

    def noise(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far the floats of ``self(x)`` may be from the true values, to first order; infinite where unknown.

        For an expression it follows all rounding errors through the formula.  For an ODE or a callable it is a few
        units in the last place, and more for the derivative of a callable that only a series can differentiate.

        Examples
        --------
        >>> from holokern.activation import activation
        >>> bool(activation("gelu").noise(np.array([0.7]))[0] < 1e-15)
        True
        """
        return self.function.noise(x)

    def ball(self, x: arb | Fraction | int, precision: int = 128) -> arb:
        """A flint ball that contains σ at the exact point, or at every point of the ball, ``x``.

        Examples
        --------
        >>> from holokern.activation import activation
        >>> activation("gelu").ball(Fraction(-10)).rel_accuracy_bits() > 100
        True
        """
        return self.function.ball(x, precision)

    @property
    def parameters(self) -> dict[str, Value]:
        """The parameters of a named activation, read exactly."""
        return dict(self._parameters)

    @property
    def tree(self) -> Node:
        """The function as an expression tree.

        Raises
        ------
        Unsupported
            For an activation given by its ODE or by a callable.
        """
        if isinstance(self.function, Expression):
            return self.function.tree
        if isinstance(self.function, SampledFunction):
            raise Unsupported(f"{self} is known by its values alone, so it has no expression; give one in u")
        raise Unsupported(
            "an activation given by its ODE has no expression; use its operators (annihilator) or its values, or give "
            "the activation as an expression"
        )

    @property
    def expression(self) -> str:
        """The function as text that :func:`holokern.activation` can read; an activation given by its ODE has none."""
        return to_text(self.tree)

    @property
    def pieces(self) -> PieceLine:
        """σ cut at its breaks, with a formula between them; an activation given by its ODE or a callable has none."""
        return piece_line(self.tree)

    @property
    def calls(self) -> tuple[str, ...]:
        """The functions that the expression calls, once for each time."""
        return tuple(node.name for node in walk(self.tree) if isinstance(node, Call))

    @property
    def derivative(self) -> Activation:
        """The classical derivative σ′ of every piece.

        Where σ jumps (``jump_order`` 0), the derivative as a distribution also has a delta, which is left out here.
        At a kink the value is the mean of both sides, for example 1/2 for relu at 0.
        """
        return Activation(self.function.derivative)

    @property
    def breaks(self) -> tuple[Break, ...]:
        """The points where σ is not analytic: Fractions, exact irrational constants, or floats found numerically."""
        return self.function.breaks

    @property
    def jump_order(self) -> int | None:
        """The order of the first derivative that jumps somewhere: 0 for step, 1 for relu, None for a smooth σ."""
        return self.function.jump_order

    @property
    def parity(self) -> str | None:
        """``"even"``, ``"odd"`` or None."""
        return self.function.parity

    @property
    def is_holonomic(self) -> bool:
        """Whether the exact algebra can handle σ; if not, ``annihilator`` raises an error that says why."""
        return self.function.is_holonomic

    @property
    def annihilator(self) -> tuple[Operator, ...]:
        """Generators of the ideal of all P in Q⟨u, D⟩ with Pσ = 0 as a distribution, deltas at breaks included.

        When ``annihilator_scale`` is an irrational constant κ, they annihilate τ with σ(u) = τ(κu) instead.
        For an activation given by its ODE, the ideal is the given one.

        Raises
        ------
        NotHolonomic
            For a function like tanh; the message says what to use instead.
        Unsupported
            For irrational arguments or breaks that no scaling makes rational.
        """
        return self.function.annihilator

    @property
    def annihilator_scale(self) -> ExactReal | None:
        """The κ of ``annihilator``, or None when it is 1."""
        return self.function.annihilator_scale

    def shift(self, c: object) -> Activation:
        """The activation σ(u + c), c a rational number or, for an expression, a constant as text such as ``"pi/2"``.

        Examples
        --------
        >>> from holokern.activation import activation
        >>> activation("relu").shift(-1)
        activation('Max(u - 1, 0)')
        """
        return Activation(self.function.shift(c))

    def scale(self, c: object) -> Activation:
        """The activation σ(c·u), c a rational number or, for an expression, a constant as text such as ``"sqrt(2)"``.

        Examples
        --------
        >>> from holokern.activation import activation
        >>> activation("sin").scale("pi")
        activation('sin(pi*u)')
        """
        return Activation(self.function.scale(c))

    def __add__(self, other: object) -> Activation:
        return self._combine(other, add)

    __radd__ = __add__

    def __mul__(self, other: object) -> Activation:
        return self._combine(other, mul)

    __rmul__ = __mul__

    def __neg__(self) -> Activation:
        return self * -1

    def __sub__(self, other: object) -> Activation:
        negative = -other if isinstance(other, Activation) else -read_rational(other, "the subtrahend")
        return self + negative

    def __rsub__(self, other: object) -> Activation:
        return -self + other

    def __truediv__(self, other: object) -> Activation:
        divisor = read_rational(other, "the divisor of an activation")
        if divisor == 0:
            raise BadInput("an activation cannot be divided by zero")
        return self * (1 / divisor)

    def __repr__(self) -> str:
        if self.name is not None:
            given = "".join(f", {key}={_shown(value)}" for key, value in self._parameters)
            return f"activation({self.name!r}{given})"
        if isinstance(self.function, OdeActivation):
            return f"activation({_ode_text(self.function)})"
        if isinstance(self.function, SampledFunction):
            return f"activation(<{self.function.label}>)"
        return f"activation({self.expression!r})"

    def __str__(self) -> str:
        if isinstance(self.function, OdeActivation):
            return repr(self)
        if isinstance(self.function, SampledFunction):
            return self.function.label
        return self.name if self.name is not None and self.is_plain() else self.expression

    def is_plain(self) -> bool:
        """Whether the name alone gives this activation: all its parameters have their defaults."""
        from holokern.activation.catalogue import REGISTRY

        return all(p.default == self.parameters.get(p.name) for p in REGISTRY[str(self.name)].parameters)

    def latex(self) -> str:
        r"""The equation σ(u) = …, or the ODEs, in LaTeX.

        Examples
        --------
        >>> from holokern.activation import activation
        >>> print(activation("gaussian").latex())
        \sigma(u) = e^{- \frac{u^{2}}{2}}
        """
        return self.function.latex()

    def closed_form(self) -> Any:
        """The closed form of k = E[σ(u)σ(v)] and k′, with ``k_latex`` and ``kdot_latex``; see :mod:`holokern.dual`.

        Raises
        ------
        Unsupported
            Where none is known; the message says why.
        """
        return _SERVED_LATER["closed_form"](self)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw σ and σ′ with matplotlib, into ``ax`` or into a new figure."""
        from holokern.activation.plot import plot

        return plot(self, ax)

    def _combine(self, other: object, operation: Callable[[Any, Any], Any]) -> Activation:
        operand = other.function if isinstance(other, Activation) else read_rational(other, "the other operand")
        if isinstance(operand, SampledFunction):
            # sums and products commute, and this operand knows how to combine itself with every other
            return Activation(operation(operand, self.function))
        return Activation(operation(self.function, operand))


def _shown(value: object) -> str:
    """A number, a sequence of them or None as Python text that reads back exactly: integers bare, others as text."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    text = str(value)
    return text if value is None or text.lstrip("-").isdigit() else repr(text)


def _ode_text(ode: OdeActivation) -> str:
    """The keywords that give this activation; values that are enclosures only are shown, not readable."""
    data = [
        f"({_shown(b.low)}, {_shown(b.high)}): " + (f"{{{_shown(b.point)}: {_shown(b.values)}}}" if b.values else "0")
        for b in ode.branches
    ]
    return f"operator={[str(item) for item in ode.operators]}, values={{{', '.join(data)}}}"
