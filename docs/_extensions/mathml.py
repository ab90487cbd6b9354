"""Formulas as MathML, which browsers draw themselves: no script, no font and no request to any host."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

_log = logging.getLogger(__name__)


def _rendered(node: nodes.Element, block: bool) -> str:
    text = node.astext()
    if block and "\\\\" in text and "\\begin" not in text:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    try:
        return str(latex2mathml.tex2mathml(text, as_block=block))
    except MathError as error:
        _log.warning("cannot typeset %r: %s", text, error, location=node)
        return nodes.unescape(text)


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(_rendered(node, block=False))
    raise nodes.SkipNode


def _display(translator: Any, node: nodes.Element) -> None:
    translator.body.append(f'<div class="math-block">{_rendered(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
