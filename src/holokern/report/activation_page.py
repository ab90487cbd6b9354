"""`activation_page`: what a paper's appendix would say about an activation, as one HTML file that moves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from holokern import progress
from holokern.activation import Activation
from holokern.activation import activation as as_activation
from holokern.dual import dual
from holokern.errors import HolokernError
from holokern.numeric.panels import Array
from holokern.paper import Json, Table, machine
from holokern.report.algebra_section import algebra_section, closed_form_section, formula, refusal
from holokern.report.edge import EdgePart, edge_of_chaos
from holokern.report.method_times import method_times
from holokern.report.page import html_table, page_frame
from holokern.report.value_tables import Sigma, ValueTables, read_sigma, value_tables

__all__ = ["ActivationPage", "activation_page"]

# the degree that the rule of the paper starts with, and one that costs sixteen times as much
_NODES = (25, 100)
# equal deviations, small and large, and unequal ones
_PAIRS = ((0.5, 0.5), (1.0, 1.0), (2.0, 2.0), (0.5, 2.0))
# the chart shows degrees 0 to 60
_DEGREES = 61
# the end of the slider, and the largest depth of the paper's problem
_DEPTH = 20
# shares that a sum of one does not feel
_ROUNDING = 1e-17
# c_σ, σ_w and σ_b as HTML
_C, _W, _B = (f"{letter}<sub>{index}</sub>" for letter, index in (("c", "σ"), ("σ", "w"), ("σ", "b")))


@dataclass(frozen=True)
class ActivationPage:
    """A finished page.

    Attributes
    ----------
    title
        Its title.
    html
        The whole file.
    """

    title: str
    html: str


def activation_page(source: object, *, timings: bool = True, **parameters: Any) -> ActivationPage:
    """The page of an activation: a name, an expression in u, or an Activation.

    Parameters
    ----------
    source
        What `holokern.activation` reads.
    timings
        Whether to time every method in a process of its own, which takes most of the time.
    **parameters
        Parameters of a named activation.

    Raises
    ------
    BadInput
        For a text that is no activation, or a constant.
    """
    activation = as_activation(source, **parameters)
    sigma = read_sigma(activation)
    progress.report("tables of k and k′")
    tables = value_tables(sigma)
    edge = edge_of_chaos(sigma, tables.wide)
    weight = 1 / float(sigma.norms(np.ones(1))[0])
    limits = _limits(edge, weight)
    progress.report("Gauss–Hermite rules")
    rules = _gauss_data(sigma)
    data = {
        "tables": tables.data(),
        "sigma": _graph(activation),
        "gauss": rules,
        "spectrum": _spectrum_data(sigma),
        "edge": {"parts": [part.data() for part in edge], "limits": limits},
    }
    progress.report("algebra")
    sections = [
        _introduction(sigma),
        algebra_section(activation),
        closed_form_section(activation),
        _dual_section(sigma, tables),
        _spectrum_section(sigma),
        _network_section(sigma, tables, edge, limits, weight),
    ]
    if timings:
        sections.append(html_table(method_times(activation)) + f'<p class="note">{escape(machine())}</p>')
    embedded = json.dumps(_finite(data), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    body = "\n".join(
        [
            '<svg id="seed" style="display: none"></svg>',
            *sections,
            f'<script type="application/json" id="data">{embedded}</script>',
        ]
    )
    title = f"The activation {_name(activation)}"
    return ActivationPage(title, page_frame(title, body, style=_asset("css"), script=_asset("js")))


def _asset(kind: str) -> str:
    return files("holokern.report").joinpath(f"activation_page.{kind}").read_text(encoding="utf-8")


def _name(activation: Activation) -> str:
    text = str(activation)
    if activation.name is not None:
        given = ", ".join(f"{key} = {value}" for key, value in activation.parameters.items())
        text = f"{activation.name} ({given})" if given else activation.name
    return text if len(text) <= 80 else f"{text[:79]}…"


# -- what is drawn ---------------------------------------------------------------------------------------------------


def _graph(activation: Activation) -> dict[str, Json]:
    """σ and σ′ for the first chart; a gap where σ or σ′ jumps."""
    breaks = sorted(float(b) for b in activation.breaks)
    reach = max([4.0, *(1.4 * abs(b) for b in breaks if abs(b) <= 20)])
    u = np.linspace(-reach, reach, 321)
    u = u[np.min(np.abs(u[:, None] - np.array([*breaks, np.inf])), axis=1) > 1e-6 * reach]
    sides = np.array([b + step for b in breaks if abs(b) < reach for step in (-1e-7, 0.0, 1e-7)])
    u = np.sort(np.concatenate([u, sides]))
    at_break = np.isin(u, breaks)
    values = [np.where(at_break, np.nan, np.asarray(f(u), dtype=float)) for f in (activation, activation.derivative)]
    if activation.jump_order != 0:
        values[0] = np.asarray(activation(u), dtype=float)
    if activation.jump_order not in (0, 1):
        values[1] = np.asarray(activation.derivative(u), dtype=float)
    jumps = activation.jump_order == 0
    return {"u": _digits(u), "value": _digits(values[0]), "slope": _digits(values[1]), "jumps": jumps}


def _gauss_data(sigma: Sigma) -> dict[str, Json]:
    """Errors of Gauss–Hermite rules at c1 = c2 = 1, relative to the values at r = 1, and the largest elsewhere."""
    theta = np.linspace(0.01, np.pi - 0.01, 121)
    rows = [_rule_errors(sigma, 1.0, 1.0, theta, nodes) for nodes in _NODES]
    return {
        "nodes": _NODES,
        "r": _digits(np.cos(theta)),
        "k": [_digits(row[0], 3) for row in rows],
        "kdot": [_digits(row[1], 3) for row in rows],
    }


def _rule_errors(sigma: Sigma, c1: float, c2: float, theta: Array, nodes: int) -> tuple[Array, Array]:
    truth = dual(sigma.activation, c1, c2, theta=theta)
    rule = dual(sigma.activation, c1, c2, theta=theta, method="gauss_hermite", degree=nodes)
    size, slope_size = (float(np.prod(radical(np.array([c1, c2])))) for radical in (sigma.norms, sigma.slope_norms))
    return np.abs(rule.k - truth.k) / size, np.abs(rule.kdot - truth.kdot) / slope_size


def _spectrum_data(sigma: Sigma) -> dict[str, Json]:
    share = sigma.spectrum(1.0)[:_DEGREES] ** 2 / float(sigma.norms(np.ones(1))[0]) ** 2
    n = np.flatnonzero(share > _ROUNDING)
    return {"n": n.tolist(), "share": _digits(share[n], 4)}


def _limits(edge: list[EdgePart], weight: float) -> tuple[float, float]:
    """How far the sliders of σ_w and σ_b go: twice the usual σ_w, and far enough to reach the edge."""
    start = min((float(np.min(part.weight)) for part in edge), default=weight)
    return float(f"{2 * max(weight, min(start, 4 * weight)):.2g}"), 2.0


def _digits(values: Array, digits: int = 6) -> list[float | None]:
    return [float(f"{x:.{digits}g}") if np.isfinite(x) else None for x in values]


def _finite(value: Json) -> Json:
    """The data without numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


