"""Pairs, layers and whole networks: three engines with one answer, whose parts have the bits of the whole."""

import numpy as np
import pytest

from holokern.errors import BadInput, PrecisionLost
from holokern.network import Network

ENGINES = ("pairs", "layers", "network")
X = np.random.default_rng(0).standard_normal((300, 24)) / 5


def varied(count=24, low=0.3, high=3.0, seed=1):
    """Points with norms over a factor of ten."""
    x = np.random.default_rng(seed).standard_normal((count, 5))
    return x * (np.geomspace(low, high, count) / np.linalg.norm(x, axis=1))[:, None]


def disagreement(matrix, other):
    """Relative to the roots of the diagonals, which is how errors are promised."""
    root = np.sqrt(np.diag(other))
    scale = np.outer(root, root)
    return float(np.max(np.abs(matrix - other) / np.where(scale > 0, scale, 1.0)))


def agree(net, x, tolerance=1e-12):
    if any(layer.dual.jumps for layer in net.hidden_layers):
        found = {engine: (net.nngp(x, engine=engine),) for engine in ENGINES}
    else:
        found = {engine: net.both(x, engine=engine) for engine in ENGINES}
    for engine in ENGINES[1:]:
        for matrix, other in zip(found[engine], found["pairs"], strict=True):
            assert disagreement(matrix, other) < tolerance, engine


@pytest.mark.parametrize(
    "net",
    [
        Network("relu", 3),
        Network("relu", 3, bias=0.2),
        Network("gelu", 3, bias=0.1),
        Network("gelu", 2, residual=True, weight_variance=0.8),
        Network("tanh", 3),
        Network("erf", 2, bias=0.3, weight_variance=1.5),
        Network("elu", 2, bias=0.2),
        pytest.param(Network("elu", 1), marks=pytest.mark.slow),
        Network("cos", 2),
        Network("sin", 2),
        Network("resin", 2),
        Network("hardtanh", 2),
        pytest.param(Network("relu6", 2, bias=0.2), marks=pytest.mark.slow),
        Network("step", 2, bias=0.2),
        pytest.param(Network("sign", 2), marks=pytest.mark.slow),
        Network("identity", 2, bias=0.2),
        Network("squared_relu", 2),
        pytest.param(Network("exp(-u^2)", 2), marks=pytest.mark.slow),
        Network(["gelu", "relu", "erf"], bias=0.2),
        Network("Heaviside(u - 1/2)*sin(u - 1/2)", 1, weight_variance=2.0),
    ],
    ids=repr,
)
def test_the_engines_agree(net):
    agree(net, varied())


@pytest.mark.parametrize("name", ["elu", "gelu", "identity", "relu", "sigmoid", "sign", "step", "tanh"])
def test_the_engines_agree_on_delicate_points(name, delicate_points):
    agree(Network(name, 2), delicate_points)
    # The others of the six points are like these two.
    agree(Network(name, 2, bias=0.2), delicate_points[3:])


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
@pytest.mark.parametrize("name", ["relu", "gelu", "tanh", "elu", "hardtanh"])
def test_parts_have_the_bits_of_the_whole(name, engine):
    net = Network(name, 3, bias=0.0 if name == "relu" else 0.2)
    # pairs by themselves know nothing of strips and tiles, so few of them say as much
    x = X[:16] if engine == "pairs" else X
    whole = net.both(x, engine=engine)
    data = net.data_range(x)
    rng = np.random.default_rng(1)
    for size in (1, 2, 13) if engine == "pairs" else (1, 2, 37, 130):
        rows, columns = (rng.choice(len(x), size, replace=False) for _ in range(2))
        part = net.part(x[rows], x[columns], data, (True, True), engine=engine)
        own = net.part(x[rows], None, data, (False, True), engine=engine)
        for matrix, one in zip(whole, part, strict=True):
            apart = rows[:, None] != columns
            assert np.array_equal(one[apart], matrix[np.ix_(rows, columns)][apart])
        assert np.array_equal(own[1], whole[1][np.ix_(rows, rows)])


