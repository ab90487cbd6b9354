"""The algebra of an activation as HTML: annihilator, rank, Pfaffian system, singular locus, closed form."""

from __future__ import annotations

from html import escape

from holokern.activation import Activation
from holokern.errors import HolokernError, Unsupported
from holokern.pfaffian import PfaffianSystem, latex_polynomial, pfaffian
from holokern.report.mathml import mathml

__all__ = ["algebra_section", "closed_form_section", "formula", "refusal"]

# characters of LaTeX: about a screen; longer systems unfold on a click
_OPEN = 2500
# characters of LaTeX: larger tables of MathML make browsers slow
_MOST = 60_000


def formula(source: str) -> str:
    """A displayed formula in a box that scrolls; the LaTeX itself where it cannot be drawn.

    Examples
    --------
    >>> formula("u")
    '<div class="formula" tabindex="0"><math display="block"><mi>u</mi></math></div>'
    """
    try:
        drawn = mathml(source, block=True)
    except Unsupported:
        drawn = f"<code>{escape(source)}</code>"
    return f'<div class="formula" tabindex="0">{drawn}</div>'


def refusal(reason: object) -> str:
    """A paragraph that says why something is not here."""
    return f'<p class="refusal">{escape(str(reason))}</p>'


def algebra_section(activation: Activation) -> str:
    """Annihilator, rank, system and locus, or the reason why there are none."""
    title = '<section id="algebra"><h2>Annihilator and Pfaffian system</h2>'
    try:
        system = pfaffian(activation)
    except HolokernError as reason:
        return f"{title}{refusal(reason)}</section>"
    parts = [title, "<p>Every operator that kills σ as a distribution is a combination of</p>"]
    parts += [formula(f"{operator.latex()}") for operator in system.annihilators[0]]
    if system.scale is not None:
        parts.append(
            f"<p>Here the variable is rescaled: these operators kill τ, where σ(u) = τ(κu) with κ = "
            f"{escape(str(system.scale[0]))}, and the system below is that of τ.</p>"
        )
    parts.append(
        f"<p>With the covariance Σ of (u, v), the <strong>{system.rank}</strong> expectations in F satisfy the "
        "integrable system below; the first is k, and E[∂<sub>u</sub>∂<sub>v</sub>σσ] is k′.</p>"
    )
    parts.append(_matrices(system))
    parts.append(_locus(system))
    return "\n".join([*parts, "</section>"])


def _matrices(system: PfaffianSystem) -> str:
    source = system.latex()
    if len(source) > _MOST:
        return refusal(
            f"The matrices take {len(source)} characters of LaTeX, too many for a page; “holokern derive” prints them."
        )
    state = " open" if len(source) <= _OPEN else ""
    return f"<details{state}><summary>The system of rank {system.rank}</summary>{formula(source)}</details>"


def _locus(system: PfaffianSystem) -> str:
    if not system.singular_locus:
        return "<p>The system has no singularities at all.</p>"
    apparent = set(system.apparent_singularities)
    shown = ["<p>It is singular where one of these factors vanishes:</p>"]
    for factor in system.singular_locus:
        shown.append(formula(f"{latex_polynomial(factor)} = 0"))
        if factor in apparent:
            shown.append('<p class="note">That one is due to the choice of F only; k is regular there.</p>')
    return "\n".join(shown)


def closed_form_section(activation: Activation) -> str:
    """Closed forms of k and k′, or the reason why there are none."""
    title = '<section id="closed"><h2>Closed form</h2>'
    try:
        form = activation.closed_form()
    except HolokernError as reason:
        return f"{title}{refusal(reason)}</section>"
    both = formula(f"k = {form.k_latex}") + formula(rf"k' = {form.kdot_latex}")
    terms = "<p>Here r = cos θ.</p>"
    if r"\Phi" in form.k_latex:
        terms = (
            "<p>Here r = cos θ, Φ is the standard normal distribution function and Φ₂(h, k, r) the bivariate one.</p>"
        )
    return f"{title}{both}{terms}</section>"
