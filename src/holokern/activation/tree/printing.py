"""Trees as text that :func:`holokern.activation.tree.grammar.read_expression` reads back to the same tree."""

from __future__ import annotations

from fractions import Fraction

from holokern.activation.tree import nodes
from holokern.activation.tree.constructors import HALF, is_reciprocal, negate, power
from holokern.activation.tree.nodes import Condition, Node


def to_text(node: Node) -> str:
    """The expression as text in SymPy spelling.

    >>> from holokern.activation.tree.constructors import U, add, call, divide, multiply, number, sqrt
    >>> to_text(divide(multiply(U, add(number(1), call("erf", divide(U, sqrt(number(2)))))), number(2)))
    'u*(1 + erf(u/sqrt(2)))/2'
    """
    match node:
        case nodes.Number(value):
            return str(value)
        case nodes.Constant(name):
            return name
        case nodes.Variable():
            return "u"
        case nodes.Sum(terms):
            return _sum(terms)
        case nodes.Product(factors):
            return _product(factors)
        case nodes.Power():
            return _product((node,)) if is_reciprocal(node) else _power(node)
        case nodes.Call(name, args):
            return f"{name}({', '.join(to_text(arg) for arg in args)})"
        case nodes.Cases(branches):
            inner = ", ".join(f"({to_text(value)}, {_condition(test)})" for value, test in branches)
            return f"Piecewise({inner})"


def _sum(terms: tuple[Node, ...]) -> str:
    text = to_text(terms[0])
    for term in terms[1:]:
        text += f" - {to_text(negate(term))}" if _is_negative(term) else f" + {to_text(term)}"
    return text


def _is_negative(term: Node) -> bool:
    head = term.factors[0] if isinstance(term, nodes.Product) else term
    return isinstance(head, nodes.Number) and head.value < 0


def _product(factors: tuple[Node, ...]) -> str:
    coefficient = factors[0].value if isinstance(factors[0], nodes.Number) else Fraction(1)
    rest = [factor for factor in factors if not isinstance(factor, nodes.Number)]
    above = [_operand(factor) for factor in rest if not is_reciprocal(factor)]
    below = [_operand(power(factor, nodes.Number(Fraction(-1)))) for factor in rest if is_reciprocal(factor)]
    if abs(coefficient.numerator) != 1 or not above:
        above.insert(0, str(abs(coefficient.numerator)))
    if coefficient.denominator != 1:
        below.insert(0, str(coefficient.denominator))
    sign = "-" if coefficient < 0 else ""
    return sign + "*".join(above) + "".join(f"/{text}" for text in below)


def _operand(node: Node) -> str:
    """The text of a factor, or of a base or exponent when it needs no parentheses there."""
    if isinstance(node, nodes.Power) and not is_reciprocal(node):
        return _power(node)
    return _atom(node)


def _atom(node: Node) -> str:
    plain = isinstance(node, nodes.Variable | nodes.Constant | nodes.Call | nodes.Cases) or (
        isinstance(node, nodes.Number) and node.value.denominator == 1 and node.value >= 0
    )
    return to_text(node) if plain else f"({to_text(node)})"


def _power(node: nodes.Power) -> str:
    if node.exponent == HALF:
        return f"sqrt({to_text(node.base)})"
    return f"{_atom(node.base)}^{_atom(node.exponent)}"


def _condition(test: Condition) -> str:
    match test:
        case nodes.Always(truth):
            return str(truth)
        case nodes.Relation(left, sign, right):
            return f"{to_text(left)} {sign} {to_text(right)}"
        case nodes.And(parts):
            return " & ".join(f"({_condition(part)})" for part in parts)
        case nodes.Or(parts):
            return " | ".join(f"({_condition(part)})" for part in parts)
        case nodes.Not(part):
            return f"~({_condition(part)})"
