"""The one grammar: what it reads, what it refuses, and how quickly it gives up on hostile input."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.errors import BadInput, HolokernError, TooLarge
from holokern.syntax import MAX_DEPTH, MAX_LENGTH, Syntax, parse


def shape(node: Syntax) -> object:
    """A compact picture of a tree for the assertions below."""
    if node.kind in {"number", "name"}:
        return node.head
    return (node.head or node.kind, *map(shape, node.parts))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 - 2 - 3", ("+", "1", ("-", "2"), ("-", "3"))),
        ("a/b*c", ("*", "a", ("/", "b"), "c")),
        ("-u^2", ("-", ("^", "u", "2"))),
        ("u^-2", ("^", "u", ("-", "2"))),
        ("2^3^2", ("^", "2", ("^", "3", "2"))),
        ("2**3", ("^", "2", "3")),
        ("-2*u", ("*", ("-", "2"), "u")),
        ("a - (b - c)", ("+", "a", ("-", ("+", "b", ("-", "c"))))),
        ("(a + b) + c", ("+", ("+", "a", "b"), "c")),
        ("f(u, g(1))", ("f", "u", ("g", "1"))),
        ("0 < u <= 1", ("&", ("<", "0", "u"), ("<=", "u", "1"))),
        ("u < 1 & u > 0 | ~(u == 2)", ("|", ("&", ("<", "u", "1"), (">", "u", "0")), ("~", ("==", "u", "2")))),
        ("P((u, u < 0), (1, True))", ("P", ("tuple", "u", ("<", "u", "0")), ("tuple", "1", "True"))),
    ],
)
def test_precedence_and_shape(text: str, tree: object) -> None:
    assert shape(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("1e-3", Fraction(1, 1000)),
        (".5", Fraction(1, 2)),
        ("3.", Fraction(3)),
        ("2.5E2", 250),
    ],
)
def test_decimals_are_exact(text: str, value: Fraction) -> None:
    assert parse(text).value == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "(",
        "u)",
        "()",
        "u u",
        "1..2",
        "u +",
        "* u",
        "f(,)",
        "f(u",
        "a = b",
        "lambda u: u",
        "__import__('os').system('x')",
        "().__class__",
        "u.real",
        "u[0]",
        "'u'",
        "u; u",
        "ｕ + 1",
        "u\x00",
        "@u",
        "0x10",
    ],
)
def test_outside_the_grammar(text: str) -> None:
    with pytest.raises(BadInput):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "u" * 10_000_000,
        "(" * 10_000 + "u" + ")" * 10_000,
        "-" * 5000 + "u",
        "u^" * 5000 + "u",
        "f(" * 5000 + ")" * 5000,
        "~" * 5000 + "u",
        "9" * 5000,
        "1e999999999",
        "1e-999999999",
    ],
    ids=["10MB", "nest", "minus", "power", "calls", "not", "digits", "exponent", "negative-exponent"],
)
def test_oversized(text: str) -> None:
    with pytest.raises(TooLarge):
        parse(text)


def test_long_sums_stay_flat() -> None:
    node = parse("+".join(["u"] * (MAX_LENGTH // 2)))
    assert len(node.parts) == MAX_LENGTH // 2
    assert len(parse("(" * (MAX_DEPTH - 1) + "u" + ")" * (MAX_DEPTH - 1)).head) == 1


@pytest.mark.parametrize("thing", [None, 3, b"u", ["u"]])
def test_not_a_text(thing: object) -> None:
    with pytest.raises(BadInput, match="expected a text"):
        parse(thing)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=80))
def test_any_text_parses_or_gives_our_error(text: str) -> None:
    try:
        parse(text)
    except HolokernError as error:
        assert str(error)
