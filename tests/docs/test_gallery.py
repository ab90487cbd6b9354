"""Every example of the gallery runs by itself; those that take minutes are only read."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
EXAMPLES = sorted(GALLERY.glob("*.py"))
RUN = [path for path in EXAMPLES if path.name.startswith("plot_")]


def test_there_are_examples() -> None:
    assert len(RUN) >= 8


# they take longest: rules with many nodes, and three networks with their charts
LONG = {"plot_2_gauss_hermite", "plot_5_sine"}


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow if path.stem in LONG else (), id=path.stem) for path in RUN],
)
def test_the_example_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with mpl.rc_context({"backend": "Agg"}):
        runpy.run_path(str(path), run_name="__main__")
        plt.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_begins_with_a_title(path: Path) -> None:
    title, line = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "\n").splitlines()[:2]
    assert len(line) >= len(title) and set(line) == {"="}
