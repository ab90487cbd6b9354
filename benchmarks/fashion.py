"""Fashion-MNIST with the dense NTK: 60 000 images, ridge regression on features, beside random Fourier features.

    python benchmarks/fashion.py [--folder /usr/share/datasets/fashion-mnist] --json benchmarks/results/fashion.json

The data are the Debian package ``dataset-fashion-mnist``. Images are divided by 255 and centred; classes are targets of
±1. The ridge is chosen among a few on 10 000 of the training images. Every finished line is written at once, so that an
interrupted run goes on where it stopped. Times are CPU seconds of the last fit and of the prediction.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from _memory import peak_memory
from sklearn.kernel_approximation import RBFSampler

from holokern.files import write_atomically
from holokern.model import NTKClassifier
from holokern.paper.experiments import machine

RIDGES = (0.1, 1.0, 10.0)
Row = dict[str, Any]


def read(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Images as rows of numbers in [0, 1], and labels."""
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as stream:
        images = np.frombuffer(stream.read(), np.uint8, offset=16).reshape(-1, 784) / 255
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as stream:
        return images, np.frombuffer(stream.read(), np.uint8, offset=8).astype(int)


class FourierRidge:
    """Ridge regression of signs on random Fourier features; the width is the median distance."""

    def __init__(self, features: int, alpha: float) -> None:
        self.features, self.alpha = features, alpha

    def fit(self, x: np.ndarray, y: np.ndarray) -> FourierRidge:
        """Block by block."""
        some = x[:: max(1, len(x) // 500)]
        width = np.median(np.sum((some[:, None] - some[None]) ** 2, axis=2))
        self.sampler = RBFSampler(gamma=1 / width, n_components=self.features, random_state=0).fit(x[:1])
        gram, right = np.zeros((self.features, self.features)), np.zeros((self.features, 10))
        for start in range(0, len(x), 2000):
            block = self.sampler.transform(x[start : start + 2000])
            gram += block.T @ block
            right += block.T @ (2.0 * np.eye(10)[y[start : start + 2000]] - 1)
        # The features have length one; the ridge is relative to the kernel on the diagonal, as for the NTK below.
        self.weights = np.linalg.solve(gram + self.alpha * np.eye(self.features), right)
        return self

    def score(self, x: np.ndarray, y: np.ndarray) -> float:
        """The share of right labels."""
        return float(np.mean(np.argmax(self.sampler.transform(x) @ self.weights, axis=1) == y))


def model(kind: str, features: int, alpha: float) -> Any:
    if kind == "fourier":
        return FourierRidge(features, alpha / 10)
    return NTKClassifier(kind, 3, bias=0.1, alpha=alpha, solver="nystrom", n_landmarks=features, random_state=0)


def run(kind: str, features: int, train: Any, test: Any) -> Row:
    x, y = train
    held = len(x) // 6
    scores = {
        a: model(kind, features, a).fit(x[held : 3 * held], y[held : 3 * held]).score(x[:held], y[:held])
        for a in RIDGES
    }
    alpha = max(scores, key=lambda a: scores[a])
    start, clock = time.process_time(), time.perf_counter()
    fitted = model(kind, features, alpha).fit(x, y)
    trained = time.process_time()
    accuracy = fitted.score(*test)
    return {
        "model": "random Fourier features" if kind == "fourier" else f"NTK of {kind}, 3 hidden layers",
        "features": features,
        "images": len(x),
        "alpha": alpha,
        "accuracy": 100 * accuracy,
        "fit_cpu_seconds": trained - start,
        "predict_cpu_seconds": time.process_time() - trained,
        "seconds": time.perf_counter() - clock,
        "peak_gb": peak_memory() / 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--features", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--models", nargs="+", default=["relu", "fourier", "gelu"])
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    train, test = read(options.folder, "train"), read(options.folder, "t10k")
    mean = train[0].mean(axis=0)
    train, test = (train[0] - mean, train[1]), (test[0] - mean, test[1])
    # About unit length, so that the bias counts.
    size = float(np.mean(np.linalg.norm(train[0], axis=1)))
    train, test = (train[0] / size, train[1]), (test[0] / size, test[1])
    done: Row = json.loads(options.json.read_text()) if options.json.exists() else {"machine": machine(), "runs": {}}
    for features in options.features:
        for kind in options.models:
            key = f"{kind} {features}"
            if key not in done["runs"]:
                done["runs"][key] = run(kind, features, train, test)
                write_atomically(options.json, json.dumps(done, indent=1, ensure_ascii=False) + "\n")
            print(done["runs"][key], flush=True)


if __name__ == "__main__":
    main()
