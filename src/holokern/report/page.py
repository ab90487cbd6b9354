"""Self-contained HTML pages: one file, no network access, light and dark, readable on a phone."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape

from holokern.paper import Json, Table, format_cell
from holokern.report.formula import Typesetter, latex_of_text

# Nothing may be fetched: the page is one file, and a mistake shows up as an error instead of a request.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

# one style sheet for all pages, light and dark
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --paper: #ffffff; --soft: #f2f4f8; --line: #d4d9e2; --link: #1b5fb3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --paper: #14181f; --soft: #1e242e; --line: #39424f; --link: #7fb4ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 2.6rem 0 .6rem; }
h3 { font-size: 1.08rem; line-height: 1.35; margin: 1.8rem 0 .5rem; }
p { max-width: 46rem; margin: .4rem 0; }
p.note { font-size: .92rem; }
a { color: var(--link); }
nav ul { list-style: none; margin: 1rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: .35rem 1.2rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { padding: .45rem .75rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { background: var(--soft); vertical-align: bottom; font-weight: 600; line-height: 1.3;
  min-width: 6rem; }
td:first-child { white-space: nowrap; }
td.long { min-width: 15rem; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .92em; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1.2rem;
  margin: 1.2rem 0; }
figure { margin: 0; max-width: 30rem; }
figcaption { font-size: .92rem; margin: .3rem 0 0; }
.summary { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .6rem 1rem;
  max-width: 60rem; margin: 1rem 0; }
.summary ul { margin: .3rem 0; padding-left: 1.2rem; } .summary li { margin: .3rem 0; } .summary p { font-weight: 600; }
.glyphs { position: absolute; }
.piece { display: inline-block; margin: .2rem .12rem; max-width: 100%; }
.tex { height: auto; max-width: 100%; fill: currentColor; overflow: visible; }
svg.chart { display: block; width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt; }
"""
_LONG = 40  # characters: longer cells may break into lines


def page_frame(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """A whole page around an HTML body; ``style`` and ``script`` are put into the file, which may fetch nothing.

    >>> page = page_frame("T", "<p>Text</p>")
    >>> page.startswith("<!doctype html>"), "default-src 'none'" in page
    (True, True)
    """
    ending = f"<script>{script}</script>\n" if script else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}{style}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}\n{ending}</body></html>\n"
    )


def html_table(table: Table, level: int = 2) -> str:
    """A table as an HTML section with its title, a heading of the given level, and notes; formulas are typeset."""
    # several tables share a page, and ids are global there
    drawn = Typesetter(prefix="".join(filter(str.isalnum, table.title)))
    classes = [' class="number"' if right else "" for right in table.numeric()]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(classes, table.columns, strict=True))
    body = [
        "<tr>"
        + "".join(
            _formulas(format_cell(cell), drawn) if name in table.formulas else _cell(format_cell(cell), kind)
            for name, kind, cell in zip(table.columns, classes, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    ]
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    rows = "\n".join(body)
    outlines = drawn.definitions() if table.formulas else ""
    return (
        f'<section><h{level}>{escape(table.title)}</h{level}><div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(table.title)}"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>{outlines}{notes}</section>"
    )


def _formulas(text: str, drawn: Typesetter) -> str:
    """A cell of formulas with commas or semicolons between them."""
    # a comma stays with what it ends, so that no line begins with one
    shown = " ".join(drawn.flowing(latex_of_text(part)) for part in re.split(r"(?<=[,;]) ", text))
    return f'<td class="long">{shown}</td>' if len(text) > _LONG else f"<td>{shown}</td>"


def _cell(text: str, kind: str) -> str:
    wide = ' class="long"' if not kind and len(text) > _LONG else kind
    return f"<td{wide}>{escape(text)}</td>"


def html_figures(drawings: Sequence[tuple[str, str]]) -> str:
    """SVG elements with their captions side by side, as many as fit.

    >>> html_figures([("<svg></svg>", "A line.")])
    '<div class="figures"><figure><svg></svg><figcaption>A line.</figcaption></figure></div>'
    """
    shown = [f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for svg, caption in drawings]
    return '<div class="figures">' + "".join(shown) + "</div>"


def html_section(anchor: str, title: str, tables: Sequence[Table], drawings: Sequence[tuple[str, str]] = ()) -> str:
    """A part of a page: its heading, drawings with captions, and tables."""
    figures = html_figures(drawings) if drawings else ""
    return f'<section id="{escape(anchor)}"><h2>{escape(title)}</h2>\n{figures}\n' + "\n".join(
        [*(html_table(table, 3) for table in tables), "</section>"]
    )


def html_page(
    title: str,
    introduction: Sequence[str],
    tables: Sequence[Table] = (),
    sections: Sequence[tuple[str, str, str]] = (),
    summary: Sequence[str] = (),
) -> str:
    """A whole page of tables, or of sections: triples of an anchor, a title for the contents, and the HTML.

    The sentences of the summary come first.

    >>> page = html_page("Ranks", ["Ours."], [Table("T", ("case", "rank"), (("ReLU", 2),))])
    >>> "<td>ReLU</td>" in page and "://" not in page
    True
    """
    paragraphs = "\n".join(f"<p>{escape(text)}</p>" for text in introduction)
    contents = "".join(f'<li><a href="#{escape(anchor)}">{escape(name)}</a></li>' for anchor, name, _ in sections)
    points = "".join(f"<li>{escape(text)}</li>" for text in summary)
    short = f'<div class="summary"><p>In short</p><ul>{points}</ul></div>' if summary else ""
    parts = [short, paragraphs, *([f"<nav><ul>{contents}</ul></nav>"] if sections else [])]
    parts += [html_table(table) for table in tables] + [html for _, _, html in sections]
    return page_frame(title, "\n".join(parts))


def finite_numbers(value: Json) -> Json:
    """The data without numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: finite_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_numbers(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
