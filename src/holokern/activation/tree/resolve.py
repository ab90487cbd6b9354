"""Cases decided on an interval: Heaviside, sign, Abs, Max, Min and Piecewise become plain expressions there."""

from __future__ import annotations

from fractions import Fraction

from holokern.activation.ring.construct import element_of
from holokern.activation.ring.taylor import ball_at
from holokern.activation.tree.constructors import HALF, ONE, ZERO, mapped, negate, number, subtract
from holokern.activation.tree.nodes import COMPARE, Always, And, Call, Cases, Condition, Node, Not, Or, Relation
from holokern.errors import BadInput, HolokernError

#: Calls whose meaning depends on a sign.
CHOICES = ("Heaviside", "sign", "Abs", "Max", "Min")
_MAX_BITS = 4096  # 53 bits, then four times as many again and again; what is not told from zero then counts as zero


def resolve(node: Node, sample: Fraction) -> Node:
    """The expression without cases that equals ``node`` on the interval around ``sample`` without breaks.

    Raises BadInput when no case holds at the sample.

    >>> from holokern.activation.tree.constructors import U, call
    >>> resolve(call("Max", U, ZERO), Fraction(-1)) == ZERO
    True
    """
    match node:
        case Cases(branches):
            for value, condition in branches:
                if holds(condition, sample):
                    return resolve(value, sample)
            raise BadInput(f"no case of the Piecewise holds at u = {float(sample):.6g}; end it with (expression, True)")
        case Call(name, args) if name in CHOICES:
            return _choose(name, [resolve(arg, sample) for arg in args], sample)
    return mapped(node, lambda part: resolve(part, sample))


def _choose(name: str, args: list[Node], sample: Fraction) -> Node:
    if name in ("Max", "Min"):
        best = args[0]
        for arg in args[1:]:
            sign = sign_at(subtract(arg, best), sample)
            if sign > 0 if name == "Max" else sign < 0:
                best = arg
        return best
    sign = sign_at(args[0], sample)
    if name == "Abs":
        return args[0] if sign >= 0 else negate(args[0])
    if name == "sign":
        return number(sign)
    return ONE if sign > 0 else ZERO if sign < 0 else HALF


def holds(condition: Condition, sample: Fraction) -> bool:
    """Whether a condition holds on the interval around the sample."""
    match condition:
        case Always(truth):
            return truth
        case And(parts):
            return all(holds(part, sample) for part in parts)
        case Or(parts):
            return any(holds(part, sample) for part in parts)
        case Not(part):
            return not holds(part, sample)
        case Relation(left, relation, right):
            sign = sign_at(subtract(resolve(left, sample), resolve(right, sample)), sample)
            return bool(COMPARE[relation](sign, 0))


def sign_at(node: Node, sample: Fraction) -> int:
    """The sign of a resolved expression at the sample; 0 only if it vanishes identically there."""
    bits = 53
    while bits <= _MAX_BITS:
        value = ball_at(node, sample, bits)
        if value > 0:
            return 1
        if value < 0:
            return -1
        if not value.is_finite() and bits > 1000:
            raise BadInput(f"a condition of the activation has no real value at u = {float(sample):.6g}")
        if bits == 53 and _vanishes(node, sample):
            return 0
        bits *= 4
    return 0


def _vanishes(node: Node, sample: Fraction) -> bool:
    try:
        return not element_of(node, sample)
    except HolokernError:
        return False
