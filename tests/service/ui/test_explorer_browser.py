"""The explorer in a browser: a click on a model, a slider, a drag; the page's numbers are Python's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import Window, need_browser
from support.explorer_cases import CURVE, SHOP
from support.serving import serving

import structured_bandits as sb
from structured_bandits.service.ui.explorer.choice import Choice
from structured_bandits.service.ui.explorer.command import explorer_app
from structured_bandits.service.ui.explorer.explorer import Explorer
from structured_bandits.service.ui.explorer.panels import pulls_text
from structured_bandits.service.ui.explorer.whole_file import whole_file

NASTY = sb.FiniteStructure(
    [[0.1, 0.5, 0.3], [0.6, 0.5, 0.2]],
    arms=["<b>&amp;", "a" * 200, "👩‍👩‍👧 " * 30],
    models=["M" * 200, "\"'<script>alert(1)</script>"],
)


@pytest.fixture(scope="module")
def window() -> Iterator[Window | None]:
    """One window for all: it takes a second to open. None without a browser; conftest.py says so."""
    if not need_browser():
        yield None
        return
    with Window() as opened:
        yield opened


def fact(window: Window, name: str) -> str:
    return window.text(f'[data-fact="{name}"]')


def await_truth(window: Window, model: int) -> None:
    """Waits until a page with this model as the truth is there in full."""
    shown = f"""document.querySelector('tr.truth[data-model="{model}"]') !== null"""
    window.wait(f"document.readyState === 'complete' && {shown}")


def value(window: Window, name: str) -> str:
    return str(window.evaluate(f'document.getElementById("{name}").value'))


def test_choosing_and_moving_things_on_a_table(window: Window | None) -> None:
    if window is None:
        return
    with serving(explorer_app(SHOP, "shop.csv")) as url:
        window.become(390)
        window.goto(url)
        window.click('tr[data-model="2"]')  # the middle of the row, not its name
        await_truth(window, 2)
        assert fact(window, "best") == "two for one, with a mean of 0.14"
        assert value(window, "truth") == "2"
        assert "truth=2" in window.evaluate("location.search")

        window.evaluate("scrollTo(0, 0)")
        window.click('.slider[data-sets="horizon"]')
        window.press("ArrowRight")
        window.wait("!location.search.includes('horizon=10000')")
        horizon = int(value(window, "horizon"))
        window.wait(f"document.getElementById('timeline').innerText.includes('{horizon:,} pulls')")
        told = Explorer(SHOP).timeline(Choice(2, 1, horizon, 1))
        shown = re.findall(r"dropped by pull ([\d,]*\d)", window.text("#timeline"))
        assert shown == [f"{life.dropped_at:,}" for life in told.lives[1:]]

        window.drag('.drag svg .handle[data-arm="1"]', right=60)
        window.wait("document.querySelector('[data-fact=\"alarm\"]') !== null")
        assert value(window, "arm") == "1"
        mean = float(value(window, "mean"))
        assert mean > 0.03
        window.wait(f"location.search.includes('mean={value(window, 'mean')}')")
        moved = Explorer(SHOP).moved(Choice(2, 1, horizon, 1, 1, mean))
        assert moved.alarm is not None
        assert fact(window, "alarm") == pulls_text(moved.alarm.in_turn or 0)
        assert fact(window, "alone") == pulls_text(moved.alarm.alone or 0)
        assert fact(window, "nearest") == SHOP.model_names[moved.nearest.model]

        window.evaluate("history.back()")
        await_truth(window, 0)
        assert window.console == []
    window.click('tr[data-model="1"]')  # the server is gone now
    window.wait("!document.getElementById('offline').hidden")
    assert "ERR_CONNECTION_REFUSED" in window.console.pop()


def test_choosing_a_parameter_of_a_curve(window: Window | None) -> None:
    if window is None:
        return
    with serving(explorer_app(CURVE, "curve.toml")) as url:
        window.goto(f"{url}/?truth=0.1&other=0.9")
        window.click("#curves svg")  # in the middle
        window.wait("location.search.includes('truth=0.5')")
        assert float(value(window, "truth")) == pytest.approx(0.5, abs=0.002)
        window.click('.slider[data-sets="truth"]')
        window.press("ArrowRight")
        window.wait("!location.search.includes('truth=0.5&')")
        told = sb.analyse(CURVE, truth=float(value(window, "truth")))
        best = f"{CURVE.arm_names[told.best_arm]}, with a mean of {told.means[told.best_arm]:.4g}"
        window.wait(f"document.querySelector('[data-fact=\"best\"]').innerText === '{best}'")
        assert window.console == []


@pytest.mark.parametrize("name", ["shop", "curve", "nasty", "file"])
def test_pages_fit_a_phone_and_a_desk_in_both_schemes(
    name: str, tmp_path: Path, window: Window | None
) -> None:
    if window is None:
        return
    structure = {"curve": CURVE, "nasty": NASTY}.get(name, SHOP)
    file = tmp_path / "file.html"
    file.write_text(whole_file(SHOP, "shop.csv", 10_000))
    with serving(explorer_app(structure, f"{name}.csv")) as url:
        window.goto(file.as_uri() if name == "file" else f"{url}/?mean=0.3")
        looks = [
            (390, False),
            (1280, True),
            *([(390, True), (1280, False)] if name == "shop" else []),
        ]
        for width, dark in looks:
            window.become(width, dark)
            seen = window.look(tmp_path / f"{width}-{window.scheme}.png")
            assert seen.scroll_width == width
            assert seen.smallest_font >= 11
        assert window.console == []


def test_a_click_in_the_file_shows_another_truth(tmp_path: Path, window: Window | None) -> None:
    if window is None:
        return
    file = tmp_path / "file.html"
    file.write_text(whole_file(SHOP, "shop.csv", 10_000))
    shown = (
        "[...document.querySelectorAll('.case')].filter(e => e.checkVisibility()).map(e => e.id)"
    )
    window.become(390)
    window.goto(file.as_uri())
    assert window.evaluate(shown) == ["model-0"]
    window.click('tr[data-model="1"] a')
    window.wait("location.hash === '#model-1'")
    assert window.evaluate(shown) == ["model-1"]
    assert window.text("#model-1 [data-fact='best']") == "gift, with a mean of 0.11"
    assert window.console == []
