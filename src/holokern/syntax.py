"""Text to a neutral syntax tree: the one whitelisted grammar of operators and activations.

Nothing here evaluates anything.  A text becomes nested :class:`Syntax` nodes, and the caller gives them a
meaning.  Size and depth are limited before any work is done, so hostile input costs microseconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

from holokern.errors import BadInput, TooLarge

MAX_LENGTH = 20_000
MAX_DEPTH = 60
_MAX_DIGITS = 400  # more than any float has, and few enough that an exact number stays short
_MAX_DECIMAL_EXPONENT = 400  # beyond the range of floats

# white space, numbers, names and signs
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<sign>\*\*|<=|>=|==|!=|[-+*/^(),<>&|~])""",
    re.VERBOSE | re.ASCII,
)
_RELATIONS = {"<", "<=", ">", ">=", "==", "!="}  # signs between two sides of a condition
# binary sign -> (left binding power, right binding power)
_BINDING = {
    "|": (1, 2),
    "&": (3, 4),
    **dict.fromkeys(_RELATIONS, (7, 8)),
    "+": (9, 10),
    "-": (9, 10),
    "*": (11, 12),
    "/": (11, 12),
    "^": (16, 15),
}
# signs whose terms are collected in one node
_FLAT = {
    "+": ("sum", "+"),
    "-": ("sum", "+"),
    "*": ("product", "*"),
    "/": ("product", "*"),
    "&": ("and", "&"),
    "|": ("or", "|"),
}
# a minus binds less than a power and more than a product; a negation less than a relation
_UNARY_BINDING = {"-": 13, "+": 13, "~": 5}


@dataclass(frozen=True, slots=True)
class Syntax:
    """One node of the neutral tree.

    ``kind`` is one of number, name, call (``head`` is the function), tuple, unary (``head`` is ``-``, ``+``, ``~``
    or ``/`` for the reciprocal), sum, product (n-ary, in the order written), power, relation (``head`` is the
    sign), and, or.  ``closed`` marks what stood in parentheses; it does not take part in comparisons.

    >>> parse("2*u - 1/u").kind
    'sum'
    >>> [part.kind for part in parse("2*u - 1/u").parts]
    ['product', 'unary']
    """

    kind: str
    head: str
    parts: tuple[Syntax, ...] = ()
    closed: bool = field(default=False, compare=False, repr=False)

    @property
    def value(self) -> Fraction:
        """The exact rational that a number token stands for."""
        return Fraction(self.head)


