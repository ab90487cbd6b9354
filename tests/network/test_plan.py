"""Which engine a network takes: by predicted time, in words, and by force."""

import numpy as np
import pytest

from holokern.network import Network
from holokern.network.plan import ENGINES, paying_angles
from holokern.numeric import Range


def points(count, seed=0):
    return np.random.default_rng(seed).standard_normal((count, 4))


@pytest.mark.parametrize(("count", "engine"), [(2, "pairs"), (3000, "network"), (100_000, "network")])
def test_few_pairs_need_no_tables_and_many_pay_for_them(count, engine):
    assert Network("tanh", 1 if engine == "pairs" else 3).plan(points(count)).engine == engine


def test_tables_of_layers_are_between():
    chosen = [Network("tanh", 1).plan(points(count)).engine for count in (2, 10, 50, 200, 1000, 9000)]
    assert chosen[0] == "pairs"
    assert chosen[-1] == "network"
    order = [("pairs", "layers", "network").index(engine) for engine in chosen]
    assert order == sorted(order)
    assert "layers" in chosen


def test_the_smallest_predicted_time_decides():
    for count in (3, 60, 400, 5000):
        plan = Network("tanh", 3, bias=0.1).plan(points(count))
        assert set(plan.seconds) == {"pairs", "layers", "network"}
        assert plan.seconds[plan.engine] == min(plan.seconds.values())


def test_the_text_of_a_plan():
    plan = Network("tanh", 3).plan(points(3000))
    text = str(plan)
    assert text.splitlines()[0] == "engine: network"
    assert text.splitlines()[1] == "reason: 9000000 entries pay for a table of the whole network"
    assert "predicted seconds" in text
    assert all(name in text for name in ("pairs", "layers", "network"))


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_forced_plans(engine):
    plan = Network("tanh", 3).plan(points(50), engine=engine)
    assert plan.engine == engine
    assert plan.reason == "it was asked for"


def test_two_sets_count_all_their_entries():
    net = Network("tanh", 1)
    assert "12 entries" in net.plan(points(3), points(4)).reason
    assert "300000 entries" in net.plan(points(3), points(100_000)).reason


def test_parts_are_planned_as_the_whole():
    """What a part does depends on the data that it belongs to, not on its own size."""
    net, x = Network("tanh", 2), points(2000)
    data = net.data_range(x)
    assert data.pairs == 2000**2
    lengths = np.linalg.norm(x, axis=1)
    assert (data.low, data.high) == pytest.approx((lengths.min(), lengths.max()), rel=1e-15)
    whole = net.data_range(x[:1200], x[1200:])
    assert (whole.low, whole.high) == pytest.approx((data.low, data.high), rel=1e-15)
    assert whole.pairs == 1200 * 800


def test_zero_vectors_have_a_plan():
    assert Network("tanh", 2).plan(np.zeros((3, 2))).engine in ENGINES
    data = Network("tanh", 2).data_range(np.zeros((3, 2)), np.ones((2, 2)))
    assert (data.low, data.high) == pytest.approx((np.sqrt(2), np.sqrt(2)))


@pytest.mark.parametrize("source", ["tanh", "Abs(u - 1)*exp(-u^2)"])
def test_tables_for_small_angles_pay_for_many_entries_only(source):
    (layer,) = Network(source, 1).hidden_layers
    angles, scope = layer.dual.smallest_angles, Range(-2.0, 5.0)
    assert paying_angles(layer, scope, scope, 25) == angles[:1]
    assert paying_angles(layer, scope, scope, 10**9) == angles


def test_a_quick_table_for_all_angles_makes_those_for_some_of_them_needless():
    (layer,) = Network("tanh", 1).hidden_layers
    small, large = Range(-2.0, 2.0), Range(-2.0, 8.0)
    assert paying_angles(layer, large, small, 10**9) == (0.4, 0.0)
    assert paying_angles(layer, large, large, 10**9) == (0.4, 0.2, 0.1, 0.0)
