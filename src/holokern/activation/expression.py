"""A function of u given by its expression tree, with everything that can be asked of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from holokern.activation.named import read_rational
from holokern.activation.ode.annihilator import annihilator_of
from holokern.activation.ring.breaks import Break
from holokern.activation.ring.pieces import find_breaks, jump_order, parity, pieces_of
from holokern.activation.tree.constructors import U, add, multiply, number, substitute
from holokern.activation.tree.derivative import differentiate
from holokern.activation.tree.grammar import read_expression
from holokern.activation.tree.nodes import Node, check_size, is_constant
from holokern.activation.tree.sympy_bridge import to_latex
from holokern.activation.values.balls import ball
from holokern.activation.values.constants import ExactReal
from holokern.activation.values.evaluate import evaluate, evaluation_noise
from holokern.errors import BadInput, HolokernError
from holokern.numeric import Array
from holokern.weyl import Operator

_MAX_NODES = 50_000  # derivatives of long expressions may be longer than what is read from text


@dataclass(frozen=True, slots=True)
class Expression:
    """The verbs of an activation for an expression tree; :class:`~holokern.activation.Activation` documents them."""

    tree: Node

    def __call__(self, x: Any) -> Any:
        """The value."""
        return evaluate(self.tree, x)

    def noise(self, x: Array) -> Array:
        """How far floats may be from the true values."""
        return evaluation_noise(self.tree, x)

    def ball(self, x: arb | Fraction | int, precision: int = 128) -> arb:
        """A ball that contains the value."""
        return ball(self.tree, x, precision)

    @property
    def derivative(self) -> Expression:
        """The classical derivative."""
        slope = differentiate(self.tree)
        check_size(slope, _MAX_NODES)
        return Expression(slope)

    @property
    def breaks(self) -> tuple[Break, ...]:
        """The points where it is not analytic."""
        return find_breaks(self.tree)

    @property
    def jump_order(self) -> int | None:
        """The order of the first derivative that jumps."""
        return jump_order(self.tree)

    @property
    def parity(self) -> str | None:
        """Even, odd or None."""
        return parity(self.tree)

    @property
    def is_holonomic(self) -> bool:
        """Whether exact algebra serves it."""
        try:
            pieces_of(self.tree)
        except HolokernError:
            return False
        return True

    @property
    def annihilator(self) -> tuple[Operator, ...]:
        """The whole annihilator as a distribution."""
        return annihilator_of(self.tree).operators

    @property
    def annihilator_scale(self) -> ExactReal | None:
        """The scale of the annihilator, None for 1."""
        scale = annihilator_of(self.tree).scale
        return None if scale == 1 else scale

    def shift(self, c: object) -> Expression:
        """The function at u + c."""
        return _checked(substitute(self.tree, add(U, _constant(c, "the shift"))))

    def scale(self, c: object) -> Expression:
        """The function at c·u."""
        return _checked(substitute(self.tree, multiply(_constant(c, "the scale"), U)))

    def __add__(self, other: Expression | Fraction) -> Any:
        return self._combine(other, add)

    def __mul__(self, other: Expression | Fraction) -> Any:
        return self._combine(other, multiply)

    def latex(self) -> str:
        """The expression in LaTeX."""
        return f"\\sigma(u) = {to_latex(self.tree)}"

    def _combine(self, other: object, operation: Callable[[Node, Node], Node]) -> Any:
        match other:
            case Expression(tree):
                return _checked(operation(self.tree, tree))
            case Fraction():
                return _checked(operation(self.tree, number(other)))
        # an activation by ODE knows how to combine itself with an expression
        return NotImplemented


def _checked(tree: Node) -> Expression:
    check_size(tree)
    return Expression(tree)


def _constant(value: object, what: str) -> Node:
    """A rational number, or the text of a constant expression."""
    if isinstance(value, str):
        tree = read_expression(value)
        if not is_constant(tree):
            raise BadInput(f"{what} must be a constant, got the expression {value[:60]!r} in u")
        return tree
    return number(read_rational(value, what))