def parse(text: str, what: str = "expression") -> Syntax:
    """Parse ``text`` by the whitelisted grammar.

    ``text``: at most ``MAX_LENGTH`` characters, nested at most ``MAX_DEPTH`` deep.
    ``what``: how error messages call the text.
    Raises BadInput for a text outside the grammar; the message points at the place; TooLarge for a text that is too
    long, too deep or has a number with too many digits.

    >>> parse("Max(u, 0)").head
    'Max'
    """
    if not isinstance(text, str):
        raise BadInput(f"expected a text as {what}, got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise TooLarge(f"the {what} has {len(text)} characters; at most {MAX_LENGTH} are read")
    if not text.strip():
        raise BadInput(f"the {what} is empty; write for example 'Heaviside(u)*sin(u)' or 'u*D - 1'")
    return _Parser(text, what).run()


def names_in(node: Syntax) -> set[str]:
    """The names that stand for values, not those of functions.

    >>> sorted(names_in(parse("f(x) + 2*y")))
    ['x', 'y']
    """
    own = {node.head} if node.kind == "name" else set()
    return own.union(*(names_in(part) for part in node.parts))


def _join(left: Syntax, sign: str, right: Syntax) -> Syntax:
    """Join two operands; chains of + - and of * / become flat, so that long sums stay shallow."""
    if sign in _RELATIONS:
        return _relate(left, sign, right)
    if sign == "^":
        return Syntax("power", "^", (left, right))
    if sign in "-/":
        right = Syntax("unary", sign, (right,))
    kind, head = _FLAT[sign]
    parts = left.parts if left.kind == kind and not left.closed else (left,)
    return Syntax(kind, head, (*parts, right))


def _relate(left: Syntax, sign: str, right: Syntax) -> Syntax:
    """``a < b < c`` means ``(a < b) & (b < c)``."""
    last = left.parts[-1] if left.kind == "and" else left
    if last.kind != "relation" or left.closed:
        return Syntax("relation", sign, (left, right))
    return _join(left, "&", Syntax("relation", sign, (last.parts[1], right)))


class _Parser:
    """Precedence climbing over a token list; a depth counter guards the recursion."""

    def __init__(self, text: str, what: str) -> None:
        self.text, self.what = text, what
        self.tokens = self._tokenise()
        self.at = 0
        self.depth = 0

    def _tokenise(self) -> list[tuple[str, str, int]]:
        tokens: list[tuple[str, str, int]] = []
        place = 0
        while place < len(self.text):
            found = _TOKEN.match(self.text, place)
            if found is None:
                raise self._error("unexpected character", place)
            kind = found.lastgroup or ""
            word = found.group()
            if kind == "number":
                self._check_number(word, place)
            if kind != "space":
                tokens.append((kind, "^" if word == "**" else word, place))
            place = found.end()
        tokens.append(("end", "", len(self.text)))
        return tokens

    def _check_number(self, word: str, place: int) -> None:
        mantissa, _, exponent = word.lower().partition("e")
        if len(mantissa) > _MAX_DIGITS or (
            exponent and (len(exponent) > 6 or abs(int(exponent)) > _MAX_DECIMAL_EXPONENT)
        ):
            raise TooLarge(
                f"the number at position {place} of the {self.what} is too long; at most {_MAX_DIGITS} digits are read"
            )

    def _error(self, reason: str, place: int) -> BadInput:
        start = max(0, place - 20)
        near = self.text[start : place + 20]
        return BadInput(
            f"cannot read the {self.what}: {reason} at position {place}, near {near!r}; "
            "allowed are numbers, names, + - * / ^ ( ) , comparisons and & | ~"
        )

    def run(self) -> Syntax:
        node = self._expression(0)
        kind, word, place = self.tokens[self.at]
        if kind != "end":
            raise self._error(f"unexpected {word!r}", place)
        return node

    def _take(self, word: str) -> None:
        _, found, place = self.tokens[self.at]
        if found != word:
            raise self._error(f"expected {word!r}", place)
        self.at += 1

    def _expression(self, binding: int) -> Syntax:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLarge(f"the {self.what} is nested more than {MAX_DEPTH} deep")
        left = self._prefix()
        while True:
            kind, sign, _ = self.tokens[self.at]
            if kind != "sign" or sign not in _BINDING or _BINDING[sign][0] < binding:
                break
            self.at += 1
            left = _join(left, sign, self._expression(_BINDING[sign][1]))
        self.depth -= 1
        return left

    def _prefix(self) -> Syntax:
        kind, word, place = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return Syntax("number", word)
        if kind == "name":
            if self.tokens[self.at][1] == "(":
                self.at += 1
                return Syntax("call", word, self._arguments())
            return Syntax("name", word)
        if word in _UNARY_BINDING:
            return Syntax("unary", word, (self._expression(_UNARY_BINDING[word]),))
        if word == "(":
            parts = self._arguments()
            if not parts:
                raise self._error("empty parentheses", place)
            return replace(parts[0], closed=True) if len(parts) == 1 else Syntax("tuple", "", parts)
        raise self._error("the text ends too early" if kind == "end" else f"unexpected {word!r}", place)

    def _arguments(self) -> tuple[Syntax, ...]:
        parts: list[Syntax] = []
        if self.tokens[self.at][1] == ")":
            self.at += 1
            return ()
        while True:
            parts.append(self._expression(0))
            if self.tokens[self.at][1] != ",":
                break
            self.at += 1
        self._take(")")
        return tuple(parts)