# -- what is written -------------------------------------------------------------------------------------------------


def _plots(*names: str) -> str:
    return '<div class="plots">' + "".join(f'<div class="plot" id="{name}"></div>' for name in names) + "</div>"


def _slider(name: str, symbol: str, limits: tuple[float, float], start: float, label: str, step: str = "any") -> str:
    return (
        f'<label><span>{symbol}</span><input type="range" id="{name}" min="{limits[0]:g}" max="{limits[1]:g}" '
        f'step="{step}" value="{start:.12g}" aria-label="{escape(label)}"><output id="{name}-value" for="{name}">'
        "</output></label>"
    )


def _introduction(sigma: Sigma) -> str:
    activation = sigma.activation
    norm = float(sigma.norms(np.ones(1))[0])
    mean = float(sigma.spectrum(1.0)[0])
    facts = [
        ("breaks", ", ".join(map(str, activation.breaks)) or "none"),
        ("smoothness", _smoothness(activation)),
        ("symmetry", activation.parity or "neither even nor odd"),
        ("holonomic", "yes" if activation.is_holonomic else "no"),
        ("E[σ(z)]", f"{mean if abs(mean) > 1e-14 * norm else 0.0:.10g}"),
        ("E[σ(z)²]", f"{norm**2:.10g}"),
        (_C, f"{norm**-2:.10g}, the reciprocal: the weight variance that keeps the variance 1"),
    ]
    listed = "".join(f"<dt>{key}</dt><dd>{escape(text)}</dd>" for key, text in facts)
    # SymPy writes the step function as θ, which is the angle everywhere else on the page
    equation = activation.latex().replace(r"\theta\left", r"\operatorname{Y}\left")
    return f'{formula(equation)}<dl class="facts">{listed}</dl>{_plots("plot-sigma")}'


