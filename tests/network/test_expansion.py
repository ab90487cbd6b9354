"""The table of a whole network: where it is smooth, what it folds, how far it reaches, and its file."""

import numpy as np
import pytest

from holokern.network import Network
from holokern.network.engine import expansion
from holokern.network.engine.expansion import FAR, expansion_of, fold_of
from holokern.network.engine.node_samples import NodeSamples
from holokern.network.hidden_layer import scale_free, scope_of
from holokern.numeric.table import Range

MANY = 10**9
"""Entries for which every table pays."""


def layers_of(name, depth=2, **options):
    return Network(name, depth, **options).hidden_layers


def samples_of(layers, c, scope):
    return NodeSamples.of(layers, c, scope, tuple(layer.dual.smallest_angles for layer in layers))


@pytest.mark.parametrize(
    ("layers", "free"),
    [
        (layers_of("relu"), True),
        (layers_of("relu", bias=0.1), False),
        (layers_of("squared_relu"), True),
        (layers_of("squared_relu", residual=True), False),
        (layers_of("relu", residual=True), True),
        (layers_of(["relu", "abs"]), True),
        (layers_of(["relu", "gelu"]), False),
    ],
)
def test_scale_free_networks(layers, free):
    assert scale_free(layers) is free
    if free:
        assert scope_of(layers, 0.1, 10.0) == Range(0.0, 0.0)
        made = expansion_of(layers, Range(0.0, 0.0), False, MANY)
        assert made.cells().count == 1
        assert all(tensor.functions.shape == (1, 1) for panel in made.table.panels if panel for tensor in panel)


def served(layers, scope, near):
    """The parts of [0, π] that an expansion serves: low (next to 0), middle, high (next to π)."""
    made = expansion_of(layers, scope, near, MANY)
    if made is None:
        return set()
    found = set()
    for low, high, panel in zip(made.table.edges, made.table.edges[1:], made.table.panels, strict=False):
        if panel is not None:
            found.add("low" if low < FAR - 1e-9 else "high" if high > np.pi - FAR + 1e-9 else "middle")
    return found


WIDE, POINT = Range(-0.2, 0.2), Range(0.0, 0.0)


@pytest.mark.parametrize(
    ("name", "depth", "scope", "near"),
    [
        ("gelu", 2, WIDE, {"low", "high"}),
        ("elu", 1, WIDE, {"low", "high"}),
        # A kink in a later layer: not smooth where two points nearly coincide.
        ("elu", 2, WIDE, {"high"}),
        ("elu", 2, POINT, {"low", "high"}),
        ("relu6", 2, WIDE, set()),
        ("relu6", 2, POINT, set()),
        ("tanh", 2, WIDE, {"low"}),
    ],
)
def test_kinks_leave_out_small_angles_only(name, depth, scope, near):
    assert served(layers_of(name, depth), scope, False) == {"middle"}
    assert served(layers_of(name, depth), scope, True) == near


@pytest.mark.parametrize(
    ("layers", "fold"),
    [
        (layers_of("tanh"), -1),
        (layers_of("tanh", bias=0.1), 0),
        (layers_of("cos", bias=0.1), 1),
        (layers_of("cos", residual=True), 0),
        (layers_of("tanh", residual=True), -1),
        (layers_of(["cos", "gelu"]), 1),
        (layers_of(["tanh", "gelu"]), 0),
        (layers_of("gelu"), 0),
    ],
)
def test_folds(layers, fold):
    assert fold_of(layers) == fold
    made = expansion_of(layers, POINT, False, MANY)
    assert made.table.edges[-1] == pytest.approx(np.pi / 2 if fold else np.pi)
    samples = samples_of(layers, np.ones(1), POINT)
    theta = np.array([0.5, 1.2])
    if fold:
        assert np.allclose(samples.at(np.pi - theta), fold * samples.at(theta), rtol=0, atol=1e-13)


def test_scopes_are_a_little_wider_than_the_data():
    layers = layers_of("gelu")
    scope = scope_of(layers, 0.97, 1.31)
    assert scope.low < np.log(0.97)
    assert scope.high > np.log(1.31)
    assert scope_of(layers, 0.98, 1.30) == scope
    assert scope_of(layers, 1.1, 1.1) == Range(np.log(1.1), np.log(1.1))


