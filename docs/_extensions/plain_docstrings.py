"""Docstrings are read at a prompt first, so they hold plain mathematics; here it is kept from looking like markup."""

from __future__ import annotations

import re
from typing import Any

# |r| is an absolute value, never a substitution; alpha_ is a name, never a link
_CODE = re.compile(r"(``.*?``|`[^`]*`)")
_BAR = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"(?<=\w)_(?=[\s,.;:)\]]|$)")


def _escaped(line: str) -> str:
    parts = _CODE.split(line)
    parts[::2] = [_LINK.sub(r"\\_", _BAR.sub(r"\\|", part)) for part in parts[::2]]
    return "".join(parts)


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    inside = False
    for number, line in enumerate(lines):
        # examples are shown as they are, up to the empty line that ends them
        inside = line.lstrip().startswith(">>>") or (inside and bool(line.strip()))
        if not inside:
            lines[number] = _escaped(line)


def setup(app: Any) -> dict[str, bool]:
    """Listen before napoleon turns sections into fields."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
