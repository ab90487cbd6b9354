"""Hyperexponential functions: products of powers and of exponentials of rational functions."""

from __future__ import annotations

from collections.abc import Iterable

from holokern.errors import BadInput
from holokern.syntax import Syntax, names_in, parse
from holokern.weyl.algebra.weyl_algebra import split_names
from holokern.weyl.rational.algebra import rational_weyl_algebra
from holokern.weyl.rational.fractions import FunctionField, RationalFunction, read_function
from holokern.weyl.rational.ideal import RationalIdeal


def hyperexponential(text: str, variables: str | Iterable[str]) -> RationalIdeal:
    """The ideal over Q(x), of rank 1, of a product of rational functions, their powers, and exponentials of them.

    Parameters
    ----------
    text : str
        Made of ``+ - * / ^``, ``exp`` and ``sqrt``; exponents may hold symbols, but no variables.
    variables : str or iterable of str
        The variables; all other names are parameters.

    Examples
    --------
    >>> hyperexponential("t^a*exp(-x*t)", "t x").generators
    (dt + (t*x - a)/t, dx + t)
    """
    if not isinstance(text, str):
        raise BadInput(f"expected a text such as 't^a*exp(-x*t)', got {text!r}")
    names = split_names(variables)
    tree = parse(text, "function")
    algebra = rational_weyl_algebra(names, parameters=sorted(names_in(tree) - set(names)))
    slopes = _logarithmic(tree, algebra.field, names)
    return algebra.ideal([algebra.gen(d) - s for d, s in zip(algebra.derivations, slopes, strict=True)])


def _logarithmic(node: Syntax, field: FunctionField, names: tuple[str, ...]) -> list[RationalFunction]:
    """The logarithmic derivatives in the variables."""
    if node.kind == "product":
        parts = [_logarithmic(part, field, names) for part in node.parts]
        return [sum(column, field.zero) for column in zip(*parts, strict=True)]
    if node.kind == "unary" and node.head in "+-/":
        inner = _logarithmic(node.parts[0], field, names)
        return [-slope for slope in inner] if node.head == "/" else inner
    if node.kind == "power":
        exponent = read_function(field, node.parts[1])
        if any(exponent.derivative(name) for name in names):
            raise BadInput(f"the exponent {exponent} depends on a variable; write exp(...) for that")
        return [exponent * slope for slope in _logarithmic(node.parts[0], field, names)]
    if node.kind == "call" and node.head == "sqrt" and len(node.parts) == 1:
        return [slope / 2 for slope in _logarithmic(node.parts[0], field, names)]
    if node.kind == "call" and node.head == "exp" and len(node.parts) == 1:
        function = read_function(field, node.parts[0])
        return [function.derivative(name) for name in names]
    function = read_function(field, node)
    if function.is_zero:
        raise BadInput("the function 0 has no logarithmic derivative")
    return [function.derivative(name) / function for name in names]
