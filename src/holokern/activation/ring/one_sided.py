"""One-sided expansions Σ c s^e log(s)^k, s = |u - point|, of any expression without cases, with balls for c.

They are the numerical twin of :mod:`holokern.activation.ring.expansions` for functions outside the exact ring, such as
|u|^(2/3) + tanh(u).  A coefficient that a ball does not tell from zero counts as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import TypeAlias

from flint import arb, arb_series

from holokern.activation.ring.taylor import SERIES, call_series
from holokern.activation.tree.nodes import Call, Cases, Node, Number
from holokern.activation.values.arithmetic import Arithmetic
from holokern.errors import Unsupported
from holokern.numeric import series_length, to_ball, working_precision

BallSeries: TypeAlias = dict[tuple[Fraction, int], arb]
"""Maps (exponent e, power k of log s) to the coefficient, as a LocalSeries does with exact ones."""

BITS = 400
"""Bits of the balls: what they leave open at a break is zero for every function that somebody types."""

_ZERO = Fraction(0)  # the exponent of a constant
_FLAT = Fraction(10**6)  # beyond every order that is asked for: what decays like exp(-1/s) has no terms
_MOST_TERMS = 300  # of a series: powers with large denominators have many
_MORE = (2, 8, 24)  # terms beyond the order, tried one after the other: quotients lose some
_MOST_DENOMINATOR = 1000  # of an exponent that stands in a formula as a factor of log(s)


@dataclass(frozen=True, slots=True)
class Side:
    """Σ c s^e log(s)^k over ``terms`` {(e, k): c}, right for all exponents below ``cut``."""

    terms: BallSeries
    cut: Fraction

    @property
    def low(self) -> Fraction:
        """The least exponent, or what it is at least."""
        return min((e for e, _ in self.terms), default=self.cut)

    @property
    def steepest(self) -> tuple[Fraction, int]:
        """The term that wins as s → 0; there must be one."""
        return min(self.terms, key=lambda term: (term[0], -term[1]))

    @property
    def sign(self) -> int:
        """The sign next to s = 0; 0 if no term is known."""
        if not self.terms:
            return 0
        e, k = self.steepest
        return 1 if (self.terms[e, k] > 0) == (k % 2 == 0) else -1

    @property
    def is_bounded(self) -> bool:
        """Whether it has a limit as s → 0."""
        return all(e > 0 or (e == 0 and k == 0) for e, k in self.terms)

    def __add__(self, other: Side) -> Side:
        terms = dict(self.terms)
        for key, c in other.terms.items():
            terms[key] = terms.get(key, arb(0)) + c
        return _tidy(terms, min(self.cut, other.cut))

    def __mul__(self, other: Side) -> Side:
        cut = min(self.cut + other.low, other.cut + self.low)
        terms: BallSeries = {}
        for (e1, k1), x in self.terms.items():
            for (e2, k2), y in other.terms.items():
                if e1 + e2 < cut:
                    key = e1 + e2, k1 + k2
                    terms[key] = terms.get(key, arb(0)) + x * y
        return _tidy(terms, cut)

    def times(self, c: arb | int) -> Side:
        """A multiple."""
        return _tidy({key: x * c for key, x in self.terms.items()}, self.cut)


def _tidy(terms: BallSeries, cut: Fraction) -> Side:
    kept = {key: c for key, c in sorted(terms.items()) if key[0] < cut and not c.contains(0)}
    if len(kept) > _MOST_TERMS or not all(c.is_finite() for c in kept.values()):
        raise Unsupported("the expansion at a break has too many terms or no finite ones")
    return Side(kept, cut)


def one_sided(tree: Node, point: Fraction | arb, side: int, order: int) -> BallSeries:
    """The expansion of an expression without cases from the right (``side`` 1) or the left (-1), up to s^order.

    Raises Unsupported when there is none of this kind or it is not found.

    >>> from holokern.activation.tree.grammar import read_expression
    >>> found = one_sided(read_expression("u^(2/3) + tanh(u)"), Fraction(0), 1, 1)
    >>> {(str(e), k): float(c) for (e, k), c in found.items()}
    {('2/3', 0): 1.0, ('1', 0): 1.0}
    """
    failure = Unsupported(f"too many terms cancel at u = {float(to_ball(point)):.6g}")
    for more in _MORE:
        with working_precision(BITS), series_length(order + more):
            try:
                found = _Expansion(to_ball(point), side, order + more).of(tree)
            except Unsupported as error:
                # the first terms of a divisor may be missing
                failure = error
                continue
        if found.cut > order:
            return {key: c for key, c in found.terms.items() if key[0] <= order}
    raise failure


class _Expansion(Arithmetic[Side]):
    """The expansions of all parts of a tree at one side of a point."""

    def __init__(self, point: arb, side: int, terms: int) -> None:
        self.variable = arb_series([point, side], prec=terms)
        self.terms = terms

    def of(self, node: Node) -> Side:
        """The expansion of a tree."""
        return self.value(node, _plain(self.variable, self.terms))

    def value(self, node: Node, x: Side) -> Side:
        """A plain Taylor series where there is one, which is fast; else by the rules below."""
        series = SERIES.value(node, self.variable)
        if all(series[i].is_finite() for i in range(self.terms)):
            return _plain(series, self.terms)
        return super().value(node, x)

    def number(self, value: Fraction, x: Side) -> Side:
        return self._constant(to_ball(value))

    def constant(self, name: str, x: Side) -> Side:
        return self._constant(arb.pi() if name == "pi" else arb.const_e())

    def power(self, base: Node, exponent: Node, x: Side) -> Side:
        if isinstance(exponent, Number):
            return self._power(self.value(base, x), exponent.value)
        return self._exp(self._log(self.value(base, x)) * self.value(exponent, x))

    def call(self, node: Call, x: Side) -> Side:
        argument = self.value(node.args[-1], x)
        rule = self._rules().get(node.name)
        if rule is not None and (not argument.is_bounded or node.name in ("log", "tan")):
            return rule(argument)
        return self._composed(argument, lambda at: call_series(node, at))

    def cases(self, node: Cases, x: Side) -> Side:
        raise Unsupported("cases are resolved before they are expanded")

    def _rules(self) -> dict[str, Callable[[Side], Side]]:
        """Functions of what has no limit; log and tan also where they have none themselves."""
        return {
            "exp": self._exp,
            "log": self._log,
            "tan": lambda x: self._named("sin", x) * self._power(self._named("cos", x), Fraction(-1)),
            "sinh": lambda x: (self._exp(x) + self._exp(x.times(-1)).times(-1)).times(arb(0.5)),
            "cosh": lambda x: (self._exp(x) + self._exp(x.times(-1))).times(arb(0.5)),
            "tanh": self._tanh,
            # what is left out is below every power of s
            "erf": lambda x: self._constant(arb(x.sign)),
            "erfc": lambda x: self._constant(arb(1 - x.sign)),
            "atan": lambda x: (
                self._constant(arb.pi() * x.sign / 2) + self._named("atan", self._power(x, Fraction(-1))).times(-1)
            ),
            "asinh": self._asinh,
        }

    def _constant(self, value: arb) -> Side:
        return _tidy({(_ZERO, 0): value}, _FLAT)

    def _named(self, name: str, x: Side) -> Side:
        return self._composed(x, lambda at: call_series(Call(name, ()), at))

    def _composed(self, x: Side, function: Callable[[arb_series], arb_series]) -> Side:
        """An analytic function of what has a limit."""
        if not x.is_bounded or x.cut <= 0:
            raise Unsupported("a function without an expansion at infinity is taken of something unbounded")
        at = x.terms.get((_ZERO, 0), arb(0))
        rest = _tidy({key: c for key, c in x.terms.items() if key != (_ZERO, 0)}, min(x.cut, Fraction(self.terms)))
        terms = ceil(rest.cut / rest.low)
        if terms > _MOST_TERMS:
            raise Unsupported("the expansion at a break has too many terms")
        with series_length(terms):
            series = function(arb_series([at, 1], prec=terms))
            coefficients = [series[j] for j in range(terms)]
        # Horner's rule, from a remainder of which nothing is known
        total = Side({}, _ZERO)
        for c in reversed(coefficients):
            total = total * rest + self._constant(c)
        return total

    def _split(self, x: Side) -> tuple[Fraction, arb, Side]:
        """e, c and y with x = c s^e (1 + y)."""
        if not x.terms or sum(e == x.low for e, _ in x.terms) > 1 or x.steepest[1]:
            raise Unsupported("the first term of the expansion at a break is not a power")
        low, lead = x.low, x.terms[x.steepest]
        rest = {(e - low, k): c / lead for (e, k), c in x.terms.items() if e > low}
        return low, lead, _tidy(rest, x.cut - low)

    def _power(self, x: Side, q: Fraction) -> Side:
        if q >= 0 and (q.denominator == 1 or not x.terms):
            return reduce(Side.__mul__, [x] * int(q)) if x.terms and q else Side({}, x.cut * q)
        low, lead, rest = self._split(x)
        if q.denominator != 1 and not lead > 0:
            raise Unsupported("a root of something negative is taken next to a break")
        size = (abs(lead).log() * to_ball(q)).exp() * (-1 if lead < 0 and q.numerator % 2 else 1)
        found = self._composed(rest, lambda t: ((1 + t).log() * arb_series([to_ball(q)])).exp())
        return _tidy({(e + low * q, k): c * size for (e, k), c in found.terms.items()}, found.cut + low * q)

    def _log(self, x: Side) -> Side:
        low, lead, rest = self._split(x)
        if not lead > 0:
            raise Unsupported("a logarithm of something negative is taken next to a break")
        return (
            Side({(_ZERO, 1): to_ball(low)} if low else {}, _FLAT)
            + self._constant(lead.log())
            + self._composed(rest, lambda t: (1 + t).log())
        )

    def _exp(self, x: Side) -> Side:
        if x.is_bounded:
            return self._named("exp", x)
        if x.steepest == (_ZERO, 1):
            # s^q times the rest
            factor = x.terms[_ZERO, 1]
            q = Fraction(float(factor)).limit_denominator(_MOST_DENOMINATOR)
            if not factor.contains(to_ball(q)):
                raise Unsupported("a power with an irrational exponent vanishes at a break")
            rest = Side({key: c for key, c in x.terms.items() if key != (_ZERO, 1)}, x.cut)
            return self._named("exp", rest) * Side({(q, 0): arb(1)}, _FLAT)
        if x.sign > 0:
            raise Unsupported("an exponential grows without bound next to a break")
        return Side({}, _FLAT)

    def _tanh(self, x: Side) -> Side:
        decay = self._exp(x.times(-2 * x.sign))
        one = self._constant(arb(1))
        return ((one + decay.times(-1)) * self._power(one + decay, Fraction(-1))).times(x.sign)

    def _asinh(self, x: Side) -> Side:
        size = x.times(x.sign)
        return self._log(size + self._power(self._constant(arb(1)) + x * x, Fraction(1, 2))).times(x.sign)


def _plain(series: arb_series, terms: int) -> Side:
    """A Taylor series."""
    return _tidy({(Fraction(i), 0): series[i] for i in range(terms)}, Fraction(terms))
