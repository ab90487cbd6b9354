"""What experiments give: tables, charts, and findings made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from textwrap import fill, indent, wrap
from typing import Any, TypeAlias

WIDTH = 100
"""The width of text, in columns, where no terminal gives its own."""

_INDENT = "  "  # before every line of a table and of its notes
_GAP = "  "  # between two columns
_WORD = 24  # characters: words longer than this may be broken, so that one formula does not widen a whole column
# floats between these are written with all digits before the point: 4,700 is read faster than 4.7e+03
_THOUSAND, _MANY = 1e3, 1e6

Json: TypeAlias = Any
"""What :mod:`json` writes: text, numbers, None, and lists and dictionaries of them."""

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Table:
    """One finished table.

    >>> print(Table("Ranks", ("case", "rank", "seconds"), (("ReLU", 2, 0.0312),)).text())
    Ranks
      case  rank  seconds
      ReLU     2   0.0312
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    #: columns that hold formulas, which a page typesets
    formulas: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        title: str,
        rows: Sequence[Mapping[str, Cell]],
        notes: tuple[str, ...] = (),
        formulas: tuple[str, ...] = (),
    ) -> Table:
        """A table from its rows, at least one: cells by the names of their columns."""
        return cls(title, tuple(rows[0]), tuple(tuple(row.values()) for row in rows), notes, formulas)

    def text(self, width: int = WIDTH) -> str:
        """Aligned plain text with no line longer than ``width``; numbers to the right, words to the left.

        Headings and long cells are broken into lines.  Columns that still do not fit follow in blocks of their own,
        each with the first column again.
        """
        cells = [self.columns, *(tuple(format_cell(cell) for cell in row) for row in self.rows)]
        blocks = ["\n".join(self._block(cells, block, width)) for block in _blocks(cells, width)]
        notes = [indent(fill(note, width - len(_INDENT), break_on_hyphens=False), _INDENT) for note in self.notes]
        return "\n".join([*wrap(self.title, width), "\n\n".join(blocks), *notes])

    def _block(self, cells: list[tuple[str, ...]], block: list[int], width: int) -> list[str]:
        right, widths = self.numeric(), _widths(cells, block, width)
        lines = []
        for row in cells:
            parts = [wrap(row[i], widths[i], break_on_hyphens=False) or [""] for i in block]
            height = max(map(len, parts))
            if row is self.columns:  # headings stand on the numbers below them
                parts = [[""] * (height - len(part)) + part for part in parts]
            for n in range(height):
                texts = [part[n] if n < len(part) else "" for part in parts]
                padded = [
                    text.rjust(widths[i]) if right[i] else text.ljust(widths[i])
                    for i, text in zip(block, texts, strict=True)
                ]
                lines.append((_INDENT + _GAP.join(padded)).rstrip())
        return lines

    def numeric(self) -> list[bool]:
        """For each column, whether it holds numbers and nothing else but gaps."""
        kinds = [{type(row[i]) for row in self.rows} - {type(None)} for i in range(len(self.columns))]
        return [bool(kind) and kind <= {int, float} for kind in kinds]


def format_cell(cell: Cell) -> str:
    """One cell as text: a dash for None, three significant digits for floats.

    >>> format_cell(4701.7), format_cell(0.01234), format_cell(2e-16)
    ('4,700', '0.0123', '2e-16')
    """
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        short = f"{cell:.3g}"
        return f"{float(short):,.0f}" if _THOUSAND <= abs(cell) < _MANY else short
    return str(cell)


def _blocks(cells: list[tuple[str, ...]], width: int) -> list[list[int]]:
    """Columns that fit side by side, in their order; every block begins with the first column."""
    least = [_least(cells, i) for i in range(len(cells[0]))]
    blocks = [[0]]
    for i in range(1, len(least)):
        if len(blocks[-1]) > 1 and _total([least[j] for j in (*blocks[-1], i)]) > width:
            blocks.append([0])
        blocks[-1].append(i)
    return blocks


def _least(cells: list[tuple[str, ...]], i: int) -> int:
    """The longest word of a column, in which nothing need be broken."""
    return max(min(len(word), _WORD) for row in cells for word in (row[i].split() or [""]))


def _total(widths: list[int]) -> int:
    return len(_INDENT) + sum(widths) + len(_GAP) * (len(widths) - 1)


def _widths(cells: list[tuple[str, ...]], block: list[int], width: int) -> dict[int, int]:
    """The widths of the columns of a block: as wide as they like, or capped so that the block fits."""
    wanted = {i: max(len(row[i]) for row in cells) for i in block}
    least = {i: _least(cells, i) for i in block}
    for cap in range(max(wanted.values()), 0, -1):
        chosen = {i: max(least[i], min(wanted[i], cap)) for i in block}
        if _total(list(chosen.values())) <= width:
            return chosen
    # even the longest words do not fit: they are broken
    share = max(1, (width - _total([0] * len(block))) // len(block))
    return {i: min(least[i], share) for i in block}


Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """One curve.

    Attributes
    ----------
    label : str
        Its entry in the legend; empty for none.
    x, y : tuple of float
    style : {"line", "points", "both", "reference", "marks"}
        A line, points, points joined by a line, a dashed line in the colour of the text, or large marks in that colour.
    """

    label: str
    x: Numbers
    y: Numbers
    style: str = "line"


@dataclass(frozen=True, slots=True)
class Chart:
    """One pair of axes with curves."""

    name: str  # the file name without its ending
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log: str = ""  # logarithmic axes: "", "x", "y" or "xy"
    # words instead of the numbers x = 0, 1, 2, …: categories, whose points stand side by side and are not joined
    names: tuple[str, ...] = ()
    caption: str = ""  # what is to be seen, for a reader who does not know the paper


_watcher: ContextVar[Callable[[Table], None] | None] = ContextVar("holokern_finished_tables", default=None)


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of one experiment."""

    title: str  # the heading
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = ()
    headline: str = ""  # the result in one sentence, for somebody who reads nothing else

    def data(self) -> dict[str, Json]:
        """Everything as plain JSON data."""
        return asdict(self)


@contextmanager
def watching(watcher: Callable[[Table], None]) -> Iterator[None]:
    """Hand every table of the enclosed experiments to ``watcher`` as soon as it is finished."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def finished(table: Table) -> Table:
    """The table itself; whoever watches sees it now.

    >>> with watching(lambda table: print(table.title)):
    ...     _ = finished(Table("Ranks", ("case", "rank"), ()))
    Ranks
    """
    watcher = _watcher.get()
    if watcher is not None:
        watcher(table)
    return table
