"""Whole annihilators: known ones by name, and an independent check against integrals of σ at high precision."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import pytest
from flint import fmpq, fmpq_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation.ode.annihilator import annihilator_of, minimal_operator
from holokern.activation.ring.pieces import find_breaks, pieces_of
from holokern.activation.ring.relation import D1
from holokern.activation.tree.grammar import read_expression
from holokern.activation.tree.nodes import (
    Always,
    And,
    Call,
    Cases,
    Constant,
    Not,
    Number,
    Or,
    Power,
    Product,
    Relation,
    Sum,
)
from holokern.errors import BadInput, NotHolonomic, TooLarge, Unsupported
from holokern.weyl.univariate.operators import UnivariateIdeal

DIGITS = 30
KNOWN = {
    "Max(u, 0)": ["u*D - 1"],
    "Heaviside(u)": ["u*D"],
    "sign(u)": ["u*D"],
    "Heaviside(u)*sin(u)": ["u*(D^2 + 1)"],
    "u*(1 + erf(u))": ["D^3 + 4*u*D^2 + 4*u^2*D - 4*u", "D^4 + 2*u*D^3 + 4*D^2 - 4*u*D + 4"],
    "1 + erf(u) + 2/sqrt(pi)*u*exp(-u^2)": ["D^3 + 3*u*D^2 + (2*u^2 + 4)*D", "D^4 + 2*u*D^3 + 6*D^2 - 4*u*D"],
    "1 + erf(u)": ["D^2 + 2*u*D"],
    "erf(u)": ["D^2 + 2*u*D"],
    "Max(u, 0) + exp(Min(u, 0)) - 1": ["u*(D^3 - D^2)"],
    "Max(u, 0) + Min(exp(u) - 1, 0)": ["u*(D^3 - D^2)"],
    "sin(u)": ["D^2 + 1"],
    "exp(-u^2/2)": ["D + u"],
    "exp(u)": ["D - 1"],
    "u": ["u*D - 1", "D^2"],
    "u^3": ["u*D - 3", "D^4"],
    "7": ["D"],
    "0": ["1"],
    "Abs(u)": ["u*D - 1"],
    "Max(u, 0)/3 + Min(u, 0)/7": ["u*D - 1"],
    "Max(u, 0)^3": ["u*D - 3"],
    "Max(Min(u, 1), -1)": ["(u^2 - 1)*D^2"],
    "Max(Min(u, 6), 0)": ["u*(u - 6)*D^2"],
    "besselj(0, u)": ["u*D^2 + D + u"],
    "besselj(1, u)": ["u^2*D^2 + u*D + u^2 - 1", "u*D^3 + 3*D^2 + u*D + 2"],
    "airyai(u)": ["D^2 - u"],
    "sin(u)/u": ["u*D^2 + 2*D + u"],
    "Heaviside(u)*sqrt(u)": ["2*u*D - 1"],
    "log(Abs(u))": ["u*D^2 + D"],
    "Heaviside(u)*log(u)": ["u*(u*D^2 + D)"],
    "exp(-Abs(u))": ["u*(D^2 - 1)"],
    "Heaviside(u)*u^15*exp(u)": ["u*D - u - 15"],
    "u^15*exp(u)": ["u*D - u - 15", "(D - 1)^8*(D - 1)^8"],
    "Max(u, 0) + Min(u, 0)": ["u*D - 1", "D^2"],
    "sin(u)^2 + cos(u)^2": ["D"],
    "Heaviside(u)*exp(-1/u)": ["u^2*D - 1"],
    "sqrt(u^2)": ["u*D - 1"],
}
SCALED = {
    "sin(pi*u)": "pi",
    "exp(sqrt(2)*u)": "2^(1/2)",
    "2^u": "log(2)",
    "exp(-sqrt(2)*u^2)": "2^(1/4)",
    "Heaviside(u - sqrt(2))": "1/2*2^(1/2)",
    "Abs(u^2 - 2)": "1/2*2^(1/2)",
}
OTHERS = """
u/2*(1 + erf(u/sqrt(2))); Max(u, 0) + 3/2*(exp(Min(u, 0)) - 1); u*Max(Min(u + 3, 6), 0)/6; u + sin(3*u)^2/3
u*Heaviside(u - 1/2) + u*Heaviside(-u - 1/2); Max(u - 1/2, 0) + Min(u + 1/2, 0); u/(1 + Abs(u)); u*log(Abs(u))
Abs(u)^(-1/2); sqrt(1 + u^2); u/sqrt(1 + u^2); (u + sqrt(u^2 + 4))/2; atan(u); u*atan(u); asinh(u)/(1 + u^2)
erf(1/u); Heaviside(u)*besselj(0, 2*u); besselj(3, u); Heaviside(u)*(sin(u)/u - 1); erf(u)^2; erfi(u/2)
Piecewise((u, u < 1), (u^2, u < 2), (exp(u - 2) + 3, True)); u/(1 + sqrt(1 + u^2)); airyai(Abs(u)); cosh(u)*exp(-u^2)
Max(u, 0)*sin(2*u + 1); Heaviside(u - 1)*erf(u + 1); Max(u^2 - 1, 0)^(3/2); Abs(Abs(u) - 1); Max(u, u^2, 1/4)
exp(-1/u^2); erfc(u - 1)*exp(u); Heaviside(u)*besselj(12, u); Heaviside(u)*sin(u)^11
Heaviside(u)*log(1 + u); (u^2 - 1)*sign(u^2 - 1)*Heaviside(u)
""".replace("\n", ";").split(";")
OTHERS = [text.strip() for text in OTHERS if text.strip()]


def same_ideal(left, right):
    return UnivariateIdeal(D1, left) == UnivariateIdeal(D1, right)


# -- an independent evaluation and an independent pairing ------------------------------------------------------------


def evaluate(node, x):
    """σ(x) by mpmath."""
    match node:
        case Number(value):
            return mp.mpf(value.numerator) / value.denominator
        case Constant(name):
            return mp.pi if name == "pi" else mp.e
        case Sum(parts):
            return mp.fsum(evaluate(part, x) for part in parts)
        case Product(parts):
            return mp.fprod(evaluate(part, x) for part in parts)
        case Power(base, exponent):
            return evaluate(base, x) ** evaluate(exponent, x)
        case Cases(branches):
            return next(evaluate(value, x) for value, test in branches if holds(test, x))
        case Call(name, args):
            values = [evaluate(arg, x) for arg in args]
            special = {
                "Heaviside": lambda v: mp.mpf(v > 0),
                "sign": mp.sign,
                "Abs": abs,
                "Max": max,
                "Min": min,
                "airyaiprime": lambda v: mp.airyai(v, derivative=1),
            }
            return special[name](*values) if name in special else getattr(mp, name)(*values)
    return x


def holds(test, x):
    match test:
        case Always(truth):
            return truth
        case And(parts):
            return all(holds(part, x) for part in parts)
        case Or(parts):
            return any(holds(part, x) for part in parts)
        case Not(part):
            return not holds(part, x)
        case Relation(left, sign, right):
            a, b = evaluate(left, x), evaluate(right, x)
            return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[sign]


def moments(tree, count, scale=1, half=90):
    """∫ τ(u) u^n exp(-2u²) du for n < count, where σ(u) = τ(scale·u)."""
    ends = sorted({0.0, *(float(point) * float(scale) for point in find_breaks(tree))})
    exact_ends = [mp.mpf(0) if end == 0 else end for end in ends]
    if scale == 1:
        exact_ends = sorted({mp.mpf(0), *(mp.mpf(p.numerator) / p.denominator for p in find_breaks(tree))})
    reach = max(9, max(abs(end) for end in exact_ends) + 9)
    points = sorted({mp.mpf(k) for k in range(-int(reach), int(reach) + 1, 3)} | set(exact_ends))
    result = [mp.mpf(0)] * count
    for low, high in pairwise(points):
        rule = _nodes(half)
        for t, w in rule:
            # tanh-sinh nodes cope with algebraic and logarithmic ends
            x = (low + high) / 2 + (high - low) / 2 * t
            if x in (low, high):
                continue
            value = mp.re(evaluate(tree, x / mp.mpf(scale) if scale != 1 else x))
            value *= mp.exp(-2 * x * x) * w * (high - low) / 2
            for n in range(count):
                result[n] += value
                value *= x
    return result


_RULES = {}


def _nodes(half):
    key = (half, mp.mp.dps)
    if key not in _RULES:
        step = mp.mpf("4.1") / half
        rule = []
        for k in range(-half, half + 1):
            t = k * step
            inner = mp.pi / 2 * mp.sinh(t)
            rule.append((mp.tanh(inner), step * mp.pi / 2 * mp.cosh(t) / mp.cosh(inner) ** 2))
        _RULES[key] = rule
    return _RULES[key]


def adjoint(operator, polynomial):
    """The polynomial p with P*(polynomial · exp(-2u²)) = p · exp(-2u²)."""
    total = fmpq_poly()
    for (i, j), c in operator.terms.items():
        part = polynomial * fmpq_poly([0] * i + [1])
        for _ in range(j):
            part = -(part.derivative() - fmpq_poly([0, 4]) * part)
        total += c * part
    return total


def pairing(operator, polynomial, values):
    """⟨Pσ, φ⟩ relative to the size of its parts."""
    terms = [
        mp.mpf(int(c.p)) / int(c.q) * values[n] for n, c in enumerate(adjoint(operator, polynomial).coeffs()) if c != 0
    ]
    return abs(mp.fsum(terms)) / max(mp.mpf(1), max((abs(t) for t in terms), default=mp.mpf(0)))


TESTS = [fmpq_poly([1]), fmpq_poly([0, 1]), fmpq_poly([fmpq(1, 3), -1, 2]), fmpq_poly([1, 0, -3, 1, fmpq(1, 7)])]


def assert_killed(tree, operators, scale=1, tolerance="1e-15", digits=DIGITS):
    with mp.workdps(digits):
        degree = max(operator.degree for operator in operators) + 6
        values = moments(tree, degree, scale)
        for operator in operators:
            for polynomial in TESTS:
                assert pairing(operator, polynomial, values) < mp.mpf(tolerance), str(operator)


# -- tests -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", KNOWN)
def test_known_annihilators(text):
    found = annihilator_of(read_expression(text)).operators
    assert same_ideal(found, [D1(item) for item in KNOWN[text]])
    assert same_ideal(found, annihilator_of(read_expression(text)).by_order)


def test_bases_of_the_gelu_of_the_paper():
    found = annihilator_of(read_expression("u*(1 + erf(u))"))
    assert found.operators == (D1("D^3 + 4*u*D^2 + 4*u^2*D - 4*u"), D1("u^2*D^2 + 2*u^3*D - 2*u*D - 2*u^2 + 2"))
    assert found.by_order == found.operators[::-1]
    assert found.scale == 1


@pytest.mark.parametrize("text", [*list(KNOWN)[:6], *OTHERS])
def test_the_distribution_is_killed(text):
    tree = read_expression(text)
    # the quadrature rule of this check converges slowly at a flat point
    assert_killed(tree, annihilator_of(tree).operators, tolerance="1e-8" if "1/u" in text else "1e-15")


@pytest.mark.parametrize("text", SCALED)
def test_scaled_annihilators(text):
    tree = read_expression(text)
    found = annihilator_of(tree)
    assert str(found.scale) == SCALED[text]
    # break points of τ are floats in this check, which limits its accuracy
    assert_killed(tree, found.operators, float(found.scale), "1e-13")


def test_the_check_sees_a_wrong_operator():
    tree = read_expression("Heaviside(u)*sin(u)")
    with pytest.raises(AssertionError):
        assert_killed(tree, [D1("D^2 + 1")])
    with pytest.raises(AssertionError):
        assert_killed(read_expression("Max(u, 0)"), [D1("D^2")])


def standard_count(operators, degree):
    """How many independent elements of the ideal have Bernstein degree at most ``degree``."""
    leads = [max(op.terms, key=lambda key: (key[0] + key[1], key[1])) for op in operators]
    keys = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
    return sum(any(a <= i and b <= j for a, b in leads) for i, j in keys)


@pytest.mark.parametrize(
    "text",
    [
        "Max(u, 0)",
        "Heaviside(u)*sin(u)",
        "u*(1 + erf(u))",
        "Max(u, 0) + exp(Min(u, 0)) - 1",
        "Max(Min(u, 1), -1)",
        "sin(u)/u",
        "Heaviside(u)*log(u)",
        *(
            pytest.param(text, marks=pytest.mark.slow)
            for text in (
                "Max(u, 0) + 3/2*(exp(Min(u, 0)) - 1)",
                "u*Heaviside(u - 1/2)",
                "u",
                "exp(-Abs(u))",
                "u*log(Abs(u))",
            )
        ),
    ],
)
def test_nothing_is_missing(text):
    """The numerical kernel of P ↦ ⟨Pσ, φ_k⟩ has the dimension of the ideal, degree by degree."""
    tree = read_expression(text)
    operators = annihilator_of(tree).operators
    degree = 5
    keys = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
    with mp.workdps(45):
        values = moments(tree, 40, half=150)
        rows = []
        for i, j in keys:
            monomial = D1.from_terms({(i, j): 1})
            images = [adjoint(monomial, fmpq_poly([0] * k + [1])).coeffs() for k in range(30)]
            rows.append(
                [mp.fsum(mp.mpf(int(c.p)) / int(c.q) * values[n] for n, c in enumerate(image)) for image in images]
            )
        # columns are scaled to size one, so a gap in the singular values is visible
        sizes = [max(abs(row[k]) for row in rows) for k in range(30)]
        matrix = mp.matrix([[row[k] / sizes[k] for k in range(30)] for row in rows])
        singular = mp.svd_r(matrix, compute_uv=False)
        kernel = sum(1 for value in singular if value < mp.mpf("1e-30") * singular[0])
    assert kernel == standard_count(operators, degree)


@pytest.mark.parametrize(
    ("text", "error", "word"),
    [
        ("tanh(u)", NotHolonomic, "complex poles"),
        ("1/(1 + exp(-u))", NotHolonomic, "quadrature"),
        ("log(1 + exp(u))", NotHolonomic, "quadrature"),
        ("exp(exp(u))", NotHolonomic, "quadrature"),
        ("1/sin(u)", NotHolonomic, "divides"),
        ("Max(sin(u), 0)", NotHolonomic, "infinitely many break"),
        ("u^u", NotHolonomic, "exponent"),
        ("1/log(Abs(u))", Unsupported, "divides"),
        ("1/u", BadInput, "locally integrable"),
        ("log(u)", BadInput, "not real"),
        ("sqrt(u)", BadInput, "not real"),
        ("exp(1/u)", BadInput, "grows"),
        ("Heaviside(u - 1)*sin(pi*u)", Unsupported, "rational"),
        ("Heaviside(u - pi)*exp(u)", Unsupported, "rational"),
        ("besselj(1/2, u)", Unsupported, "integer order"),
        ("exp(-sqrt(1 + u^2))", Unsupported, "exact algebra"),
        ("Piecewise((u, u > 0), (0, u < -1))", BadInput, "no case"),
        ("(sin(u) + cos(u) + exp(u) + u)^50", TooLarge, "terms"),
        ("(sin(u) + exp(u) + u)^5", TooLarge, "order at most"),
    ],
)
def test_refusals_say_why(text, error, word):
    with pytest.raises(error, match=word):
        annihilator_of(read_expression(text))


def test_minimal_operator_takes_all_pieces():
    pieces = pieces_of(read_expression("Piecewise((exp(u), u < 0), (u, True))"))
    operator = minimal_operator(pieces.elements)
    assert operator.order == 2
    assert not operator.apply("u")


ATOMS = ["u", "sin(u)", "exp(-u)", "erf(u)", "u^2", "cos(2*u)", "exp(-u^2)", "1"]
NUMBERS = st.fractions(min_value=-2, max_value=2, max_denominator=4)


@st.composite
def expressions(draw):
    def smooth():
        parts = draw(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=2))
        return f"({draw(NUMBERS)})*" + "*".join(parts) + f"+({draw(NUMBERS)})"

    first, second = smooth(), smooth()
    where = draw(NUMBERS)
    form = draw(st.sampled_from(["heaviside", "cases", "max", "plain"]))
    if form == "heaviside":
        return f"Heaviside(u-({where}))*({first})"
    if form == "cases":
        return f"Piecewise(({first}, u < {where}), ({second}, True))"
    return f"Max(u-({where}), 0)*({first})" if form == "max" else f"({first})*({second})"


def assert_annihilator_kills(text):
    tree = read_expression(text)
    # Operators of order ten have coefficients of eighteen digits, which cancel.
    assert_killed(tree, annihilator_of(tree).operators, tolerance="1e-11", digits=45)


# The same few expressions in every run: mpmath takes minutes for the moments of some, at 45 digits.
@given(expressions())
@settings(derandomize=True, deadline=None, max_examples=6)
def test_random_expressions_are_killed(text):
    assert_annihilator_kills(text)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@given(expressions())
@settings(deadline=None, max_examples=25)
def test_more_random_expressions_are_killed(text):
    assert_annihilator_kills(text)


@given(NUMBERS, st.sampled_from(["sin(u)", "exp(u)", "u^2+1", "erf(u)"]))
@settings(deadline=None, max_examples=20)
def test_shifted_break_is_shifted_annihilator(where, text):
    """Ann(σ(u - b)) is Ann(σ) with u - b for u."""
    base = annihilator_of(read_expression(f"Heaviside(u)*({text})")).operators
    body = text.replace("u", f"(u-({where}))").replace("e(u-", "e(u-")
    moved = annihilator_of(read_expression(f"Heaviside(u-({where}))*({body})")).operators
    u, d = D1.gens
    shifted = []
    for operator in base:
        total = D1.zero
        for (i, j), c in operator.terms.items():
            total = total + (u - D1(Fraction(where))) ** i * d**j * D1(c)
        shifted.append(total)
    assert same_ideal(moved, shifted)
