"""Pfaffian systems as text for a terminal and as LaTeX."""

from __future__ import annotations

from collections.abc import Callable

from flint import fmpz_mpoly

from holokern.pfaffian.system import BasisElement, PfaffianSystem
from holokern.weyl import Matrix, RationalFunction, latex_monomial, latex_name

_WIDTH = 100  # characters that a terminal shows side by side
_LATEX_COLUMNS = 8  # pmatrix of amsmath takes ten columns at most; an array takes any number


def text(system: PfaffianSystem) -> str:
    """The annihilators, rank, basis, matrices and singular locus as plain text.

    >>> from holokern.pfaffian import pfaffian
    >>> print(text(pfaffian(operator="D - 1", cache=False)))
    annihilator     D - 1
    rank            1
    coordinates     S11, S12, S22: the covariance of (u, v)
    F               E[(1) σ(u)σ(v)] with a = d/du, b = d/dv
    dF/dS11 =
        [1/2] F
    dF/dS12 =
        [1] F
    dF/dS22 =
        [1/2] F
    singular locus  none
    """
    sides = system.annihilators
    lines = [_line("annihilator", ", ".join(map(str, sides[0])) or "none given")] if sides else []
    if sides and sides[-1] != sides[0]:
        lines.append(_line("of the other", ", ".join(map(str, sides[-1])) or "none given"))
    if system.scale is not None:
        lines.append(_line("scale", f"the system is that of σ(u/κ), κ = {', '.join(map(str, system.scale))}"))
    lines.append(_line("rank", str(system.rank)))
    meaning = f": {_COORDINATES[system.coordinates]}" if system.of_dual_activation else ""
    lines.append(_line("coordinates", f"{', '.join(system.variables)}{meaning}"))
    lines.append(_line("F", _vector(system)))
    for name, matrix in zip(system.variables, system.matrices, strict=True):
        lines.append(f"dF/d{name} =")
        lines += _matrix_lines(name, matrix)
    factors = [
        f"({factor})^{power}" if power > 1 else str(factor)
        for factor, power in zip(system.singular_locus, system.multiplicities, strict=True)
    ]
    lines.append(_line("singular locus", ", ".join(factors) or "none"))
    return "\n".join(lines)


def latex(system: PfaffianSystem) -> str:
    r"""LaTeX source of the equations, an ``aligned`` block for display mathematics.

    >>> from holokern.pfaffian import pfaffian
    >>> print(latex(pfaffian(operator="D - 1", cache=False)))
    \begin{aligned}
    F &= \mathrm{E}\begin{pmatrix} 1 \end{pmatrix} \sigma(u)\sigma(v) \\
    \frac{\partial F}{\partial \Sigma_{11}} &= \begin{pmatrix} \frac{1}{2} \end{pmatrix} F \\
    \frac{\partial F}{\partial \Sigma_{12}} &= \begin{pmatrix} 1 \end{pmatrix} F \\
    \frac{\partial F}{\partial \Sigma_{22}} &= \begin{pmatrix} \frac{1}{2} \end{pmatrix} F
    \end{aligned}
    """
    rows = [f"F &= {_latex_vector(system)}"]
    for name, matrix in zip(system.variables, system.matrices, strict=True):
        table = [[latex_entry(entry) for entry in row] for row in matrix]
        rows.append(rf"\frac{{\partial F}}{{\partial {_greek(latex_name(name))}}} &= {_pmatrix(table)} F")
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


# what the coordinates mean, in words
_COORDINATES = {"sigma": "the covariance of (u, v)", "x": "the exponent x11 u² + 2 x12 uv + x22 v² of the weight"}


def _line(label: str, value: str) -> str:
    return f"{label:<15} {value}"


def _other(system: PfaffianSystem) -> tuple[str, str]:
    same = system.annihilators[0] == system.annihilators[1]
    return ("σ", "σ") if same else ("σ1", "σ2")


def _vector(system: PfaffianSystem) -> str:
    """What the entries of F are, in one line."""
    entries = ", ".join(system.basis_text)
    prefix = "" if system.frame is None else "T times "
    if not system.of_dual_activation:
        return f"{prefix}({entries})" + (" f for a solution f" if system.annihilators else "")
    first, second = _other(system)
    if system.coordinates == "sigma":
        meaning = f"{prefix}E[({entries}) {first}(u){second}(v)] with a = d/du, b = d/dv"
    else:
        kind = "derivatives" if len(system.elements[0]) == 3 else "moments"
        meaning = f"{prefix}({entries}) as {kind} of g = ∫∫ {first}(u){second}(v) exp(x11 u² + 2 x12 uv + x22 v²) du dv"
    return meaning


