"""The pages of a real service: the lines that a newcomer copies work, and the numbers are those of /v1."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from support.serving import serving

import structured_bandits as sb
from structured_bandits.service.http.api import application
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.running.lifecycle import create
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.server import pages_of
from structured_bandits.service.store.sqlite import SqliteStore


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    registry = Registry(SqliteStore(tmp_path / "bandits.db"))
    registry.open()
    yield registry
    registry.close()


@pytest.fixture
def address(registry: Registry) -> Iterator[str]:
    """The address of a service with a store of its own."""
    with serving(application(registry, Hosts("127.0.0.1"), pages=pages_of(registry))) as address:
        yield address


def page(url: str) -> str:
    token = {"Authorization": f"Bearer {os.environ.get('SB_TOKEN', '')}"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=token)) as answer:
        return str(answer.read().decode())


def state_of(address: str, name: str) -> Any:
    return json.loads(page(f"{address}/v1/experiments/{name}"))


def lines(text: str, identity: str) -> str:
    """The lines of code on a page, as a reader would copy them."""
    (found,) = re.findall(rf'<code id="{identity}">(.*?)</code>', text, re.DOTALL)
    return html.unescape(found)


def run_in_shell(text: str) -> None:
    subprocess.run(["sh", "-ec", text.replace("curl ", "curl --fail --silent ")], check=True)


@pytest.mark.parametrize("closed", [False, True])
def test_from_no_experiment_to_rewards_with_the_lines_on_the_pages(
    registry: Registry, address: str, closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if closed:
        monkeypatch.setenv("SB_TOKEN", registry.add_token("me", "admin", None)[0])
    if shutil.which("curl") is None:
        pytest.fail("the lines for a shell need curl: apt-get install curl")
    run_in_shell(lines(page(f"{address}/"), "first-lines"))
    fresh = page(f"{address}/experiments/drinks")
    assert "nobody has asked yet" in fresh
    exec(lines(fresh, "python-lines"), {"print": lambda name: None})
    assert state_of(address, "drinks")["rewards"] == 1
    run_in_shell(lines(fresh, "shell-lines"))
    state = state_of(address, "drinks")
    assert (state["asked"], state["rewards"], state["pending"]) == (2, 2, 0)


def test_the_page_shows_what_the_api_says(address: str) -> None:
    run_in_shell(lines(page(f"{address}/"), "first-lines"))
    agent = sb.RemoteAgent(address, "drinks")
    for i in range(40):
        agent.tell(agent.ask().id, float(i % 3 == 0))
    agent.ask(5)
    state, text = state_of(address, "drinks"), page(f"{address}/experiments/drinks")
    rows = re.findall(r'<tr id="arm-\d+".*?</tr>', text, re.DOTALL)
    assert len(rows) == len(state["arms"]) == 2
    for arm, row in zip(state["arms"], rows, strict=True):
        assert arm["name"] in row
        assert f'data-label="rewards">{arm["pulls"]}<' in row
        assert f'data-label="mean">{arm["mean"]:.4g}<' in row
        assert f'data-label="wanted">{arm["wanted"]}<' in row
    assert 'id="tile-rewards"><dt>Rewards</dt><dd class="value">40<' in text
    assert 'id="tile-pending"><dt>Decisions out</dt><dd class="value">5<' in text
    assert f"{state['seq']}</td>" in text  # the last row of the log
    found, section = (
        state["certificate"],
        re.findall(r'id="certificate">(.*?)</section>', text, re.S),
    )
    assert found["rewards"] == 40
    assert "40 rewards count" in section[0]
    for each in (found["given_models"], found["from_arms"]):
        assert f"<b>{each['arm']}</b>" in section[0]
    assert "certain yet" in section[0]


def test_which_arm_is_best_is_that_of_an_agent_with_the_same_rewards(
    registry: Registry, address: str
) -> None:
    table = [[0.8, 0.3], [0.2, 0.7]]
    learned = {"late": "learn", "window": "1h", "missing": "cancel"}
    late = {"reward": learned, "alarm": {"fallback": "none"}}
    spec = {"structure": {"kind": "finite", "means": table}, "policy": {"kind": "ISAE"}}
    for name, more in (("tea", {}), ("late", late)):
        create(registry, name, {**spec, "horizon": 900, "seed": 0, **more})
    agent, twin = sb.RemoteAgent(address, "tea"), sb.Agent(sb.ISAE(sb.FiniteStructure(table)))
    for i in range(30):
        one, two = agent.ask(), twin.ask()
        assert (one.arm, one.propensity) == (two.arm, two.propensity)
        reward = float(i % 5 > 0)
        agent.tell(one.id, reward)
        twin.tell(two.id, reward)
    found, expected = state_of(address, "tea")["certificate"], twin.certificate
    assert expected is not None
    assert expected.given_models is not None
    assert found["given_models"]["arm"] == expected.given_models.name
    assert found["given_models"]["error"] == pytest.approx(expected.given_models.error)
    assert found["from_arms"]["error"] == pytest.approx(expected.from_arms.error)
    assert state_of(address, "late")["certificate"] is None


def test_the_structure_of_an_experiment_is_explored_by_those_who_may_read_it(
    registry: Registry, address: str
) -> None:
    for name in ("drinks", "cakes"):
        table = {"kind": "finite", "arms": [f"{name} 1", "none"], "means": [[0.7, 0.2], [0.3, 0.4]]}
        create(registry, name, {"structure": table, "policy": {"kind": "SAE"}, "horizon": 1000})
    shown = page(f"{address}/experiments/drinks")
    assert 'href="/experiments/drinks/explore"' in shown
    explorer = page(f"{address}/experiments/drinks/explore")
    assert 'href="/experiments/drinks"' in explorer
    assert "drinks 1" in explorer
    text, _ = registry.add_token("reader", "read", ["drinks"])
    opener = urllib.request.build_opener()
    opener.addheaders = [("Authorization", f"Bearer {text}")]
    assert opener.open(f"{address}/experiments/drinks/explore?truth=1").status == 200
    with pytest.raises(HTTPError, match="403"):
        opener.open(f"{address}/experiments/cakes/explore")
    with urllib.request.urlopen(f"{address}/experiments/drinks/explore") as answer:
        assert answer.url.startswith(f"{address}/login")
