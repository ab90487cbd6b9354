"""A table of results: columns, rows and the notes that belong under it; printed as text or kept as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Cell", "Json", "Table", "format_cell"]

Json: TypeAlias = Any
"""What :mod:`json` writes: text, numbers, None, and lists and dictionaries of them."""

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Table:
    """One finished table.

    Examples
    --------
    >>> print(Table("Ranks", ("case", "rank", "seconds"), (("ReLU", 2, 0.0312),)).text())
    Ranks
      case  rank  seconds
      ReLU     2   0.0312
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Aligned plain text; numbers to the right, words to the left."""
        cells = [self.columns, *(tuple(format_cell(cell) for cell in row) for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [self.title]
        for row in cells:
            padded = [
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, self.numeric(), strict=True)
            ]
            lines.append("  " + "  ".join(padded).rstrip())
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)

    def numeric(self) -> list[bool]:
        """For each column, whether it holds numbers and nothing else but gaps."""
        kinds = [{type(row[i]) for row in self.rows} - {type(None)} for i in range(len(self.columns))]
        return [bool(kind) and kind <= {int, float} for kind in kinds]

    def data(self) -> dict[str, Json]:
        """The table as plain JSON data."""
        return {"title": self.title, "columns": self.columns, "rows": self.rows, "notes": self.notes}


def format_cell(cell: Cell) -> str:
    """One cell as text: nothing for None, three significant digits for floats."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.3g}"
    return str(cell)
