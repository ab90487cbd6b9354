"""Expression text: what is read, how, and what is refused, quickly and with a reason."""

import pytest

from holokern.activation.tree.grammar import read_expression
from holokern.activation.tree.printing import to_text
from holokern.errors import BadInput, HolokernError, TooLarge, UnknownName


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u", "u"),
        ("0.1*u + 1e-2", "u/10 + 1/100"),
        ("u**2 - -u", "u^2 + u"),
        ("-u^2", "-u^2"),
        ("2/3/u", "2/3/u"),
        ("sqrt(8)*u", "sqrt(8)*u"),
        ("E^u + exp(1)", "exp(u) + E"),
        ("max(u, 0) + min(u,0) + abs(u) + heaviside(u) + sgn(u) + ln(u)", None),
        ("arctan(u) + arcsinh(u)", "atan(u) + asinh(u)"),
        ("expm1(u) + log1p(u)", "exp(u) - 1 + log(1 + u)"),
        ("relu(u) - relu(u - 1)", "Max(u, 0) - Max(u - 1, 0)"),
        ("u*gelu(2*u)", "u^2*(1 + erf(2*u/sqrt(2)))"),
        ("elu(u, 2)", "Max(u, 0) + 2*exp(Min(u, 0)) - 2"),
        ("swish(u)", "u/(1 + exp(-u))"),
        ("Piecewise((u, u < 0), (u^2, True))", "Piecewise((u, u < 0), (u^2, True))"),
        ("Piecewise((1, 0 < u < 1), (0, True))", "Piecewise((1, (0 < u) & (u < 1)), (0, True))"),
        ("Piecewise((1, ~(u > 1)), (0, (u == 2) | (u >= 3)))", "Piecewise((1, u <= 1), (0, (u == 2) | (u >= 3)))"),
        ("besselj(0, u) + airyai(-u)", "besselj(0, u) + airyai(-u)"),
        ("sin(sin(u))^2", "sin(sin(u))^2"),
        ("1/sqrt(1 + u^2)", "1/sqrt(1 + u^2)"),
        ("u\n + \t1", "u + 1"),
    ],
)
def test_reading(text, expected):
    tree = read_expression(text)
    if expected is not None:
        assert to_text(tree) == expected
    assert read_expression(to_text(tree)) == tree


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("x + 1", UnknownName, "variable is called u"),
        ("v", UnknownName, "called u"),
        ("geluu(u)", UnknownName, "'gelu'"),
        ("Sin(u)", UnknownName, "'sin'"),
        ("foo(u)", UnknownName, "allowed are"),
        ("gelu + 1", BadInput, r"write gelu\(u\)"),
        ("I*u", BadInput, "complex"),
        ("oo*u", BadInput, "infinit"),
        ("nan", BadInput, "nan"),
        ("D*u", BadInput, "operator"),
        ("e^u", BadInput, "write E"),
        ("1/0", BadInput, "divides by zero"),
        ("1/(u - u)", BadInput, "divides by zero"),
        ("0^(-1)", BadInput, "divides by zero"),
        ("sqrt(-2)", BadInput, "not real"),
        ("sin()", BadInput, "1 argument, got 0"),
        ("sin(u, u)", BadInput, "1 argument, got 2"),
        ("besselj(u)", BadInput, "2 arguments"),
        ("Max()", BadInput, "at least one"),
        ("relu(u, 2)", BadInput, "at most 1"),
        ("elu(u, u)", BadInput, "rational number"),
        ("celu(u, -1)", BadInput, "positive"),
        ("polynomial(u)", BadInput, "coefficients"),
        ("u < 1", BadInput, "Piecewise"),
        ("~u", BadInput, "negates conditions"),
        ("(u, 1)", BadInput, "function of u is expected"),
        ("Piecewise(u)", BadInput, "pairs"),
        ("Piecewise((u, u))", BadInput, "comparison"),
        ("Piecewise((u, 1 + (u < 2)))", BadInput, "comparison"),
        ("Piecewise()", BadInput, "branch"),
        ("", BadInput, "empty"),
        ("  ", BadInput, "empty"),
        ("u +", BadInput, "ends too early"),
        ("exp(u", BadInput, r"expected '\)'"),
        ("2 u", BadInput, "unexpected 'u'"),
        ("u^1000000", TooLarge, "exponents up to"),
        ("(u^200)^200", TooLarge, "exponents up to"),
        ("((u^100 + 1)^100 + 1)^2", TooLarge, "degree"),
        ("2^200^200", TooLarge, "exponent"),
        ("10^200*10^200*10^200", TooLarge, "too long"),
        ("1e400000", TooLarge, "digits"),
    ],
)
def test_refusals(text, error, words):
    with pytest.raises(error, match=words):
        read_expression(text)


HOSTILE = {
    "import": "__import__('os').system('x')",
    "class": "().__class__",
    "attribute": "u.__class__.__mro__",
    "subclasses": "u.__class__.__base__.__subclasses__()",
    "getattr": "getattr(u, 'real')",
    "eval": "eval(u)",
    "exec": "exec('x')",
    "open": "open('/etc/passwd')",
    "lambda": "lambda u: u",
    "comprehension": "[u for u in (1, 2)]",
    "walrus": "(u := 1)",
    "fstring": "f'{u}'",
    "string": "'u'",
    "bytes": "b'u'",
    "semicolon": "u; u",
    "comment": "u # comment",
    "index": "u[0]",
    "braces": "{u}",
    "backtick": "`u`",
    "dollar": "$(u)",
    "null": "u\x00",
    "fullwidth": "ｕ + 1",
    "zero width": "u\u200b",
    "arabic digit": "u + \u0663",
    "superscript": "u²",
    "right to left": "\u202eu",
    "surrogate": "u\ud800",
    "mathematical": "𝐮",
    "minus sign": "u \u2212 1",
    "dunder": "__u__",
    "long": "u" * 10**7,
    "million": "u" * 10**6,
    "deep": "(" * 10_000 + "u" + ")" * 10_000,
    "deep but short": "(" * 5_000 + "u" + ")" * 5_000,
    "unclosed": "(" * 19_000,
    "minus": "-" * 19_000 + "u",
    "tower": "^".join(["u"] * 5_000),
    "calls": "sin(" * 4_000 + "u" + ")" * 4_000,
    "doubling": "gelu(" * 50 + "u" + ")" * 50,
    "doubling powers": "relu_k(" * 40 + "u" + ", 200)" * 40,
    "number": "9" * 19_000,
    "tower of numbers": "9^9^9^9^9^9",
    "fraction": "1/3^200^3",
    "many functions": "+".join(f"sin({n}*u)" for n in range(1, 1_700)),
    "many factors": "*".join(f"(u+{n})" for n in range(2_000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_gets_a_short_error(name):
    with pytest.raises(HolokernError) as caught:
        read_expression(HOSTILE[name])
    assert 0 < len(str(caught.value)) < 1000


def test_long_but_honest_text_is_read():
    assert to_text(read_expression("+".join(["u"] * 9_000))) == "9000*u"
    assert to_text(read_expression("u*" * 150 + "u")) == "u^151"
    many = read_expression("+".join(f"sin({n}*u)" for n in range(1, 500)))
    assert read_expression(to_text(many)) == many


@pytest.mark.parametrize("text", [None, 3, b"u", ["u"], object()])
def test_only_text_is_text(text):
    with pytest.raises(BadInput, match="expected a text"):
        read_expression(text)
