"""Formulas as SVG outlines, as on holokern's own pages: no script, no font, no request; the same on every machine."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.util import logging

from holokern.report.formula import Typesetter

_log = logging.getLogger(__name__)
# the formulas of a page share their outlines
_pages: dict[str, Typesetter] = {}


def _typesetter(translator: Any) -> Typesetter:
    return _pages.setdefault(translator.builder.current_docname, Typesetter())


def _drawn(text: str, node: nodes.Element) -> str:
    if "<code>" in text:
        _log.warning("cannot draw %r", node.astext(), location=node)
    return text


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(_drawn(_typesetter(translator).inline(node.astext()), node))
    raise nodes.SkipNode


def _display(translator: Any, node: nodes.Element) -> None:
    text = node.astext()
    if "\\\\" in text and "\\begin" not in text:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    translator.body.append(_drawn(_typesetter(translator).block(text), node))
    raise nodes.SkipNode


def _add_outlines(_app: Any, page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    if page in _pages and "body" in context:
        context["body"] += _pages[page].definitions()


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("outlines", (_inline, None), (_display, None))
    app.connect("html-page-context", _add_outlines)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
