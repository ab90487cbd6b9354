"""Self-contained HTML pages: one file, no network access, light and dark, readable on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from holokern.paper.table import Table, format_cell

__all__ = ["html_page", "html_table"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --paper: #ffffff; --soft: #f2f4f8; --line: #d4d9e2; --link: #1b5fb3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --paper: #14181f; --soft: #1e242e; --line: #39424f; --link: #7fb4ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
p { max-width: 46rem; margin: .4rem 0; }
p.note { font-size: .92rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { padding: .45rem .75rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { background: var(--soft); vertical-align: bottom; font-weight: 600; line-height: 1.3; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .92em; }
"""


def html_table(table: Table) -> str:
    """A table as an HTML section with its title and notes."""
    classes = [' class="number"' if right else "" for right in table.numeric()]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(classes, table.columns, strict=True))
    body = [
        "<tr>"
        + "".join(f"<td{kind}>{escape(format_cell(cell))}</td>" for kind, cell in zip(classes, row, strict=True))
        + "</tr>"
        for row in table.rows
    ]
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    rows = "\n".join(body)
    return (
        f'<section><h2>{escape(table.title)}</h2><div class="scroll"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>{notes}</section>"
    )


def html_page(title: str, introduction: Sequence[str], tables: Sequence[Table]) -> str:
    """A whole page.

    Examples
    --------
    >>> page = html_page("Ranks", ["Ours."], [Table("T", ("case", "rank"), (("ReLU", 2),))])
    >>> page.startswith("<!doctype html>") and "<td>ReLU</td>" in page and "http" not in page
    True
    """
    paragraphs = "\n".join(f"<p>{escape(text)}</p>" for text in introduction)
    sections = "\n".join(html_table(table) for table in tables)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n{paragraphs}\n{sections}\n</body></html>\n"
    )
