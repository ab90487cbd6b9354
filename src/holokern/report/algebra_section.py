"""The algebra of an activation as HTML: annihilator, rank, Pfaffian system, singular locus, closed form.

Systems that do not fit a phone become equations one below the other, with names for what is long; closed forms get
short terms, and names for the subexpressions that come again.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from holokern.activation import Activation
from holokern.errors import HolokernError
from holokern.pfaffian import PfaffianSystem, latex_element, latex_entry, latex_polynomial, pfaffian
from holokern.report.formula import Typesetter

if TYPE_CHECKING:
    from sympy import Expr, Symbol

    from holokern.dual import ClosedForm

_OPEN = 12  # equations: more are folded until somebody asks for them
_MOST = 60_000  # characters of LaTeX: longer systems make pages slow


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


_SLOPE = r"\mathrm{E}[\partial_u \partial_v\, \sigma(u)\sigma(v)]"  # k′ as one of the expectations


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


_ROWS, _ENTRY = 2, 110  # matrices of more rows, or with longer entries in LaTeX, do not fit a phone
_NUMERATOR, _FACTOR = 90, 24  # characters of LaTeX: longer numerators and factors of denominators get a name


def fits_matrices(system: PfaffianSystem) -> bool:
    """Whether the matrices can be shown as such."""
    if system.rank > _ROWS:
        return False
    return max(len(latex_entry(entry)) for matrix in system.matrices for row in matrix for entry in row) <= _ENTRY


def system_equations(system: PfaffianSystem) -> tuple[list[str], list[str]]:
    r"""LaTeX of the equations, first what F is, then each derivative; and the meaning of the names in them.

    >>> from holokern.pfaffian import pfaffian
    >>> lines, names = system_equations(pfaffian("relu"))
    >>> lines[1]
    'F_{2} = \\mathrm{E}[\\partial_u \\partial_v\\, \\sigma(u)\\sigma(v)]'
    >>> lines[4]
    '\\frac{\\partial F_{1}}{\\partial \\Sigma_{12}} = F_{2}'
    """
    names: dict[str, str] = {}
    for factor in system.singular_locus:
        meaning = without_brackets(latex_polynomial(factor))
        if len(meaning) > _FACTOR:
            names[meaning] = f"Q_{{{len(names) + 1}}}"

    def short(text: str) -> str | None:
        if len(text) > _NUMERATOR and text not in names:
            names[text] = f"N_{{{1 + sum(name.startswith('N') for name in names.values())}}}"
        return names.get(text)

    elements = [latex_element(element, system.coordinates) for element in system.basis]
    applied = ["" if element == "1" else rf"{element}\, " for element in elements]
    lines = [rf"F_{{{i}}} = \mathrm{{E}}[{element}\sigma(u)\sigma(v)]" for i, element in enumerate(applied, 1)]
    for symbol, matrix in zip(system.field.gens, system.matrices, strict=True):
        for i, row in enumerate(matrix, 1):
            terms = [_term(latex_entry(entry, short), j) for j, entry in enumerate(row, 1) if entry]
            total = " + ".join(terms).replace("+ - ", "- ") or "0"
            lines.append(rf"\frac{{\partial F_{{{i}}}}}{{\partial {latex_polynomial(symbol)}}} = {total}")
    return lines, [f"{name} = {meaning}" for meaning, name in names.items()]


def without_brackets(text: str) -> str:
    r"""The factor without brackets round all of it.

    >>> without_brackets(r"\left(a + b\right)"), without_brackets("(a) + (b)"), without_brackets("(a + b)")
    ('a + b', '(a) + (b)', 'a + b')
    """
    inner = text.removeprefix(r"\left").removesuffix(")").removesuffix(r"\right")
    if not inner.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for sign in inner[1:]:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return text
    return inner[1:]


def _term(cell: str, number: int) -> str:
    """An entry times its component: a sum in brackets, and no factor 1."""
    name = f"F_{{{number}}}"
    if cell in ("1", "-1"):
        return f"- {name}" if cell == "-1" else name
    depth, is_sum = 0, False
    for i, sign in enumerate(cell):
        depth += (sign in "{(") - (sign in "})")
        is_sum = is_sum or (i > 0 and depth == 0 and sign in "+-")
    body = rf"\left({cell}\right)" if is_sum else cell
    return f"- {body[1:].strip()} {name}" if body.startswith("-") else f"{body} {name}"


# names for what stands under roots and in denominators, none of which is used elsewhere
_NAMES = ("D", "A", "B", "C", "G", "H", "M", "N")
_SHORT = 4  # operations: shorter subexpressions are no harder to read than a name
_LINE = 25  # operations that fit on a line
_LONG = 7  # digits: longer rational numbers, such as those of selu, are shown as decimals


@dataclass(frozen=True)
class ReadableForm:
    """LaTeX of k and k′ as equations, with r for cos θ, and the equations that explain the names in them.

    ``rounded`` says that some numbers are shown to six digits only.
    """

    k: str
    kdot: str
    names: tuple[str, ...]
    rounded: bool


def readable(form: ClosedForm) -> ReadableForm:
    r"""The closed form in terms of r, c₁, c₂ and named subexpressions.

    >>> from holokern.dual import closed_form
    >>> shown = readable(closed_form("gelu"))
    >>> shown.names
    ('D = c_1^{2} c_2^{2} \\sin^{2} \\theta + c_1^{2} + c_2^{2} + 1',)
    >>> readable(closed_form("relu")).k
    'k = \\frac{c_1 c_2 \\left(r \\left(\\pi - \\theta\\right) + \\sin \\theta\\right)}{2 \\pi}'
    """
    best, names = shortened(form)
    shown = [_rounded(e) for e in best]
    k, kdot = (_latex(e) for e in shown)
    lines = tuple(f"{name} = {_latex(_rounded(meaning))}" for name, meaning in names.items())
    return ReadableForm(f"k = {k}", f"k' = {kdot}", lines, any(a != b for a, b in zip(best, shown, strict=True)))


def shortened(form: ClosedForm) -> tuple[list[Expr], dict[Symbol, Expr]]:
    """SymPy expressions of k and k′ with r for cos θ and with names, and what the names mean."""
    import sympy as sp

    originals = [_factored_roots(expression) for expression in (form.k, form.kdot)]
    angle = next((s for e in originals for s in e.free_symbols if s.name == "theta"), sp.Symbol("theta"))
    r = sp.Symbol("r")
    names = dict(zip(_roots(originals), sp.symbols(_NAMES), strict=False))
    bare = [e.xreplace(names).subs(sp.cos(angle), r) for e in originals]
    flat = {name: sp.expand(root.subs(sp.sin(angle) ** 2, 1 - r**2)) for root, name in names.items()}
    short = [_collected(e.subs(sp.sin(angle) ** 2, 1 - r**2), flat) for e in bare]
    best = [min(pair, key=lambda e: int(sp.count_ops(e))) for pair in zip(bare, short, strict=True)]
    used = set().union(*(e.free_symbols for e in best))
    return best, {name: root for root, name in names.items() if name in used}


def _factored_roots(expression: Expr) -> Expr:
    """Powers of sums with the sums factored, so that D² is seen to be a power of D."""
    import sympy as sp

    return expression.replace(
        lambda e: e.is_Pow and e.base.is_Add and not e.exp.is_positive,
        lambda e: sp.powdenest(sp.factor(e.base) ** e.exp, force=True),
    )


def _roots(expressions: list[Expr]) -> list[Expr]:
    """Sums that are worth a name: long ones under roots or in denominators, the most frequent first."""
    import sympy as sp

    found: dict[Expr, int] = {}
    for expression in expressions:
        for part in sp.preorder_traversal(expression):
            if part.is_Pow and part.base.is_Add and not part.exp.is_Integer and sp.count_ops(part.base) > _SHORT:
                found[part.base] = found.get(part.base, 0) + 1
    return sorted(found, key=lambda e: (-found[e], str(e)))[: len(_NAMES)]


def _collected(expression: Expr, names: dict[Symbol, Expr]) -> Expr:
    """Terms with the same roots and functions together, their coefficients as one fraction."""
    import sympy as sp

    kinds: dict[Expr, Expr] = {}
    for term in sp.Add.make_args(sp.expand_mul(expression)):
        rational, rest = sp.Integer(1), sp.Integer(1)
        # SymPy multiplies denominators out when it expands
        for factor in sp.Mul.make_args(sp.Mul(*map(_factored_roots, sp.Mul.make_args(term)))):
            plain = not factor.atoms(sp.Function) and not factor.free_symbols & set(names)
            rational, rest = (rational * factor, rest) if plain else (rational, rest * factor)
        kinds[rest] = kinds.get(rest, sp.Integer(0)) + rational
    terms = []
    for rest, coefficient in kinds.items():
        top, bottom = sp.fraction(sp.factor(sp.together(coefficient)))
        for name, meaning in names.items():
            # a numerator that is D and a little more
            scale = sp.Mul(*(factor for factor in sp.Mul.make_args(top) if not factor.is_Add))
            others = [s * (name + sp.expand(sp.cancel(top / s) - meaning)) for s in (scale, -scale)]
            top = min(top, *others, key=lambda e: int(sp.count_ops(e)))
        terms.append(rest * top / bottom)
    whole = sp.Add(*terms)
    # lines break between terms, so a long sum stays one
    return whole if int(sp.count_ops(whole)) > _LINE else sp.factor_terms(whole)


def _rounded(expression: Expr) -> Expr:
    import sympy as sp

    def long(e: Expr) -> bool:
        return bool(e.is_Rational) and len(str(e.q)) + len(str(abs(e.p))) > 2 * _LONG

    if not any(long(part) for part in sp.preorder_traversal(expression)):
        return expression
    # with one fraction for each term no number is left that only another one makes small
    return sp.expand_mul(expression).replace(long, lambda e: sp.Float(e, 6))


def _latex(expression: Expr) -> str:
    import sympy as sp

    names = {s: {"c1": "c_1", "c2": "c_2", "theta": r"\theta"}.get(s.name, s.name) for s in expression.free_symbols}
    text = str(sp.latex(expression, symbol_names=names))
    return text.replace(r"{\left(\theta \right)}", r" \theta").replace("  ", " ")
