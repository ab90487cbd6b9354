"""Replacing the variable of an expression tree."""

from __future__ import annotations

from holokern.activation.tree.constructors import U, both, cases, either, negation, power, rebuild, relation
from holokern.activation.tree.nodes import (
    Always,
    And,
    Call,
    Cases,
    Condition,
    Constant,
    Node,
    Not,
    Number,
    Or,
    Power,
    Product,
    Relation,
    Sum,
    Variable,
)


def substitute(node: Node, replacement: Node) -> Node:
    """The tree with u replaced.

    Examples
    --------
    >>> from holokern.activation.tree.constructors import ONE, add, call
    >>> substitute(call("sin", U), add(U, ONE)) == call("sin", add(U, ONE))
    True
    """
    return node if replacement == U else _substitute(node, replacement)


def _substitute(node: Node, replacement: Node) -> Node:
    match node:
        case Variable():
            return replacement
        case Number() | Constant():
            return node
        case Cases(branches):
            return cases(
                *((_substitute(value, replacement), _substitute_in(test, replacement)) for value, test in branches)
            )
        case Sum(parts) | Product(parts) | Call(_, parts):
            return rebuild(node, tuple(_substitute(part, replacement) for part in parts))
        case Power(base, exponent):
            return power(_substitute(base, replacement), _substitute(exponent, replacement))


def _substitute_in(test: Condition, replacement: Node) -> Condition:
    match test:
        case Relation(left, sign, right):
            return relation(_substitute(left, replacement), sign, _substitute(right, replacement))
        case And(parts):
            return both(*(_substitute_in(part, replacement) for part in parts))
        case Or(parts):
            return either(*(_substitute_in(part, replacement) for part in parts))
        case Not(part):
            return negation(_substitute_in(part, replacement))
        case Always():
            return test
