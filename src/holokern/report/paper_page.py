"""The page and the files of ``holokern paper``: everything is made in memory, then written in one go."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from holokern.paper import Findings, Json, Problem
from holokern.progress import report
from holokern.report.figures import chart_png, chart_svg, inline_svg
from holokern.report.page import finite_numbers, html_page, html_section

_TITLE = "The experiments of Sakoda and Takayama (2024), run again"  # of the page and of its window
_STAGING = ".holokern-unfinished"  # hidden, and in the same folder, so that moving files into place is one step


def paper_data(results: dict[str, Findings], problem: Problem, machine: str) -> dict[str, Json]:
    """All numbers as plain JSON data."""
    data = {
        "machine": machine,
        "depth": problem.depth,
        "bias": problem.bias,
        "experiments": {name: found.data() for name, found in results.items()},
    }
    finite: dict[str, Json] = finite_numbers(data)
    return finite


def paper_files(results: dict[str, Findings], problem: Problem, machine: str) -> dict[str, bytes]:
    """The page, the data and the figures, by file name."""
    introduction = [
        "The experiments of Sakoda and Takayama, An Application of the Holonomic Gradient Method to the Neural "
        "Tangent Kernel (2024), run again by holokern and set beside the paper's own numbers.",
        f"Measured on: {machine}. The paper's seconds were measured on its own machines and are not rescaled.",
        f"Setting: {problem}.",
    ]
    summary = [found.headline for found in results.values() if found.headline]
    files, sections = {}, []
    for name, found in results.items():
        report(f"drawing the figures of {name}")
        drawings = [(inline_svg(chart), chart.caption) for chart in found.charts]
        sections.append((name, found.title, html_section(name, found.title, found.tables, drawings)))
        for chart in found.charts:
            files[f"{chart.name}.svg"] = chart_svg(chart).encode("utf-8")
            files[f"{chart.name}.png"] = chart_png(chart)
    files["results.json"] = json.dumps(paper_data(results, problem, machine), indent=1).encode("utf-8")
    files["index.html"] = html_page(_TITLE, introduction, sections=sections, summary=summary).encode("utf-8")
    return files


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Write all files to a hidden folder beside their places, then move each to its place.

    A reader sees old files or new ones, never a half; what a killed run has left in the hidden folder is removed by the
    next.
    """
    staging = folder / _STAGING
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        for name, content in files.items():
            (staging / name).write_bytes(content)
        for name in files:
            (staging / name).replace(folder / name)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