def test_parts_with_small_angles_and_zero_vectors(delicate_points):
    """Near and far tables meet in one strip, and so do zero vectors."""
    x = np.concatenate([X[:100, :3], delicate_points])
    for name in ("elu", "silu", "tanh"):
        net = Network(name, 2)
        whole = net.ntk(x, engine="network")
        some = np.array([5, 100, 104, 106, 107, 108, 109, 110])
        part = net.part(x[some], None, net.data_range(x), (False, True), engine="network")[1]
        assert np.array_equal(part, whole[np.ix_(some, some)])


def test_kernels_of_two_sets_are_transposed_when_they_change_places():
    net = Network("gelu", 2)
    for engine in ENGINES[1:]:
        a, b = X[:160], X[150:]
        assert np.array_equal(net.ntk(a, b, engine=engine), net.ntk(b, a, engine=engine).T)


def test_one_kernel_or_both_are_the_same():
    net = Network("silu", 3)
    for engine, x in (("network", X), ("layers", X), ("pairs", X[:20])):
        nngp, ntk = net.both(x, engine=engine)
        assert np.array_equal(net.nngp(x, engine=engine), nngp)
        assert np.array_equal(net.ntk(x, engine=engine), ntk)
        assert np.array_equal(net.last_layer(x, engine=engine), nngp)


def test_threads_do_not_change_bits():
    net = Network("erf", 2, bias=0.1)
    for engine in ENGINES[1:]:
        assert np.array_equal(net.ntk(X, threads=1, engine=engine), net.ntk(X, threads=3, engine=engine))


def test_diagonals_are_those_of_the_matrices():
    x = varied(12)
    for net in (Network("gelu", 3, bias=0.2), Network("relu6", 2), Network("tanh", 2, residual=True)):
        found = net.diagonals(x)
        for engine in ENGINES:
            nngp, ntk = net.both(x, engine=engine)
            assert np.allclose(np.diag(nngp), found.nngp, rtol=1e-12)
            assert np.allclose(np.diag(ntk), found.ntk, rtol=1e-12)


def test_deep_networks_need_no_more_than_shallow_ones():
    deep = Network("relu", 50)
    angles = np.linspace(0.0, np.pi, 200)
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rho, slope = np.cos(angles), np.cos(angles)
    for _ in range(50):
        theta = np.arccos(np.clip(rho, -1, 1))
        rho = (np.sqrt(np.maximum(1 - rho**2, 0)) + (np.pi - theta) * rho) / np.pi
        slope = slope * (np.pi - theta) / np.pi + rho
    for engine in ENGINES[1:]:
        nngp, ntk = deep.both(x, engine=engine)
        assert np.max(np.abs(nngp[0] - rho)) < 1e-12
        # The recursion itself loses half the digits of small angles in arccos.
        assert np.max(np.abs(ntk[0, 5:] - slope[5:])) < 1e-10 * 51


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_negligible_sums_are_zero(engine):
    """Points of very different norms under a sine: E[sin u sin v] is at most exp(-(c1 - c2)²/2)."""
    directions = np.linspace(0.1, 1.5, 150)
    points = np.stack([np.cos(directions), np.sin(directions)], axis=1)
    net = Network("sin", 1, weight_variance=2.0)
    found = net.nngp(points * 1.5, points * 12.0, engine=engine)
    u, v = (scale * points for scale in (1.5, 12.0))
    norms = [np.sum(x * x, axis=1) for x in (u, v)]
    exact = 2.0 * np.exp(-(norms[0][:, None] + norms[1]) / 2) * np.sinh(u @ v.T)
    assert np.max(np.abs(found - exact)) < 1e-13


@pytest.mark.parametrize("name", ["sin", "resin"])
def test_oscillations_on_a_wide_range_of_norms(name):
    """Tables of so many terms in the logarithm of a deviation are not cut into cells."""
    x = varied(10, 0.1, 80.0)
    net = Network(name, 1, bias=0.1)
    table = net.hidden_layers[0].dual.table(0.09, 90.0, 0.4)
    assert table.table.is_rough
    some, others = x[:5], x[5:]
    pairs = net.both(some, others, engine="pairs")
    for found, exact in zip(net.both(some, others, engine="layers"), pairs, strict=True):
        assert np.max(np.abs(found - exact)) < 1e-11 * np.max(np.abs(exact))