def _matrix_lines(name: str, matrix: Matrix) -> list[str]:
    """An aligned table when it is narrow enough, else the entries that are not zero, one a line."""
    cells = [[_entry_text(entry) for entry in row] for row in matrix]
    widths = [max(len(row[j]) for row in cells) for j in range(len(cells))]
    if sum(widths) + 2 * len(widths) <= _WIDTH:
        lines = [f"    [{'  '.join(c.ljust(w) for c, w in zip(row, widths, strict=True))}]" for row in cells]
        lines[-1] += " F"
        return lines
    short = f"P{name[-2:] if name[-2:].isdigit() else f'_{name}'}"
    listed = [
        f"    {short}[{i},{j}] = {cell}"
        for i, row in enumerate(cells, start=1)
        for j, cell in enumerate(row, start=1)
        if cell != "0"
    ]
    return [f"    {short} F, where {short} is zero except for", *listed]


def _entry_text(entry: RationalFunction) -> str:
    """The quotient with a factored denominator."""
    pieces = _denominator(entry, str, "({})", "{}^{}", alone=True)
    top = str(entry.numerator)
    if not pieces:
        return top
    if len(entry.numerator) > 1:
        top = f"({top})"
    return f"{top}/({'*'.join(pieces)})" if len(pieces) > 1 else f"{top}/{pieces[0]}"


def _denominator(
    entry: RationalFunction,
    shown: Callable[[fmpz_mpoly], str],
    brackets: str,
    power: str,
    alone: bool,
    short: Callable[[str], str | None] = lambda _: None,
) -> list[str]:
    """The content and the powers of factors, short ones first; a sum gets brackets, one that is ``alone`` too."""
    content, factors = entry.denominator.factor()
    factors = sorted(factors, key=lambda pair: (pair[0].total_degree(), len(pair[0]), str(pair[0])))
    pieces = [] if content == 1 else [str(content)]
    for factor, e in factors:
        closed = len(factor) > 1 and (alone or len(factors) > 1 or e > 1 or pieces)
        base = shown(factor)
        base = short(base) or (brackets.format(base) if closed else base)
        pieces.append(base if e == 1 else power.format(base, e))
    return pieces


def latex_entry(entry: RationalFunction, short: Callable[[str], str | None] = lambda _: None) -> str:
    """An entry of a matrix, its denominator factored; ``short`` may give names for the numerator and for factors."""
    numerator = entry.numerator
    sign = "-" if len(numerator) == 1 and numerator.leading_coefficient() < 0 else ""
    top = _greek(entry.field.latex_of(-numerator if sign else numerator))
    latex_of = entry.field.latex_of
    pieces = _denominator(entry, lambda f: _greek(latex_of(f)), r"\left({}\right)", "{}^{{{}}}", False, short)
    return rf"{sign}\frac{{{short(top) or top}}}{{{' '.join(pieces)}}}" if pieces else sign + top


def _latex_vector(system: PfaffianSystem) -> str:
    column = _pmatrix([[latex_element(element, system.coordinates)] for element in system.basis])
    if system.frame is not None:
        column = _pmatrix([[latex_entry(entry) for entry in row] for row in system.frame]) + " " + column
    if not system.of_dual_activation:
        return column + (" f" if system.annihilators else "")
    first, second = (
        name.replace("σ1", r"\sigma_1").replace("σ2", r"\sigma_2").replace("σ", r"\sigma") for name in _other(system)
    )
    if system.coordinates == "sigma":
        return rf"\mathrm{{E}}{column} {first}(u){second}(v)"
    weight = r"e^{x_{11} u^2 + 2 x_{12} u v + x_{22} v^2}\,du\,dv"
    if len(system.elements[0]) == 3:
        return rf"{column} \iint {first}(u){second}(v)\,{weight}"
    return rf"\iint {column} {first}(u){second}(v)\,{weight}"


def latex_element(element: BasisElement, coordinates: str) -> str:
    """An entry of F."""
    if isinstance(element, str):
        return rf"\mathrm{{{element}}}" if element.isalpha() else latex_name(element)
    if not isinstance(element, tuple):
        return element.latex()
    if len(element) == 3:
        names = [rf"\partial_{{{index}}}" for index in ("11", "12", "22")]
    else:
        names = [r"\partial_u", r"\partial_v"] if coordinates == "sigma" else ["u", "v"]
    return latex_monomial(names, element) or "1"


def _pmatrix(table: list[list[str]]) -> str:
    # LaTeX allows ten columns unless told otherwise
    body = r" \\ ".join(" & ".join(row) for row in table)
    wide = max(map(len, table), default=0) > _LATEX_COLUMNS
    inner = rf"\left(\begin{{array}}{{{'c' * len(table[0])}}} {body} \end{{array}}\right)" if wide else ""
    return inner or rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


def _greek(source: str) -> str:
    return source.replace("S_{", r"\Sigma_{")


def latex_polynomial(factor: RationalFunction) -> str:
    """One factor of the singular locus, in parentheses when it is a sum."""
    body = _greek(factor.field.latex_of(factor.numerator))
    return rf"\left({body}\right)" if len(factor.numerator) > 1 else body