def _smoothness(activation: Activation) -> str:
    order = activation.jump_order
    if order is None:
        return "analytic on the whole line" if not activation.breaks else "no derivative jumps"
    names = ("σ itself jumps, so the NTK does not exist", "continuous, σ′ jumps", "continuous with σ′, σ″ jumps")
    return names[order] if order < len(names) else f"the derivative of order {order} is the first that jumps"


def _dual_section(sigma: Sigma, tables: ValueTables) -> str:
    low, high = np.log2(tables.range)
    controls = "".join(
        _slider(name, symbol, (low, high), 0.0, f"standard deviation {symbol}, logarithmic")
        for name, symbol in (("c1", "c₁"), ("c2", "c₂"))
    )
    warning = refusal(f"{_why_steep(sigma)}: k′ grows without bound as r → ±1.") if sigma.steep else ""
    rows = []
    for c1, c2 in _PAIRS:
        theta = np.linspace(0.01, np.pi - 0.01, 61)
        try:
            worst = [float(np.max(part)) for n in _NODES for part in _rule_errors(sigma, c1, c2, theta, n)]
        except HolokernError:
            # the expectation does not exist at that deviation, as for exp(u²/8) at c = 2
            worst = [float("nan")] * 4
        rows.append((c1, c2, *(None if np.isnan(x) else x for x in worst)))
    columns = ("c₁", "c₂", *(f"{what}, {n} nodes" for n in _NODES for what in ("k", "k′")))
    table = Table("Largest error over r", columns, tuple(rows))
    return (
        '<section id="dual"><h2>Dual activation</h2><p>k and k′ for normal u, v with deviations c₁, c₂ and correlation '
        f'r.</p>{warning}<div class="controls">{controls}</div>{_plots("plot-k", "plot-kdot")}'
        '<p class="note">The curves are drawn from tables in this file; at points on which they were not built they '
        f"are off by at most {tables.error:.0e} of (k(c₁,c₁,1) k(c₂,c₂,1))<sup>1/2</sup>, and likewise for k′. "
        "holokern itself computes to 12 digits and more.</p>"
        "<h3>Gauss–Hermite quadrature for contrast</h3><p>The error of the usual product rule with "
        f"{_NODES[0]} and {_NODES[1]} nodes a variable, relative to the value at r = 1.</p>"
        f"{_plots('plot-gauss', 'plot-gauss-dot')}{html_table(table, 3)}</section>"
    )


