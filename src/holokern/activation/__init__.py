"""Activations: a name, an expression, a SymPy expression or an ODE becomes an :class:`Activation`.

The later folders use the other public names.  They describe σ between its breaks: balls, bounds of growth, sums of
exponentials, and sides where σ is unbounded.  Trees and differential rings do not leave this folder.
"""

from holokern.activation.catalogue import REGISTRY
from holokern.activation.factory import activation, activations
from holokern.activation.function import Activation, serve
from holokern.activation.named import read_rational
from holokern.activation.pieces.closed_terms import ClosedTerm, ClosedTerms, closed_terms
from holokern.activation.pieces.complex_balls import Continuation
from holokern.activation.pieces.exponential import ErfTerm, ExponentialTerm
from holokern.activation.pieces.piece_line import DEAR, PRICE, Piece, PieceLine
from holokern.activation.pieces.tail_bounds import TailBound
from holokern.activation.pieces.unbounded import has_branch, not_square_integrable, unbounded_sides
from holokern.activation.plot import curves
from holokern.activation.values.constants import ExactReal, Opaque, exact

__all__ = [
    "DEAR",
    "PRICE",
    "REGISTRY",
    "Activation",
    "ClosedTerm",
    "ClosedTerms",
    "Continuation",
    "ErfTerm",
    "ExactReal",
    "ExponentialTerm",
    "Opaque",
    "Piece",
    "PieceLine",
    "TailBound",
    "activation",
    "activations",
    "closed_terms",
    "curves",
    "exact",
    "has_branch",
    "not_square_integrable",
    "read_rational",
    "serve",
    "unbounded_sides",
]
