"""The algebra of an activation as HTML: annihilator, rank, Pfaffian system, singular locus, closed form."""

from __future__ import annotations

from html import escape

from holokern.activation import Activation
from holokern.errors import HolokernError
from holokern.pfaffian import PfaffianSystem, latex_polynomial, pfaffian
from holokern.report.closed_form import readable
from holokern.report.formula import Typesetter
from holokern.report.system_equations import fits_matrices, system_equations, without_brackets

# equations: more are folded until somebody asks for them
_OPEN = 12
# characters of LaTeX: longer systems make pages slow
_MOST = 60_000


def refusal(reason: object) -> str:
    """A paragraph that says why something is not here."""
    return f'<p class="refusal">{escape(str(reason))}</p>'


def algebra_section(activation: Activation, page: Typesetter) -> str:
    """Annihilator, rank, system and locus, or the reason why there are none."""
    title = "<h3>Differential equations</h3>"
    try:
        system = pfaffian(activation)
    except HolokernError as reason:
        return title + refusal(reason)
    parts = [
        title,
        "<p>These operators annihilate σ, jumps and kinks included; all others are combinations of them:</p>",
    ]
    parts += [page.block(f"{operator.latex()}") for operator in system.annihilators[0]]
    if system.scale is not None:
        parts.append(
            f"<p>Here the variable is rescaled: the operators annihilate τ, where σ(u) = τ(κu) with κ = "
            f"{escape(str(system.scale[0]))}, and the system below is that of τ.</p>"
        )
    parts.append(
        f"<p>Let Σ be the covariance of (u, v). The <strong>{system.rank}</strong> expectations in F satisfy the "
        f"system of differential equations below. The first is k, and {page.inline(_SLOPE)} is k′.</p>"
    )
    parts.append(_system(system, page))
    parts.append(_locus(system, page))
    return "\n".join(parts)


# k′ as one of the expectations
_SLOPE = r"\mathrm{E}[\partial_u \partial_v\, \sigma(u)\sigma(v)]"


def _system(system: PfaffianSystem, page: Typesetter) -> str:
    source = system.latex()
    if len(source) > _MOST:
        return refusal(
            f"The system takes {len(source)} characters of LaTeX, too many for a page; “holokern derive” prints it."
        )
    if fits_matrices(system):
        return page.block(source)
    lines, names = system_equations(system)
    shown = "".join(page.block(line) for line in lines)
    where = "<p>Where:</p>" + "".join(page.block(line) for line in names) if names else ""
    count = len(system.matrices) * system.rank
    state = " open" if count <= _OPEN else ""
    return f"<details{state}><summary>The {count} equations of rank {system.rank}</summary>{shown}{where}</details>"


def _locus(system: PfaffianSystem, page: Typesetter) -> str:
    if not system.singular_locus:
        return "<p>The system has no singularities at all.</p>"
    apparent = set(system.apparent_singularities)
    shown = ["<p>The system is singular where one of these factors vanishes:</p>"]
    for factor in system.singular_locus:
        shown.append(page.block(f"{without_brackets(latex_polynomial(factor))} = 0"))
        if factor in apparent:
            shown.append('<p class="note">This one comes from the choice of F; k itself is regular there.</p>')
    return "\n".join(shown)


def closed_form_section(activation: Activation, page: Typesetter) -> str:
    """Closed forms of k and k′, or the reason why there are none."""
    title = "<h3>Closed form</h3>"
    try:
        form = readable(activation.closed_form())
    except HolokernError as reason:
        return title + refusal(reason)
    both = page.block(form.k) + page.block(form.kdot)
    where = "".join(page.block(line) for line in form.names)
    terms = "<p>Here r = cos θ is the correlation of u and v."
    if r"\Phi" in form.k:
        terms += " Φ is the standard normal distribution function and Φ₂(h, k, r) the bivariate one."
    if form.rounded:
        terms += " Decimal numbers are rounded to six digits; “hk.closed_form” has them exactly."
    terms += " Where:</p>" if where else "</p>"
    return f"{title}{both}{terms}{where}"
