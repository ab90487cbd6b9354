"""A closed form for readers: short terms, and names for the subexpressions that come again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sympy import Expr, Symbol

    from holokern.dual import ClosedForm

# names for what stands under roots and in denominators, none of which is used elsewhere
_NAMES = ("D", "A", "B", "C", "G", "H", "M", "N")
# operations: shorter subexpressions are no harder to read than a name
_SHORT = 4
# operations that fit on a line
_LINE = 25
# digits: longer rational numbers, such as those of selu, are shown as decimals
_LONG = 7


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

    Examples
    --------
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
