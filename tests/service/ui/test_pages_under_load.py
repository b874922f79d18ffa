"""The dashboard stays true and usable while thousands of rewards a second come in."""

from __future__ import annotations

import json
import random
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from support.browser import Window, need_browser
from support.serving import serving

from structured_bandits.service.http.api import application
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.ui.pages.registry_for_pages import RegistryForPages
from structured_bandits.service.ui.pages.routes import page_routes

CHANGES = 5  # of the number of rewards that the page shows
BATCH = 100
PATH = "/v1/experiments/offers"
SPEC = {
    "structure": {
        "kind": "finite",
        "arms": ["tea", "coffee", "water"],
        "means": [[0.8, 0.3, 0.5], [0.2, 0.7, 0.5], [0.5, 0.5, 0.6]],
    },
    "policy": {"kind": "SUCB"},
    "horizon": 10_000_000,
    "default_arm": "water",
}


def call(url: str, content: Any = None, method: str = "POST") -> Any:
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


class Traffic(threading.Thread):
    """Asks and tells without a pause until it is stopped; counts the rewards that were acknowledged."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.url = address + PATH
        self.acknowledged = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        rng = random.Random(0)
        while not self.stopped.is_set():
            asked = call(f"{self.url}/ask", {"n": BATCH})["decisions"]
            told = [
                {"id": each["id"], "reward": float(rng.random() < 0.6)}
                for each in asked
                if each["reason"] != "paused"
            ]
            if told:
                call(f"{self.url}/tell", told)
                self.acknowledged += len(told)


def shown(window: Window) -> tuple[int, list[int]]:
    """The number of rewards on the page, and those of the arms, both of one moment."""
    texts = window.evaluate(
        "['#tile-rewards .value', '.arms td:nth-child(2)'].map("
        "s => [...document.querySelectorAll(s)].map(e => e.innerText))"
    )
    (total,), arms = ([int(text.replace(",", "")) for text in each] for each in texts)
    return total, arms


def test_pages_are_true_under_load(tmp_path: Path) -> None:
    if not need_browser():
        return
    registry = Registry(SqliteStore(tmp_path / "bandits.db"))
    registry.open()
    app = application(registry, Hosts("127.0.0.1"), pages=page_routes(RegistryForPages(registry)))
    with serving(app) as address, Window(390) as window:
        call(address + PATH, {"spec": SPEC}, "PUT")
        window.goto(f"{address}/experiments/offers")
        traffic = Traffic(address)
        traffic.start()
        try:
            seen = look_until(window, CHANGES)
            window.click("#pause")  # in the midst of it
            window.wait("document.getElementById('state')?.innerText === 'paused'")
            window.click("#resume")
            window.wait("document.getElementById('state')?.innerText === 'running'")
        finally:
            traffic.stopped.set()
            traffic.join()
        state = call(address + PATH, method="GET")
        window.wait("typeof look === 'function'")  # the button has loaded the page anew
        window.evaluate("look()")
        assert state["rewards"] == traffic.acknowledged
        assert shown(window) == (state["rewards"], [arm["pulls"] for arm in state["arms"]])
        assert window.console == []
    registry.close()
    assert seen == sorted(seen)


def look_until(window: Window, changes: int) -> list[int]:
    """The numbers of rewards that the page shows until they have changed so often; the arms agree."""
    seen: list[int] = []
    while len(set(seen)) <= changes:
        window.evaluate("look()")
        rewards, of_arms = shown(window)
        assert rewards == sum(of_arms)
        seen.append(rewards)
        time.sleep(0.1)
    return seen
