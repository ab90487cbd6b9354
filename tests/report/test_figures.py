"""Charts as SVG and PNG: the same every time, no addresses, names that do not clash, every label there."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from holokern.paper.chart import Chart, Series
from holokern.report.figures import chart_png, chart_svg, inline_svg

CURVES = (
    Series("first & <last>", (1.0, 10.0, 100.0), (1e-3, 1e-9, 1e-15), "both"),
    Series("points", (1.0, 100.0), (1e-1, 1e-2), "points"),
    Series("expected", (1.0, 100.0), (1.0, 1e-1), "reference"),
)
LOGARITHMIC = Chart("errors", "Errors", "size", "error", CURVES, log="xy")
NAMED = Chart("times", "Times", "activation", "s", (Series("", (0.0, 1.0), (2.0, 3.0)),), names=("ReLU", "GELU"))


@pytest.mark.parametrize("chart", [LOGARITHMIC, NAMED])
def test_files_are_whole_and_the_same_every_time(chart: Chart) -> None:
    svg, png = chart_svg(chart), chart_png(chart)
    ET.fromstring(svg)
    assert (svg, png) == (chart_svg(chart), chart_png(chart))
    assert png.startswith(b"\x89PNG")
    assert png[-8:-4] == b"IEND"


@pytest.mark.parametrize("chart", [LOGARITHMIC, NAMED])
def test_every_label_is_text(chart: Chart) -> None:
    words = "".join(ET.fromstring(chart_svg(chart)).itertext())
    for text in (chart.title, chart.x_label, chart.y_label, *chart.names):
        assert text in words
    if chart is LOGARITHMIC:
        assert all(text in words for text in ("first & <last>", "expected", "10⁻¹⁵", "10²"))


def test_inline_charts_can_share_a_page() -> None:
    both = [inline_svg(LOGARITHMIC), inline_svg(NAMED)]
    for text in both:
        assert "://" not in text
        assert "<style" not in text
        assert "#1c2330" not in text
        assert "currentColor" in text
        ids = set(re.findall(r'\bid="([^"]+)"', text))
        used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
        assert used <= ids
    first, second = (set(re.findall(r'\bid="([^"]+)"', text)) for text in both)
    assert not first & second
