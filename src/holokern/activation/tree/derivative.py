"""The classical derivative of a tree, piece by piece; jumps leave no delta here."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from holokern.activation.tree import nodes
from holokern.activation.tree.constructors import (
    HALF,
    MINUS_ONE,
    ONE,
    ZERO,
    add,
    call,
    cases,
    divide,
    multiply,
    negate,
    number,
    power,
    sqrt,
    subtract,
)
from holokern.activation.tree.nodes import Node
from holokern.errors import Unsupported

_TWO = number(2)  # the exponent of a square
_TWO_OVER_SQRT_PI = divide(_TWO, sqrt(nodes.Constant("pi")))  # the slope of erf at 0


@lru_cache(maxsize=512)
def differentiate(node: Node) -> Node:
    """The derivative of every piece; at a break the symmetric value, for example 1/2 for relu at 0.

    In a ``Cases`` node the branch that holds at the break gives the value there.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> from holokern.activation.tree.printing import to_text
    >>> to_text(differentiate(read_expression("Max(u, 0)^2")))
    '2*Max(u, 0)*Heaviside(u)'
    """
    if nodes.is_constant(node):
        return ZERO
    match node:
        case nodes.Variable():
            return ONE
        case nodes.Sum(terms):
            return add(*map(differentiate, terms))
        case nodes.Product(factors):
            return _product(factors)
        case nodes.Power(base, exponent):
            return _power(base, exponent)
        case nodes.Call("Max" | "Min" as name, args):
            return _extreme(name, args)
        case nodes.Call("besselj", (order, argument)):
            return _bessel(order, argument)
        case nodes.Call(name, (argument,)):
            return multiply(_OUTER[name](argument), differentiate(argument))
        case nodes.Cases(branches):
            return cases(*((differentiate(value), test) for value, test in branches))
    raise Unsupported(f"no derivative is known for {node!r:.80}")


def _product(factors: tuple[Node, ...]) -> Node:
    """The product rule, or the quotient rule when the last factor is a power r^-n of a piecewise rational r.

    The quotient rule cancels symbolically what would cancel numerically in the tails of, say, u/(1 + |u|).
    """
    match factors[-1]:
        case nodes.Power(base, nodes.Number(value)) if value < 0 and _is_piecewise_rational(base):
            top = multiply(*factors[:-1])
            change = add(multiply(differentiate(top), base), multiply(nodes.Number(value), top, differentiate(base)))
            return multiply(change, power(base, nodes.Number(value - 1)))
    return add(*(multiply(*factors[:i], differentiate(f), *factors[i + 1 :]) for i, f in enumerate(factors)))


def _is_piecewise_rational(node: Node) -> bool:
    smooth = {"Abs", "sign", "Heaviside", "Max", "Min"}
    return not any(isinstance(part, nodes.Call) and part.name not in smooth for part in nodes.walk(node))


def _power(base: Node, exponent: Node) -> Node:
    if isinstance(exponent, nodes.Number):
        return multiply(exponent, power(base, nodes.Number(exponent.value - 1)), differentiate(base))
    growth = multiply(differentiate(exponent), call("log", base))
    return multiply(nodes.Power(base, exponent), add(growth, divide(multiply(exponent, differentiate(base)), base)))


def _extreme(name: str, args: tuple[Node, ...]) -> Node:
    """D Max(a, b) = a' H(a - b) + b' H(b - a); more arguments are taken one by one."""
    first, rest = args[0], call(name, *args[1:])
    ahead = subtract(first, rest) if name == "Max" else subtract(rest, first)
    return add(
        multiply(differentiate(first), call("Heaviside", ahead)),
        multiply(differentiate(rest), call("Heaviside", negate(ahead))),
    )


def _bessel(order: Node, argument: Node) -> Node:
    """2 J_n' = J_{n-1} - J_{n+1}."""
    if not nodes.is_constant(order):
        raise Unsupported("besselj(n, ...) has a derivative here only when its order n is a number")
    lower, upper = (call("besselj", add(order, step), argument) for step in (MINUS_ONE, ONE))
    return multiply(HALF, subtract(lower, upper), differentiate(argument))


def _square(node: Node) -> Node:
    return power(node, _TWO)


# the derivatives of functions of one argument
_OUTER: dict[str, Callable[[Node], Node]] = {
    "exp": lambda arg: call("exp", arg),
    "log": lambda arg: power(arg, MINUS_ONE),
    "sin": lambda arg: call("cos", arg),
    "cos": lambda arg: negate(call("sin", arg)),
    "tan": lambda arg: power(call("cos", arg), number(-2)),
    "sinh": lambda arg: call("cosh", arg),
    "cosh": lambda arg: call("sinh", arg),
    "tanh": lambda arg: power(call("cosh", arg), number(-2)),
    "erf": lambda arg: multiply(_TWO_OVER_SQRT_PI, call("exp", negate(_square(arg)))),
    "erfc": lambda arg: multiply(MINUS_ONE, _TWO_OVER_SQRT_PI, call("exp", negate(_square(arg)))),
    "erfi": lambda arg: multiply(_TWO_OVER_SQRT_PI, call("exp", _square(arg))),
    "atan": lambda arg: power(add(ONE, _square(arg)), MINUS_ONE),
    "asinh": lambda arg: power(add(ONE, _square(arg)), nodes.Number(Fraction(-1, 2))),
    "Heaviside": lambda _: ZERO,
    "sign": lambda _: ZERO,
    "Abs": lambda arg: call("sign", arg),
    "airyai": lambda arg: call("airyaiprime", arg),
    "airyaiprime": lambda arg: multiply(arg, call("airyai", arg)),
}
