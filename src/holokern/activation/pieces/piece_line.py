"""σ cut at its breaks, for proofs: exact break points, and a smooth formula between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from flint import arb, ctx

from holokern.activation.ode.annihilator import Annihilator, annihilator_of
from holokern.activation.pieces.complex_balls import Continuation, continuation
from holokern.activation.pieces.exponential import ErfTerm, ExponentialTerm, erf_terms, exponential_terms
from holokern.activation.pieces.tail_bounds import TailBound, polynomial_in_u, tail_bound
from holokern.activation.ring.breaks import Break, samples
from holokern.activation.ring.pieces import find_breaks, jump_order
from holokern.activation.tree.constructors import ZERO, substitute
from holokern.activation.tree.derivative import differentiate
from holokern.activation.tree.nodes import Call, Node, walk
from holokern.activation.tree.resolve import resolve
from holokern.activation.values.balls import ball
from holokern.activation.values.cancellation import stabilise
from holokern.errors import Unsupported
from holokern.numeric import to_ball

DEAR = frozenset({"airyai", "airyaiprime", "besselj"})
"""Functions whose values take long."""

PRICE = 4.0
"""How much longer, in floats and in balls."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A smooth formula, which is σ between two breaks; balls have flint's working precision."""

    tree: Node

    @property
    def price(self) -> float:
        """What a value costs, beside one of a formula with cheap functions."""
        return PRICE if any(isinstance(node, Call) and node.name in DEAR for node in walk(self.tree)) else 1.0

    def ball(self, x: arb) -> arb:
        """A ball that contains the values at all points of ``x``."""
        return ball(self.tree, x, ctx.prec)

    def continuation(self, bits: int) -> Continuation:
        """The formula on complex balls, its constants with so many bits."""
        return continuation(self.tree, bits)

    def tail_bound(self, side: int) -> TailBound:
        """A proved bound of its growth for u = ``side``·|u|, |u| ≥ 1."""
        return tail_bound(self.tree, side)

    def polynomial(self) -> list[arb] | None:
        """Its coefficients, lowest first; None if it is no polynomial."""
        return polynomial_in_u(self.tree)

    def exponential_terms(self) -> list[ExponentialTerm] | None:
        """The piece as a sum of u^k exp(pu + qu²); None if it is no such sum."""
        return exponential_terms(self.tree)

    def erf_terms(self) -> list[ExponentialTerm | ErfTerm] | None:
        """The piece as such a sum with error functions as factors; None if it is no such sum."""
        return erf_terms(self.tree)

    def at_zero(self) -> Piece:
        """The constant that is its value at 0."""
        return Piece(substitute(self.tree, ZERO))


@dataclass(frozen=True, slots=True)
class PieceLine:
    """A function on the line: its break points, and the piece that holds on each interval between them.

    >>> from holokern.activation import activation
    >>> line = activation("Max(u, 0)").pieces
    >>> line.breaks, line.derivative.jump_order
    ((Fraction(0, 1),), 0)
    """

    tree: Node
    breaks: tuple[Break, ...] = field(hash=False)
    pieces: tuple[Piece, ...] = field(hash=False)

    @property
    def derivative(self) -> PieceLine:
        """The classical derivative between the breaks."""
        return piece_line(differentiate(self.tree))

    @property
    def jump_order(self) -> int | None:
        """The order of the first derivative that is not continuous; None for a smooth function."""
        return jump_order(self.tree)

    @property
    def annihilator(self) -> Annihilator:
        """All operators that annihilate the function as a distribution, with their scale."""
        return annihilator_of(self.tree)

    @property
    def length(self) -> int:
        """How long the formula is, in characters."""
        return len(repr(self.tree))

    def ball(self, x: arb) -> arb:
        """A ball that contains the values at all points of ``x``, across breaks too."""
        return ball(self.tree, x, ctx.prec)

    def jump_sizes(self) -> list[tuple[arb, arb]]:
        """The breaks and how far the function itself jumps there; exactly 0 where it is known to be continuous."""
        if self.jump_order != 0:
            return [(to_ball(b), arb(0)) for b in self.breaks]
        points = [to_ball(b) for b in self.breaks]
        sides = zip(points, pairwise(self.pieces), strict=True)
        return [(at, right.ball(at) - left.ball(at)) for at, (left, right) in sides]

    def two_sided(self, x: arb) -> arb:
        """The mean of both one-sided limits at a break, the value elsewhere."""
        for b, (left, right) in zip(self.breaks, pairwise(self.pieces), strict=True):
            if x.overlaps(to_ball(b)):
                return (left.ball(x) + right.ball(x)) / 2
        return self.ball(x)

    def limit_at_zero(self) -> PieceLine:
        """The function that is σ(0-) on the left of 0 and σ(0+) on the right."""
        before = sum(1 for b in self.breaks if b < 0)
        kept = self.breaks[before : before + 1] if 0 in self.breaks else ()
        return PieceLine(self.tree, kept, tuple(p.at_zero() for p in self.pieces[before : before + len(kept) + 1]))


@lru_cache(maxsize=256)
def piece_line(tree: Node) -> PieceLine:
    """Cut a tree at its breaks.

    Raises Unsupported when a break point is known only as a float, so that nothing rigorous can be said.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> piece_line(read_expression("Max(u, 0)")).breaks
    (Fraction(0, 1),)
    """
    breaks = find_breaks(tree)
    if any(isinstance(point, float) for point in breaks):
        raise Unsupported("a break point of the activation is known numerically only, so no ball can be proved")
    return PieceLine(tree, breaks, tuple(Piece(stabilise(resolve(tree, sample))) for sample in samples(breaks)))
