"""The picture of README.md and of the first page: docs/_static/overview.svg, and overview_narrow.svg for phones."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import numpy as np

import holokern as hk

mpl.use("Agg")

STATIC = Path(__file__).resolve().parents[1] / "_static"
# panels side by side, or below each other where the page is narrow: rows, columns and inches
LAYOUTS = {"overview.svg": (1, 3, (10.5, 3.1)), "overview_narrow.svg": (3, 1, (4.0, 8.4))}
ACTIVATIONS = {"GELU": "gelu", "ELU": "elu", "tanh": "tanh", "ReSin": "Heaviside(u)*sin(u)"}
COLOURS = ("#2f74d0", "#d1620a", "#1f8f55", "#9a55d6")
STYLE = {
    "svg.hashsalt": "holokern",
    "svg.fonttype": "path",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
}


def errors_of(name: str) -> tuple[float, float]:
    """The largest errors of k′ over r at c = 1: of Gauss–Hermite quadrature with 50 nodes, and of holokern's table.

    The truth is proved (`hk.enclose`) where σ is holonomic, else from holokern's quadrature.
    """
    r = [Fraction(n, 10) for n in range(-9, 10, 3)] + [Fraction(99, 100)]
    floats = np.array([float(value) for value in r])
    try:
        truth = np.array([float(hk.enclose(name, 1, 1, value, digits=20).kdot) for value in r])
    except hk.errors.HolokernError:
        truth = np.asarray(hk.dual(name, 1, 1, floats, method="quadrature").kdot)
    scale = float(hk.dual(name, 1, 1, 1.0).kdot)
    rule = hk.dual(name, 1, 1, floats, method="gauss_hermite", degree=50).kdot
    table = hk.dual(name, 1, 1, floats, method="compiled").kdot
    worst = [float(np.max(np.abs(values - truth))) / scale for values in (rule, table)]
    return max(worst[0], np.finfo(float).eps), max(worst[1], np.finfo(float).eps)


def main() -> None:
    """Draw the three panels in both layouts."""
    import matplotlib.pyplot as plt

    u = np.linspace(-4, 6, 401)
    angle = np.linspace(-np.pi, np.pi, 361)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    kernels = [hk.Network(name, depth=3).ntk(np.array([[1.0, 0.0]]), circle)[0] for name in ACTIVATIONS.values()]
    errors = [errors_of(name) for name in ACTIVATIONS.values()]
    for file, (rows, columns, size) in LAYOUTS.items():
        with mpl.rc_context(STYLE):
            figure, (first, second, third) = plt.subplots(rows, columns, figsize=size, layout="constrained")
            for (label, name), kernel, colour in zip(ACTIVATIONS.items(), kernels, COLOURS, strict=True):
                first.plot(u, hk.activation(name)(u), color=colour, label=label)
                second.plot(angle, kernel / kernel.max(), color=colour, label=label)
            first.set(title="Any activation σ …", xlabel="u", ylim=(-1.6, 4))
            first.legend(frameon=False)
            second.set(title="… its neural tangent kernel …", xlabel="angle between two inputs", ylim=(-0.8, 1.08))
            second.set_xticks([-np.pi, 0, np.pi], ["−π", "0", "π"])
            places = np.arange(len(errors))
            third.plot(places, [e[0] for e in errors], "s", color="#777777", label="Gauss–Hermite, 50 nodes")
            third.plot(places, [e[1] for e in errors], "o", color="#d13b54", label="holokern")
            third.set(title="… to the last digits", yscale="log", ylim=(1e-17, 3e4), xlim=(-0.5, 3.5))
            third.set_ylabel("relative error of k′")
            third.set_xticks(places, list(ACTIVATIONS))
            third.legend(frameon=False, loc="upper right", fontsize=9)
            figure.savefig(STATIC / file, metadata={"Date": None}, facecolor="white")
            plt.close(figure)


if __name__ == "__main__":
    main()
