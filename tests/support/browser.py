"""Opens a page in headless Chromium, over its DevTools pipe: no driver, no package."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 50.0  # for one page, from start to screenshot; closing takes at most 8 more
TALLEST = 12_000  # px of a page on its screenshot
LEVELS = ("warning", "error", "assert")

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars
--disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage
--disable-breakpad --no-proxy-server --remote-debugging-pipe"""
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND"  # what a page wants from a network fails to load
PLACES = ("TMPDIR", "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")  # where it may leave files
# Chromium reads commands from 3 and answers on 4; the shell moves our two pipes there.
START = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >&2'

MEASURE = """(async () => {
  await Promise.all([document.fonts.ready, new Promise(done => setTimeout(done, 200))]);
  const seen = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const sized = e => { const b = e.getBoundingClientRect(); return b.width > 0 && b.height > 0; };
  const drawn = e => seen(e) && sized(e) && e.naturalWidth !== 0;
  const sizes = [], range = document.createRange(), root = document.documentElement;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) {
    const parent = text.parentElement;
    range.selectNodeContents(text);
    if (text.data.trim() && !parent.closest('svg') && seen(parent) && sized(range))
      sizes.push(parseFloat(getComputedStyle(parent).fontSize));
  }
  return {
    scroll_width: root.scrollWidth,
    height: Math.max(root.scrollHeight, innerHeight),
    figures: [...document.querySelectorAll('figure[id]')]
      .filter(f => [...f.querySelectorAll('svg, img')].some(drawn)).map(f => f.id),
    smallest_font: sizes.length ? Math.min(...sizes) : 0,
  };
})()"""


@dataclass(frozen=True)
class Opened:
    """What a browser saw of a page."""

    console: list[str]  # warnings, errors, uncaught exceptions, failed loads
    scroll_width: int
    figures: list[str]  # ids of the figures with a visible svg or img
    smallest_font: float  # px, of the visible text outside svg; 0 if there is none
    screenshot: Path


def find_browser() -> str | None:
    """$CHROMIUM, or the first of the usual names on PATH."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def need_browser() -> bool:
    """False if there is no browser: the test then returns, and conftest.py says so at the end."""
    return find_browser() is not None


def open_page(page: Path, width: int, folder: Path, dark: bool = False) -> Opened:
    """Opens `page` in a window `width` px wide and leaves a screenshot in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    scheme = "dark" if dark else "light"
    screenshot = folder / f"{page.stem}-{width}-{scheme}.png"
    window = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    media = {"name": "prefers-color-scheme", "value": scheme}
    with _Browser() as browser:
        target = browser.call("Target.createTarget", url="about:blank")
        browser.session = browser.call("Target.attachToTarget", flatten=True, **target)
        for domain in ("Page", "Runtime", "Log", "Network", "Inspector"):
            browser.call(f"{domain}.enable")
        browser.call("Emulation.setDeviceMetricsOverride", **window)
        browser.call("Emulation.setEmulatedMedia", features=[media])
        browser.call("Page.setLifecycleEventsEnabled", enabled=True)
        loader = browser.call("Page.navigate", url=page.resolve(strict=True).as_uri())["loaderId"]
        while loader not in browser.loaded:
            browser.receive("end of loading")
        measure = {"expression": MEASURE, "awaitPromise": True, "returnByValue": True}
        seen = browser.call("Runtime.evaluate", **measure)["result"]["value"]
        clip = {"x": 0, "y": 0, "scale": 1, "width": width}
        clip["height"] = min(seen.pop("height"), TALLEST)
        picture = browser.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        screenshot.write_bytes(base64.b64decode(picture["data"]))
    return Opened(console=browser.console, screenshot=screenshot, **seen)


class _Browser:
    """A running Chromium with a home of its own; both are gone after the `with` block."""

    def __enter__(self) -> _Browser:
        self.deadline = time.monotonic() + SECONDS
        self.console: list[str] = []
        self.loaded: set[str] = set()
        self.session: dict[str, str] = {}
        self.answers: dict[int, dict[str, Any]] = {}
        self.sent, self.rest = 0, b""
        self.home = tempfile.mkdtemp(prefix="browser-")
        self.stderr = Path(self.home, "stderr").open("w+b")
        flags = [*FLAGS.split(), OFFLINE, f"--user-data-dir={self.home}/profile"]
        self.process = subprocess.Popen(
            ["sh", "-c", START, find_browser() or "chromium", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            bufsize=0,
            start_new_session=True,  # so that all its processes can be ended together
            env=os.environ | dict.fromkeys(PLACES, self.home),
        )
        return self

    def __exit__(self, *error: object) -> None:
        """Asks the browser to close, kills what is left of it, removes its home."""
        with suppress(OSError, subprocess.TimeoutExpired):
            if error[0] is None:
                self.session = {}
                self.send("Browser.close")
                self.process.wait(timeout=5)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.stderr):
            stream.close()
        for _ in range(30):  # a dying process may still write a file
            shutil.rmtree(self.home, ignore_errors=True)
            if not os.path.exists(self.home):
                return
            time.sleep(0.1)
        raise RuntimeError(f"could not remove {self.home}")

    def failed(self, why: str) -> RuntimeError:
        self.stderr.seek(0)
        text = self.stderr.read()[-4000:].decode(errors="replace")
        return RuntimeError(f"{why}\n--- stderr of the browser\n{text}")

    def send(self, method: str, **params: Any) -> None:
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params, **self.session}
        self.process.stdin.write(json.dumps(message).encode() + b"\0")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to one command."""
        with suppress(BrokenPipeError):  # receive() says what happened
            self.send(method, **params)
        while self.sent not in self.answers:
            self.receive(f"answer to {method}")
        result = self.answers[self.sent].get("result", {"error": "refused"})
        if result.keys() & {"error", "errorText", "exceptionDetails"}:
            raise self.failed(f"{method}: {self.answers[self.sent]}")
        return result

    def receive(self, wanted: str) -> None:
        """Takes in what the browser has to say; raises if it ended or time is up."""
        if time.monotonic() > self.deadline:
            raise self.failed(f"the browser hangs: no {wanted} within {SECONDS:g} s")
        ready = select.select([self.process.stdout], [], [], 0.5)[0]
        data = self.process.stdout.read(1 << 20) if ready else b""
        if not data and (ready or self.process.poll() is not None):
            raise self.failed(f"the browser ended: no {wanted}")
        *messages, self.rest = (self.rest + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.note(message["method"], message["params"])

    def note(self, event: str, params: dict[str, Any]) -> None:
        """Keeps the events that say something about the page."""
        if event == "Inspector.targetCrashed":
            raise self.failed("the page crashed")
        if event == "Page.lifecycleEvent" and params["name"] == "load":
            self.loaded.add(params["loaderId"])
        elif event == "Runtime.exceptionThrown":
            thrown = params["exceptionDetails"]
            error = thrown.get("exception", {})
            self.console.append(f"exception: {error.get('description', thrown['text'])}")
        elif event == "Runtime.consoleAPICalled" and params["type"] in LEVELS:
            words = (str(a.get("value", a.get("description", ""))) for a in params["args"])
            self.console.append(f"{params['type']}: {' '.join(words)}")
        elif event == "Log.entryAdded" and params["entry"]["level"] in LEVELS:
            entry = params["entry"]
            self.console.append(f"{entry['level']}: {entry['text']} {entry.get('url', '')}")
        elif event == "Network.loadingFailed" and params["type"] == "Document":  # not in the log
            self.console.append(f"error: a frame did not load: {params['errorText']}")
