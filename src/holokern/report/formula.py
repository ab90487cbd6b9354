"""Formulas for pages: LaTeX becomes SVG outlines, so that it looks the same on every machine and needs no font.

Matplotlib's mathematics draws what stands on a line; this module adds matrices, cases and aligned equations, and breaks
long sums into pieces between which a browser may begin a new line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import accumulate
from typing import Any

from holokern.errors import Unsupported

_EM = 100.0  # coordinates are in hundredths of the size of the text, as in matplotlib
_AXIS = 0.25 * _EM  # the height of minus signs and fraction bars above the line; matrices are centred on it
_COLUMN_GAP, _ROW_GAP = 0.9 * _EM, 0.45 * _EM  # between the columns and the rows of a matrix
_THIN = 0.17 * _EM  # beside a matrix
_BRACKET, _STROKE = 0.35 * _EM, 4.5  # a bracket drawn as a curve: its width and the thickness of its line
_MARGIN = 3.0  # room round a drawing for strokes that leave their box
# environments, and the brackets round each
_FENCES = {"pmatrix": "()", "bmatrix": "[]", "matrix": "", "array": "", "aligned": "", "cases": "{"}
# commands that matplotlib lacks, and what stands for them
_WORDS = {
    r"\\lvert\b|\\rvert\b": "|",
    r"\\(?:bigl|bigr|big|Big)\b": "",
    r"\\tfrac\b": r"\\frac",
    # arguments without braces
    r"\\frac\s*(\d)\s*(\d)": r"\\frac{\1}{\2}",
    r"\\(math(?:bb|bf|cal|rm|sf))\s+(\w)": r"\\\1{\2}",
    r"\\ne\b": r"\\neq",
    r"\\ge\b": r"\\geq",
    r"\\le\b": r"\\leq",
    r"\\langle\b(?! )": r"\\langle ",
    r"\\displaystyle\b": "",
    # at full size: as a superscript a prime is hard to see
    "'": r"{\\prime}",
    r"\\sqrt\s*(\\[A-Za-z]+|\w)": r"\\sqrt{\1}",
    r"\\(?:operatorname\{)?a(sin|cos|tan)\b\}?": r"\\arc\1",
    # fractions in exponents on one line: they would be too small to read
    r"\^\{(-? ?)\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{(\w+)\}\}": r"^{\1\2/\3}",
    # a thin space before the name of a function, and after a sign that begins a line
    r"(?<=[\w}])\s*(?=\\(?:(?:arc)?(?:sin|cos|tan)h?|exp|log|min|max|operatorname|Phi)\b)": r"\\,",
    r"^\s*([+-])\s": r"\1\\;",
    r"\\(?:arcosh|arsinh)\b": r"\\operatorname{\g<0>}",
}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)  # a command, an escaped sign or one sign
_BEGIN = re.compile(r"\\begin\{(\w+)\}(\{[^{}]*\})?")  # the beginning of an environment, with the columns of an array
_SHORT = 26  # pieces narrower than this, in characters of LaTeX, stay together


@dataclass(frozen=True)
class _Box:
    """A drawing with its size: width, height above the line and depth below it, and SVG elements with their places."""

    width: float
    height: float
    depth: float
    parts: tuple[tuple[float, float, str], ...]

    def moved(self, x: float, y: float) -> list[tuple[float, float, str]]:
        return [(px + x, py + y, element) for px, py, element in self.parts]


@dataclass
class Typesetter:
    r"""Draws the formulas of one page; they share outlines of glyphs, which `definitions` holds.

    >>> page = Typesetter()
    >>> page.inline(r"\frac{u}{2}").count("<use")
    3
    >>> page.definitions().count("<path")
    3
    """

    prefix: str = "g"
    _shapes: dict[str, str] = field(default_factory=dict)

    def inline(self, source: str) -> str:
        """A formula within a line of text; the LaTeX itself where it cannot be drawn."""
        try:
            return f'<span role="math" aria-label="{escape(source)}">{self._svg(self._box(source))}</span>'
        except Unsupported:
            return f"<code>{escape(source)}</code>"

    def block(self, source: str) -> str:
        """A displayed formula that breaks at relations and signs; its label is the LaTeX, which a button copies."""
        try:
            lines = "".join(f'<div class="line">{self._line(line)}</div>' for line in _lines(source))
        except Unsupported:
            lines = f"<code>{escape(source)}</code>"
        return f'<div class="formula" role="math" aria-label="{escape(source)}">{lines}</div>'

    def flowing(self, source: str) -> str:
        """A formula within a line of text that breaks where a displayed one does."""
        return f'<span role="math" aria-label="{escape(source)}">{self._line(source)}</span>'

    def definitions(self) -> str:
        """The outlines, to be put somewhere into the page."""
        shapes = "".join(f'<path id="{name}" {path}/>' for path, name in self._shapes.items())
        return f'<svg class="glyphs" width="0" height="0" aria-hidden="true"><defs>{shapes}</defs></svg>'

    def _line(self, source: str) -> str:
        parts = pieces(source)
        return " ".join(f'<span class="piece">{self._svg(self._box(_displayed(part)))}</span>' for part in parts)

    def _svg(self, box: _Box) -> str:
        low, width = box.depth + _MARGIN, box.width + 2 * _MARGIN
        total = box.height + low + _MARGIN
        inner = "".join(f'<use href="#{shape}" x="{x:.0f}" y="{-y:.0f}"/>' for x, y, shape in box.moved(_MARGIN, 0.0))
        return (
            f'<svg class="tex" aria-hidden="true" style="width:{width / _EM:.2f}em;vertical-align:{-low / _EM:.2f}em" '
            f'viewBox="0 {-box.height - _MARGIN:.0f} {width:.0f} {total:.0f}">{inner}</svg>'
        )

    def _box(self, source: str) -> _Box:
        """A row of texts and environments."""
        boxes, rest = [], source
        while (found := _BEGIN.search(rest)) is not None:
            if rest[: found.start()].strip():
                boxes.append(self._text(rest[: found.start()]))
            stop = _end_of(rest, found.end())
            boxes.append(self._environment(found[1], rest[found.end() : stop]))
            rest = rest[stop + len(rf"\end{{{found[1]}}}") :]
        if rest.strip() or not boxes:
            boxes.append(self._text(rest))
        return _beside(boxes)

    def _text(self, source: str) -> _Box:
        """What matplotlib can draw."""
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        if not source.strip():
            return _Box(0.0, 0.0, 0.0, ())
        text = source.replace("\n", " ")
        for pattern, word in _WORDS.items():
            text = re.sub(pattern, word, text)
        font = FontProperties(size=_EM, math_fontfamily="stix")
        try:
            width, total, depth = text_to_path.get_text_width_height_descent(f"${text}$", font, ismath=True)
            glyphs, outlines, bars = text_to_path.get_glyphs_mathtext(font, f"${text}$")
        except ValueError:
            raise Unsupported(f"{source[:60]!r} cannot be drawn here; print it with --latex instead") from None
        parts: list[tuple[float, float, str]] = []
        for glyph, x, y, scale in glyphs:
            parts.append((float(x), float(y), self._shape(f'd="{_path(*outlines[glyph], scale)}"')))
        for corners, codes in bars:
            left, bottom = min(x for x, _ in corners[:-1]), min(y for _, y in corners[:-1])
            moved = [(x - left, y - bottom) for x, y in corners]
            parts.append((float(left), float(bottom), self._shape(f'd="{_path(moved, codes, 1.0)}"')))
        return _Box(float(width), float(total - depth), float(depth), tuple(parts))

    def _shape(self, attributes: str) -> str:
        """The name of an outline, which is kept once."""
        return self._shapes.setdefault(attributes, f"{self.prefix}{len(self._shapes)}")

    def _environment(self, kind: str, body: str) -> _Box:
        if kind not in _FENCES:
            raise Unsupported(f"the environment {kind[:40]!r} is not drawn here; print it with --latex instead")
        cells = [[self._box(cell.strip()) for cell in row] for row in _cells(body)]
        fences = _FENCES[kind]
        inner = _grid(cells, left=kind in ("cases", "aligned"))
        gap = _Box(_THIN, 0.0, 0.0, ())
        return _beside([gap, self._bracket(fences[:1], inner), inner, self._bracket(fences[1:], inner), gap])

    def _bracket(self, sign: str, inner: _Box) -> _Box:
        """A bracket as high as what it holds."""
        if not sign:
            return _Box(0.0, 0.0, 0.0, ())
        high, low = inner.height + 0.1 * _EM, -inner.depth - 0.1 * _EM
        line = f'd="{_curve(sign, -high, -low)}" fill="none" stroke="currentColor" stroke-width="{_STROKE}"'
        return _Box(_BRACKET + 0.1 * _EM, high, -low, ((0.0, 0.0, self._shape(line)),))


def pieces(source: str) -> list[str]:
    r"""The formula in parts: a new line may begin before a relation or a sign that stands outside all brackets.

    >>> pieces(r"k = \frac{a + b}{2} + \left(c - d\right) e - \sin(x + y)")
    ['k =', '\\frac{a + b}{2} + \\left(c - d\\right) e', '- \\sin(x + y)']
    """
    found, depth, before, level = [""], 0, "", 0
    for token in _TOKEN.findall(source):
        level += token.startswith(r"\begin") - token.startswith(r"\end")
        depth += token in ("{", "(", "[", r"\{") or 0
        depth -= token in ("}", ")", "]", r"\}") or 0
        outside = depth == 0 and level == 0
        sign = token in "+-" and outside and found[-1].strip() and before not in ("=", "(", ",", r"\to", "&")
        if sign and (len(found[-1]) > _SHORT or found[-1].rstrip().endswith("=")):
            found.append("")
        found[-1] += token
        if token == "=" and outside:
            found.append("")
        before = token if token.strip() else before
    return [part.strip() for part in found if part.strip()]


def latex_of_text(text: str) -> str:
    r"""A polynomial or an operator as holokern prints it, in LaTeX.

    >>> latex_of_text("u^2*D - S12^2 + x11*d12")
    'u^{2}\\, \\partial - \\Sigma_{12}^{2} + x_{11}\\, \\partial_{12}'
    """
    named = re.sub(r"\bd(?=\d)", r"\\partial", re.sub(r"\bS(?=\d)", r"\\Sigma", text.replace("D", r"\partial")))
    indexed = re.sub(r"(?<=[a-z])(\d+)", r"_{\1}", named)
    return re.sub(r"\^(\d+)", r"^{\1}", indexed).replace("*", r"\, ")


def _lines(source: str) -> list[str]:
    """The rows of an aligned block, else the formula itself."""
    text = source.strip()
    if not text.startswith(r"\begin{aligned}") or not text.endswith(r"\end{aligned}"):
        return [text]
    body = text[len(r"\begin{aligned}") : -len(r"\end{aligned}")]
    return [" ".join(cell.strip() for cell in row) for row in _cells(body)]


def _cells(body: str) -> list[list[str]]:
    """Rows and cells of an environment; those of inner environments stay together."""
    rows, level, depth = [[""]], 0, 0
    for token in _TOKEN.findall(body):
        level += (token == r"\begin") - (token == r"\end")
        depth += (token == "{") - (token == "}")
        if level == depth == 0 and token == "&":
            rows[-1].append("")
        elif level == depth == 0 and token == r"\\":
            rows.append([""])
        else:
            rows[-1][-1] += token
    return [row for row in rows if any(cell.strip() for cell in row)]


def _end_of(text: str, start: int) -> int:
    """Where the environment ends that began before ``start``."""
    level = 1
    for found in re.finditer(r"\\(begin|end)\{\w+\}", text[start:]):
        level += 1 if found[1] == "begin" else -1
        if level == 0:
            return start + found.start()
    raise Unsupported("the formula ends too early; print it with --latex instead")


def _displayed(source: str) -> str:
    """Fractions that stand in no other fraction and in no index get their full size."""
    shown, depth = "", 0
    for token in _TOKEN.findall(source):
        depth += (token == "{") - (token == "}")
        shown += r"\dfrac" if token == r"\frac" and depth == 0 else token
    return shown


def _beside(boxes: Sequence[_Box]) -> _Box:
    starts = list(accumulate((box.width for box in boxes), initial=0.0))
    parts = [part for box, x in zip(boxes, starts, strict=False) for part in box.moved(x, 0.0)]
    return _Box(starts[-1], max(b.height for b in boxes), max(b.depth for b in boxes), tuple(parts))


def _grid(rows: list[list[_Box]], left: bool) -> _Box:
    """Boxes in rows and columns, centred on the axis."""
    count = max(len(row) for row in rows)
    widths = [max((row[j].width for row in rows if j < len(row)), default=0.0) for j in range(count)]
    strut = 0.7 * _EM, 0.2 * _EM
    heights = [max(strut[0], *(box.height for box in row)) for row in rows]
    depths = [max(strut[1], *(box.depth for box in row)) for row in rows]
    total = sum(heights) + sum(depths) + _ROW_GAP * (len(rows) - 1)
    parts: list[tuple[float, float, str]] = []
    y = _AXIS + total / 2
    for row, height, depth in zip(rows, heights, depths, strict=True):
        y -= height
        x = 0.0
        for box, width in zip(row, widths, strict=False):
            parts += box.moved(x + (0.0 if left else (width - box.width) / 2), y)
            x += width + _COLUMN_GAP
        y -= depth + _ROW_GAP
    width = sum(widths) + _COLUMN_GAP * (count - 1)
    return _Box(width, _AXIS + total / 2, total / 2 - _AXIS, tuple(parts))


def _curve(sign: str, high: float, low: float) -> str:
    """The line of a bracket from ``high`` to ``low``, which is below it and so the larger number."""
    w, middle, bend = _BRACKET, (high + low) / 2, min(0.25 * _EM, (low - high) / 6)
    near, far = (0.15 * w, 0.75 * w) if sign in "([{" else (0.85 * w, 0.25 * w)
    if sign in "()":
        upper = f"M{far:.0f} {high:.0f}Q{near:.0f} {high + bend:.0f} {near:.0f} {middle:.0f}"
        return f"{upper}Q{near:.0f} {low - bend:.0f} {far:.0f} {low:.0f}"
    if sign in "[]":
        return f"M{far:.0f} {high:.0f}H{near:.0f}V{low:.0f}H{far:.0f}"
    half = (near + far) / 2
    return (
        f"M{far:.0f} {high:.0f}Q{half:.0f} {high:.0f} {half:.0f} {high + bend:.0f}V{middle - bend:.0f}Q{half:.0f} "
        f"{middle:.0f} {near - 5:.0f} {middle:.0f}Q{half:.0f} {middle:.0f} {half:.0f} {middle + bend:.0f}"
        f"V{low - bend:.0f}Q{half:.0f} {low:.0f} {far:.0f} {low:.0f}"
    )


def _path(corners: Any, codes: Any, scale: float) -> str:
    """An outline of matplotlib as an SVG path, which counts downwards: 1 and 2 are lines, 3 and 4 curves, 79 closes."""
    found, i = [], 0
    lengths = {1: ("M", 1), 2: ("L", 1), 3: ("Q", 2), 4: ("C", 3)}
    while i < len(codes):
        if int(codes[i]) not in lengths:
            found.append("Z")
            i += 1
            continue
        letter, count = lengths[int(codes[i])]
        numbers = (f"{_short(scale * x)} {_short(-scale * y)}" for x, y in corners[i : i + count])
        found.append(letter + " ".join(numbers))
        i += count
    return "".join(found)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
