"""Kernels of 45 architectures beside saved values: brute force with 40 digits, and neural-tangents 0.6.5.

Made by benchmarks/architectures_reference.py, which shares no code with holokern.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import holokern as hk
from holokern import layers as L
from holokern.errors import TooLarge

DATA = json.loads((Path(__file__).parents[1] / "data" / "architectures.json").read_text(encoding="utf-8"))
CASES = {entry["name"]: entry for entry in DATA["architectures"]}
#: What holokern does not have: attention, and concatenation of positions.
MISSING = [name for name in CASES if "attention" in name or "softmax" in name or name == "sequences: concat positions"]
FLAT = [name for name in CASES if name not in MISSING and not CASES[name]["positions"]]
#: Black patches with biases, where positions of different variances are perfectly correlated: the angle that relu needs
#: is the root of a rounding error. neural-tangents is off by 4e-11 and 2.7e-9 there.
TOLERANCES = {"images: norm columns": 1e-9, "images: blur": 3e-9}


def layer(spec):
    """The layer that a nested list describes."""
    name, *rest = spec
    keys = dict(rest.pop()) if rest and isinstance(rest[-1], dict) else {}
    for unused in ("parameterization", "s"):  # of the whole network; consistent scalings s cancel
        keys.pop(unused, None)
    if name in {"Serial", "Parallel"}:
        return getattr(L, name)(*map(layer, rest))
    if name == "LayerNorm":
        return L.LayerNorm(tuple(axis - 1 for axis in keys["axis"] if axis in (1, 2)))
    if name == "Concat":
        keys.pop("axis")
    if name == "Index":
        return L.Index(*(pick if isinstance(pick, int) else slice(*pick) for pick in rest[0]))
    keys = {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
    if name != "LinearMap":
        rest = [tuple(item) if isinstance(item, list) else item for item in rest]
    return getattr(L, name)(*rest, **keys)


def inputs(entry):
    first, second = (np.array(x) for x in DATA["inputs"][entry["inputs"]])
    if entry["inputs"] != "graphs":
        return first, second
    return [L.Graphs.of(x, a) for x, a in zip((first, second), DATA["inputs"]["adjacency"], strict=True)]


def relative(found, true, scale):
    """Largest difference over the roots of the products of diagonal entries."""
    return float(np.max(np.abs(np.asarray(found) - np.asarray(true)) / scale))


def scales(entry, label):
    """Roots of the products of diagonal entries; inputs that are black count absolutely."""
    blocks = {key: np.array(value) for key, value in entry["exact"].items()}
    diagonal = np.sqrt(np.diag(blocks[f"{label}_11"]))
    diagonal[diagonal == 0] = 1.0
    other = np.abs(blocks[f"{label}_12"]).max(axis=0)
    return np.outer(diagonal, diagonal), np.outer(diagonal, np.where(other == 0, 1.0, other / diagonal.max()))


def network(entry, architecture):
    is_standard = '"standard"' in json.dumps(entry["architecture"])
    return hk.Network(layer(architecture), parameterization="standard" if is_standard else "ntk")


@pytest.mark.parametrize("name", FLAT)
def test_kernels_are_those_of_brute_force(name):
    entry = CASES[name]
    net = network(entry, entry["architecture"])
    first, second = inputs(entry)
    for block, other in (("11", None), ("12", second)):
        for label, found in zip(("nngp", "ntk"), net.both(first, other), strict=True):
            scale = scales(entry, label)[0 if block == "11" else 1]
            true = entry["exact"][f"{label}_{block}"]
            assert relative(found, true, scale) < TOLERANCES.get(name, 1e-12)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name]["positions"]])
def test_kernels_at_each_position_are_those_of_brute_force(name):
    entry = CASES[name]
    shape, (first, second) = entry["positions"], inputs(entry)
    *before, last = entry["architecture"]
    for place in range(0, int(np.prod(shape)), 2):
        at = [int(i) for i in np.unravel_index(place, shape)]
        net = network(entry, [*before, ["Index", at], last])
        for label, found in zip(("nngp", "ntk"), net.both(first, second), strict=True):
            true = np.array(entry["exact"][f"{label}_12"])[:, place, :, place]
            assert np.max(np.abs(found - true)) < 1e-12 * np.max(np.abs(true))


def test_neural_tangents_agrees_where_it_is_right():
    """Its rounding is what the saved errors say: below 1e-10 but for angles near zero, and one mistake of its own."""
    off = {name for name in CASES if max(CASES[name].get("error", {"": 0.0}).values()) > 1e-7}
    assert off == {"images: resize late"} == {name for name in CASES if "note" in CASES[name]}
    for name in FLAT:
        for key, error in CASES[name].get("error", {}).items():
            assert key == "ntk_11" or error < 1e-10 or name in off


def test_pairs_of_positions_have_a_limit_of_memory(monkeypatch):
    """GlobalAvgPool needs the covariances of all pairs of positions: 8 gigabytes for each array at 180 × 180."""
    net = hk.Network(L.Serial(L.Conv(3), L.Activation("relu"), L.GlobalAvgPool(), L.Dense()))
    with pytest.raises(TooLarge, match=r"1049760000 pairs of positions takes 34 gigabytes.*shrink the inputs"):
        net.nngp(np.ones((2, 180, 180, 1)))
    monkeypatch.setenv("HOLOKERN_MEMORY", "1e-4")
    with pytest.raises(TooLarge, match=r"limit of 0\.0001"):
        net.nngp(np.ones((2, 8, 8, 1)))


def test_sines_on_half_lines_of_raw_pixels():
    """They oscillate too often for a table of all angles, and few pairs of windows have small ones."""
    x = np.random.default_rng(0).integers(0, 256, (3, 5, 5, 1)).astype(float)
    x[2, :, :3] = 0.5 * x[1, :, :3]
    x[0, 0, 1] = x[1, 0, 1] + 1
    conv = L.Conv(3, padding="valid")
    found = hk.Network(L.Serial(conv, L.Activation("resin"), L.Flatten(), L.Dense())).both(x)
    windows = np.lib.stride_tricks.sliding_window_view(x[..., 0], (3, 3), axis=(1, 2)).reshape(3, 9, 9)
    one = hk.Network(L.Serial(L.Dense(), L.Activation("resin"), L.Dense()))
    each = [one.both(windows[:, place], engine="pairs") for place in range(9)]
    for matrix, true in zip(found, np.mean(each, axis=0), strict=True):
        root = np.sqrt(np.diag(true))
        assert np.max(np.abs(matrix - true) / np.outer(root, root)) < 1e-12