@pytest.mark.parametrize("residual", [False, True])
def test_samples_are_symmetric_and_one_on_the_diagonal(residual):
    layers = layers_of(["tanh", "gelu"], bias=0.3, residual=residual)
    samples = samples_of(layers, np.array([0.5, 1.0, 2.0]), Range(np.log(0.5), np.log(2.0)))
    for values in samples.at(np.array([1e-12, 1.0, 3.0])):
        assert np.array_equal(values, values.transpose(1, 0, 2))
        assert np.allclose(np.diagonal(values[:, :, 0]), 1.0, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["gelu", "relu", "tanh", "step"])
def test_samples_are_the_kernels(name):
    """Two points in the plane at the given angle and lengths."""
    net = Network(name, 2)
    c, theta = np.array([0.7, 1.0, 1.6]), 0.9
    values = samples_of(net.hidden_layers, c, Range(np.log(0.7), np.log(1.6))).at(np.array([theta]))[:, :, :, 0]
    first = np.outer(c, [1.0, 0.0])
    second = np.outer(c, [np.cos(theta), np.sin(theta)])
    kernels = [net.nngp] if name == "step" else [net.nngp, net.ntk]
    assert len(values) == len(kernels)
    for found, kernel in zip(values, kernels, strict=True):
        root = np.sqrt(np.diag(kernel(first, engine="pairs")))
        assert np.allclose(found * np.outer(root, root), kernel(first, second, engine="pairs"), rtol=0, atol=1e-12)


def test_roots_of_diagonals():
    x = np.random.default_rng(0).standard_normal((9, 3))
    for net in (Network("gelu", 2, bias=0.2), Network("squared_relu", 2), Network("relu", 3)):
        length = np.sqrt(np.sum(x * x, axis=1) + net.bias**2)
        scope = scope_of(net.hidden_layers, length.min(), length.max())
        scales = expansion_of(net.hidden_layers, scope, False, MANY).scales(np.append(length, 0.0))
        want = net.diagonals(x)
        assert np.allclose(scales[:, :9] ** 2, [want.nngp, want.ntk], rtol=1e-12)
        assert scales[:, 9].tolist() == [0.0, 0.0]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("HOLOKERN_CACHE", raising=False)
    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(tmp_path))
    expansion._expansion.cache_clear()
    yield tmp_path
    expansion._expansion.cache_clear()


def files_of_networks(folder):
    found = []
    for path in folder.glob("table-*.npz"):
        with np.load(path) as archive:
            if '"network"' in str(archive["request"]):
                found.append(path)
    return found


def test_expansions_are_kept_on_disk(folder, monkeypatch):
    layers = layers_of("softplus", bias=0.17)
    made = expansion_of(layers, WIDE, False, MANY)
    (path,) = files_of_networks(folder)
    expansion._expansion.cache_clear()
    build = expansion._built
    monkeypatch.setattr(expansion, "_built", lambda *_: pytest.fail("built again"))
    again = expansion_of(layers, WIDE, False, MANY)
    logs, theta = np.array([-0.1, 0.1]), np.array([1.0, 2.0])
    assert np.array_equal(again.table(logs, logs[::-1], theta), made.table(logs, logs[::-1], theta))
    assert (again.powers, again.fold) == (made.powers, made.fold)
    monkeypatch.setattr(expansion, "_built", build)
    path.write_bytes(path.read_bytes()[:1000])
    expansion._expansion.cache_clear()
    again = expansion_of(layers, WIDE, False, MANY)
    assert np.array_equal(again.table(logs, logs[::-1], theta), made.table(logs, logs[::-1], theta))


def test_that_there_is_no_expansion_is_kept_too(folder, monkeypatch):
    layers = layers_of("hardtanh", bias=0.17)
    assert expansion_of(layers, WIDE, True, MANY) is None
    expansion._expansion.cache_clear()
    monkeypatch.setattr(expansion, "_built", lambda *_: pytest.fail("built again"))
    assert expansion_of(layers, WIDE, True, MANY) is None


def test_other_networks_have_other_files(folder):
    expansion_of(layers_of("softplus", bias=0.17), POINT, False, MANY)
    expansion_of(layers_of("softplus", bias=0.18), POINT, False, MANY)
    expansion_of(layers_of("softplus", 3, bias=0.17), POINT, False, MANY)
    expansion_of(layers_of("softplus", bias=0.17, residual=True), POINT, False, MANY)
    assert len(files_of_networks(folder)) == 4
