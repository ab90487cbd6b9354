"""Gaussian processes with fitted hyperparameters on data that ship with scikit-learn: NNGP against RBF and Matérn.

    python benchmarks/regression.py --json benchmarks/results/regression.json

Sets: diabetes, and the three functions of Friedman with noise, 400 points each. Columns and targets are standardised on
the training part. Hyperparameters maximise the marginal likelihood; numbers are means over five splits of 80 % and
20 %: the error (root of the mean square, in units of the targets' deviation) and the log-likelihood of a test target
under its predictive normal law, noise included. Finished lines are written at once.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import train_test_split

from holokern.files import write_atomically
from holokern.model import NNGPRegressor
from holokern.paper.experiments import machine

SPLITS = 5
MODELS = ("RBF", "Matérn 5/2", "RBF, a length for each column", "relu", "gelu", "erf", "elu")


def sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    made = {"diabetes": load_diabetes(return_X_y=True)}
    for place, (make, noise) in enumerate(((make_friedman1, 1.0), (make_friedman2, 50.0), (make_friedman3, 0.1)), 1):
        made[f"friedman{place}"] = make(n_samples=400, noise=noise, random_state=0)
    return made


def predict(name: str, x: np.ndarray, y: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of a new target, noise included."""
    if name[0].isupper():
        lengths = np.ones(x.shape[1]) if "column" in name else 1.0
        shape = Matern(lengths, nu=2.5) if name.startswith("M") else RBF(lengths)
        kernel = ConstantKernel(1.0) * shape + WhiteKernel(0.1)
        model = GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=0).fit(x, y)
        return model.predict(new, return_std=True)
    names = ("alpha", "bias", "weight_variance")
    model = NNGPRegressor(name, 2, bias=0.5, weight_variance=1.5, alpha=0.1, fit_parameters=names).fit(x, y)
    mean, std = model.predict(new, return_std=True)
    return mean, np.sqrt(std**2 + model.alpha_)


def run(name: str, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    errors, likelihoods = [], []
    start = time.process_time()
    for seed in range(SPLITS):
        train, test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=seed)
        centre, size = train.mean(axis=0), train.std(axis=0)
        middle, scale = y_train.mean(), y_train.std()
        mean, std = predict(name, (train - centre) / size, (y_train - middle) / scale, (test - centre) / size)
        truth = (y_test - middle) / scale
        errors.append(float(np.sqrt(np.mean((mean - truth) ** 2))))
        likelihoods.append(float(np.mean(norm.logpdf(truth, mean, std))))
    return {
        "error": float(np.mean(errors)),
        "error_spread": float(np.std(errors)),
        "log_likelihood": float(np.mean(likelihoods)),
        "log_likelihood_spread": float(np.std(likelihoods)),
        "cpu_seconds": time.process_time() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["diabetes", "friedman1", "friedman2", "friedman3"])
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    options = parser.parse_args()
    # scikit-learn warns when a fitted parameter reaches the end of its range; that is part of the method measured.
    warnings.filterwarnings("ignore", module="sklearn")
    done: dict[str, Any] = (
        json.loads(options.json.read_text()) if options.json.exists() else {"machine": machine(), "runs": {}}
    )
    for name, (x, y) in ((name, both) for name, both in sets().items() if name in options.sets):
        for model in options.models:
            key = f"{name}: {model}"
            if key not in done["runs"]:
                done["runs"][key] = {"set": name, "model": model, "points": len(y), **run(model, x, y)}
                # In one order, whatever was run first.
                done["runs"] = dict(
                    sorted(done["runs"].items(), key=lambda pair: (pair[1]["set"], MODELS.index(pair[1]["model"])))
                )
                write_atomically(options.json, json.dumps(done, indent=1, ensure_ascii=False) + "\n")
            print(key, done["runs"][key], flush=True)


if __name__ == "__main__":
    main()
