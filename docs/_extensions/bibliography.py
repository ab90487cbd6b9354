"""The directive ``bibliography``: the entries of references.bib, which docstrings cite as [Key, Thm n]."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive

_ENTRY = re.compile(r"@\w+\{(\w+),(.*?)^\}", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*?)\},?\s*$", re.MULTILINE)
_ACCENTS = {r"{\"o}": "ö", r"{\"u}": "ü", r"{\"a}": "ä", r"{\'e}": "é", r"{\`e}": "è", r"{\'a}": "á", "--": "–"}
_ARTICLE = ("journal", "booktitle", "publisher", "volume", "pages", "year", "note")


def _plain(text: str) -> str:
    for written, meant in _ACCENTS.items():
        text = text.replace(written, meant)
    return text.replace("{", "").replace("}", "")


def _authors(text: str) -> str:
    """``Oaku, Toshinori and …`` as ``Toshinori Oaku, …``."""
    return ", ".join(" ".join(reversed(name.split(", "))) for name in text.split(" and "))


class Bibliography(Directive):
    """One line an entry, in the order of the file named by the argument."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """Read the file, which then counts as part of the page."""
        environment = self.state.document.settings.env
        relative, path = environment.relfn2path(self.arguments[0])
        environment.note_dependency(relative)
        entries = _ENTRY.findall(Path(path).read_text(encoding="utf-8"))
        if not entries:
            raise self.error(f"{path} has no entries")
        found = nodes.definition_list()
        for key, body in entries:
            fields = {name.lower(): _plain(value) for name, value in _FIELD.findall(body)}
            people = _authors(fields["author"]) if "author" in fields else f"{_authors(fields['editor'])} (ed.)"
            line = nodes.paragraph("", "", nodes.Text(f"{people}. "))
            line += nodes.emphasis("", fields["title"])
            line += nodes.Text(". " + ", ".join(fields[name] for name in _ARTICLE if name in fields) + ".")
            term = nodes.term("", key)
            found += nodes.definition_list_item("", term, nodes.definition("", line))
        return [found]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("bibliography", Bibliography)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
