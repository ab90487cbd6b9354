"""The constructors of trees: what they fold, what they keep, what they refuse."""

import pickle
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holokern.activation.tree.constructors import (
    ONE,
    ZERO,
    U,
    add,
    both,
    call,
    cases,
    divide,
    either,
    multiply,
    negation,
    number,
    power,
    relation,
    sqrt,
    substitute,
)
from holokern.activation.tree.grammar import read_expression
from holokern.activation.tree.nodes import (
    Always,
    Call,
    Cases,
    Constant,
    Number,
    Power,
    Product,
    Relation,
    Sum,
    check_size,
    is_constant,
    walk,
)
from holokern.activation.tree.printing import to_text
from holokern.errors import BadInput, TooLarge

LEAVES = (U, U, ONE, number(-2), number(Fraction(3, 7)), Constant("pi"), Constant("E"), sqrt(number(2)))


def _between(a, b, c):
    return both(relation(a, "<", b), relation(b, "<=", c))


OPERATIONS = {
    "add": add,
    "multiply": multiply,
    "difference": lambda a, b, c: add(a, multiply(number(-3), add(b, c))),
    "square": lambda a, b, c: power(multiply(a, b), number(2)),
    "quotient": lambda a, b, c: divide(a, add(b, c)),
    "cube root": lambda a, b, c: power(add(ONE, power(a, number(2))), number(Fraction(-2, 3))),
    "root": lambda a, b, c: sqrt(multiply(a, b)),
    "exponent": lambda a, b, c: power(add(number(2), call("Abs", a)), b),
    "max": lambda a, b, c: call("Max", a, b, c),
    "min": lambda a, b, c: call("Min", a, b),
    **{name: lambda a, b, c, name=name: call(name, a) for name in ("exp", "sin", "tanh", "erf", "Heaviside", "log")},
    **{
        f"cases {sign}": lambda a, b, c, sign=sign: cases((a, relation(b, sign, c)), (c, Always(True)))
        for sign in ("<", "<=", ">", ">=", "==", "!=")
    },
    "and": lambda a, b, c: cases((a, _between(a, b, c)), (b, relation(c, ">", a))),
    "or": lambda a, b, c: cases((a, either(_between(a, b, c), relation(a, "!=", c))), (b, Always(True))),
    "not": lambda a, b, c: cases((a, negation(_between(a, b, c))), (b, Always(True))),
}
RECIPES = st.recursive(
    st.integers(0, len(LEAVES) - 1),
    lambda inner: st.tuples(st.sampled_from(sorted(OPERATIONS)), inner, inner, inner),
    max_leaves=14,
)


def cook(recipe):
    if isinstance(recipe, int):
        return LEAVES[recipe]
    name, *parts = recipe
    return OPERATIONS[name](*map(cook, parts))


@settings(max_examples=300, deadline=None)
@example(("multiply", 6, 6, ("square", 0, 6, 0)))
@given(RECIPES)
def test_text_reads_back_to_the_same_tree(recipe):
    try:
        tree = cook(recipe)
    except BadInput:
        return  # a random tree may divide by zero
    assert read_expression(to_text(tree)) == tree


def test_sums_collect_equal_terms_in_order():
    assert add(U, ONE, U, number(2)) == Sum((Product((number(2), U)), number(3)))
    assert add(U, multiply(number(-1), U)) == ZERO
    assert add(multiply(number(2), add(U, ONE)), number(-2)) == Product((number(2), U))


def test_products_put_the_number_first_and_divisors_last():
    assert multiply(power(U, number(-1)), call("sin", U), number(3)) == Product(
        (number(3), call("sin", U), Power(U, number(-1)))
    )
    assert multiply(U, U, power(U, number(-3))) == Power(U, number(-1))
    assert multiply(ZERO, call("exp", U)) == ZERO


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        (Fraction(4, 9), Fraction(1, 2), Fraction(2, 3)),
        (Fraction(8), Fraction(-2, 3), Fraction(1, 4)),
        (Fraction(-2), Fraction(3), Fraction(-8)),
        (Fraction(0), Fraction(5), Fraction(0)),
        (Fraction(10**60), Fraction(1, 3), Fraction(10**20)),
    ],
)
def test_rational_powers_are_exact(base, exponent, expected):
    assert power(Number(base), Number(exponent)) == Number(expected)


