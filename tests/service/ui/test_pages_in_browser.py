"""The pages as people meet them: in Chromium, on a phone and at a queue, light and dark, with real clicks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from starlette.applications import Starlette
from support.browser import Window, need_browser
from support.service_states import FakeOwner, alarmed, busy, fresh
from support.serving import serving

from structured_bandits.service.http.authentication import Authentication
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.ui.pages.routes import page_routes
from structured_bandits.service.wire import Alarm, State

LOOKS = [(width, dark) for width in (390, 1280) for dark in (False, True)]
#: Names that break pages which put them in without care, or that no line has room for.
HOSTILE = [
    "<script>document.title = 'taken over'</script>",
    "\"quotes' & <b>tags</b> &amp; {{ 7 * 7 }}",
    "x" * 200,
    "☕️ 👩‍👩‍👧‍👦 العربية \u202egnp.evil",
    "line\nbreak\tand \x00 nothing",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Window | None]:
    """A window for all tests here, since a browser takes a second to start; None if there is none."""
    if not need_browser():
        yield None
        return
    with Window() as window:
        yield window


@pytest.fixture
def window(browser: Window | None) -> Window | None:
    """The window as if it were new."""
    if browser is not None:
        browser.console.clear()
        browser.call("Network.clearBrowserCookies")
        browser.become(1280)
    return browser


@contextmanager
def open_site(*states: State) -> Iterator[tuple[FakeOwner, str]]:
    """A server with these experiments, and its address."""
    owner = FakeOwner(*states)
    app = Authentication(Starlette(routes=page_routes(owner)), owner.tokens, Hosts("127.0.0.1"))
    with serving(app) as address:
        yield owner, address


def assert_tidy(window: Window) -> None:
    """In all looks: no sideways scroll, all text legible, and an empty console."""
    for width, dark in LOOKS:
        window.become(width, dark)
        seen = window.measure()
        assert seen["scroll_width"] == width
        assert seen["smallest_font"] >= 13
    assert window.console == []


def shown_numbers(window: Window) -> dict[str, Any]:
    """The numbers on the page of an experiment, as its reader sees them."""
    return window.evaluate("""(() => {
      const texts = selector => [...document.querySelectorAll(selector)].map(e => e.innerText.trim());
      return {
        tiles: texts('#tiles .value'),
        pulls: texts('.arms td:nth-child(2)'),
        means: texts('.arms td:nth-child(3)'),
        wanted: texts('.arms td:nth-child(5)'),
        plan: texts('#plan .keyed dd'),
        weights: texts('#models-panel .side-by-side .num'),
      };
    })()""")


def test_every_page_in_every_look(window: Window | None, tmp_path: Path) -> None:
    if window is None:
        return
    with open_site(busy("offers"), fresh("prices"), alarmed("radio")) as (_, address):
        for name in ("", "experiments/offers", "experiments/prices", "experiments/radio", "login", "tokens"):  # fmt: skip
            window.goto(f"{address}/{name}")
            assert_tidy(window)
        window.goto(f"{address}/experiments/offers")
        assert shown_numbers(window) == {
            "tiles": ["12,993", "146", "2 of 5", "3 of 12", "11.5 – 40.3", "3.27"],
            "pulls": ["8,412", "3,120", "871", "402", "188"],
            "means": ["0.0712", "0.0634", "0.0488", "0.0391", "0.0279"],
            "wanted": ["310", "402", "0", "0", "0"],
            "plan": ["1,938", "146", "566"],
            "weights": ["87.1 %", "10.4 %", "2.5 %"],
        }
        seen = window.look(tmp_path / "offers.png")
        assert seen.figures == ["means", "models", "race", "evidence-over-time"]
        assert seen.console == []


def test_buttons_by_real_clicks_and_panels_that_follow(window: Window | None) -> None:
    if window is None:
        return
    with open_site(busy("offers")) as (owner, address):
        window.become(390)
        window.goto(f"{address}/experiments/offers")
        window.click("#pause")
        window.wait("document.getElementById('state')?.innerText === 'paused'")
        window.click("#resume")
        window.wait("document.getElementById('state')?.innerText === 'running'")
        window.click("#arm-1 button")
        window.wait("document.querySelector('#arm-1 .badge')?.innerText === 'parked'")
        assert [verb for _, verb, _ in owner.acts] == ["pause", "resume", "park"]

        window.click("#use summary")
        window.evaluate("window.kept = document.querySelector('#arm-0 button'), kept.focus()")
        alarm = Alarm(kind="clock", text="It jumped by 3 h.")
        owner.change("offers", rewards=13_000, alarms=[alarm])
        window.wait("document.querySelector('#tile-rewards .value').innerText === '13,000'")
        assert "The clock of the server jumped" in window.text("#alarms")
        same = "kept === document.querySelector('#arm-0 button') && kept === document.activeElement"
        assert window.evaluate(same)  # what is being pressed does not go away
        assert window.evaluate("document.getElementById('use').open")  # nor what was opened closes
        assert window.console == []

        kept = owner.states.pop("offers")
        assert window.evaluate("look().then(() => stale.checkVisibility())")  # it does not answer
        owner.states["offers"] = kept
        assert not window.evaluate("look().then(() => stale.checkVisibility())")


def test_hostile_names_and_very_many_arms_are_only_text(window: Window | None) -> None:
    if window is None:
        return
    names = [*HOSTILE, *(f"arm number {i} of sixty" for i in range(6, 61))]
    plain = fresh("prices", names)
    assert plain.models is not None
    wild = replace(
        plain,
        policy=HOSTILE[0],
        models=replace(plain.models, names=tuple(HOSTILE)),
        alarms=tuple(Alarm(kind=HOSTILE[0], text=name) for name in HOSTILE),
    )
    with open_site(wild) as (_, address):
        window.goto(f"{address}/experiments/prices")
        assert window.evaluate("document.title") == "prices · structured-bandits"
        assert window.evaluate("document.querySelectorAll('.arms tbody tr').length") == 60
        shown = window.evaluate(
            "[...document.querySelectorAll('.arms .title')].map(e => e.textContent.trim())"
        )
        assert shown[:3] == HOSTILE[:3]
        assert shown[3] == HOSTILE[3].replace("\u202e", "\ufffd")
        assert shown[4] == "line\nbreak\tand \ufffd nothing"
        assert_tidy(window)


def test_login_and_tokens_by_real_clicks(window: Window | None) -> None:
    if window is None:
        return
    with open_site(busy("offers")) as (owner, address):
        window.goto(f"{address}/tokens")
        window.type("#name", "the operator")
        window.click("#make")
        secret = window.wait("document.getElementById('secret')?.innerText")
        assert owner.tokens.check(secret) is not None
        window.goto(f"{address}/experiments/offers")  # the maker of the first token is logged in
        assert window.text("h1") == "offers"
        window.click(".end button")
        window.wait("location.pathname === '/login'")
        window.goto(f"{address}/experiments/offers")
        window.type("#token", secret)
        window.press("Enter")
        window.wait("document.querySelector('h1')?.innerText === 'offers'")
        assert window.evaluate("document.cookie") == ""  # no script can read it
        assert window.console == []
