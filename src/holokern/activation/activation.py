"""The noun of this folder: an activation function, by name, by expression, from SymPy or by its ODE."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from holokern.activation.annihilator import annihilator_of
from holokern.activation.balls import ball
from holokern.activation.breaks import Break
from holokern.activation.catalogue import ALIASES, REGISTRY
from holokern.activation.derivative import differentiate
from holokern.activation.evaluate import evaluate
from holokern.activation.grammar import FUNCTIONS, read_expression
from holokern.activation.named import Parameters, Value, build, read_rational, suggestion
from holokern.activation.pieces import find_breaks, jump_order, parity, pieces_of
from holokern.activation.printing import to_text
from holokern.activation.sympy_bridge import from_sympy, is_sympy, to_latex
from holokern.activation.tree import Node, U, add, check_size, is_constant, multiply, number, substitute
from holokern.errors import BadInput, HolokernError, TooLarge, UnknownName
from holokern.weyl import Operator

if TYPE_CHECKING:
    from flint import arb

    from holokern.activation.constants import ExactReal

__all__ = ["Activation", "activation", "activations"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)
_RELU_POWER = re.compile(r"relu\s*(?:\^|\*\*)\s*(\d{1,6})", re.ASCII)
# derivatives of long expressions may be longer than what is read from text
_MAX_NODES = 50_000


@dataclass(frozen=True, slots=True, repr=False)
class Activation:
    """A real function σ of one variable u, immutable; make one with :func:`holokern.activation`.

    Two activations are equal when their trees are; the name does not count.

    Attributes
    ----------
    tree : Node
        The function as an expression tree.
    name : str or None
        Its name, if it was made by name.

    Examples
    --------
    >>> relu = activation("relu")
    >>> relu([-1.0, 2.0])
    array([0., 2.])
    >>> relu.derivative, relu.breaks, relu.jump_order, relu.annihilator
    (activation('Heaviside(u)'), (Fraction(0, 1),), 1, (u*D - 1,))
    """

    tree: Node
    name: str | None = field(default=None, compare=False)
    _parameters: Parameters = field(default=(), compare=False)

    def __call__(self, x: Any) -> Any:
        """The value: a float for a scalar, else an array of the shape and type of ``x``; see :func:`evaluate`."""
        return evaluate(self.tree, x)

    def ball(self, x: arb | Fraction | int, precision: int = 128) -> arb:
        """A flint ball that contains σ at the exact point, or at every point of the ball, ``x``.

        Examples
        --------
        >>> activation("gelu").ball(Fraction(-10)).rel_accuracy_bits() > 100
        True
        """
        return ball(self.tree, x, precision)

    @property
    def parameters(self) -> dict[str, Value]:
        """The parameters of a named activation, read exactly."""
        return dict(self._parameters)

    @property
    def expression(self) -> str:
        """The function as text that :func:`holokern.activation` reads back."""
        return to_text(self.tree)

    @property
    def derivative(self) -> Activation:
        """The classical derivative σ̇ of every piece.

        Where σ jumps (``jump_order`` 0) the derivative of the distribution has a delta besides, which is not a
        function and not here.  At a kink the value is the symmetric one, for example 1/2 for relu at 0.
        """
        slope = differentiate(self.tree)
        check_size(slope, _MAX_NODES)
        return Activation(slope)

    @property
    def breaks(self) -> tuple[Break, ...]:
        """The points where σ is not analytic: Fractions, exact irrational constants, or floats found numerically."""
        return find_breaks(self.tree)

    @property
    def jump_order(self) -> int | None:
        """The order of the first derivative that jumps somewhere: 0 for step, 1 for relu, None for a smooth σ."""
        return jump_order(self.tree)

    @property
    def parity(self) -> str | None:
        """``"even"``, ``"odd"`` or None."""
        return parity(self.tree)

    @property
    def is_holonomic(self) -> bool:
        """Whether exact algebra serves σ; ``annihilator`` says why when it does not."""
        try:
            pieces_of(self.tree)
        except HolokernError:
            return False
        return True

    @property
    def annihilator(self) -> tuple[Operator, ...]:
        """Generators of the ideal of all P in Q⟨u, D⟩ with Pσ = 0 as a distribution, deltas at breaks included.

        When ``annihilator_scale`` is a constant κ they kill τ with σ(u) = τ(κu) instead, since κ is irrational.

        Raises
        ------
        NotHolonomic
            For a function like tanh; the message says what to use instead.
        Unsupported
            For irrational arguments or breaks that no scaling makes rational.
        """
        return annihilator_of(self.tree).operators

    @property
    def annihilator_scale(self) -> ExactReal | None:
        """The κ of ``annihilator``, or None when it is 1."""
        scale = annihilator_of(self.tree).scale
        return None if scale == 1 else scale

    def shift(self, c: object) -> Activation:
        """The activation σ(u + c), c a rational number or the text of a constant such as ``"pi/2"``.

        Examples
        --------
        >>> activation("relu").shift(-1)
        activation('Max(u - 1, 0)')
        """
        return self._with(substitute(self.tree, add(U, _constant(c, "the shift"))))

    def scale(self, c: object) -> Activation:
        """The activation σ(c·u), c a rational number or the text of a constant such as ``"sqrt(2)"``.

        Examples
        --------
        >>> activation("sin").scale("pi")
        activation('sin(pi*u)')
        """
        return self._with(substitute(self.tree, multiply(_constant(c, "the scale"), U)))

    def __add__(self, other: object) -> Activation:
        return self._combine(other, add)

    __radd__ = __add__

    def __mul__(self, other: object) -> Activation:
        return self._combine(other, multiply)

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
        if self.name is None:
            return f"activation({self.expression!r})"
        given = "".join(f", {key}={_shown(value)}" for key, value in self._parameters)
        return f"activation({self.name!r}{given})"

    def __str__(self) -> str:
        return self.name if self.name is not None and not self._parameters else self.expression

    def latex(self) -> str:
        r"""The expression in LaTeX.

        Examples
        --------
        >>> print(activation("gaussian").latex())
        e^{- \frac{u^{2}}{2}}
        """
        return to_latex(self.tree)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle \\sigma(u) = {self.latex()}$"

    def _combine(self, other: object, operation: Callable[[Node, Node], Node]) -> Activation:
        if isinstance(other, Activation):
            return self._with(operation(self.tree, other.tree))
        return self._with(operation(self.tree, number(read_rational(other, "the other operand"))))

    @staticmethod
    def _with(tree: Node) -> Activation:
        check_size(tree)
        return Activation(tree)


def _shown(value: Value) -> str:
    """A parameter as Python text that reads back exactly."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    whole = isinstance(value, int) or value.denominator == 1
    return str(value) if whole else repr(str(value))


