"""Random architectures with their kernels by neural-tangents 0.6.5 and by brute force: tests/data/architectures.json.

Runs inside a virtual environment of its own (neural-tangents does not import on today's jax), made by

    python3 -m venv ~/.cache/holokern-bench/nt
    ~/.cache/holokern-bench/nt/bin/pip install jax==0.5.3 jaxlib==0.5.3 neural-tangents==0.6.5 gmpy2
    ~/.cache/holokern-bench/nt/bin/python benchmarks/architectures_reference.py tests/data/architectures.json

An architecture is described as in architectures_exact.py, where the brute force is. Saved are the inputs, and for each
architecture NNGP and NTK of (X1, X1) and (X1, X2) by both. "error" is the largest difference of the two relative to the
roots of diagonal entries: the rounding of neural-tangents, or its mistake where a note says so.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import architectures_exact as exact
import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from neural_tangents import stax  # noqa: E402 (after the switch to float64)

Spec = list[Any]
WIDTH = 4
SEED = 12
#: What an architecture must hold, so that every layer with every option is met; the rest of it is random.
IMAGES = (
    "conv valid", "conv same", "conv circular", "conv strided", "conv even", "transpose valid", "transpose same",
    "transpose circular", "avg same", "avg edges", "avg circular", "sum valid", "norm channels", "norm all",
    "norm columns", "dropout", "residual", "concat", "product", "nested", "index", "index row", "blur", "resize",
    "resize late", "softmax", "identity attention", "positions", "standard conv", "black relu",
)  # fmt: skip
SEQUENCES = ("conv circular", "conv strided", "transpose same", "relu attention", "root attention", "concat positions")
GRAPHS = ("sum", "mean", "blocks")
NOTES = {"resize late": "neural-tangents is wrong: its ImageResize swaps height and width after an odd number of Conv"}
VECTORS = ("deep relu", "standard dense", "standard concat")


def decimals(rng: np.random.Generator, low: float, high: float) -> float:
    return round(float(rng.uniform(low, high)), 2)


def weights(rng: np.random.Generator) -> dict[str, Any]:
    """A random deviation of weights and, mostly, of biases; None is no bias."""
    return {"W_std": decimals(rng, 0.8, 1.7), "b_std": None if rng.random() < 0.4 else decimals(rng, 0.05, 0.5)}


def some_activation(rng: np.random.Generator) -> Spec:
    return ["Activation", str(rng.choice(["relu", "erf", "gelu"]))]


def conv(rng: np.random.Generator, rank: int, **given: Any) -> Spec:
    window = given.pop("window", [int(n) for n in rng.integers(1, 4, rank)])
    keys = {"stride": [1] * rank, "padding": str(rng.choice(["same", "circular"])), **weights(rng), **given}
    return ["Conv", window, keys]


def special(rng: np.random.Generator, kind: str, rank: int) -> list[Spec]:
    """The layers that the kind asks for; the state before and after them is Gaussian (it ends with an affine layer)."""
    act, two = some_activation(rng), [2] * rank
    paddings = {word: word for word in ("valid", "same", "circular")}
    first, *more = kind.split()
    if first == "conv":
        if more[0] in paddings:
            return [act, conv(rng, rank, window=[3] * rank, padding=more[0])]
        if more[0] == "strided":
            return [act, conv(rng, rank, window=[3, 2][:rank], stride=[2, 1][:rank], padding="same")]
        return [act, conv(rng, rank, window=[2, 4][:rank], padding="same", stride=[1, 2][:rank])]
    if first == "transpose":
        keys = {"stride": [2, 1][:rank], "padding": more[0], **weights(rng)}
        return [act, ["ConvTranspose", [3, 2][:rank], keys]]
    if first in {"avg", "sum"}:
        keys = {"stride": two, "padding": "same" if more[0] == "edges" else more[0]}
        if more[0] == "edges":
            keys["normalize_edges"] = True
        window = [3, 2][:rank]
        return [act, ["AvgPool" if first == "avg" else "SumPool", window, keys], ["Dense", weights(rng)]]
    if first == "norm":
        axes = {"channels": [-1], "all": [1, 2, 3], "columns": [2, 3]}[more[0]]
        return [["LayerNorm", {"axis": axes}], act, conv(rng, rank)]
    if first == "dropout":
        return [act, ["Dropout", decimals(rng, 0.5, 0.95)], conv(rng, rank)]
    if first == "residual":
        return residual(rng, rank)
    if first in {"concat", "product"}:
        return branches(rng, rank, first, more)
    if kind == "nested":
        outer = residual(rng, rank)
        outer[1][2] = ["Serial", *residual(rng, rank), *outer[1][2][1:]]
        return [*outer, *branches(rng, rank, "concat", [])]
    if first == "index":
        chosen: list[Any] = [2, [0, 5, 2]] if more else [[1, 6, 2], [4, None, -1]]
        tail: Spec = ["Conv", [2], {"stride": [1], "padding": "circular", **weights(rng)}] if more else conv(rng, rank)
        return [act, ["Index", chosen], tail]
    if "attention" in kind or kind == "softmax":
        return [act, self_attention(rng, first)]
    return [act, conv(rng, rank)]


def residual(rng: np.random.Generator, rank: int) -> list[Spec]:
    inner = ["Serial", some_activation(rng), conv(rng, rank)]
    return [["FanOut", 2], ["Parallel", ["Identity"], inner], ["Sum"]]


def branches(rng: np.random.Generator, rank: int, kind: str, more: list[str]) -> list[Spec]:
    count = int(rng.integers(2, 4))
    inner = [["Serial", some_activation(rng), conv(rng, rank)] for _ in range(count)]
    join = ["Product"] if kind == "product" else ["Concat", {"axis": 1 if more else -1}]
    return [["FanOut", count], ["Parallel", *inner], join, ["Dense", weights(rng)]]


def self_attention(rng: np.random.Generator, kind: str) -> Spec:
    keys: dict[str, Any] = {f"W_{name}_std": decimals(rng, 0.6, 1.2) for name in ("query", "key", "value", "out")}
    keys |= {"b_std": decimals(rng, 0.05, 0.3), "mechanism": "identity" if kind == "root" else kind}
    return ["SelfAttention", keys | ({"linear_scaling": False} if kind == "root" else {})]


def blur(size: int) -> list[list[float]]:
    places = np.arange(size)
    return np.round(np.exp(-np.abs(places[:, None] - places) / 2), 3).tolist()


def resized(before: int, after: int, axis: int) -> Spec:
    """Linear resizing along one axis as jax does it."""
    matrix = np.asarray(jax.image.resize(np.eye(before), (before, after), "linear")).T
    return ["LinearMap", matrix.tolist(), {"axis": axis}]


def image_case(kind: str, rng: np.random.Generator) -> Spec:
    rank = 2
    end: list[Spec] = [[["Flatten"], ["GlobalAvgPool"], ["GlobalSumPool"]][int(rng.integers(3))]]
    end.append(["Dense", weights(rng)])
    layers = [conv(rng, rank), *special(rng, kind, rank), some_activation(rng)]
    if kind == "blur":
        layers[1:1] = [["LinearMap", blur(6), {"axis": 0}], ["LinearMap", blur(5), {"axis": 1}]]
        end[0] = ["GlobalAvgPool"]
    elif kind == "resize":
        layers[0:0] = [resized(6, 4, 0), resized(5, 3, 1)]
    elif kind == "resize late":
        layers = [conv(rng, rank), resized(6, 4, 0), resized(5, 3, 1)]
        layers += [some_activation(rng)]
        end[0] = ["GlobalAvgPool"]
    elif kind == "positions":
        return ["Serial", conv(rng, rank), some_activation(rng), ["AvgPool", [2, 2], {"stride": [2, 2]}], end[1]]
    elif kind == "standard conv":
        layers = [
            conv(rng, rank, width=6, s=[1, 2]), some_activation(rng), conv(rng, rank, width=5, s=[2, 3]),
            some_activation(rng),
        ]  # fmt: skip
        end = [["Flatten"], ["Dense", {**weights(rng), "width": 1, "s": [3, 1]}]]
        return standard(["Serial", *layers, *end])
    elif kind == "black relu":
        free = {"W_std": 1.41, "b_std": None}
        layers = [["Conv", [3, 3], {"stride": [1, 1], "padding": "same", **free}], ["Activation", "relu"]] * 3
        end = [["GlobalAvgPool"], ["Dense", free]]
    return ["Serial", *layers, *end]


def sequence_case(kind: str, rng: np.random.Generator) -> Spec:
    layers = [conv(rng, 1), *special(rng, kind, 1), some_activation(rng)]
    end = [[["Flatten"], ["GlobalAvgPool"]][int(rng.integers(2))], ["Dense", weights(rng)]]
    if kind == "conv circular":
        end = end[1:]  # positions stay
    return ["Serial", *layers, *end]


def graph_case(kind: str, rng: np.random.Generator) -> Spec:
    how = "mean" if kind == "mean" else "sum"
    block: list[Spec] = [["Aggregate", how], ["Dense", weights(rng)], some_activation(rng)]
    if kind == "blocks":
        inner = ["Serial", ["Aggregate", how], ["Dense", weights(rng)], some_activation(rng), ["Dense", weights(rng)]]
        pooled = ["Serial", inner, ["GlobalSumPool"]]
        deep = ["Serial", inner, some_activation(rng), inner, ["GlobalSumPool"]]
        return ["Serial", ["FanOut", 2], ["Parallel", pooled, deep], ["Sum"]]
    return ["Serial", *block, ["Aggregate", how], ["Dense", weights(rng)], some_activation(rng), ["GlobalSumPool"]]


def vector_case(kind: str, rng: np.random.Generator) -> Spec:
    if kind == "deep relu":
        return ["Serial", *([["Dense", weights(rng)], ["Activation", "relu"]] * 6), ["Dense", weights(rng)]]
    first = {**weights(rng), "b_std": 0.1, "width": 7}
    if kind == "standard dense":
        layers: list[Spec] = [["Dense", first], some_activation(rng), ["Dense", {**weights(rng), "width": 5}]]
    else:
        inner = [["Serial", some_activation(rng), ["Dense", {**weights(rng), "width": n}]] for n in (3, 5)]
        layers = [["Dense", first], ["FanOut", 2], ["Parallel", *inner], ["Concat", {"axis": -1}]]
        layers += [["Dense", {**weights(rng), "width": 5}]]
    return standard(["Serial", *layers, some_activation(rng), ["Dense", {**weights(rng), "width": 1}]])


def standard(spec: Spec) -> Spec:
    """The same with standard parameterization in every affine layer."""
    changed = [
        standard(item) if isinstance(item, list) and item and isinstance(item[0], str) else item for item in spec
    ]
    if spec[0] in {"Dense", "Conv"}:
        changed[-1] = {**spec[-1], "parameterization": "standard"}
    return changed


def inputs() -> dict[str, Any]:
    """Points with three decimals: black patches, a black border, and the third of each first batch is black.

    ``adjacency[i][j]`` is 1 where node i takes from node j (itself always).
    """
    rng = np.random.default_rng(SEED)

    def draw(*shape: int) -> np.ndarray:
        return np.round(rng.standard_normal(shape), 3)

    data = {
        "images": [draw(3, 6, 5, 2), draw(2, 6, 5, 2)],
        "sequences": [draw(3, 7, 3), draw(2, 7, 3)],
        "graphs": [draw(3, 4, 3), draw(2, 4, 3)],
        "vectors": [draw(3, 5), draw(2, 5)],
        "volumes": [draw(3, 3, 2, 3, 2), draw(2, 3, 2, 3, 2)],
    }
    data["images"][0][0, :4, :3] = 0
    data["images"][1][1, [0, -1]] = 0
    data["images"][1][1, :, [0, -1]] = 0
    data["sequences"][0][0, 2:6] = 0
    for name in ("images", "sequences", "volumes"):
        data[name][0][2] = 0
    own = np.eye(4, dtype=bool)
    graphs = [((rng.random((count, 4, 4)) < 0.4) | own).astype(float) for count in (3, 2)]
    return {name: [x.tolist() for x in pair] for name, pair in data.items()} | {
        "adjacency": [g.tolist() for g in graphs]
    }


def stax_layer(spec: Spec) -> Any:
    """The same layer in neural-tangents."""
    name, *rest = spec
    keys = dict(rest.pop()) if rest and isinstance(rest[-1], dict) else {}
    if name in {"Serial", "Parallel"}:
        return getattr(stax, name.lower())(*map(stax_layer, rest))
    if name == "Aggregate":
        return stax.Aggregate(1)
    if name == "Activation":
        return getattr(stax, rest[0].capitalize())()
    if name == "Index":
        chosen = tuple(c if isinstance(c, int) else slice(*c) for c in rest[0])
        return stax.Index((slice(None), *chosen))
    if name == "LinearMap":
        return linear_map(rest[0], keys["axis"])
    if name == "SelfAttention":
        mechanism = keys.pop("mechanism").upper()
        return stax.GlobalSelfAttention(WIDTH, WIDTH, WIDTH, 2, attention_mechanism=mechanism, **keys)
    if name in {"Sum", "Concat", "Product"}:
        return getattr(stax, {"Sum": "FanInSum", "Concat": "FanInConcat", "Product": "FanInProd"}[name])(**keys)
    if "stride" in keys:
        keys["strides"] = tuple(keys.pop("stride"))
    if "padding" in keys:
        keys["padding"] = keys["padding"].upper()
    if "s" in keys:
        keys["s"] = tuple(keys["s"])
    width = [keys.pop("width", WIDTH)] if name in {"Dense", "Conv", "ConvTranspose"} else []
    return getattr(stax, name)(*width, *(tuple(a) if isinstance(a, list) else a for a in rest), **keys)


def linear_map(matrix: list[list[float]], axis: int) -> Any:
    """Not square: a resize. Square ones come in pairs, and one Aggregate with their product serves both."""
    if len(matrix) != len(matrix[0]):
        return stax.ImageResize((-1, *(len(matrix) if axis == place else -1 for place in range(2)), -1), "linear")
    return stax.Identity() if axis else stax.Aggregate((1, 2))


def holds(spec: Any, wanted: str) -> bool:
    return isinstance(spec, list) and (spec[:1] == [wanted] or any(holds(item, wanted) for item in spec))


def by_neural_tangents(spec: Spec, x1: np.ndarray, x2: np.ndarray | None, patterns: Any) -> list[np.ndarray]:
    """NNGP and NTK, with positions flattened to (N1, P, N2, P) where some remain."""
    function = stax_layer(spec)[2]
    keys = {} if patterns is None else {"pattern": patterns}
    *both, is_reversed = function(x1, x2, ("nngp", "ntk", "is_reversed"), **keys)
    return [flat_positions(np.asarray(matrix), is_reversed) for matrix in both]


def flat_positions(matrix: np.ndarray, is_reversed: bool) -> np.ndarray:
    """(N1, N2, H, H, W, W) → (N1, H W, N2, H W); after an odd number of convolutions it is (N1, N2, W, W, H, H)."""
    rank = (matrix.ndim - 2) // 2
    if not rank:
        return matrix
    step = -1 if is_reversed else 1
    order = [0, *range(2, 2 + 2 * rank, 2)[::step], 1, *range(3, 2 + 2 * rank, 2)[::step]]
    places = int(np.prod(matrix.shape[2::2]))
    return matrix.transpose(order).reshape(matrix.shape[0], places, matrix.shape[1], places)


def patterns_of(spec: Spec, data: dict[str, Any], kind: str) -> tuple[Any, Any]:
    """Graphs of both batches for the brute force, and the same for neural-tangents, where columns take from rows."""
    if holds(spec, "Aggregate"):
        both = [np.asarray(g) for g in data["adjacency"]]
        theirs = [g / g.sum(axis=2, keepdims=True) for g in both] if kind == "mean" else both
        return both, [g.transpose(0, 2, 1) for g in theirs]
    if kind == "blur":
        blurred = np.kron(blur(6), blur(5)).T.reshape(6, 5, 6, 5)
        return None, [np.stack([blurred] * n) for n in (3, 2)]
    return None, None


def record(name: str, points: str, spec: Spec, data: dict[str, Any], kind: str, peer: bool = True) -> dict[str, Any]:
    x1, x2 = (np.asarray(x) for x in data[points])
    ours, theirs = patterns_of(spec, data, kind)
    graphs = None if ours is None else [*ours[0], *ours[1]]
    nngp, ntk, shape = exact.kernels(spec, np.concatenate([x1, x2]), graphs)
    first, second = (slice(0, 3), slice(3, 5))
    entry: dict[str, Any] = {"name": name, "inputs": points, "architecture": spec, "positions": list(shape)}
    if kind in NOTES:
        entry["note"] = NOTES[kind]
    entry["exact"] = {
        f"{label}_{block}": matrix[first, ..., cut, :] if shape else matrix[first, cut]
        for label, matrix in (("nngp", nngp), ("ntk", ntk))
        for block, cut in (("11", first), ("12", second))
    }
    if peer:
        found = {}
        for block, other in (("11", None), ("12", x2)):
            pair = None if theirs is None else (theirs[0], theirs[0] if other is None else theirs[1])
            values = by_neural_tangents(spec, x1, other, pair)
            found |= {f"{label}_{block}": v for label, v in zip(("nngp", "ntk"), values, strict=True)}
        entry["neural_tangents"] = found
        entry["error"] = {key: relative(found[key], entry["exact"][key], nngp, ntk, key, shape) for key in found}
    return entry


def relative(found: np.ndarray, true: np.ndarray, nngp: np.ndarray, ntk: np.ndarray, key: str, shape: Any) -> float:
    """Largest difference over the roots of products of diagonal entries; zero inputs count absolutely."""
    matrix = nngp if key.startswith("nngp") else ntk
    flat = matrix.reshape(int(np.sqrt(matrix.size)), -1)
    diagonal = np.sqrt(np.abs(np.diag(flat)))
    diagonal[diagonal == 0] = 1.0
    places = max(1, int(np.prod(shape)))
    left, right = diagonal[: 3 * places], diagonal[: 3 * places] if key.endswith("11") else diagonal[3 * places :]
    gap = np.abs(found.reshape(len(left), -1) - true.reshape(len(left), -1))
    return float(np.max(gap / np.outer(left, right)))


def check(entry: dict[str, Any]) -> None:
    """Kernels of (X1, X1) are symmetric and positive semidefinite."""
    for key in ("nngp_11", "ntk_11"):
        matrix = entry["exact"][key]
        flat = matrix.reshape(int(np.sqrt(matrix.size)), -1)
        least = np.linalg.eigvalsh((flat + flat.T) / 2)[0]
        if np.max(np.abs(flat - flat.T)) > 1e-14 * np.max(flat) or least < -1e-12 * np.max(flat):
            raise SystemExit(f"{entry['name']}: {key} is not symmetric and positive semidefinite")


def cases() -> list[tuple[str, str, Spec, str, bool]]:
    """(name, inputs, architecture, kind, whether neural-tangents has it)."""
    groups = {
        "images": (IMAGES, image_case),
        "sequences": (SEQUENCES, sequence_case),
        "graphs": (GRAPHS, graph_case),
        "vectors": (VECTORS, vector_case),
    }
    found = []
    for points, (kinds, make) in groups.items():
        for number, kind in enumerate(kinds):
            rng = np.random.default_rng([SEED, len(points), number])
            found.append((f"{points}: {kind}", points, make(kind, rng), kind, True))
    rng = np.random.default_rng([SEED, 1])
    deep = ["Serial", conv(rng, 3), some_activation(rng), conv(rng, 3), some_activation(rng), ["GlobalAvgPool"]]
    found.append(("volumes: conv", "volumes", [*deep, ["Dense", weights(rng)]], "volume", True))
    for points, rank in (("images", 2), ("sequences", 1)):
        spread = conv(rng, rank, window=[3, 2][:rank], dilation=[2, 3][:rank], padding="same")
        around = conv(rng, rank, window=[2, 3][:rank], dilation=[3, 2][:rank], padding="circular")
        layers = [
            spread,
            some_activation(rng),
            around,
            some_activation(rng),
            ["GlobalAvgPool"],
            ["Dense", weights(rng)],
        ]
        found.append((f"{points}: dilated", points, ["Serial", *layers], "dilated", False))
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    data = inputs()
    entries = []
    for name, points, spec, kind, peer in cases():
        start = time.perf_counter()
        entry = record(name, points, spec, data, kind, peer)
        check(entry)
        worst = max(entry.get("error", {"": 0.0}).values())
        print(f"{name:32} {worst:9.1e} {time.perf_counter() - start:6.1f} s", file=sys.stderr, flush=True)
        for part in ("exact", "neural_tangents"):
            entry[part] = {key: value.tolist() for key, value in entry.get(part, {}).items()}
        entries.append(entry)
    about = __doc__.splitlines()[0] + " Made by benchmarks/architectures_reference.py."
    versions = {"neural_tangents": "0.6.5", "jax": jax.__version__, "digits": exact.DIGITS}
    head = json.dumps({"about": about, "versions": versions, "inputs": data})[:-1]
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    Path(sys.argv[1]).write_text(f'{head}, "architectures": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
