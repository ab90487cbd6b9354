"""What one experiment found: a sentence, tables and charts under a heading."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from holokern.paper.chart import Chart
from holokern.paper.table import WIDTH, Json, Table

_watcher: ContextVar[Callable[[Table], None] | None] = ContextVar("holokern_finished_tables", default=None)


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of one experiment.

    Attributes
    ----------
    title : str
        The heading.
    tables : tuple of Table
    charts : tuple of Chart
    headline : str
        The result in one sentence, for somebody who reads nothing else.
    """

    title: str
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = ()
    headline: str = ""

    def data(self) -> dict[str, Json]:
        """Everything as plain JSON data."""
        return {
            "title": self.title,
            "headline": self.headline,
            "tables": [table.data() for table in self.tables],
            "charts": [chart.data() for chart in self.charts],
        }

    def text(self, width: int = WIDTH) -> str:
        """The tables as plain text."""
        return "\n\n".join(table.text(width) for table in self.tables)


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

    Examples
    --------
    >>> with watching(lambda table: print(table.title)):
    ...     _ = finished(Table("Ranks", ("case", "rank"), ()))
    Ranks
    """
    watcher = _watcher.get()
    if watcher is not None:
        watcher(table)
    return table