def _constant(value: object, what: str) -> Node:
    """A rational number, or the text of a constant expression."""
    if isinstance(value, str):
        tree = read_expression(value)
        if not is_constant(tree):
            raise BadInput(f"{what} must be a constant, got the expression {value[:60]!r} in u")
        return tree
    return number(read_rational(value, what))


def activation(source: object, /, **parameters: object) -> Activation:
    """Make an activation.

    Parameters
    ----------
    source : str, SymPy expression or Activation
        A name (:func:`activations` lists them), an expression in u such as ``"Heaviside(u)*sin(u)"``, or a SymPy
        expression in one symbol.  A name takes precedence over an expression.
    **parameters
        Parameters of a named activation.  Numbers are read exactly, a float as the decimal that it prints as.

    Raises
    ------
    UnknownName
        For an unknown name, function, variable or parameter, with what was probably meant.
    BadInput
        For anything else that cannot be read.
    TooLarge
        For input beyond the limits of size, depth or degree.

    Examples
    --------
    >>> activation("elu", alpha=1.5)
    activation('elu', alpha='3/2')
    >>> activation("relu^3")
    activation('relu_k', k=3)
    >>> activation("u/2*(1 + erf(u/sqrt(2)))") == activation("gelu")
    True
    """
    if isinstance(source, str):
        return _from_text(source, parameters)
    if parameters:
        raise BadInput(f"parameters ({', '.join(parameters)[:80]}) belong to an activation given by name")
    if isinstance(source, Activation):
        return source
    if is_sympy(source):
        return Activation(from_sympy(source))
    raise BadInput(
        f"expected the name of an activation, an expression in u as text, a SymPy expression or an Activation, "
        f"got {type(source).__name__}"
    )


def activations() -> dict[str, str]:
    """The names of all named activations, each with a line that says what it is.

    Examples
    --------
    >>> activations()["gelu"]
    'u times the normal distribution function'
    """
    return {name: entry.summary for name, entry in REGISTRY.items() if name not in ALIASES}


def _from_text(source: str, parameters: dict[str, object]) -> Activation:
    text = source.strip() if len(source) < 1000 else source
    if found := _RELU_POWER.fullmatch(text.lower()):
        text, parameters = "relu_k", {"k": int(found.group(1)), **parameters}
    entry = REGISTRY.get(text) or REGISTRY.get(text.lower())
    if entry is not None:
        tree, values = build(entry, parameters)
        return Activation(tree, entry.name, values)
    if _NAME.fullmatch(text) and text not in FUNCTIONS and text not in ("u", "pi", "E"):
        raise UnknownName(
            f"{text[:60]!r} is neither the name of an activation nor an expression in u"
            f"{suggestion(text, REGISTRY) or '; hk.activations() lists the names'}"
        )
    if parameters:
        raise BadInput(
            f"parameters ({', '.join(parameters)[:80]}) belong to an activation given by name, and {text[:60]!r} "
            "is none; hk.activations() lists the names"
        )
    try:
        return Activation(read_expression(text))
    except TooLarge:
        raise
    except BadInput as error:
        raise type(error)(f"{error}; nor is the text a name that hk.activations() lists") from None
