"""The picture of the gallery's example of Bayesian optimisation, in one dimension; writes docs/_static/."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.stats import norm

import holokern as hk

mpl.use("Agg")

TARGET = Path(__file__).resolve().parents[1] / "_static" / "bayesian_optimisation.svg"


def objective(x: np.ndarray) -> np.ndarray:
    """A hill with ripples."""
    return np.exp(-((x - 0.4) ** 2)) + 0.1 * np.cos(4 * (x - 0.4))


def main() -> None:
    """Draw the process after six points, and where it would look next."""
    import matplotlib.pyplot as plt

    known = np.array([-1.9, -1.1, -0.5, 0.0, 1.2, 1.8])
    fine = np.linspace(-2, 2, 401)
    process = hk.NNGPRegressor("elu", depth=2, bias=1.0, alpha=1e-6).fit(known[:, None], objective(known))
    mean, std = process.predict(fine[:, None], return_std=True)
    std = np.maximum(std, 1e-12)
    gain = mean - objective(known).max()
    improvement = gain * norm.cdf(gain / std) + std * norm.pdf(gain / std)
    best = fine[np.argmax(improvement)]
    with mpl.rc_context({"svg.hashsalt": "holokern", "font.size": 13}):
        figure, axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
        axes.fill_between(fine, mean - 2 * std, mean + 2 * std, alpha=0.25, color="#2f74d0")
        axes.plot(fine, mean, color="#2f74d0", label="Gaussian process")
        axes.plot(fine, objective(fine), "--", color="#555555", label="objective")
        axes.plot(known, objective(known), "o", color="#1c2330")
        axes.axvline(best, color="#d1620a", label="next point")
        axes.legend(frameon=False, loc="upper left", fontsize=11)
        figure.savefig(TARGET, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
