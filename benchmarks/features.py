"""The error of features against their number, on held-out pairs: landmarks, leverage scores, spherical harmonics.

    python benchmarks/features.py --json benchmarks/results/features.json [--svg docs/_static/features.svg]

NTK and NNGP of two hidden layers with bias 0.1 on Gaussian points of dimension 16 whose lengths vary between 1/2 and 2.
The error is the mean of |φ·φ - K| over pairs that the features were not made from, over the mean of |K|. Every finished
number is written at once, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from holokern.files import write_atomically
from holokern.model import NetworkFeatures
from holokern.paper.experiments import machine

ACTIVATIONS = ("relu", "gelu", "erf", "elu")
METHODS = ("landmarks", "leverage", "harmonics")
COUNTS = (64, 256, 1024)


def data(points: int, dimension: int = 16) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((points, dimension))
    return x / np.linalg.norm(x, axis=1, keepdims=True) * rng.uniform(0.5, 2.0, size=(points, 1))


def slope(runs: dict[str, Any], kernel: str, activation: str, method: str) -> float:
    """The power of the number of features with which the mean error falls, by least squares; Monte Carlo is -1/2."""
    found = [(count, runs[f"{kernel} {activation} {method} {count}"]["mean"]) for count in COUNTS]
    logs = np.log(np.array(found))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def draw(done: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "holokern"})
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(ACTIVATIONS), figsize=(11, 3), sharey=True)
    for panel, activation in zip(axes, ACTIVATIONS, strict=True):
        for method, marker in zip(METHODS, "os^", strict=True):
            errors = [done["runs"][f"ntk {activation} {method} {count}"]["mean"] for count in COUNTS]
            panel.loglog(COUNTS, errors, marker=marker, markersize=4, label=method)
        worst = done["runs"][f"ntk {activation} harmonics {COUNTS[0]}"]["mean"]
        rate = worst * np.sqrt(COUNTS[0] / np.array(COUNTS))
        panel.loglog(COUNTS, rate, "k--", linewidth=0.8, label="Monte Carlo rate")
        panel.set_title(activation)
        panel.set_xlabel("features")
    axes[0].set_ylabel("mean relative error of the NTK")
    axes[-1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--kernels", nargs="+", default=["ntk", "nngp"])
    options = parser.parse_args()
    x = data(6000)
    done: dict[str, Any] = (
        json.loads(options.json.read_text()) if options.json.exists() else {"machine": machine(), "runs": {}}
    )
    for kernel in options.kernels:
        for activation in ACTIVATIONS:
            for method in METHODS:
                for count in COUNTS:
                    key = f"{kernel} {activation} {method} {count}"
                    if key in done["runs"]:
                        continue
                    start = time.process_time()
                    model = NetworkFeatures(
                        activation, 2, 0.1, kernel=kernel, method=method, n_components=count, random_state=0
                    ).fit(x)
                    error = model.error_
                    done["runs"][key] = {
                        "mean": error.mean,
                        "largest": error.largest,
                        "proved": error.proved,
                        "truncation": error.truncation,
                        "features": model.map_.count,
                        "cpu_seconds": time.process_time() - start,
                    }
                    write_atomically(options.json, json.dumps(done, indent=1) + "\n")
                    print(key, done["runs"][key], flush=True)
    done["slopes"] = {
        f"{kernel} {activation} {method}": slope(done["runs"], kernel, activation, method)
        for kernel in options.kernels
        for activation in ACTIVATIONS
        for method in METHODS
    }
    write_atomically(options.json, json.dumps(done, indent=1) + "\n")
    print(json.dumps(done["slopes"], indent=1))
    if options.svg:
        draw(done, options.svg)


if __name__ == "__main__":
    main()
