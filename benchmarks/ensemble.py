"""Ensembles of wide networks under gradient descent: ours against `gradient_descent_mse_ensemble` of neural-tangents.

Mean and covariance at several training times and at t = ∞, for relu and erf, both kernels. neural-tangents 0.6.5 with
jax 0.5.3 lives in an environment of its own, to which the script talks by files; without it there is only a message.

    python benchmarks/ensemble.py [--peer ~/.cache/holokern-bench/nt] [--output benchmarks/results/ensemble.json]

A suitable environment: python -m venv nt; nt/bin/pip install jax==0.5.3 frozendict; nt/bin/pip install --no-deps
neural-tangents==0.6.5.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from holokern.files import write_atomically
from holokern.model import GradientDescentEnsemble

DEPTH, BIAS, WEIGHT_VARIANCE, RATE = 2, 0.4, 1.5, 0.8
ACTIVATIONS = ("relu", "erf")
TIMES = (0.0, 1.0, 30.0, 1000.0, np.inf)
WANTED = 1e-6

PEER = """
import sys, types
# only the experimental part needs TensorFlow
sys.modules["neural_tangents.experimental"] = types.ModuleType("neural_tangents.experimental")
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
from neural_tangents import predict, stax
data = np.load(sys.argv[1])
depth, bias, variance, rate = int(data["depth"]), float(data["bias"]), float(data["variance"]), float(data["rate"])
result = {}
for name, layer in (("relu", stax.Relu), ("erf", stax.Erf)):
    dense = lambda: stax.Dense(1, W_std=variance**0.5, b_std=bias)
    layers = [dense()]
    for _ in range(depth):
        layers += [layer(), dense()]
    kernel = stax.serial(*layers)[2]
    ensemble = predict.gradient_descent_mse_ensemble(kernel, data["x"], data["y"][:, None], learning_rate=rate)
    for trained, get in (("all", "ntk"), ("last", "nngp")):
        for i, t in enumerate(data["times"]):
            end = None if np.isinf(t) else float(t)
            found = ensemble(t=end, x_test=data["z"], get=get, compute_cov=True)
            result[f"{name} {trained} {i} mean"] = np.asarray(found.mean)[:, 0]
            result[f"{name} {trained} {i} cov"] = np.asarray(found.covariance)
np.savez(sys.argv[2], **result)
"""


def theirs(python: Path, problem: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What neural-tangents finds, by files."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "problem.npz"), Path(folder, "found.npz")
        np.savez(given, **problem)
        subprocess.run([str(python), "-W", "ignore", "-c", PEER, str(given), str(found)], check=True)
        with np.load(found) as archive:
            return dict(archive)


def compare(problem: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> list[dict[str, object]]:
    """The largest differences of mean and covariance, one row an activation, a kernel and a time."""
    rows: list[dict[str, object]] = []
    for activation in ACTIVATIONS:
        for trained in ("all", "last"):
            model = GradientDescentEnsemble(
                activation, DEPTH, BIAS, WEIGHT_VARIANCE, learning_rate=RATE, trained=trained
            ).fit(problem["x"], problem["y"])
            for index, time in enumerate(TIMES):
                mean, cov = model.predict(problem["z"], return_cov=True, time=time)
                gaps = {
                    part: float(np.max(np.abs(ours - found[f"{activation} {trained} {index} {part}"])))
                    for part, ours in (("mean", mean), ("cov", cov))
                }
                rows.append({"activation": activation, "trained": trained, "time": str(time), **gaps})
                print(f"{activation:5} {trained:5} t = {time:<7} mean {gaps['mean']:.1e}  covariance {gaps['cov']:.1e}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", type=Path, default=Path.home() / ".cache" / "holokern-bench" / "nt")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    python = options.peer / "bin" / "python"
    if not python.exists():
        print(f"neural-tangents is not at {options.peer}; nothing to compare with (see the head of this file)")
        return
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(20, 5)), rng.normal(size=(12, 5))
    problem = {"x": x, "y": np.sin(x[:, 0]) + x[:, 1] * x[:, 2], "z": z, "times": np.array(TIMES)}
    numbers = {"depth": DEPTH, "bias": BIAS, "variance": WEIGHT_VARIANCE, "rate": RATE}
    rows = compare(problem, theirs(python, problem | {name: np.array(value) for name, value in numbers.items()}))
    worst = max(max(float(str(row["mean"])), float(str(row["cov"]))) for row in rows)
    print(f"largest difference {worst:.1e}, wanted below {WANTED:.0e}")
    if options.output:
        write_atomically(options.output, json.dumps({"largest": worst, **numbers, "rows": rows}, indent=1) + "\n")
    if not worst < WANTED:
        sys.exit(1)


if __name__ == "__main__":
    main()
