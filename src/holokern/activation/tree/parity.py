"""Parity of an expression by the rules of signs; sound for every expression, complete for none."""

from __future__ import annotations

from holokern.activation.tree.nodes import EVEN, ODD, Call, Node, Number, Power, Product, Sum, Variable, is_constant


def parity_by_rules(node: Node) -> str | None:
    """``"even"`` or ``"odd"`` when the rules prove it, else None.

    Examples
    --------
    >>> from holokern.activation.tree.constructors import U, call, multiply
    >>> parity_by_rules(multiply(U, call("tanh", U)))
    'even'
    """
    if is_constant(node):
        return "even"
    match node:
        case Variable():
            return "odd"
        case Sum(parts):
            kinds = {parity_by_rules(part) for part in parts}
            return kinds.pop() if len(kinds) == 1 else None
        case Product(parts):
            signs = [parity_by_rules(part) for part in parts]
            return None if None in signs else "odd" if signs.count("odd") % 2 else "even"
        case Power(base, Number(value)) if parity_by_rules(base) == "odd":
            return None if value.denominator != 1 else "odd" if value.numerator % 2 else "even"
        case Power(base, exponent):
            return "even" if {parity_by_rules(base), parity_by_rules(exponent)} == {"even"} else None
        case Call(name, args):
            inner = {parity_by_rules(arg) for arg in args}
            if inner == {"even"} or (inner == {"odd"} and name in EVEN | {"Abs"}):
                return "even"
            return "odd" if inner == {"odd"} and name in ODD | {"sign"} else None
    return None
