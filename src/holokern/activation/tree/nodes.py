"""The nodes of an expression tree: immutable, compared by content, and nothing else.

A tree is a real function of one variable u.  Build trees with the functions of
:mod:`holokern.activation.tree.constructors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

from holokern.errors import TooLarge

MAX_NODES = 6_000
MAX_TREE_DEPTH = 120

# what an expression may call with one argument
_ONE_ARGUMENT = "exp log sin cos tan sinh cosh tanh erf erfc erfi atan asinh Heaviside sign Abs"
#: The functions of the language and how many arguments each takes (None: one or more).
ARITY: dict[str, int | None] = {
    **dict.fromkeys(_ONE_ARGUMENT.split(), 1),
    "Max": None,
    "Min": None,
    "besselj": 2,
    "airyai": 1,
    "airyaiprime": 1,
}

ODD = frozenset({"sin", "tan", "sinh", "tanh", "erf", "erfi", "atan", "asinh"})
"""Functions with f(-x) = -f(x) that are analytic at 0."""

EVEN = frozenset({"cos", "cosh"})
"""Functions with f(-x) = f(x) and f(0) = 1."""

COMPARE: dict[str, Callable[[Any, Any], Any]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}
"""The relations of conditions, for numbers and for arrays of them."""


class _KeepsItsHash:
    """Trees are keys of caches wherever they are evaluated, so a hash is computed once."""

    __slots__ = ("_hash",)

    _hash: int

    def __init_subclass__(cls) -> None:
        # a dataclass keeps a hash that stands in its own class
        cls.__hash__ = _KeepsItsHash.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            parts = tuple(getattr(self, name) for name in type(self).__match_args__)  # type: ignore[attr-defined]
            object.__setattr__(self, "_hash", hash((type(self), *parts)))
            return self._hash


@dataclass(frozen=True, slots=True)
class Number(_KeepsItsHash):
    """An exact rational number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Constant:
    """The number ``pi`` or ``E``."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """The variable u."""


@dataclass(frozen=True, slots=True)
class Sum(_KeepsItsHash):
    """A sum of two or more terms."""

    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product(_KeepsItsHash):
    """A product of two or more factors; a rational factor comes first."""

    factors: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Power(_KeepsItsHash):
    """A power; the exponent is any node."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Call(_KeepsItsHash):
    """A function of :data:`ARITY`, under its SymPy name, applied to arguments."""

    name: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Cases(_KeepsItsHash):
    """A function by cases: the first condition that holds decides; where none holds the function is undefined."""

    cases: tuple[tuple[Node, Condition], ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A comparison; ``sign`` is one of ``< <= > >= == !=``."""

    left: Node
    sign: str
    right: Node


@dataclass(frozen=True, slots=True)
class And:
    """All conditions hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One condition at least holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The condition does not hold."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Always:
    """The condition that always (``truth``) or never holds."""

    truth: bool


Node: TypeAlias = Number | Constant | Variable | Sum | Product | Power | Call | Cases
Condition: TypeAlias = Relation | And | Or | Not | Always


def children(node: Node | Condition) -> tuple[Node | Condition, ...]:
    """The direct parts of a node or condition, in the order written."""
    match node:
        case Sum(parts) | Product(parts) | Call(_, parts):
            return parts
        case Power(base, exponent):
            return (base, exponent)
        case Cases(branches):
            return tuple(part for branch in branches for part in branch)
        case Relation(left, _, right):
            return (left, right)
        case And(conditions) | Or(conditions):
            return conditions
        case Not(condition):
            return (condition,)
    return ()


def walk(node: Node | Condition) -> Iterator[Node | Condition]:
    """Every node and condition of the tree, parents first."""
    stack: list[Node | Condition] = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(children(top)))


def check_size(node: Any, limit: int = MAX_NODES, parts: Callable[[Any], Iterable[Any]] = children) -> None:
    """Raise :class:`~holokern.errors.TooLarge` when the tree has too many nodes or is nested too deep.

    ``parts`` gives the parts of a node, for trees of another kind than ours.
    """
    stack = [(node, 1)]
    seen = 0
    while stack:
        top, depth = stack.pop()
        seen += 1
        if seen > limit:
            raise TooLarge(f"the expression has more than {limit} nodes; write it more shortly or split it")
        if depth > MAX_TREE_DEPTH:
            raise TooLarge(f"the expression is nested more than {MAX_TREE_DEPTH} deep; write it more shortly")
        stack.extend((part, depth + 1) for part in parts(top))


def is_constant(node: Node | Condition) -> bool:
    """Whether u does not occur."""
    return not any(isinstance(part, Variable) for part in walk(node))
