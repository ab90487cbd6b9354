"""One thread a worker, a headless Chromium for the tests of pages, driven over the DevTools protocol, and Singular."""

from __future__ import annotations

import base64
import json
import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

# pytest starts a worker for each core: threads of the linear algebra would wait for each other and burn twice the time
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# seconds until Chromium has answered
_PATIENCE = 60


class Browser:
    """One Chromium process; messages are JSON with a zero byte at the end, on the descriptors 3 and 4."""

    def __init__(self, program: str, profile: Path) -> None:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        flags = f"--headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --user-data-dir={profile}"
        command = f"exec {program} {flags} --remote-debugging-pipe about:blank 3<&{theirs_in} 4>&{theirs_out}"
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", command],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._messages: queue.Queue[dict[str, object]] = queue.Queue()
        self._count = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        rest = b""
        while part := os.read(self._in, 1 << 16):
            *whole, rest = (rest + part).split(b"\0")
            for message in whole:
                self._messages.put(json.loads(message))

    def send(self, method: str, session: str | None = None, events: list | None = None, **parameters: object) -> dict:
        """Call a method and give its result; events that come before it are kept in ``events``."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._messages.get(timeout=_PATIENCE)
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            if events is not None:
                events.append(answer)

    def wait_for(self, method: str, events: list) -> None:
        """Take events until one of this name has come."""
        while not any(event.get("method") == method for event in events):
            events.append(self._messages.get(timeout=_PATIENCE))

    def open(self, path: Path, width: int = 1280, dark: bool = False) -> Tab:
        """A tab with a file in it."""
        return Tab(self, path, width, dark)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(timeout=10)
        os.close(self._out)
        os.close(self._in)


class Tab:
    """An open page, with everything that it asked for or complained about."""

    def __init__(self, browser: Browser, path: Path, width: int, dark: bool) -> None:
        self._browser = browser
        self._target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.send("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        self._events: list[dict] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable")
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self._send("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self._send("Page.navigate", url=path.resolve().as_uri())
        browser.wait_for("Page.loadEventFired", self._events)

    def _send(self, method: str, **parameters: object) -> dict:
        return self._browser.send(method, self._session, self._events, **parameters)

    def run(self, script: str) -> object:
        """The value of a JavaScript expression."""
        found = self._send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    @property
    def requests(self) -> list[str]:
        """Addresses that were asked for, the file itself included."""
        sent = [event for event in self._events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    @property
    def complaints(self) -> list[str]:
        """Exceptions, errors and warnings of the console and of the browser."""
        found = []
        for event in self._events:
            method, details = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(details["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
                found.append(str(details["args"]))
            elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
                found.append(str(details["entry"]))
        return found

    def screenshot(self, path: Path) -> None:
        """The whole page as a PNG file."""
        picture = self._send("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        path.write_bytes(base64.b64decode(picture["data"]))

    def close(self) -> None:
        self._browser.send("Target.closeTarget", targetId=self._target)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory):
    """A Chromium that opens files; the test is skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium is not installed (Debian package chromium), so pages cannot be opened")
    browser = Browser(program, tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


LEGIBILITY = """(() => {
  const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(node).backgroundColor);
      if (a > 0.99) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const problems = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), node = walker.currentNode.parentElement;
    if (!text || node.closest("script, style, noscript") || !node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    // exponents and indices of formulas may be smaller, as in print
    const least = node.closest("math, sub, sup") ? 8 : 12;
    if (parseFloat(style.fontSize) < least) problems.push(`${text.slice(0, 40)}: ${style.fontSize}`);
    const ink = parse(node.closest("svg") && node.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(node))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) problems.push(`${text.slice(0, 40)}: contrast ${contrast.toFixed(2)}`);
  }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) problems.push(`the page is ${root.scrollWidth} wide in ${root.clientWidth}`);
  return problems;
})()"""


@pytest.fixture(scope="session")
def legibility_problems():
    """A function from a tab to what cannot be read in it: small text, low contrast, a page wider than the screen."""
    return lambda tab: tab.run(LEGIBILITY)


@pytest.fixture
def run_singular() -> Callable[[str], str]:
    """Run a script in Singular; the test is skipped where Singular is missing."""
    program = shutil.which("Singular")
    if program is None:
        pytest.skip("Singular is not installed, so there is nothing to compare with")

    def run(script: str) -> str:
        done = subprocess.run(
            [program, "-q"], input=script + "\nquit;\n", capture_output=True, text=True, timeout=120, check=False
        )
        assert "? error" not in done.stdout, done.stdout
        return done.stdout

    return run