def _spectrum_section(sigma: Sigma) -> str:
    gamma = sigma.spectrum(1.0)
    share = gamma**2 / float(sigma.norms(np.ones(1))[0]) ** 2
    share, gamma = (np.where(share > _ROUNDING, part, 0.0) for part in (share, gamma))
    rests = np.maximum(1 - np.cumsum(share), 0.0)
    rows = tuple((n, float(gamma[n]), float(share[n]), float(rests[n])) for n in range(8))
    table = Table("The first coefficients", ("n", "γₙ", "share", "share of all later ones"), rows)
    return (
        '<section id="spectrum"><h2>Hermite spectrum</h2>'
        + formula(r"\sigma = \sum_n \gamma_n h_n, \quad k = \sum_n \gamma_n(c_1) \gamma_n(c_2) r^{n}")
        + "<p>in the normalised Hermite polynomials hₙ; γₙ² is the part of E[σ(z)²] at degree n.</p>"
        + _plots("plot-spectrum")
        + html_table(table, 3)
        + "</section>"
    )


def _network_section(
    sigma: Sigma, tables: ValueTables, edge: list[EdgePart], limits: tuple[float, float], weight: float
) -> str:
    controls = (
        _slider("depth", "depth", (1, _DEPTH), 6, "number of hidden layers", step="1")
        + _slider("weight", f"{_W}", (limits[0] / 200, limits[0]), weight, "deviation of the weights")
        + _slider("bias", f"{_B}", (0.0, limits[1]), 0.0, "deviation of the biases")
    )
    return (
        '<section id="network"><h2>Networks: depth, edge of chaos, kernels</h2>'
        f"<p>A layer takes the variance c² to {_W}² E[σ(cz)²] + {_B}². The sliders start at {_W}² = {_C}, which keeps "
        f'c = 1 without biases.</p><div class="controls">{controls}</div>'
        f"{_plots('plot-length', 'plot-correlation')}<h3>Edge of chaos</h3><p>{_edge_text(sigma, tables, edge)}</p>"
        f'{"" if sigma.steep else _plots("plot-edge")}<p id="edge-reading" aria-live="polite"></p>'
        f"<h3>NNGP and NTK on the circle</h3><p>For points of the unit circle at the angle φ, Σ⁰ = cos φ + {_B}², and "
        f"so on through all hidden layers.</p>{_ntk_refusal(sigma)}{_plots('plot-circle')}"
        '<p id="circle-reading" aria-live="polite"></p></section>'
    )


def _why_steep(sigma: Sigma) -> str:
    return "σ jumps" if sigma.activation.jump_order == 0 else "σ′ is not square integrable"


def _ntk_refusal(sigma: Sigma) -> str:
    if not sigma.steep:
        return ""
    return refusal(
        f"{_why_steep(sigma)}, so k′ is infinite on the diagonal and the NTK does not exist; the NNGP kernel does."
    )


def _edge_text(sigma: Sigma, tables: ValueTables, edge: list[EdgePart]) -> str:
    if sigma.steep:
        return f"{_why_steep(sigma)}, so χ is infinite: every network is chaotic, and there is no edge."
    what = f"On the edge χ = {_W}² E[σ′(cz)²] = 1 at the fixed point c, and correlations change slowest with depth."
    if not edge:
        return f"{what} No network with a fixed point in [{tables.wide[0]:g}, {tables.wide[1]:g}] is on it."
    if all(len(part.weight) == 1 for part in edge):
        points = ", ".join(f"{_W} = {part.weight[0]:.6g}, {_B} = {part.bias[0]:.3g}" for part in edge)
        return f"{what} Here it is one point: {points}."
    lowest = min((part for part in edge), key=lambda part: float(np.min(part.bias)))
    i = int(np.argmin(lowest.bias))
    return (
        f"{what} The curve below, for fixed points in [{tables.wide[0]:g}, {tables.wide[1]:g}], has its smallest {_B} "
        f"at {_W} = {lowest.weight[i]:.4g}, {_B} = {lowest.bias[i]:.3g}."
    )
