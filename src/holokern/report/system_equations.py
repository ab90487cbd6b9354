"""A Pfaffian system as equations one below the other, with names for what is long; matrices would not fit a phone."""

from __future__ import annotations

import re

from holokern.pfaffian import PfaffianSystem, latex_polynomial
from holokern.report.formula import matrix_rows

# matrices of more rows, or with longer entries in LaTeX, do not fit a phone
_ROWS, _ENTRY = 2, 110
# characters of LaTeX: longer numerators and factors of denominators get a name
_NUMERATOR, _FACTOR = 90, 24


def fits_matrices(system: PfaffianSystem) -> bool:
    """Whether the matrices can be shown as such."""
    if system.rank > _ROWS:
        return False
    return max(len(cell) for matrix in _matrices(system.latex()) for row in matrix[1] for cell in row) <= _ENTRY


def system_equations(system: PfaffianSystem) -> tuple[list[str], list[str]]:
    r"""LaTeX of the equations, first what F is, then each derivative; and the meaning of the names in them.

    Examples
    --------
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
    source = system.latex()
    vector = matrix_rows(source.partition("&=")[2])
    lines = [rf"F_{{{i}}} = \mathrm{{E}}[{_applied(row[0])}\sigma(u)\sigma(v)]" for i, row in enumerate(vector, 1)]
    for symbol, rows in _matrices(source):
        for i, row in enumerate(rows, 1):
            terms = [_term(_named(cell, names), j) for j, cell in enumerate(row, 1) if cell != "0"]
            total = " + ".join(terms).replace("+ - ", "- ") or "0"
            lines.append(rf"\frac{{\partial F_{{{i}}}}}{{\partial {symbol}}} = {total}")
    return lines, [f"{name} = {meaning}" for meaning, name in names.items()]


def without_brackets(text: str) -> str:
    r"""The factor without brackets round all of it.

    Examples
    --------
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


def _matrices(source: str) -> list[tuple[str, list[list[str]]]]:
    """Each coordinate with the cells of its matrix."""
    parts = re.split(r"\\frac\{\\partial F\}\{\\partial ([^&]*)\} &=", source)
    return [(symbol, matrix_rows(text)) for symbol, text in zip(parts[1::2], parts[2::2], strict=True)]


def _applied(operator: str) -> str:
    return "" if operator == "1" else rf"{operator}\, "


def _named(cell: str, names: dict[str, str]) -> str:
    r"""An entry with names for the factors of its denominator, and for its numerator if that is long.

    Examples
    --------
    >>> _named(r"-\frac{a}{2 (a^2 - b)}", {"a^2 - b": "Q_1"})
    '-\\frac{a}{2 Q_1}'
    """
    for meaning, name in names.items():
        for written, short in ((rf"\left({meaning}\right)", f" {name}"), (f"({meaning})", f" {name}"),
                               (f"{{{meaning}}}", f"{{{name}}}")):  # fmt: skip
            cell = cell.replace(written, short)
    found = re.match(r"-?\s*\\frac\{", cell)
    if found is not None:
        stop = _closing(cell, found.end())
        numerator = cell[found.end() : stop]
        if len(numerator) > _NUMERATOR:
            count = sum(name.startswith("N") for name in names.values())
            cell = cell[: found.end()] + names.setdefault(numerator, f"N_{{{count + 1}}}") + cell[stop:]
    return re.sub(r"\s+", " ", cell)


def _closing(text: str, start: int) -> int:
    """Where the brace is closed that was opened before ``start``."""
    depth = 1
    for i, sign in enumerate(text[start:], start):
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return i
    return len(text)


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
