"""`page_about`: one interactive HTML file about an activation, or about two."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from holokern.activation import Activation
from holokern.activation import activation as as_activation
from holokern.dual import DualActivation, spectrum
from holokern.errors import BadInput, HolokernError, Unsupported
from holokern.network import critical
from holokern.paper import Table, machine
from holokern.progress import report
from holokern.report.algebra_section import algebra_section, closed_form_section, refusal
from holokern.report.formula import Typesetter
from holokern.report.method_times import method_times
from holokern.report.page import finite_numbers, html_table, page_frame
from holokern.report.subject import NODES, ROUNDING, Subject, rule_errors

_PAIRS = ((0.5, 0.5), (1.0, 1.0), (2.0, 2.0), (0.5, 2.0))  # equal deviations, small and large, and unequal ones
_DEPTH = 20  # the end of the slider, and the largest depth of the paper's problem
# c_σ, σ_w and σ_b as HTML
_C, _W, _B = (f"{letter}<sub>{index}</sub>" for letter, index in (("c", "σ"), ("σ", "w"), ("σ", "b")))


@dataclass(frozen=True)
class ActivationPage:
    """A finished page."""

    title: str  # its title
    html: str  # the whole file


def page_about(source: object, other: object = None, *, timings: bool = True, **parameters: Any) -> ActivationPage:
    """The page of an activation, or of two side by side.

    ``source``, ``other``: what `holokern.activation` reads: names, expressions in u, or activations.
    ``timings``: whether to time every method in a process of its own, which takes most of the time.
    ``**parameters``: parameters of a named activation, for one activation only.
    Raises BadInput for a text that is not an activation, or a constant.
    """
    if other is not None and parameters:
        raise BadInput("parameters belong to one activation; pass activations, such as hk.activation('elu', alpha=2)")
    activations = [as_activation(source, **parameters), *([] if other is None else [as_activation(other)])]
    subjects = [Subject.of(activation) for activation in activations]
    limits = _limits(subjects)
    data = {"subjects": [subject.data() for subject in subjects], "nodes": NODES, "limits": limits}
    report("algebra")
    drawn = Typesetter()
    sections = [
        _introduction(subjects, drawn),
        '<section id="algebra"><h2>Algebra</h2>'
        + _beside([_algebra(subject, drawn, len(subjects) > 1) for subject in subjects])
        + "</section>",
        _dual_section(subjects),
        _spectrum_section(subjects, drawn),
        _network_section(subjects, limits),
    ]
    if timings:
        tables = "".join(html_table(method_times(activation)) for activation in activations)
        sections.append(tables + f'<p class="note">{escape(machine())}</p>')
    embedded = json.dumps(finite_numbers(data), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    body = "\n".join([drawn.definitions(), *sections, f'<script type="application/json" id="data">{embedded}</script>'])
    names = " and ".join(subject.name for subject in subjects)
    title = f"The activation{'s' if len(subjects) > 1 else ''} {names}"
    return ActivationPage(title, page_frame(title, body, style=_asset("css"), script=_asset("js")))


def _algebra(subject: Subject, drawn: Typesetter, named: bool) -> str:
    activation = subject.activation
    name = f"<p><strong>{escape(subject.name)}</strong></p>" if named else ""
    return name + algebra_section(activation, drawn) + closed_form_section(activation, drawn)


def _beside(parts: Sequence[str]) -> str:
    """Parts in columns where the screen is wide enough."""
    return (
        parts[0]
        if len(parts) == 1
        else '<div class="pair">' + "".join(f"<div>{part}</div>" for part in parts) + "</div>"
    )


def _asset(kind: str) -> str:
    return files("holokern.report").joinpath(f"activation_page.{kind}").read_text(encoding="utf-8")


def _limits(subjects: list[Subject]) -> tuple[float, float]:
    """How far the sliders of σ_w and σ_b go: twice the usual σ_w, and far enough to reach the edge."""
    if len(subjects) > 1:
        # the slider multiplies the usual σ_w of each
        return 2.0, 2.0
    (subject,) = subjects
    start = min((float(np.min(part.weight)) for part in subject.edge), default=subject.weight)
    return float(f"{2 * max(subject.weight, min(start, 4 * subject.weight)):.2g}"), 2.0


# -- what is written -------------------------------------------------------------------------------------------------


def _plots(*plots: tuple[str, str]) -> str:
    """Places for charts, by name, with their captions."""
    shown = [
        f'<figure><div class="plot" id="{name}"></div><figcaption>{text}</figcaption></figure>' for name, text in plots
    ]
    return '<div class="plots">' + "".join(shown) + "</div>"


def _slider(name: str, symbol: str, limits: tuple[float, float], start: float, label: str, step: str = "any") -> str:
    return (
        f'<label><span>{symbol}</span><input type="range" id="{name}" min="{limits[0]:g}" max="{limits[1]:g}" '
        f'step="{step}" value="{start:.12g}" aria-label="{escape(label)}"><output id="{name}-value" for="{name}">'
        "</output></label>"
    )


def _introduction(subjects: list[Subject], drawn: Typesetter) -> str:
    formulas = _beside([_equation(subject.activation, drawn) for subject in subjects])
    facts = [_facts(subject) for subject in subjects]
    heads = "".join(f"<th>{escape(subject.name)}</th>" for subject in subjects) if len(subjects) > 1 else ""
    rows = [
        f"<tr><th>{facts[0][i][0]}</th>" + "".join(f"<td>{escape(fact[i][1])}</td>" for fact in facts) + "</tr>"
        for i in range(len(facts[0]))
    ]
    top = f"<tr><th></th>{heads}</tr>" if heads else ""
    caption = (
        "The activation and its derivative."
        if len(subjects) == 1
        else "The activations and their derivatives (dashed)."
    )
    return (
        f'{formulas}<table class="facts">{top}{"".join(rows)}</table>{_python(subjects)}'
        f"{_plots(('plot-sigma', caption))}"
    )


def _equation(activation: Activation, drawn: Typesetter) -> str:
    # SymPy writes the step function as θ, which is the angle everywhere else on the page
    source = activation.latex()
    shown = source.replace(r"\theta\left", r"\operatorname{H}\left")
    meaning = (
        '<p class="note">H is the Heaviside step function: 0 for negative u, 1 for positive u, and ½ at 0.</p>'
        if shown != source
        else ""
    )
    return drawn.block(shown) + meaning


def _python(subjects: list[Subject]) -> str:
    """The same activation in Python, to be copied."""
    lines = ["import holokern as hk"]
    for letter, subject in zip("ab", subjects, strict=False):
        text = repr(subject.activation)
        lines.append(f"{letter} = hk.{text}")
        lines.append(f"hk.dual({letter}, c1=1.0, c2=2.0, r=0.5)  # k and k′ with their errors")
        # where σ jumps there is no NTK
        kind = "nngp" if subject.activation.jump_order == 0 else "ntk"
        lines.append(f"hk.Network({letter}, depth=3).{kind}(X)  # the {kind.upper()} of the rows of X")
    return f'<pre class="python" data-python>{escape(chr(10).join(lines))}</pre>'


def _facts(subject: Subject) -> list[tuple[str, str]]:
    activation, sigma = subject.activation, subject.sigma
    norm = float(sigma.norms(np.ones(1))[0])
    mean = float(spectrum(activation)[0])
    return [
        ("breaks", ", ".join(map(str, activation.breaks)) or "none"),
        ("smoothness", _smoothness(activation)),
        ("symmetry", activation.parity or "neither even nor odd"),
        ("holonomic", "yes" if activation.is_holonomic else "no"),
        ("E[σ(z)]", f"{mean if abs(mean) > 1e-14 * norm else 0.0:.10g}"),
        ("E[σ(z)²]", f"{norm**2:.10g}"),
        (_C, f"{norm**-2:.10g}, the weight variance that keeps the variance 1"),
    ]


def _smoothness(activation: Activation) -> str:
    order = activation.jump_order
    if order is None:
        return "analytic on the whole line" if not activation.breaks else "no derivative jumps"
    names = ("σ itself jumps, so the NTK does not exist", "continuous, σ′ jumps", "continuous with σ′, σ″ jumps")
    return names[order] if order < len(names) else f"the derivative of order {order} is the first that jumps"


def _dual_section(subjects: list[Subject]) -> str:
    low = max(np.log2(subject.tables.range[0]) for subject in subjects)
    high = min(np.log2(subject.tables.range[1]) for subject in subjects)
    controls = "".join(
        _slider(name, symbol, (low, high), 0.0, f"standard deviation {symbol}, logarithmic")
        for name, symbol in (("c1", "c₁"), ("c2", "c₂"))
    )
    warnings = "".join(
        refusal(f"{_why_steep(subject.sigma)}: k′ of {subject.name} grows without bound as r → ±1.")
        for subject in subjects
        if subject.sigma.jumps
    )
    error = max(subject.tables.error for subject in subjects)
    tables = "".join(html_table(_rule_table(subject, len(subjects) > 1), 3) for subject in subjects)
    return (
        '<section id="dual"><h2>Dual activation</h2><p>The dual activation is k = E[σ(u)σ(v)] for normal u, v with '
        "mean 0, standard deviations c₁, c₂ and correlation r. That of the derivative is k′ = E[σ′(u)σ′(v)], "
        f'<code>kdot</code> in Python.</p>{warnings}<div class="controls">{controls}</div>'
        + _plots(("plot-k", "k against the correlation r."), ("plot-kdot", "k′ against the correlation r."))
        + f'<p class="note">The curves are drawn from tables in this file, with errors below {error:.0e} relative to '
        "the largest value. holokern itself computes 12 digits and more.</p>"
        "<h3>Gauss–Hermite quadrature, for comparison</h3>"
        + _plots(
            (
                "plot-gauss",
                f"Error of k by the usual product rule with {NODES[0]} and {NODES[1]} nodes per variable, at c₁ = c₂ "
                "= 1, relative to the value at r = 1.",
            ),
            ("plot-gauss-dot", "The same for k′."),
        )
        + f"{tables}</section>"
    )


def _rule_table(subject: Subject, named: bool) -> Table:
    rows = []
    for c1, c2 in _PAIRS:
        theta = np.linspace(0.01, np.pi - 0.01, 61)
        try:
            worst = [float(np.max(part)) for n in NODES for part in rule_errors(subject.sigma, c1, c2, theta, n)]
        except HolokernError:
            # the expectation does not exist at that deviation, as for exp(u²/8) at c = 2
            worst = [float("nan")] * 4
        rows.append((c1, c2, *(None if np.isnan(x) else x for x in worst)))
    columns = ("c₁", "c₂", *(f"{what}, {n} nodes" for n in NODES for what in ("k", "k′")))
    title = "Largest error of Gauss–Hermite quadrature over r"
    return Table(f"{title}: {subject.name}" if named else title, columns, tuple(rows))


def _spectrum_section(subjects: list[Subject], drawn: Typesetter) -> str:
    tables = []
    for subject in subjects:
        gamma = spectrum(subject.activation)
        share = gamma**2 / float(subject.sigma.norms(np.ones(1))[0]) ** 2
        share, gamma = (np.where(share > ROUNDING, part, 0.0) for part in (share, gamma))
        rests = np.maximum(1 - np.cumsum(share), 0.0)
        rows = tuple((n, float(gamma[n]), float(share[n]), float(rests[n])) for n in range(8))
        title = "The first coefficients" + (f": {subject.name}" if len(subjects) > 1 else "")
        tables.append(html_table(Table(title, ("n", "γₙ", "share", "share of all later ones"), rows), 3))
    return (
        '<section id="spectrum"><h2>Hermite spectrum</h2>'
        + drawn.block(r"\sigma(c z) = \sum_n \gamma_n(c) h_n(z), \quad k = \sum_n \gamma_n(c_1) \gamma_n(c_2) r^{n}")
        + "<p>The hₙ are the normalised Hermite polynomials. At c = 1 degree n has the share γₙ²/E[σ(z)²] of E[σ(z)²]. "
        "A slow decay means that the kernel resolves fine detail, and that quadrature has a hard time.</p>"
        + _plots(("plot-spectrum", "Share of each degree in E[σ(z)²]."))
        + _beside(tables)
        + "</section>"
    )


def _network_section(subjects: list[Subject], limits: tuple[float, float]) -> str:
    one = len(subjects) == 1
    symbol, start = (_W, subjects[0].weight) if one else (f"{_W}/√{_C}", 1.0)
    controls = (
        _slider("depth", "depth", (1, _DEPTH), 6, "number of hidden layers", step="1")
        + _slider("weight", symbol, (limits[0] / 200, limits[0]), start, "deviation of the weights")
        + _slider("bias", f"{_B}", (0.0, limits[1]), 0.0, "deviation of the biases")
    )
    usual = f"The slider starts at {_W}² = {_C}, which keeps c = 1 without biases."
    edges = "".join(f"<p>{_edge_text(subject, one)}</p>" for subject in subjects)
    steep = all(subject.sigma.jumps for subject in subjects)
    curve = _plots(
        ("plot-edge", f"The edge of chaos: {_W} to the right, {_B} upwards. Dots: the networks of the sliders.")
    )
    return (
        '<section id="network"><h2>Deep networks</h2>'
        f"<p>A hidden layer takes the variance c² to {_W}² E[σ(cz)²] + {_B}². {usual}</p>"
        f'<div class="controls">{controls}</div>'
        + _plots(
            ("plot-length", "Standard deviation c of the layers, by depth."),
            ("plot-correlation", "Correlation of two points, by depth, from c = 1."),
        )
        + f'<h3>Edge of chaos</h3>{edges}{"" if steep else curve}<p id="edge-reading" aria-live="polite"></p>'
        "<h3>NNGP and NTK on the circle</h3>"
        + "".join(_ntk_refusal(subject) for subject in subjects)
        + _plots(
            (
                "plot-circle",
                "Kernel of two points of the unit circle against the angle φ between them, relative to φ = 0.",
            )
        )
        + '<p id="circle-reading" aria-live="polite"></p></section>'
    )


def _why_steep(sigma: DualActivation) -> str:
    return "σ jumps" if sigma.activation.jump_order == 0 else "σ′ is not square integrable"


def _ntk_refusal(subject: Subject) -> str:
    if not subject.sigma.jumps:
        return ""
    return refusal(
        f"{subject.name}: {_why_steep(subject.sigma)}, so k′ is infinite on the diagonal and the NTK does not exist; "
        "the NNGP kernel does."
    )


def _edge_text(subject: Subject, alone: bool) -> str:
    """Where the critical point is, or why there is none."""
    name = "" if alone else f"<strong>{escape(subject.name)}</strong>: "
    if subject.sigma.jumps:
        return f"{name}{_why_steep(subject.sigma)}, so χ is infinite: every network is chaotic, and there is no edge."
    what = (
        f"On the edge, χ = {_W}² E[σ′(cz)²] = 1 at the fixed point c of the variance, and correlations change slowest "
        "with depth. "
        if alone
        else ""
    )
    try:
        point = critical(subject.activation)
    except Unsupported as reason:
        return f"{name}{what}{escape(str(reason).partition(';')[0])}."
    place = {None: "every c is a fixed point", 0.0: "variances shrink to zero there"}.get(
        point.deviation, f"the fixed point is c = {point.deviation:.5g}" if point.deviation else ""
    )
    return (
        f"{name}{what}The critical point, at which variances also change slowest, is {_W} = {point.W_std:.6g}, "
        f"{_B} = {point.b_std:.6g}; {place}. In Python: <code>hk.critical</code>."
    )
