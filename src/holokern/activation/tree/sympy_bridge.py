"""SymPy expressions to trees and back, class by class; no text is ever handed to SymPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from holokern.activation.tree import constructors as make
from holokern.activation.tree import nodes
from holokern.activation.tree.constructors import U
from holokern.activation.tree.nodes import Condition, Node
from holokern.errors import BadInput, Unsupported

if TYPE_CHECKING:
    from sympy import Basic, Expr

# functions of SymPy that are one over another
_RECIPROCALS = {"sec": "cos", "sech": "cosh", "csc": "sin", "csch": "sinh", "cot": "tan", "coth": "tanh"}
# our relations and the names of the classes of SymPy
_RELATIONS = {"<": "Lt", "<=": "Le", ">": "Gt", ">=": "Ge", "==": "Eq", "!=": "Ne"}


def is_sympy(value: object) -> bool:
    """Whether the object is a SymPy expression; SymPy is not imported for the question."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)


def from_sympy(expression: Basic) -> Node:
    """Read a SymPy expression in one symbol, whatever its name.

    A ``Float`` of standard precision stands for the shortest decimal that rounds to it, so ``0.1`` is 1/10.

    Raises BadInput for two or more symbols, complex numbers and infinities; Unsupported for a function that activations
    do not have; TooLarge for an expression beyond the limits of size or depth.

    >>> import sympy
    >>> from holokern.activation.tree.printing import to_text
    >>> x = sympy.Symbol("x")
    >>> to_text(from_sympy(sympy.Heaviside(x) * sympy.sin(x) + 0.1))
    '1/10 + Heaviside(u)*sin(u)'
    """
    # before SymPy or the recursion below works on it
    nodes.check_size(expression, parts=lambda part: part.args)
    symbols = sorted(str(symbol) for symbol in expression.free_symbols)
    if len(symbols) > 1:
        raise BadInput(f"the SymPy expression has the symbols {', '.join(symbols)[:80]}; one symbol, u, is expected")
    tree = _node(expression)
    nodes.check_size(tree)
    return tree


def to_sympy(tree: Node) -> Expr:
    """The tree as a SymPy expression in the real symbol u."""
    import sympy

    match tree:
        case nodes.Number(value):
            return sympy.Rational(value.numerator, value.denominator)
        case nodes.Constant(name):
            return sympy.pi if name == "pi" else sympy.E
        case nodes.Variable():
            return sympy.Symbol("u", real=True)
        case nodes.Sum(terms):
            return sympy.Add(*map(to_sympy, terms))
        case nodes.Product(factors):
            return sympy.Mul(*map(to_sympy, factors))
        case nodes.Power(base, exponent):
            return sympy.Pow(to_sympy(base), to_sympy(exponent))
        case nodes.Call(name, args):
            return getattr(sympy, name)(*map(to_sympy, args))
        case nodes.Cases(branches):
            return sympy.Piecewise(*((to_sympy(value), _to_condition(test)) for value, test in branches))


def to_latex(tree: Node) -> str:
    """The tree in LaTeX, as SymPy writes it."""
    import sympy

    return str(sympy.latex(to_sympy(tree)))


def _to_condition(test: Condition) -> Basic:
    import sympy

    match test:
        case nodes.Always(truth):
            return sympy.true if truth else sympy.false
        case nodes.Relation(left, sign, right):
            return getattr(sympy, _RELATIONS[sign])(to_sympy(left), to_sympy(right))
        case nodes.And(parts):
            return sympy.And(*map(_to_condition, parts))
        case nodes.Or(parts):
            return sympy.Or(*map(_to_condition, parts))
        case nodes.Not(part):
            return sympy.Not(_to_condition(part))


def _node(expression: Basic) -> Node:
    if expression.is_Symbol:
        return U
    if expression.is_Number or expression.is_NumberSymbol or (expression.is_number and not expression.args):
        return _constant(expression)
    if expression.is_Add:
        return make.add(*map(_node, expression.args))
    if expression.is_Mul:
        return make.multiply(*map(_node, expression.args))
    if expression.is_Pow:
        return make.power(*map(_node, expression.args))
    if expression.is_Piecewise:
        return make.cases(*((_node(branch.expr), _condition(branch.cond)) for branch in expression.args))
    return _function(expression)


def _constant(expression: Basic) -> Node:
    import sympy

    if expression.is_Rational:
        return make.number(Fraction(int(expression.p), int(expression.q)))
    if expression.is_Float and expression.is_finite:
        # at standard precision the shortest decimal is what was typed; else SymPy prints every digit that it holds
        standard = expression._prec == 53
        return make.number(Fraction(repr(float(expression)) if standard else str(expression)))
    if expression in (sympy.pi, sympy.E):
        return nodes.Constant("pi" if expression == sympy.pi else "E")
    raise BadInput(f"the constant {expression!s:.40} cannot be part of an activation; use real numbers, pi and E")


def _function(expression: Basic) -> Node:
    import sympy

    name = type(expression).__name__
    if isinstance(expression, sympy.Function) and not isinstance(expression, sympy.core.function.AppliedUndef):
        if name == "Heaviside":
            # the value at 0, SymPy's second argument, does not matter to any kernel
            return make.call(name, _node(expression.args[0]))
        if name in nodes.ARITY and len(expression.args) == (nodes.ARITY[name] or len(expression.args)):
            return make.call(name, *map(_node, expression.args))
        if name in _OTHER:
            return _OTHER[name](_node(expression.args[0]))
    if isinstance(expression, sympy.Max | sympy.Min):
        return make.call(name, *map(_node, expression.args))
    raise Unsupported(
        f"SymPy's {name[:60]!r} cannot be part of an activation; known functions are {', '.join(nodes.ARITY)}"
    )


def _reciprocal_of(function: str) -> Callable[[Node], Node]:
    return lambda arg: make.power(make.call(function, arg), make.MINUS_ONE)


# functions of SymPy that are no functions of ours
_OTHER: dict[str, Callable[[Node], Node]] = {
    **{name: _reciprocal_of(function) for name, function in _RECIPROCALS.items()},
    "sinc": lambda arg: make.divide(make.call("sin", arg), arg),
}


def _condition(test: Basic) -> Condition:
    import sympy

    if test in (sympy.true, sympy.false):
        return nodes.Always(bool(test))
    if test.is_Relational:
        left, right = map(_node, test.args)
        return make.relation(left, test.rel_op, right)
    if isinstance(test, sympy.And):
        return make.both(*map(_condition, test.args))
    if isinstance(test, sympy.Or):
        return make.either(*map(_condition, test.args))
    if isinstance(test, sympy.Not):
        return make.negation(_condition(test.args[0]))
    raise Unsupported(f"the condition {test!s:.60} cannot be read; use comparisons joined by And, Or, Not")