@pytest.mark.parametrize("name", ["cos", "sigmoid", "softplus"])
def test_zero_vectors_where_the_activation_is_not_zero_at_zero(name):
    """They have a deviation of their own after the first layer, which no other point need have."""
    x = np.concatenate([np.zeros((1, 4)), np.ones((1, 4)), varied(3, 1.9, 2.0)[:, :4]])
    agree(Network(name, 3), x)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_but_zero_vectors(engine):
    for name, value in (("relu", 0.0), ("sigmoid", None)):
        net = Network(name, 2)
        nngp, ntk = net.both(np.zeros((3, 2)), engine=engine)
        assert np.ptp(nngp) == np.ptp(ntk) == 0.0
        assert value is None or nngp[0, 0] == value
        assert np.all(np.isfinite(ntk))


def test_an_activation_too_rough_for_tables_goes_pair_by_pair(monkeypatch):
    from holokern.dual.sampling.mesh import Mesh

    def refuse(*_, **__):
        raise PrecisionLost("too rough")

    monkeypatch.setattr(Mesh, "resolving", refuse)
    net, x = Network("tanh(2*u)/3", 1, weight_variance=1.0), varied(6)
    for engine in ENGINES[1:]:
        assert disagreement(net.nngp(x, engine=engine), net.nngp(x, engine="pairs")) < 1e-12


@pytest.mark.parametrize("ask", ["nngp", "ntk", "both", "last_layer", "plan"])
def test_bad_engines(ask):
    with pytest.raises(BadInput, match="engine = 'tables'; choose one of 'auto', 'pairs', 'layers', 'network'"):
        getattr(Network("relu", 1), ask)(np.eye(2), engine="tables")


def test_machine_code_is_compiled_once():
    """Other memory layouts would compile it again, which takes seconds; products have single precision besides."""
    from holokern.network.engine.advance import advance
    from holokern.numeric.machine.angles import angles_between
    from holokern.numeric.machine.look_up import look_up_tile

    for name, bias, y in (("relu", 0.0, None), ("gelu", 0.0, X[:100]), ("tanh", 0.1, None), ("silu", 0.0, None)):
        for engine in ENGINES[1:]:
            Network(name, 2, bias=bias).nngp(X, y, engine=engine)
    for code in (advance, angles_between, look_up_tile):
        assert len([one for one in code.nopython_signatures if "float32" not in str(one)]) == 1, code


def test_few_pairs_at_small_angles_are_the_only_ones_that_go_layer_by_layer(monkeypatch):
    """With bias the table of a network of ReLUs does not serve small angles; pairs far from them are not computed."""
    from holokern.network.engine.layered import LayeredRows

    rng = np.random.default_rng(0)
    x = rng.standard_normal((700, 10)) / np.sqrt(10)
    x[600:605] = x[:5] + 0.01 * rng.standard_normal((5, 10))
    net = Network("relu", 3, bias=0.1)
    exact = net.both(x, engine="layers")
    entries, through = [], LayeredRows.through

    def watched(self, tile, some, others, with_tangent):
        entries.append(tile[0].size)
        through(self, tile, some, others, with_tangent)

    monkeypatch.setattr(LayeredRows, "through", watched)
    for found, want in zip(net.both(x, engine="network"), exact, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12)
    assert 5 <= sum(entries) < 0.01 * 700**2
    cross = net.ntk(x[:40], x[590:], engine="network")
    np.testing.assert_allclose(cross, exact[1][:40, 590:], rtol=1e-12)


@pytest.mark.parametrize(
    "source", ["Heaviside(u + 1)*exp(-u)", pytest.param("Max(u - 1/2, 0)*tanh(u)", marks=pytest.mark.slow)]
)
def test_few_points_of_any_norms_with_breaks_away_from_zero(source):
    """Tables for small angles would take minutes here, and save 15 pairs."""
    x = varied(5, 1e-3, 1e3)
    agree(Network(source, 2, b_std=0.1), x, 1e-11)


def test_a_jump_whose_slopes_are_hard_has_a_kernel():
    """k′ at deviations of a tenth is off by more than it should be, but a network of jumps needs only k."""
    x = varied(3, 1e-3, 1.0)
    kernel = Network("Heaviside(u - 2)*sin(3*u)", 2, b_std=0.1).nngp(x, engine="pairs")
    assert np.all(np.isfinite(kernel)) and np.all(np.linalg.eigvalsh(kernel) > -1e-12)


