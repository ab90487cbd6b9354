"""The documentation builds without a warning, and its pages ask no other host for anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FETCHED = re.compile(r"""<(?:script|img|link|iframe)[^>]*(?:src|href)=["'](https?://[^"']+)""")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_pages_build_without_warnings_and_fit_every_screen(tmp_path: Path, request: Any) -> None:
    for name in ("sphinx", "furo", "myst_parser", "sphinx_gallery"):
        pytest.importorskip(name, reason="pip install '.[docs]' to build the documentation")
    # the gallery writes beside its sources, so those are copied
    source = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("_build", "auto_gallery", "__pycache__"))
    shutil.copytree(ROOT / "benchmarks" / "results", tmp_path / "benchmarks" / "results")
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "references.bib"):
        shutil.copy(ROOT / name, tmp_path)
    environment = {**os.environ, "MPLBACKEND": "Agg", "HOLOKERN_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(tmp_path / "trees")]
    done = subprocess.run(
        [*command, str(source), str(tmp_path / "html")], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    for page in (tmp_path / "html").rglob("*.html"):
        fetched = FETCHED.findall(page.read_text(encoding="utf-8"))
        assert not fetched, f"{page.name} asks for {fetched[0]}"
    # last, so that a machine without Chromium has built the pages all the same
    chromium = request.getfixturevalue("chromium")
    for name in (
        "index",
        "measured",
        "theory/kernels",
        "theory/systems",
        "tutorials/first_kernel",
        "auto_gallery/index",
    ):
        for width, dark in ((360, False), (800, True), (1400, False)):
            tab = chromium.open(tmp_path / "html" / f"{name}.html", width, dark)
            assert tab.run("document.documentElement.scrollWidth") <= width, f"{name} is wider than {width} pixels"
            if name.startswith("theory"):
                assert tab.run("document.querySelectorAll('svg.tex use').length") > 100
            tab.close()
    thumbnails = (tmp_path / "html" / "auto_gallery" / "index.html").read_text(encoding="utf-8")
    assert "no_image" not in thumbnails
