"""Wide finite networks, trained by gradient descent in plain numpy, and the band that the infinite ensemble predicts.

Networks of one hidden layer and width 2048, each from its own random start, learn a toy problem in one dimension by
full-batch gradient descent on ½ mean (f - y)². Their outputs after training should scatter as the ensemble of
infinitely wide networks does, which `GradientDescentEnsemble` knows in closed form.

    python benchmarks/wide_network.py [--seeds 12] [--width 2048] [--steps 3000] [--output FOLDER] [--figure FILE.svg]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import erf

from holokern import progress
from holokern.files import prepare_folder, write_atomically
from holokern.model import GradientDescentEnsemble

BIAS, WEIGHT_VARIANCE = 0.5, 2.0


def toy_problem() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training points and targets; test points and the truth."""
    x = np.array([-2.0, -1.2, 0.3, 1.8])[:, None]
    z = np.linspace(-4, 4, 120)[:, None]
    return x, np.sin(1.5 * x[:, 0]), z, np.sin(1.5 * z[:, 0])


class Network:
    """f(x) = √(w/n) v·erf(√(w/d) W x + β b) + β a with standard normal parameters, in the NTK parametrisation."""

    def __init__(self, width: int, features: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.inner, self.shift = rng.normal(size=(features, width)), rng.normal(size=width)
        self.outer, self.offset = rng.normal(size=width), rng.normal()
        self.in_scale, self.out_scale = np.sqrt(WEIGHT_VARIANCE / features), np.sqrt(WEIGHT_VARIANCE / width)

    def hidden(self, x: np.ndarray) -> np.ndarray:
        """What the hidden units are given."""
        return self.in_scale * x @ self.inner + BIAS * self.shift

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The output."""
        return self.out_scale * erf(self.hidden(x)) @ self.outer + BIAS * self.offset

    def step(self, x: np.ndarray, y: np.ndarray, rate: float) -> None:
        """One step of gradient descent on ½ mean (f - y)², all parameters."""
        hidden = self.hidden(x)
        features = erf(hidden)
        error = (self.out_scale * features @ self.outer + BIAS * self.offset - y) / len(y)
        back = error[:, None] * self.out_scale * self.outer * (2 / np.sqrt(np.pi)) * np.exp(-(hidden**2))
        self.outer -= rate * self.out_scale * error @ features
        self.offset -= rate * BIAS * np.sum(error)
        self.inner -= rate * self.in_scale * x.T @ back
        self.shift -= rate * BIAS * np.sum(back, axis=0)


def train(width: int, seeds: int, steps: int, rate: float) -> np.ndarray:
    """Outputs at the test points, one row a network."""
    x, y, z, _ = toy_problem()
    outputs = []
    for seed in range(seeds):
        network = Network(width, x.shape[1], seed)
        for step in range(steps):
            network.step(x, y, rate)
            if step % 100 == 0:
                progress.report(f"network {seed + 1} of {seeds}, step", step, steps)
        outputs.append(network(z))
    return np.array(outputs)


def judge(outputs: np.ndarray, mean: np.ndarray, std: np.ndarray) -> dict[str, float]:
    """How the finite networks sit in the predicted band."""
    distance = (outputs - mean) / std
    average = (outputs.mean(axis=0) - mean) / (std / np.sqrt(len(outputs)))
    return {
        "within_1_std": float(np.mean(np.abs(distance) <= 1)),
        "within_2_std": float(np.mean(np.abs(distance) <= 2)),
        "within_3_std": float(np.mean(np.abs(distance) <= 3)),
        "largest_distance": float(np.max(np.abs(distance))),
        "mean_square_distance": float(np.mean(distance**2)),
        "largest_distance_of_the_average": float(np.max(np.abs(average))),
    }


def draw(outputs: np.ndarray, mean: np.ndarray, std: np.ndarray, width: int, path: Path) -> None:
    try:
        import matplotlib as mpl
    except ImportError:
        print("matplotlib is not installed; no figure", file=sys.stderr)
        return
    mpl.use("Agg")
    # text stays text and names do not depend on the run: small files that compare well
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "holokern"})
    from matplotlib import pyplot as plt

    x, y, z, truth = toy_problem()
    figure, axes = plt.subplots(figsize=(7, 4))
    at = z[:, 0]
    for multiple, shade in ((2, 0.18), (1, 0.3)):
        label = f"predicted mean ± {multiple} std"
        axes.fill_between(
            at, mean - multiple * std, mean + multiple * std, color="tab:blue", alpha=shade, lw=0, label=label
        )
    axes.plot(at, mean, color="tab:blue", lw=2, label="predicted mean")
    for index, output in enumerate(outputs):
        label = f"networks of width {width}" if index == 0 else None
        axes.plot(at, output, color="tab:orange", lw=0.8, alpha=0.9, label=label)
    axes.plot(at, truth, color="black", lw=1, ls=":", label="truth")
    axes.plot(x[:, 0], y, "ko", ms=4, label="training data")
    axes.set_xlabel("x")
    axes.set_ylabel("output after training")
    axes.legend(fontsize=8, ncols=2, loc="lower center")
    axes.set_ylim(-3.2, 2.6)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    print(f"figure: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--output", type=Path, help="folder for wide_network.json")
    parser.add_argument("--figure", type=Path, help="file for the figure")
    options = parser.parse_args()
    for folder in {path for path in (options.output, options.figure and options.figure.parent) if path}:
        prepare_folder(folder)
    x, y, z, _ = toy_problem()
    model = GradientDescentEnsemble("erf", 1, BIAS, WEIGHT_VARIANCE).fit(x, y)
    rate = model.max_learning_rate_ / 4
    mean, std = model.predict(z, return_std=True, time=rate * options.steps)
    start = time.perf_counter()
    with progress.display("training"):
        outputs = train(options.width, options.seeds, options.steps, rate)
    seconds = time.perf_counter() - start
    found = judge(outputs, mean, std)
    settings = {"width": options.width, "seeds": options.seeds, "steps": options.steps, "learning_rate": rate}
    for name, value in (settings | found).items():
        print(f"{name}: {value:.4g}")
    print(f"normal variables: 0.683, 0.954 and 0.997 within 1, 2 and 3 std; trained in {seconds:.0f} s")
    if options.output:
        text = json.dumps(settings | found, indent=1) + "\n"
        write_atomically(options.output / "wide_network.json", text)
    if options.figure:
        draw(outputs, mean, std, options.width, options.figure)


if __name__ == "__main__":
    main()
