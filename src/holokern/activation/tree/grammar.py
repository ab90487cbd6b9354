"""Expression text in u to a tree, through the whitelisted grammar of :mod:`holokern.syntax`.

Only the names listed here have a meaning; nothing is ever evaluated as Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil

from holokern.activation.catalogue import REGISTRY
from holokern.activation.named import Entry, Parameters, read_parameters, suggestion
from holokern.activation.tree import constructors as make
from holokern.activation.tree import nodes
from holokern.activation.tree.constructors import U
from holokern.activation.tree.nodes import Condition, Node
from holokern.errors import BadInput, TooLarge, UnknownName
from holokern.syntax import Syntax, parse

MAX_DEGREE = 1000
_WHAT = "expression"  # what messages call the text
# other spellings
_SYNONYMS = {
    "max": "Max",
    "min": "Min",
    "abs": "Abs",
    "heaviside": "Heaviside",
    "Heavyside": "Heaviside",
    "sgn": "sign",
    "ln": "log",
    "arctan": "atan",
    "arcsinh": "asinh",
    "Piecewise": "Piecewise",
    "piecewise": "Piecewise",
}
# functions that are short for expressions
_SHORTHANDS: dict[str, Callable[[Node], Node]] = {
    "sqrt": make.sqrt,
    "expm1": lambda arg: make.subtract(make.call("exp", arg), make.ONE),
    "log1p": lambda arg: make.call("log", make.add(make.ONE, arg)),
    "sinc": lambda arg: make.divide(make.call("sin", arg), arg),
    "sech": lambda arg: make.divide(make.ONE, make.call("cosh", arg)),
}
#: Every function name that an expression may use.
FUNCTIONS = tuple(sorted({*nodes.ARITY, *_SYNONYMS, *_SHORTHANDS, *REGISTRY}))
_ORDINARY_NAMES = ("u", "pi", "E")  # what a name may be that is no function
# names that people try, and why not
_REFUSED = {
    "I": "complex numbers are not allowed; an activation is a real function of u",
    "j": "complex numbers are not allowed; an activation is a real function of u",
    "oo": "infinities are not numbers here",
    "inf": "infinities are not numbers here",
    "zoo": "infinities are not numbers here",
    "nan": "nan is not a number",
    "NaN": "nan is not a number",
    "e": "write E for the base of the natural logarithm, or exp(u)",
    "D": "D stands for d/du in operators only; use activation(operator=...) for an ODE",
}


def read_expression(text: str) -> Node:
    """Read an expression in u.

    ``text``: for example ``"Heaviside(u)*sin(u)"``; decimals are exact, ``^`` and ``**`` are powers, and a named
    activation may be used as a function, as in ``"relu(u) - relu(u - 1)"``.
    Raises BadInput for a text outside the grammar, a wrong number of arguments, a division by zero or a complex number;
    UnknownName for a function or a variable that is not in the language; TooLarge for a text, a number, an exponent or
    a tree beyond the limits.

    >>> from holokern.activation.tree.printing import to_text
    >>> to_text(read_expression("u/2*(1 + erf(u/sqrt(2)))"))
    'u*(1 + erf(u/sqrt(2)))/2'
    """
    tree = _node(parse(text, _WHAT))
    nodes.check_size(tree)
    degree = _formal_degree(tree)
    if degree > MAX_DEGREE:
        raise TooLarge(f"the {_WHAT} has formal degree {min(degree, 10**9)} in u; degrees up to {MAX_DEGREE} are read")
    return tree


def build(entry: Entry, given: Mapping[str, object]) -> tuple[Node, Parameters]:
    """The tree of a named activation and its parameters; errors are those of `read_parameters`."""
    parameters = read_parameters(entry, given)
    return _tree(entry, parameters), parameters


@lru_cache(maxsize=256)
def _tree(entry: Entry, parameters: Parameters) -> Node:
    if not isinstance(entry.formula, str):
        return entry.formula(**dict(parameters))
    return _node(_with_numbers(parse(entry.formula, _WHAT), dict(parameters)))


def _with_numbers(syntax: Syntax, values: Mapping[str, object]) -> Syntax:
    """The expression with numbers in the place of some names."""
    if syntax.kind == "name" and syntax.head in values:
        return Syntax("number", str(values[syntax.head]))
    return replace(syntax, parts=tuple(_with_numbers(part, values) for part in syntax.parts))


def _node(syntax: Syntax) -> Node:
    match syntax.kind:
        case "number":
            return make.number(syntax.value)
        case "name":
            return _name(syntax.head)
        case "sum":
            return make.add(*map(_node, syntax.parts))
        case "product":
            return make.multiply(*map(_node, syntax.parts))
        case "power":
            return make.power(*map(_node, syntax.parts))
        case "unary":
            return _unary(syntax)
        case "call":
            return _call(syntax)
    raise BadInput(
        f"cannot read the {_WHAT}: a {syntax.kind} {syntax.head!r} stands where a function of u is expected; "
        "comparisons belong into Piecewise((expression, condition), ..., (expression, True))"
    )


def _name(name: str) -> Node:
    if name == "u":
        return U
    if name in ("pi", "E"):
        return nodes.Constant(name)
    if name in _REFUSED:
        raise BadInput(f"the name {name!r} cannot be used in the {_WHAT}: {_REFUSED[name]}")
    if name in FUNCTIONS:
        raise BadInput(f"the name {name!r} is a function; write {name}(u)")
    hint = suggestion(name, (*_ORDINARY_NAMES, *FUNCTIONS))
    raise UnknownName(f"unknown name {name[:60]!r} in the {_WHAT}: the variable is called u{hint}")


def _unary(syntax: Syntax) -> Node:
    operand = _node(syntax.parts[0])
    match syntax.head:
        case "-":
            return make.negate(operand)
        case "+":
            return operand
        case "/":
            return make.power(operand, make.MINUS_ONE)
    raise BadInput(f"cannot read the {_WHAT}: '~' negates conditions, not functions of u")


def _call(syntax: Syntax) -> Node:
    name = _SYNONYMS.get(syntax.head, syntax.head)
    if name == "Piecewise":
        return make.cases(*(_branch(part) for part in syntax.parts))
    if name not in FUNCTIONS:
        hint = suggestion(name, FUNCTIONS) or f"; allowed are {', '.join(FUNCTIONS)}"
        raise UnknownName(f"unknown function {name[:60]!r} in the {_WHAT}{hint}")
    args = tuple(map(_node, syntax.parts))
    if name in nodes.ARITY:
        _check_arity(name, len(args), nodes.ARITY[name])
        return make.call(name, *args)
    if name in _SHORTHANDS:
        _check_arity(name, len(args), 1)
        return _SHORTHANDS[name](args[0])
    return _named(name, args)


def _named(name: str, args: tuple[Node, ...]) -> Node:
    """A named activation as a function; further arguments are its parameters, in order."""
    entry = REGISTRY[name]
    _check_arity(name, len(args), None)
    if len(args) > 1 + len(entry.parameters):
        raise BadInput(f"the function {name!r} takes at most {1 + len(entry.parameters)} arguments, got {len(args)}")
    given: dict[str, object] = {}
    for parameter, arg in zip(entry.parameters, args[1:], strict=False):
        if not isinstance(arg, nodes.Number):
            raise BadInput(f"the parameter {parameter.name!r} of {name!r} must be a rational number")
        given[parameter.name] = arg.value
    result = make.substitute(build(entry, given)[0], args[0])
    # nesting may double the tree each time, so the size is checked at every level
    nodes.check_size(result)
    return result


def _check_arity(name: str, found: int, expected: int | None) -> None:
    if found == 0 or (expected is not None and found != expected):
        wanted = "at least one argument" if expected is None else f"{expected} argument{'s' if expected > 1 else ''}"
        raise BadInput(f"the function {name!r} takes {wanted}, got {found}")


def _branch(syntax: Syntax) -> tuple[Node, Condition]:
    if syntax.kind != "tuple" or len(syntax.parts) != 2:
        raise BadInput("Piecewise takes pairs: Piecewise((expression, condition), ..., (expression, True))")
    return _node(syntax.parts[0]), _condition(syntax.parts[1])


def _condition(syntax: Syntax) -> Condition:
    match syntax.kind:
        case "relation":
            left, right = map(_node, syntax.parts)
            return make.relation(left, syntax.head, right)
        case "and":
            return make.both(*map(_condition, syntax.parts))
        case "or":
            return make.either(*map(_condition, syntax.parts))
        case "unary" if syntax.head == "~":
            return make.negation(_condition(syntax.parts[0]))
        case "name" if syntax.head in ("True", "False"):
            return nodes.Always(syntax.head == "True")
    raise BadInput(
        f"cannot read a condition of Piecewise: {syntax.kind} {syntax.head[:60]!r} is not a comparison; "
        "write for example u < 1, (u > 0) & (u <= 2) or True"
    )


def _formal_degree(node: Node | Condition) -> int:
    """A bound of the degree that expanding the powers would give."""
    match node:
        case nodes.Variable():
            return 1
        case nodes.Product(factors):
            return sum(map(_formal_degree, factors))
        case nodes.Power(base, nodes.Number(value)):
            return _formal_degree(base) * ceil(abs(Fraction(value)))
        case nodes.Sum() | nodes.Call() | _:
            return max(map(_formal_degree, nodes.children(node)), default=0)
