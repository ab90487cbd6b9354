"""The page of the paper's experiments: whole files or none, plain data, and what a browser makes of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from holokern.paper.experiments import run_experiments
from holokern.paper.findings import Findings
from holokern.paper.problem import Problem
from holokern.paper.table import Table
from holokern.report.page import page_frame
from holokern.report.paper_page import paper_data, paper_files, write_files

MEASURE = """
<script>
const channel = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number);
  return .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b); };
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (!/, 0\\)$/.test(c)) return c; } return "rgb(255, 255, 255)"; };
const words = [...document.querySelectorAll("h1, h2, h3, p, th, td, a")];
const labels = [...document.querySelectorAll("svg text")];
const scale = t => { const s = t.ownerSVGElement; return s.getBoundingClientRect().width / s.viewBox.baseVal.width; };
parent.postMessage(JSON.stringify({
  width: innerWidth, overflow: document.documentElement.scrollWidth - innerWidth,
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  size: Math.min(...words.map(e => parseFloat(getComputedStyle(e).fontSize))),
  label: Math.min(...labels.map(t => parseFloat(getComputedStyle(t).fontSize) * scale(t))),
  contrast: Math.min(...words.map(e => contrast(getComputedStyle(e).color, ground(e))),
                     ...labels.map(t => contrast(getComputedStyle(t).fill, ground(t)))),
  charts: document.querySelectorAll("svg.chart path").length }), "*");
</script>
"""
# Chromium has no windows below 500 pixels, so the page is put into a frame.
FRAME = """<!doctype html><meta name="color-scheme" content="light dark">
<iframe src="page.html" style="border: 0; width: {width}px; height: 900px"></iframe><pre id="measured"></pre>
<script>addEventListener("message", event => document.getElementById("measured").textContent = event.data);</script>
"""


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return paper_files(run_experiments(["hermite", "hie"]), Problem(), "a machine")


@pytest.fixture(scope="module")
def page(files: dict[str, bytes]) -> str:
    return files["index.html"].decode("utf-8")


def test_files(files: dict[str, bytes]) -> None:
    assert set(files) == {
        "index.html",
        "results.json",
        *(f"{name}.{kind}" for name in ("hermite", "hie-relu") for kind in ("svg", "png")),
    }
    data = json.loads(files["results.json"])
    assert data["bias"] == 0.5
    assert data["experiments"]["hie"]["charts"][0]["series"][0]["x"][:2] == [4.0, 6.0]


def test_data_without_nan() -> None:
    table = Table("T", ("a", "b"), ((float("nan"), 1.0), (float("inf"), None)))
    data = paper_data({"x": Findings("X", (table,))}, Problem(), "m")
    assert data["experiments"]["x"]["tables"][0]["rows"] == [[None, 1.0], [None, None]]
    json.dumps(data, allow_nan=False)


def test_writing_is_all_or_nothing_for_each_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"a.txt": b"old", "b.txt": b"old"})
    move = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        if target.name == "b.txt":
            raise KeyboardInterrupt
        return move(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, {"a.txt": b"new", "b.txt": b"new"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.txt": b"new", "b.txt": b"old"}


def browse(page: str, folder: Path, width: int, scheme: str) -> tuple[dict[str, Any], str]:
    """Open a page in headless Chromium: what the page measures of itself, and the browser's messages from it."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed (Debian package chromium)")
    (folder / "page.html").write_text(page.replace("</body>", MEASURE + "</body>"), encoding="utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(width=width), encoding="utf-8")
    run = subprocess.run(
        [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--hide-scrollbars",
            f"--user-data-dir={folder / 'profile'}",
            f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}",
            f"--window-size={max(width, 500)},1000",
            "--virtual-time-budget=3000",
            "--enable-logging=stderr",
            "--dump-dom",
            frame.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    measured = re.search(r'<pre id="measured">(.*?)</pre>', run.stdout, re.DOTALL)
    assert measured is not None
    messages = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(unescape(measured[1])), "\n".join(messages)


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light"), (1280, "dark")])
def test_legible_and_silent_in_a_browser(page: str, tmp_path: Path, width: int, scheme: str) -> None:
    found, messages = browse(page, tmp_path, width, scheme)
    assert messages == ""
    assert found["dark"] == (scheme == "dark")
    assert found["width"] == width
    assert found["overflow"] <= 0
    assert found["size"] >= 12
    assert found["label"] >= 12
    assert found["contrast"] >= 4.5
    assert found["charts"] > 20


def test_a_page_that_asks_a_host_is_caught(tmp_path: Path) -> None:
    """The policy of the frame refuses the request, and the browser says so where the other test looks."""
    asking = page_frame(
        "Asks", '<p>Text <svg viewBox="0 0 9 9"><text>t</text></svg></p><img src="https://a.test/x.png">'
    )
    _, messages = browse(asking, tmp_path, 390, "light")
    assert "Content Security Policy" in messages
