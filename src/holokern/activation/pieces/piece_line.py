"""σ cut at its breaks, for proofs: exact break points, and a smooth formula between them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb, fmpq

from holokern.activation.ring.breaks import Break, samples
from holokern.activation.ring.pieces import find_breaks
from holokern.activation.tree.nodes import Node
from holokern.activation.tree.resolve import resolve
from holokern.activation.values.cancellation import stabilise
from holokern.errors import Unsupported
from holokern.numeric import to_fmpq


@dataclass(frozen=True, slots=True)
class PieceLine:
    """A function on the line: its break points, and the tree that holds on each interval between them."""

    tree: Node
    breaks: tuple[Break, ...]
    pieces: tuple[Node, ...]


@lru_cache(maxsize=256)
def piece_line(tree: Node) -> PieceLine:
    """Cut a tree at its breaks.

    Raises
    ------
    Unsupported
        When a break point is known only as a float, so that nothing rigorous can be said.

    Examples
    --------
    >>> from holokern.activation.tree.grammar import read_expression
    >>> piece_line(read_expression("Max(u, 0)")).breaks
    (Fraction(0, 1),)
    """
    breaks = find_breaks(tree)
    if any(isinstance(point, float) for point in breaks):
        raise Unsupported("a break point of the activation is known numerically only, so no ball can be proved")
    return PieceLine(tree, breaks, tuple(stabilise(resolve(tree, sample)) for sample in samples(breaks)))


def to_ball(value: object) -> arb:
    """A number as a ball at the current precision: int, Fraction, fmpq, arb, or an exact constant."""
    if isinstance(value, arb):
        return value
    if isinstance(value, Fraction):
        return arb(to_fmpq(value))
    if isinstance(value, (int, fmpq)):
        return arb(value)
    found: arb = value.ball()  # type: ignore[attr-defined]
    return found
