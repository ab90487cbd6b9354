r"""
100 000 points
==============

A kernel matrix of 100 000 points needs 80 GB. There are two ways to avoid it: conjugate gradients that compute the
kernel tile by tile, and Nyström features. This file takes minutes, so the documentation shows it and does not run it;
``benchmarks/large.py`` measures the same with memory and residuals.
"""

# sphinx_gallery_thumbnail_path = "_static/growth.svg"

import time

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import holokern as hk
from holokern.progress import listen

# %%
# Points on a sphere, and a target with some noise.

N, TESTS, DIMENSION = 100_000, 2_000, 10
random = np.random.default_rng(0)
X = random.normal(size=(N + TESTS, DIMENSION))
X /= np.linalg.norm(X, axis=1, keepdims=True)
truth = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
y = truth[:N] + 0.1 * random.normal(size=N)


def report(name, model):
    """Fit, predict, and print what it took."""
    start = time.perf_counter()
    model.fit(X[:N], y)
    error = np.sqrt(np.mean((model.predict(X[N:]) - truth[N:]) ** 2))
    print(f"{name:30} {time.perf_counter() - start:7.1f} s, root mean square error {error:.4f}", flush=True)
    return model


# %%
# Nyström features of 1000 landmarks give a linear model on 1000 columns. They work inside the estimator, or as a step
# of a pipeline, where any linear model can follow.

report(
    "nystrom", hk.NTKRegressor("relu", depth=1, bias=0.5, alpha=1.0, solver="nystrom", n_landmarks=1000, random_state=0)
)
features = hk.NTKTransformer("relu", depth=1, bias=0.5, n_components=1000, random_state=0)
report("features and Ridge", make_pipeline(features, Ridge(alpha=1.0)))

# %%
# Conjugate gradients solve the equations of all points. The landmarks only precondition them: the more there are, the
# fewer products with the matrix. Every step reports its residual, and the last residual is computed from scratch.


def show(stage, done, total):
    """Print the steps and leave out the tiles."""
    if stage.startswith("conjugate gradients"):
        print(f"step {done}: {stage}", flush=True)


with listen(show):
    model = report(
        "cg",
        hk.NTKRegressor("relu", depth=1, bias=0.5, alpha=1.0, solver="cg", n_landmarks=4000, tol=1e-4, random_state=0),
    )
print(f"{model.n_iter_} steps, relative residual {model.residual_:.1e}")
