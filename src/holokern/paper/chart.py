"""A chart as data: what the experiments hand to the page; drawing is done elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from holokern.paper.table import Json

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
    """One pair of axes with curves.

    Attributes
    ----------
    name : str
        The file name without its ending.
    title, x_label, y_label : str
    series : tuple of Series
    log : {"", "x", "y", "xy"}
        Logarithmic axes.
    names : tuple of str
        Words instead of the numbers x = 0, 1, 2, …: categories, whose points stand side by side and are not joined.
    caption : str
        What is to be seen, for a reader who does not know the paper.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log: str = ""
    names: tuple[str, ...] = ()
    caption: str = ""

    def data(self) -> dict[str, Json]:
        """The chart as plain JSON data."""
        return asdict(self)
