"""Rewriting a tree for evaluation: the same function without cancellation and without needless overflow.

The result may use functions that the language of trees does not have: ``expm1``, ``log1p``, ``expit`` (the logistic
function), ``softplus``, ``sinc`` (sin(x)/x) and ``exprel`` ((exp(x) - 1)/x).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from holokern.activation.tree.constructors import (
    HALF,
    MINUS_ONE,
    ONE,
    add,
    call,
    mapped,
    multiply,
    negate,
    number,
    power,
)
from holokern.activation.tree.nodes import Call, Cases, Node, Number, Power, Product, Sum

_TWO = number(2)  # the number 2 as a tree


@lru_cache(maxsize=512)
def stabilise(node: Node) -> Node:
    """The same function, written so that floating-point evaluation keeps its digits.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> from holokern.activation.tree.printing import to_text
    >>> to_text(stabilise(read_expression("u/2*(1 + erf(u/sqrt(2)))")))
    'u*erfc(-u/sqrt(2))/2'
    """
    return _rewrite(mapped(node, stabilise))


@lru_cache(maxsize=1024)
def is_gate(node: Node) -> bool:
    """Whether the node vanishes identically on some piece, so that it can switch other factors off."""
    match node:
        case Call("Heaviside" | "Max" | "Min", _) | Cases():
            return True
        case Power(base, Number(value)):
            return value > 0 and is_gate(base)
        case Sum(terms):
            return all(map(is_gate, terms))
        case Product(factors):
            return any(map(is_gate, factors))
    return False


def _rewrite(node: Node) -> Node:
    match node:
        case Sum(terms):
            return _sum(terms)
        case Product(factors):
            return _product(factors)
        case Power(base, Number(value)) if value < 0 and value.denominator == 1:
            return _reciprocal(base, int(-value)) or node
        case Call("log", (Sum() as argument,)):
            return _log(argument)
    return node


def _sum(terms: tuple[Node, ...]) -> Node:
    """Join the first pair of terms c*f and c*g whose sum has a form without cancellation, and look again."""
    for place, term in enumerate(terms):
        others = terms[:place] + terms[place + 1 :]
        for factor in term.factors if isinstance(term, Product) else (term,):
            rules = _rules_of(factor)
            if not rules:
                continue
            cofactor = multiply(term, power(factor, MINUS_ONE))
            for partner, joined in rules:
                companion = multiply(cofactor, partner)
                if companion in others:
                    rest = tuple(other for other in others if other != companion)
                    return _rewrite(add(multiply(cofactor, joined), *rest))
    return Sum(terms)


def _rules_of(factor: Node) -> tuple[tuple[Node, Node], ...]:
    """For f the pairs (g, h) with f + g = h, where h has no cancellation."""
    match factor:
        case Call(name, (argument,)) if name in _PAIRS:
            return _PAIRS[name](argument)
        case Power(Call("tanh", (argument,)), Number(value)) if value == 2:
            return ((MINUS_ONE, negate(power(call("cosh", argument), number(-2)))),)
    return ()


def _twice(name: str, argument: Node) -> Node:
    return multiply(_TWO, call(name, argument))


def _twice_square(name: str, argument: Node) -> Node:
    return multiply(_TWO, power(call(name, multiply(HALF, argument)), _TWO))


# for f(p) the pairs (g, h) with f + g = h, where h has no cancellation
_PAIRS: dict[str, Callable[[Node], tuple[tuple[Node, Node], ...]]] = {
    "exp": lambda arg: (
        (MINUS_ONE, call("expm1", arg)),
        (call("exp", negate(arg)), _twice("cosh", arg)),
        (negate(call("exp", negate(arg))), _twice("sinh", arg)),
    ),
    "erf": lambda arg: ((ONE, call("erfc", negate(arg))), (MINUS_ONE, negate(call("erfc", arg)))),
    "erfc": lambda arg: ((MINUS_ONE, negate(call("erf", arg))),),
    "tanh": lambda arg: (
        (ONE, _twice("expit", multiply(_TWO, arg))),
        (MINUS_ONE, negate(_twice("expit", multiply(number(-2), arg)))),
    ),
    "expit": lambda arg: ((MINUS_ONE, negate(call("expit", negate(arg)))),),
    "cos": lambda arg: ((MINUS_ONE, negate(_twice_square("sin", arg))),),
    "cosh": lambda arg: ((MINUS_ONE, _twice_square("sinh", arg)),),
}


def _logistic_argument(node: Node) -> tuple[Node, Node] | None:
    """``(c, p)`` when the node is c*(1 + exp(p))."""
    if not isinstance(node, Sum) or len(node.terms) != 2:
        return None
    for scale, term in (node.terms, node.terms[::-1]):
        for factor in term.factors if isinstance(term, Product) else (term,):
            if isinstance(factor, Call) and factor.name == "exp" and multiply(scale, factor) == term:
                return scale, factor.args[0]
    return None


def _reciprocal(base: Node, exponent: int) -> Node | None:
    """(c*(1 + exp(p)))^-n = c^-n expit(-p)^n."""
    found = _logistic_argument(base)
    if found is None:
        return None
    scale, argument = found
    return multiply(power(scale, number(-exponent)), power(call("expit", negate(argument)), number(exponent)))


def _log(argument: Sum) -> Node:
    """log(c*(1 + exp(p))) and log(1 + x)."""
    found = _logistic_argument(argument)
    if found is not None:
        return add(call("softplus", found[1]), call("log", found[0]))
    if ONE in argument.terms:
        return call("log1p", add(*(term for term in argument.terms if term != ONE)))
    return call("log", argument)


def _product(factors: tuple[Node, ...]) -> Node:
    """Replace the first pair of factors f(p) g(p) that has a form without overflow or 0/0, and look again."""
    bases = {_base(factor): _integer_exponent(factor) for factor in factors}
    for base, exponent in bases.items():
        if exponent > 0 and isinstance(base, Call) and base.name in _QUOTIENTS:
            for partner, joined in _QUOTIENTS[base.name](*base.args):
                inner, sign = _base(partner), _integer_exponent(partner)
                if bases.get(inner, 0) * sign > 0:
                    return _rewrite(multiply(*factors, power(base, MINUS_ONE), power(partner, MINUS_ONE), joined))
    return Product(factors)


def _over(name: str, argument: Node) -> tuple[Node, Node]:
    """The pair for f(c*p)/p = c*name(c*p)."""
    coefficient, inner = _split(argument)
    return power(inner, MINUS_ONE), multiply(coefficient, call(name, argument))


# for f(p) the pairs (g, h) with f*g = h
_QUOTIENTS: dict[str, Callable[[Node], tuple[tuple[Node, Node], ...]]] = {
    "exp": lambda arg: ((call("expit", negate(arg)), call("expit", arg)),),
    "sin": lambda arg: (_over("sinc", arg),),
    "expm1": lambda arg: (_over("exprel", arg),),
    "sinh": lambda arg: ((power(call("cosh", arg), MINUS_ONE), call("tanh", arg)),),
    "sign": lambda arg: ((arg, call("Abs", arg)),),
}


def _base(factor: Node) -> Node:
    return factor.base if isinstance(factor, Power) and _integer_exponent(factor) != 1 else factor


def _integer_exponent(factor: Node) -> int:
    if isinstance(factor, Power) and isinstance(factor.exponent, Number) and factor.exponent.value.denominator == 1:
        return int(factor.exponent.value)
    return 1


def _split(argument: Node) -> tuple[Node, Node]:
    if isinstance(argument, Product) and isinstance(argument.factors[0], Number):
        return argument.factors[0], multiply(*argument.factors[1:])
    return ONE, argument
