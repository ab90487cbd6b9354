"""SymPy expressions in and out."""

from fractions import Fraction

import pytest
import sympy as sp

from holokern.activation.catalogue import REGISTRY
from holokern.activation.tree.grammar import build, read_expression
from holokern.activation.tree.printing import to_text
from holokern.activation.tree.sympy_bridge import from_sympy, is_sympy, to_latex, to_sympy
from holokern.activation.values.evaluate import evaluate
from holokern.errors import BadInput, TooLarge, Unsupported

u, x, y = sp.symbols("u x y")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (sp.Max(u, 0), "Max(0, u)"),
        (x * (1 + sp.erf(x)), "u*(1 + erf(u))"),
        (sp.Heaviside(x) * sp.sin(x), "Heaviside(u)*sin(u)"),
        (sp.Heaviside(x, 0), "Heaviside(u)"),
        (sp.exp(-(x**2) / 2), "exp(-u^2/2)"),
        (sp.Piecewise((x, x < 0), (x**2, (x >= 0) & (x < 1)), (sp.pi, True)), None),
        (sp.Piecewise((x, sp.Or(x < -1, sp.Ne(x, 2))), (sp.E, sp.Not(sp.And(x > 1, x < 5)))), None),
        (0.1 * x, "u/10"),
        (sp.Float("0.12345678901234567890", 20) * x, f"{Fraction('0.12345678901234567890').numerator}*u/{10**19}"),
        (sp.Rational(2, 3) + sp.sqrt(2) * x, None),
        (sp.besselj(0, x) + sp.airyai(x) + sp.airyaiprime(x), None),
        (sp.sinc(x) + sp.sech(x), None),
        (sp.sin(x) / x, "sin(u)/u"),
        (2**x, "2^u"),
        (sp.Integer(3), "3"),
        (sp.Symbol("t", real=True) ** 2, "u^2"),
    ],
)
def test_reading(expression, text):
    tree = from_sympy(expression)
    if text is not None:
        assert to_text(tree) == text
    symbol = next(iter(expression.free_symbols), None)
    for value in (-1.25, 0.375, 1.5, 2.75):
        number = expression if symbol is None else expression.subs(symbol, sp.Float(value, 30))
        if number is not sp.nan:
            assert evaluate(tree, value) == pytest.approx(float(number.evalf(25)), rel=1e-13)


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if all(p.default for p in entry.parameters)])
def test_round_trip_keeps_the_function(name):
    tree = build(REGISTRY[name], {})[0]
    again = from_sympy(to_sympy(tree))
    for value in (-7.2, -1.1, -0.3, 0.2, 0.8, 3.7, 6.5):
        assert evaluate(again, value) == pytest.approx(evaluate(tree, value), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("expression", "error", "words"),
    [
        (x + y, BadInput, "symbols x, y"),
        (sp.I * x, BadInput, "I"),
        (sp.oo + x * 0, BadInput, "oo"),
        (sp.nan, BadInput, "nan"),
        (sp.zoo, BadInput, "zoo"),
        (sp.EulerGamma * x, BadInput, "EulerGamma"),
        (sp.gamma(x), Unsupported, "gamma"),
        (sp.Function("exp")(x), Unsupported, "exp"),
        (sp.Function("f")(x), Unsupported, "'f'"),
        (sp.Integral(sp.sin(x), x), Unsupported, "Integral"),
        (sp.Derivative(sp.sin(x), x, evaluate=False), Unsupported, "Derivative"),
        (sp.Eq(x, 1), Unsupported, "Equality"),
        (sp.Matrix([x]).as_immutable(), Unsupported, "Matrix"),
        (x**1000, TooLarge, "exponent"),
        (sp.Integer(10) ** 5000 * x, TooLarge, "too long"),
    ],
)
def test_refusals(expression, error, words):
    with pytest.raises(error, match=words):
        from_sympy(expression)


def test_long_expressions_are_refused():
    terms = (sp.Mul(n, sp.Symbol("u"), evaluate=False) for n in range(1, 3000))
    with pytest.raises(TooLarge, match="nodes"):
        from_sympy(sp.Add(*terms, evaluate=False))


def test_deep_expressions_are_refused():
    deep = x
    for _ in range(300):
        deep = sp.sin(deep, evaluate=False)
    with pytest.raises(TooLarge, match="deep"):
        from_sympy(deep)


def test_latex():
    assert to_latex(read_expression("u^2/2")) == r"\frac{u^{2}}{2}"
    assert r"\operatorname{erf}" in to_latex(read_expression("gelu(u)"))
    assert "cases" in to_latex(read_expression("Piecewise((u, (u < 0) | (u > 1)), (1, ~((u > 2) & (u < 3))))"))


def test_what_counts_as_sympy():
    assert is_sympy(x + 1)
    assert not is_sympy("x + 1")
    assert not is_sympy(1.0)
