"""What the tests see of a page through a browser: its console, sizes, figures, colours."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib.image import imread
from support import browser
from support.browser import Opened, find_browser, need_browser, open_page

HEAD = "<!doctype html><meta charset=utf-8><title>a page</title><body style='margin: 0'>"
DARK = "<style>@media (prefers-color-scheme: dark) { body { background: #102030 } }</style>"
GOOD = f"""{HEAD}{DARK}<h1>Regret</h1><p style="font-size: 14px">of <b>two</b> policies</p>
<p hidden style="font-size: 3px">unseen</p>
<figure id="drawn"><svg width="100%" height="200"><text y="20" font-size="5">5 px</text></svg></figure>
<figure id="flat"><svg width="100" height="0"></svg></figure>
<figure id="bare"><figcaption>no figure</figcaption></figure>
<div style="height: 4000px"></div><script>console.log("all is well")</script>"""

BROKEN = {
    "<script>console.error('so', 1)</script>": "error: so 1",
    "<script>console.warn('hm')</script>": "warning: hm",
    "<script>throw new Error('boom')</script>": "exception: Error: boom",
    "<script>Promise.reject(new Error('no'))</script>": "exception: Error: no",
    "<script>setTimeout(() => { throw 5 }, 50)</script>": "exception: 5",
    "<script>not a script</script>": "exception: SyntaxError",
    "<img src='gone.png'>": "ERR_FILE_NOT_FOUND file:",
    "<iframe src='gone.html'></iframe>": "a frame did not load: net::ERR_FILE_NOT_FOUND",
    "<img src='https://example.org/a.png'>": "ERR_NAME_NOT_RESOLVED https://example.org/a.png",
    "<svg><path d='M nan 1'/></svg>": "attribute d: Expected number",
}


def opened(tmp_path: Path, text: str, width: int = 390, dark: bool = False) -> Opened:
    page = tmp_path / "a page.html"
    page.write_text(text)
    return open_page(page, width, tmp_path / "shots", dark)


def corner(seen: Opened) -> list[float]:
    """The colour at the bottom right of the screenshot, from 0 to 255."""
    return (imread(seen.screenshot)[-1, -1, :3] * 255).round().tolist()


def homes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The temporary folders that browsers get from here on."""
    made: list[str] = []
    original = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **k: made.append(original(**k)) or made[-1])
    return made


def processes(home: str) -> list[str]:
    """The processes that were started with this temporary folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if home.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


def assert_gone(home: str) -> None:
    assert not Path(home).exists()
    patience = time.monotonic() + 60  # a killed process takes a moment to go
    while processes(home) and time.monotonic() < patience:
        time.sleep(0.1)
    assert not processes(home)


def test_a_good_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not need_browser():
        return
    made = homes(monkeypatch)
    seen = opened(tmp_path, GOOD)
    assert seen.console == []
    assert seen.scroll_width == 390
    assert seen.figures == ["drawn"]
    assert seen.smallest_font == 14
    height, width, _ = imread(seen.screenshot).shape
    assert height > 4000
    assert width == 390
    assert corner(seen) == [255, 255, 255]
    assert_gone(*made)


def test_the_console_is_heard(tmp_path: Path) -> None:
    if not need_browser():
        return
    heard = opened(tmp_path, HEAD + "".join(BROKEN)).console
    for message in BROKEN.values():
        assert sum(message in line for line in heard) == 1, (message, heard)
    assert len(heard) == len(BROKEN)


@pytest.mark.parametrize(
    "body", ["<script>console.error('so', 1)</script>", "<img src='gone.png'>"]
)
def test_one_message_alone_is_heard(tmp_path: Path, body: str) -> None:
    if need_browser():
        (heard,) = opened(tmp_path, HEAD + body).console
        assert BROKEN[body] in heard


def test_a_page_too_wide_for_its_window(tmp_path: Path) -> None:
    if need_browser():
        assert opened(tmp_path, f"{HEAD}<div style='width: 900px'>wide</div>").scroll_width == 900


def test_dark(tmp_path: Path) -> None:
    if need_browser():
        seen = opened(tmp_path, GOOD, 1200, dark=True)
        assert seen.scroll_width == 1200
        assert corner(seen) == [0x10, 0x20, 0x30]


def test_a_page_that_never_ends_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if need_browser():
        made = homes(monkeypatch)
        monkeypatch.setattr(browser, "SECONDS", 4.0)
        with pytest.raises(RuntimeError, match=r"hangs: no .* within 4 s"):
            opened(tmp_path, f"{HEAD}<script>while (true);</script>")
        assert_gone(*made)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'out of order' >&2; exit 3", r"(?s)the browser ended.*out of order"),
        ("echo 'so tired' >&2; touch said; sleep 1000", r"(?s)hangs: no answer .*so tired"),
    ],
)
def test_a_browser_that_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    """Time is up as soon as it has said what it says, however long that takes."""
    made = homes(monkeypatch)
    fake = tmp_path / "fake"
    fake.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CHROMIUM", str(fake))
    clock = SimpleNamespace(
        monotonic=lambda: 2 * browser.SECONDS * (tmp_path / "said").exists(), sleep=time.sleep
    )
    monkeypatch.setattr(browser, "time", clock)
    with pytest.raises(RuntimeError, match=message):
        opened(tmp_path, GOOD)
    assert_gone(*made)


def test_where_the_browser_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    assert find_browser() is None
    (tmp_path / "chromium-browser").touch(mode=0o755)
    assert find_browser() == str(tmp_path / "chromium-browser")
    monkeypatch.setenv("CHROMIUM", "/opt/chromium")
    assert find_browser() == "/opt/chromium"
