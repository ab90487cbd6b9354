"""What one experiment found: tables and charts under a heading."""

from __future__ import annotations

from dataclasses import dataclass

from holokern.paper.chart import Chart
from holokern.paper.table import Json, Table

__all__ = ["Findings"]


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of one experiment."""

    title: str
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = ()

    def data(self) -> dict[str, Json]:
        """Everything as plain JSON data."""
        return {
            "title": self.title,
            "tables": [table.data() for table in self.tables],
            "charts": [chart.data() for chart in self.charts],
        }

    def text(self) -> str:
        """The tables as plain text."""
        return "\n\n".join(table.text() for table in self.tables)