@pytest.mark.parametrize("norms", [(0.3, 3.0), pytest.param((0.08, 0.7, 2.5, 10.0), marks=pytest.mark.slow)], ids=str)
def test_diagonals_of_expansions_are_complete(norms):
    """Norms behind two layers that break and oscillate have long series in log c."""
    net = Network("Max(u - 1, 0)*sin(u) - u/4", 2)
    x = np.diag(norms)
    found = net.nngp(x, engine="network")
    assert np.diag(found) == pytest.approx(net.diagonals(x).nngp, rel=1e-12)


@pytest.mark.parametrize("name", ["softshrink", pytest.param("hardshrink", marks=pytest.mark.slow)])
def test_points_that_fade_away_below_the_smallest_float(name):
    x = np.random.default_rng(0).standard_normal((6, 4)) * np.array([0.04, 0.1, 0.3, 1.0, 2.0, 4.0])[:, None]
    net = Network(name, 3)
    first = net.nngp(x, engine="pairs")
    assert first[0, 0] == 0.0 < first[-1, -1]
    for engine in ("layers", "network"):
        assert np.allclose(net.nngp(x, engine=engine), first, rtol=1e-11, atol=1e-13)


@pytest.mark.slow
def test_few_points_make_no_long_tables_for_small_angles(monkeypatch):
    """Where σ oscillates and breaks away from zero such tables took minutes; the pairs by themselves are quicker."""
    from holokern.dual.tables import build

    def refuse(*_, **__):
        raise AssertionError("a table for small angles")

    monkeypatch.setattr(build, "blurred_rows", refuse)
    net, x = Network("Max(u, 0)^(4/3) + sin(u)/2", 1, bias=0.1), varied(80, 0.3, 200.0)
    some = [0, 30, 31, 60, 79]
    for found, alone in zip(net.both(x, engine="layers"), net.both(x[some], engine="pairs"), strict=True):
        assert disagreement(found[np.ix_(some, some)], alone) < 1e-11


def test_similar_directions_of_short_points_come_from_tables(monkeypatch):
    """At small deviations one panel serves angles on both sides of the one below which few pairs lie."""
    from holokern.network.engine.layered import LayerStep

    def refuse(*_, **__):
        raise AssertionError("a pair by itself")

    monkeypatch.setattr(LayerStep, "_by_pairs", refuse)
    x = 0.02 * (1 + np.random.default_rng(0).standard_normal((60, 5)) / 10)
    assert np.all(np.isfinite(Network("resin", 2).ntk(x, engine="layers")))


def similar(count, low, high):
    """Points as long as unscaled images, which have no small angles but similar directions."""
    x = np.random.default_rng(4).standard_normal((count, 30)) * 0.12
    x[:, 0] += 3.0
    return x * (np.geomspace(low, high, count) / np.linalg.norm(x, axis=1))[:, None]


@pytest.mark.parametrize(
    "name",
    ["tanh", "gelu_tanh", "elu"]
    + [pytest.param(name, marks=pytest.mark.slow) for name in ("silu", "mish", "selu", "softplus", "sigmoid", "celu")],
)
def test_long_points_need_no_table_for_all_angles(name, monkeypatch):
    """A table for all angles at deviations of thousands takes half a minute, or cannot be made."""
    from holokern.dual import DualActivation

    asked = set()
    real = DualActivation._table

    def table(self, low, high, smallest, short):
        asked.add((smallest, high > 100))
        return real(self, low, high, smallest, short)

    monkeypatch.setattr(DualActivation, "_table", table)
    x = similar(60, 900.0, 5000.0)
    unit = x / np.linalg.norm(x, axis=1)[:, None]
    angles = np.arccos(np.clip(unit @ unit.T - 2 * np.eye(60), -1, 1))
    assert 0.1 < angles.min() < 0.2 and np.max(angles[angles < 3]) > 0.4
    net = Network(name, 3, bias=0.1)
    found = {engine: net.both(x, engine=engine) for engine in ("layers", "network")}
    assert (0.1, True) in asked and (0.0, True) not in asked
    some = np.array([0, 20, *np.unravel_index(np.argmin(angles), angles.shape)])
    exact = net.both(x[some], engine="pairs")
    for engine, matrices in found.items():
        for matrix, other in zip(matrices, exact, strict=True):
            assert disagreement(matrix[np.ix_(some, some)], other) < 1e-12, engine
