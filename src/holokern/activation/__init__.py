"""Activations: a name, an expression, a SymPy expression or an ODE becomes an :class:`Activation`.

The later folders use the other public names.  They describe σ between its breaks: trees, balls, bounds of growth, sums
of exponentials, and sides where σ is unbounded.
"""

from holokern.activation.catalogue import REGISTRY
from holokern.activation.factory import activation, activations
from holokern.activation.function import Activation, serve
from holokern.activation.named import read_rational
from holokern.activation.ode.annihilator import annihilator_of
from holokern.activation.pieces.closed_terms import ClosedTerm, ClosedTerms, closed_terms, factor_of, has_quick_formulas
from holokern.activation.pieces.complex_balls import Continuation, continuation
from holokern.activation.pieces.exponential import ExponentialTerm, exponential_terms, multiply_terms, scale_terms
from holokern.activation.pieces.piece_line import PieceLine, piece_line, to_ball
from holokern.activation.pieces.tail_bounds import TailBound, polynomial_in_u, tail_bound
from holokern.activation.pieces.unbounded import infinite_slope_sign, not_square_integrable, unbounded_sides
from holokern.activation.plot import curves
from holokern.activation.ring.breaks import Break
from holokern.activation.ring.pieces import jump_order
from holokern.activation.tree.constructors import ZERO
from holokern.activation.tree.derivative import differentiate
from holokern.activation.tree.nodes import Call, Node, Product, Sum, walk
from holokern.activation.tree.substitution import substitute
from holokern.activation.tree.sympy_bridge import to_sympy
from holokern.activation.values.balls import ball
from holokern.activation.values.constants import ExactReal, Opaque, exact

__all__ = [
    "REGISTRY",
    "ZERO",
    "Activation",
    "Break",
    "Call",
    "ClosedTerm",
    "ClosedTerms",
    "Continuation",
    "ExactReal",
    "ExponentialTerm",
    "Node",
    "Opaque",
    "PieceLine",
    "Product",
    "Sum",
    "TailBound",
    "activation",
    "activations",
    "annihilator_of",
    "ball",
    "closed_terms",
    "continuation",
    "curves",
    "differentiate",
    "exact",
    "exponential_terms",
    "factor_of",
    "has_quick_formulas",
    "infinite_slope_sign",
    "jump_order",
    "multiply_terms",
    "not_square_integrable",
    "piece_line",
    "polynomial_in_u",
    "read_rational",
    "scale_terms",
    "serve",
    "substitute",
    "tail_bound",
    "to_ball",
    "to_sympy",
    "unbounded_sides",
    "walk",
]
