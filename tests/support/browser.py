"""Opens a page in headless Chromium, over its DevTools pipe: no driver, no package.

`open_page` looks at a file once. A `Window` stays open: it goes to pages that a test serves on
127.0.0.1, clicks and types as a person would, and takes on another width or colour scheme.
"""

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

SECONDS = 300.0  # for one page, from start to screenshot: a busy machine may need that
PATIENCE = 120.0  # seconds that `Window.wait` waits
TALLEST = 12_000  # px of a page on its screenshot
LEVELS = ("warning", "error", "assert")
GONE = ("Execution context was destroyed", "Inspected target navigated", "Cannot find context")

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars
--disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage
--disable-breakpad --no-proxy-server --remote-debugging-pipe"""
# What a page wants from a network fails to load; a server of the test itself does not.
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
PLACES = ("TMPDIR", "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")  # where it may leave files
# Chromium reads commands from 3 and answers on 4; the shell moves our two pipes there.
START = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >&2'

MEASURE = """(async () => {
  await document.fonts.ready;
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


# The centre of an element that is brought into view, if a click there would meet it. Before a page is
# loaded and painted its elements still move, and the browser ignores clicks.
CENTRE = """(async selector => {
  if (document.readyState !== 'complete')
    await new Promise(done => addEventListener('load', done));
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const element = document.querySelector(selector);
  if (!element) return 'there is no such element';
  element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const box = element.getBoundingClientRect();
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  const met = document.elementFromPoint(x, y);
  if (!met || !(element.contains(met) || met.contains(element)))
    return 'it is covered by ' + (met ? met.outerHTML.slice(0, 200) : 'nothing: it is out of sight');
  return {x, y};
})"""


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
    with Window(width, dark) as window:
        window.goto(page.resolve(strict=True).as_uri())
        return window.look(folder / f"{page.stem}-{width}-{window.scheme}.png")


class Window:
    """A window of a browser of its own, which is closed after the `with` block.

    `console` holds the warnings, errors and failed loads of all pages since the start.
    """

    def __init__(self, width: int = 1280, dark: bool = False) -> None:
        self.browser = _Browser()
        self.width, self.dark = width, dark

    def __enter__(self) -> Window:
        self.browser.__enter__()
        try:
            target = self.call("Target.createTarget", url="about:blank")
            self.browser.session = self.call("Target.attachToTarget", flatten=True, **target)
            for domain in ("Page", "Runtime", "Log", "Network", "Inspector"):
                self.call(f"{domain}.enable")
            self.call("Page.setLifecycleEventsEnabled", enabled=True)
            self.become(self.width, self.dark)
        except BaseException as error:
            self.browser.__exit__(type(error))
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.browser.__exit__(*error)

    @property
    def console(self) -> list[str]:
        return self.browser.console

    @property
    def scheme(self) -> str:
        return "dark" if self.dark else "light"

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, **params)

    def become(self, width: int, dark: bool = False) -> None:
        """Takes on another width and colour scheme; the page stays."""
        self.width, self.dark = width, dark
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        media = {"name": "prefers-color-scheme", "value": self.scheme}
        self.call("Emulation.setEmulatedMedia", features=[media])

    def goto(self, url: str) -> None:
        """Opens a page and waits until it is loaded; a window may open many, each in good time."""
        self.browser.deadline = time.monotonic() + SECONDS
        loader = self.call("Page.navigate", url=url)["loaderId"]
        while loader not in self.browser.loaded:
            self.browser.receive("end of loading")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; a promise is awaited."""
        how = {"awaitPromise": True, "returnByValue": True}
        return self.call("Runtime.evaluate", expression=expression, **how)["result"].get("value")

    def wait(self, expression: str, seconds: float = PATIENCE) -> Any:
        """The value of an expression as soon as it is true, also across the loading of another page."""
        deadline = time.monotonic() + seconds
        while True:
            with suppress(PageGoneError):
                if value := self.evaluate(expression):
                    return value
            if time.monotonic() > deadline:
                raise self.browser.failed(f"waited {seconds:g} s in vain for {expression}")
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        """The text of the first element that the selector finds, as a reader sees it."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def centre(self, selector: str) -> tuple[float, float]:
        """Where to click to meet an element, which is scrolled into view."""
        found = self.wait(f"{CENTRE}({json.dumps(selector)})")
        if not isinstance(found, dict):
            raise self.browser.failed(f"cannot click {selector}: {found}")
        return found["x"], found["y"]

    def mouse(self, kind: str, x: float, y: float, pressed: bool = False) -> None:
        """One event of the mouse: "mouseMoved", "mousePressed" or "mouseReleased"."""
        button = "none" if kind == "mouseMoved" and not pressed else "left"
        clicks = 0 if kind == "mouseMoved" else 1
        event = {"type": kind, "x": x, "y": y, "button": button, "clickCount": clicks}
        self.call("Input.dispatchMouseEvent", **event, buttons=int(pressed))

    def click(self, selector: str) -> None:
        """Presses and releases the mouse in the middle of an element."""
        x, y = self.centre(selector)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, pressed=True)
        self.mouse("mouseReleased", x, y)

    def drag(self, selector: str, right: float, down: float = 0.0) -> None:
        """Presses the mouse on an element, moves it by so many px, and releases it."""
        x, y = self.centre(selector)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, pressed=True)
        for part in (0.25, 0.5, 0.75, 1.0):
            self.mouse("mouseMoved", x + part * right, y + part * down, pressed=True)
        self.mouse("mouseReleased", x + right, y + down)

    def type(self, selector: str, text: str) -> None:
        """Clicks a field and types into it, at the end of what it holds."""
        self.click(selector)
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Presses a key by its name, such as "Enter" or "ArrowRight"."""
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39}[key]
        text = {"Enter": "\r"}.get(key, "")
        event = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def measure(self) -> dict[str, Any]:
        """The sizes of the page as it is now, and its figures: as in `Opened`, with its height."""
        return dict(self.evaluate(MEASURE))

    def look(self, screenshot: Path) -> Opened:
        """What the page says and measures, with a picture of all of it; late messages are waited for."""
        self.evaluate("new Promise(done => setTimeout(done, 200))")
        seen = self.measure()
        height = min(seen.pop("height"), TALLEST)
        clip = {"x": 0, "y": 0, "scale": 1, "width": self.width, "height": height}
        picture = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        screenshot.write_bytes(base64.b64decode(picture["data"]))
        return Opened(console=self.console, screenshot=screenshot, **seen)


class PageGoneError(RuntimeError):
    """The page went away while it was asked: another one was loading."""


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
        for _ in range(600):  # a dying process may still write a file
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
            why = json.dumps(self.answers[self.sent])
            gone = any(words in why for words in GONE)
            raise PageGoneError(why) if gone else self.failed(f"{method}: {why}")
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
