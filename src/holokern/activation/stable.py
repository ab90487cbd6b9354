"""Rewriting a tree for evaluation: the same function without cancellation and without needless overflow.

The result may use functions that the language of trees does not have: ``expm1``, ``log1p``, ``expit`` (the logistic
function), ``softplus``, ``sinc`` (sin(x)/x) and ``exprel`` ((exp(x) - 1)/x).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from holokern.activation.tree import (
    HALF,
    MINUS_ONE,
    ONE,
    And,
    Call,
    Cases,
    Condition,
    Node,
    Not,
    Number,
    Or,
    Power,
    Product,
    Relation,
    Sum,
    add,
    call,
    cases,
    multiply,
    negate,
    number,
    power,
    rebuild,
)

__all__ = ["stabilise"]

_TWO = number(2)


@lru_cache(maxsize=512)
def stabilise(node: Node) -> Node:
    """The same function, written so that floating-point evaluation keeps its digits.

    Examples
    --------
    >>> from holokern.activation.grammar import read_expression
    >>> from holokern.activation.printing import to_text
    >>> to_text(stabilise(read_expression("u/2*(1 + erf(u/sqrt(2)))")))
    'u*erfc(-u/sqrt(2))/2'
    """
    match node:
        case Sum(parts) | Product(parts) | Call(_, parts):
            return _rewrite(rebuild(node, tuple(map(stabilise, parts))))
        case Power(base, exponent):
            return _rewrite(power(stabilise(base), stabilise(exponent)))
        case Cases(branches):
            return cases(*((stabilise(value), _condition(test)) for value, test in branches))
    return node


def _condition(test: Condition) -> Condition:
    match test:
        case Relation(left, sign, right):
            return Relation(stabilise(left), sign, stabilise(right))
        case And(parts):
            return And(tuple(map(_condition, parts)))
        case Or(parts):
            return Or(tuple(map(_condition, parts)))
        case Not(part):
            return Not(_condition(part))
    return test


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
    """Join the first pair of terms c*f(p) and ±c that has a form without cancellation, and look again."""
    for place, term in enumerate(terms):
        others = terms[:place] + terms[place + 1 :]
        for factor in term.factors if isinstance(term, Product) else (term,):
            rules = _rules_of(factor)
            if not rules:
                continue
            cofactor = multiply(term, power(factor, MINUS_ONE))
            for sign, rule in rules:
                partner = cofactor if sign > 0 else negate(cofactor)
                if partner in others:
                    rest = tuple(other for other in others if other != partner)
                    return _rewrite(add(multiply(cofactor, rule), *rest))
    return Sum(terms)


def _rules_of(factor: Node) -> tuple[tuple[int, Node], ...]:
    """For f the pairs (s, g) with f(p) + s = g(p), g without cancellation."""
    match factor:
        case Call(name, (argument,)) if name in _PAIRS:
            return _PAIRS[name](argument)
        case Power(Call("tanh", (argument,)), Number(value)) if value == 2:
            return ((-1, negate(power(call("cosh", argument), number(-2)))),)
    return ()


def _twice_square(name: str, argument: Node) -> Node:
    return multiply(_TWO, power(call(name, multiply(HALF, argument)), _TWO))


_PAIRS: dict[str, Callable[[Node], tuple[tuple[int, Node], ...]]] = {
    "exp": lambda arg: ((-1, call("expm1", arg)),),
    "erf": lambda arg: ((1, call("erfc", negate(arg))), (-1, negate(call("erfc", arg)))),
    "erfc": lambda arg: ((-1, negate(call("erf", arg))),),
    "tanh": lambda arg: (
        (1, multiply(_TWO, call("expit", multiply(_TWO, arg)))),
        (-1, multiply(number(-2), call("expit", multiply(number(-2), arg)))),
    ),
    "expit": lambda arg: ((-1, negate(call("expit", negate(arg)))),),
    "cos": lambda arg: ((-1, negate(_twice_square("sin", arg))),),
    "cosh": lambda arg: ((-1, _twice_square("sinh", arg)),),
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
    """exp(p) expit(-p) = expit(p); sin(p)/p = sinc(p); expm1(p)/p = exprel(p)."""
    bases = {_base(factor): _integer_exponent(factor) for factor in factors}
    for base, exponent in bases.items():
        match base:
            case Call("exp", (argument,)) if exponent > 0:
                mirrored = call("expit", negate(argument))
                shared = min(exponent, bases.get(mirrored, 0))
                if shared > 0:
                    joined = power(call("expit", argument), number(shared))
                    return _rewrite(
                        multiply(*factors, power(base, number(-shared)), power(mirrored, number(-shared)), joined)
                    )
            case Call("sin" | "expm1" as name, (argument,)) if exponent > 0:
                coefficient, inner = _split(argument)
                if bases.get(inner, 0) < 0:
                    joined = multiply(coefficient, call("sinc" if name == "sin" else "exprel", argument))
                    return _rewrite(multiply(*factors, power(base, MINUS_ONE), inner, joined))
    return Product(factors)


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
