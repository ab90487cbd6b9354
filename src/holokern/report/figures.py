"""Charts drawn by matplotlib: SVG inside a page, or SVG and PNG files.

In a page the ink is ``currentColor`` and the background is transparent, so that a chart follows the colour scheme. A
file has a white background, because nobody knows where it will be shown.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING, Any

from holokern.paper import Chart, Series

if TYPE_CHECKING:
    from typing import IO

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# the colour of the page's text: it becomes currentColor in an SVG
_INK = "#1c2330"
# mid-tones: contrast of at least 3 with white and with the dark page
_COLOURS = ("#2f74d0", "#d1620a", "#1f8f55", "#9a55d6", "#d13b54", "#0f8ba3", "#8a7413")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")  # one for each colour, so that curves differ in print too
_WIDTH = 4.5  # in 72 points an inch: about as wide as a phone, so that text keeps its size
_HEIGHT, _LEGEND_ROW = 3.3, 0.25  # inches: a flat chart, and the height of one line of its legend
_LEGEND_COLUMNS = 2  # two labels fit side by side on the width of a phone
_SPREAD = 0.6  # of the distance between two categories: how far their points spread
# a logarithmic axis that spans less than this factor would have one power of ten or none: 2 and 5 are labelled too
_FEW_DECADES = 30
_DOTS_PER_INCH = 200  # sharp on screens of double density
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")  # exponents of the labels 10ⁿ


def chart_svg(chart: Chart) -> str:
    """A chart as an SVG file.

    >>> chart = Chart("line", "A line", "x", "y", (Series("f", (0.0, 1.0), (0.0, 1.0)),))
    >>> chart_svg(chart) == chart_svg(chart), "A line" in chart_svg(chart)
    (True, True)
    """
    stream = io.StringIO()
    _drawn(chart, stream, format="svg", facecolor="white", metadata={"Date": None, "Title": chart.title})
    return stream.getvalue()


def chart_png(chart: Chart) -> bytes:
    """A chart as a PNG file."""
    stream = io.BytesIO()
    _drawn(chart, stream, format="png", facecolor="white", dpi=_DOTS_PER_INCH, metadata={"Software": None})
    return stream.getvalue()


def inline_svg(chart: Chart) -> str:
    """A chart as an SVG element for a page: no addresses, names of its own, ink in the colour of the text."""
    stream = io.StringIO()
    _drawn(chart, stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    box = re.findall(r'viewBox="([^"]*)"', body)[0]
    inner = body[body.index(">") + 1 :]
    # several charts share a page, and ids are global there
    inner = re.sub(r'\bid="([^"]+)"', rf'id="{chart.name}-\1"', inner)
    inner = re.sub(r"url\(#([^)]+)\)", rf"url(#{chart.name}-\1)", inner)
    inner = re.sub(r'xlink:href="#([^"]+)"', rf'href="#{chart.name}-\1"', inner)
    inner = inner.replace(_INK, "currentColor")
    return f'<svg class="chart" viewBox="{box}" role="img" aria-label="{escape(chart.title)}">{inner}'


def _drawn(chart: Chart, stream: IO[str] | IO[bytes], **options: Any) -> None:
    """Draw and write; nothing of matplotlib's global state is left changed."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: Any = {
        "font.size": 12.0,
        "font.family": ["DejaVu Sans"],
        "svg.fonttype": "none",
        "svg.hashsalt": chart.name,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": _INK,
        "axes.titlesize": 13.0,
        "axes.linewidth": 0.8,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "legend.fontsize": 12.0,
        "legend.frameon": False,
        "axes.unicode_minus": True,
    }
    with mpl.rc_context(settings):
        labelled = [series for series in chart.series if series.label]
        rows = -(-len(labelled) // _LEGEND_COLUMNS) if len(labelled) > 1 else 0
        figure = Figure(figsize=(_WIDTH, _HEIGHT + _LEGEND_ROW * rows), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _fill(axes, chart)
        if rows:
            _add_legend(figure, len(labelled))
        figure.savefig(stream, **options)


def _add_legend(figure: Figure, entries: int) -> None:
    """A legend below the axes: two columns if they fit into the figure, else one."""
    place: Any = {"loc": "outside lower center", "columnspacing": 1.2, "handlelength": 1.6}
    legend = figure.legend(ncols=_LEGEND_COLUMNS, **place)
    figure.draw_without_rendering()
    if legend.get_window_extent().width > figure.bbox.width:
        legend.remove()
        rows = -(-entries // _LEGEND_COLUMNS)
        figure.set_figheight(figure.get_figheight() + _LEGEND_ROW * (entries - rows))
        figure.legend(ncols=1, **place)


def _fill(axes: Axes, chart: Chart) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, StrMethodFormatter

    colour = 0
    for number, series in enumerate(chart.series):
        # points of one category stand side by side
        shift = _SPREAD * (number / max(1, len(chart.series) - 1) - 0.5) if chart.names else 0.0
        x, label = [value + shift for value in series.x], series.label or None
        if series.style == "reference":
            axes.plot(x, series.y, linestyle="--", color=_INK, linewidth=1.1, label=label)
        elif series.style == "marks":
            axes.plot(x, series.y, linestyle="none", marker="*", markersize=9, color=_INK, label=label)
        else:
            axes.plot(x, series.y, label=label, **_look(series, colour))
            colour += 1
    axes.set_title(chart.title)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.grid(color=_INK, alpha=0.15, linewidth=0.6)
    axes.set_axisbelow(True)
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        if name in chart.log:
            getattr(axes, f"set_{name}scale")("log")
            axis.set_major_locator(LogLocator(numticks=7))
            low, high = axis.get_view_interval()
            few = high < _FEW_DECADES * low
            axis.set_major_formatter(StrMethodFormatter("{x:g}") if few else FuncFormatter(_power))
            axis.set_minor_formatter(FuncFormatter(_two_or_five) if few else NullFormatter())
    if chart.names:
        axes.set_xticks(range(len(chart.names)), chart.names)
        axes.set_xlim(-0.5, len(chart.names) - 0.5)
        axes.xaxis.grid(visible=False)
        for border in range(1, len(chart.names)):
            axes.axvline(border - 0.5, color=_INK, alpha=0.3, linewidth=0.6)


def _look(series: Series, number: int) -> dict[str, Any]:
    look: dict[str, Any] = {"color": _COLOURS[number % len(_COLOURS)], "linewidth": 1.6}
    if series.style in ("points", "both"):
        look |= {"marker": _MARKERS[number % len(_MARKERS)], "markersize": 4.5}
    if series.style == "points":
        look["linestyle"] = "none"
    return look


def _two_or_five(value: float, _: int) -> str:
    digits = f"{value:.0e}"
    return f"{value:g}" if digits[0] in "25" else ""


def _power(value: float, _: int) -> str:
    """A power of ten without mathematical typesetting, which browsers would place by their own fonts."""
    from math import log10

    exponent = round(log10(value)) if value > 0 else 0
    return f"10{str(exponent).translate(_SUPERSCRIPT)}"
