"""The constructors of trees: what they fold, what they keep, what they refuse."""

import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.activation.grammar import read_expression
from holokern.activation.printing import to_text
from holokern.activation.tree import (
    ONE,
    ZERO,
    Always,
    Call,
    Cases,
    Constant,
    Number,
    Power,
    Product,
    Relation,
    Sum,
    U,
    add,
    both,
    call,
    cases,
    check_size,
    count,
    divide,
    either,
    is_constant,
    multiply,
    negation,
    number,
    power,
    relation,
    sqrt,
    substitute,
    walk,
)
from holokern.errors import BadInput, TooLarge

RATIONALS = st.fractions(min_value=-9, max_value=9, max_denominator=12)


def _conditions(nodes):
    relations = st.builds(relation, nodes, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), nodes)
    return st.one_of(
        relations,
        st.builds(both, relations, relations),
        st.builds(either, relations, relations),
        st.builds(lambda a, b: negation(both(a, b)), relations, relations),
    )


def _grow(nodes):
    return st.one_of(
        st.builds(add, nodes, nodes),
        st.builds(add, nodes, nodes, nodes),
        st.builds(multiply, nodes, nodes),
        st.builds(lambda node, n: power(node, number(n)), nodes.filter(lambda node: node != ZERO), st.integers(-3, 3)),
        st.builds(lambda node: sqrt(add(ONE, power(node, number(2)))), nodes),
        st.builds(call, st.sampled_from(["exp", "sin", "tanh", "erf", "Heaviside", "Abs", "log"]), nodes),
        st.builds(call, st.sampled_from(["Max", "Min"]), nodes, nodes),
        st.builds(lambda a, test, b: cases((a, test), (b, Always(True))), nodes, _conditions(nodes), nodes),
    )


LEAVES = st.one_of(st.just(U), RATIONALS.map(number), st.sampled_from([Constant("pi"), Constant("E"), sqrt(number(2))]))
TREES = st.recursive(LEAVES, _grow, max_leaves=12)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_text_reads_back_to_the_same_tree(data):
    try:
        tree = data.draw(TREES)
        text = to_text(tree)
    except (BadInput, TooLarge):
        return  # a random tree divided by zero
    assert read_expression(text) == tree


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
    assert count(tree) == len(list(walk(tree))) == 10
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