def test_radicals_merge():
    root = sqrt(number(2))
    assert multiply(root, root) == number(2)
    assert power(root, number(3)) == Product((number(2), root))
    assert power(divide(U, root), number(2)) == Product((number(Fraction(1, 2)), Power(U, number(2))))
    assert power(sqrt(U), number(2)) != U, "sqrt(u)^2 is undefined for negative u"


@pytest.mark.parametrize(
    ("base", "exponent"), [(Fraction(0), Fraction(-1)), (Fraction(-1), Fraction(1, 2)), (Fraction(0), Fraction(-1, 2))]
)
def test_impossible_powers_are_refused(base, exponent):
    with pytest.raises(BadInput):
        power(Number(base), Number(exponent))


@pytest.mark.parametrize(
    "build",
    [
        lambda: power(U, number(201)),
        lambda: power(power(U, number(150)), number(2)),
        lambda: power(number(10), number(200)) and power(number(10**10), number(200)),
        lambda: number(10**500),
        lambda: multiply(number(10**300), number(10**300)),
    ],
)
def test_large_numbers_are_refused(build):
    with pytest.raises(TooLarge):
        build()


def test_functions_fold_obvious_values_only():
    assert call("Heaviside", ZERO) == number(Fraction(1, 2))
    assert call("sign", ZERO) == ZERO
    assert call("Abs", number(-3)) == number(3)
    assert call("exp", ZERO) == ONE
    assert call("exp", ONE) == Constant("E")
    assert call("log", Constant("E")) == ONE
    assert call("Max", number(1), U, number(2), U) == Call("Max", (U, number(2)))
    assert power(Constant("E"), U) == Call("exp", (U,))
    assert call("sin", ONE) == Call("sin", (ONE,))


def test_cases_drop_what_is_never_reached():
    low = Relation(U, "<", ZERO)
    assert cases((U, Always(False)), (ONE, Always(True)), (ZERO, low)) == ONE
    assert cases((U, low), (ONE, Always(True)), (ZERO, low)) == Cases(((U, low), (ONE, Always(True))))
    with pytest.raises(BadInput, match="Piecewise"):
        cases((U, Always(False)))


def test_conditions_fold():
    low = Relation(U, "<", ZERO)
    assert relation(ONE, "<", number(2)) == Always(True)
    assert both(low, Always(True), low) == low
    assert both(low, Always(False)) == Always(False)
    assert either(low, Always(True)) == Always(True)
    assert negation(low) == Relation(U, ">=", ZERO)
    assert negation(negation(both(low, Relation(U, ">", ONE)))) == both(low, Relation(U, ">", ONE))


def test_substitution_reaches_conditions():
    tree = cases((U, Relation(U, "<", ONE)), (ZERO, Always(True)))
    shifted = add(U, ONE)
    assert substitute(tree, shifted) == cases((shifted, Relation(shifted, "<", ONE)), (ZERO, Always(True)))
    assert substitute(tree, ZERO) == ZERO


def test_walk_count_constant_and_size():
    tree = read_expression("Piecewise((sin(u) + 1, u < 2), (pi, True))")
    assert len(list(walk(tree))) == 10
    assert not is_constant(tree)
    assert is_constant(read_expression("pi*exp(2)"))
    with pytest.raises(TooLarge, match="nodes"):
        check_size(tree, limit=9)
    deep = U
    for _ in range(200):
        deep = call("sin", deep)
    with pytest.raises(TooLarge, match="deep"):
        check_size(deep)


def test_nodes_are_immutable_hashable_and_picklable():
    tree = read_expression("Piecewise((u^2, u < 1), (besselj(0, u), True))")
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert hash(tree) == hash(read_expression(to_text(tree)))
    with pytest.raises(AttributeError):
        ONE.value = Fraction(2)
