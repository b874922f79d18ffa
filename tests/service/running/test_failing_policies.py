"""A policy that fails in the middle of a command stops its own experiment, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.owned import NAME, TABLE, Shop

from structured_bandits.agents.agent import Agent
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service import wire
from structured_bandits.service.running.alarms import MOST_WAITING, alarms_of
from structured_bandits.service.running.lifecycle import new_version

SPEC: dict[str, Any] = {"structure": TABLE, "policy": {"kind": "SAE"}, "horizon": 10_000}
ARMS = len(TABLE["arms"])


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Two experiments, each with a reward that was told and a decision that is out."""
    shop = Shop(tmp_path)
    for name in (NAME, "other"):
        shop.create(SPEC, name)
        shop.tell((shop.ask_one(name).id, 1.0), name=name)
    yield shop
    shop.drop()


def kinds(shop: Shop, name: str = NAME) -> list[str]:
    return [alarm.kind for alarm in alarms_of(shop.registry.find(name))]


def break_policy(monkeypatch: pytest.MonkeyPatch, shop: Shop, method: str) -> None:
    """Let what comes next be too much for agents of this policy, also after a restart."""
    usual, policy = getattr(Agent, method), repr(shop.life().spec.policy)
    rewards, decisions = shop.life().agent.rewards, shop.life().agent.next_id

    def failing(agent: Agent, *arguments: Any, **named: Any) -> Any:
        answer = usual(agent, *arguments, **named)
        more = agent.rewards > rewards if method == "tell" else agent.next_id > decisions
        if repr(agent.policy) == policy and more:
            raise StructuredBanditsError("a quadratic program was not solved")
        return answer

    monkeypatch.setattr(Agent, method, failing)


@pytest.mark.parametrize("method", ["tell", "ask"])
def test_a_policy_that_fails_stops_its_experiment_only(
    shop: Shop, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, seq = shop.ask_one(), shop.life().seq
    other = SPEC | {"policy": {"kind": "UCB"}}
    shop.create(other, "third")
    waiting = shop.ask_one("third")
    break_policy(monkeypatch, shop, method)

    def fails() -> int:
        answer = shop.tell((out.id, 0.0)) if method == "tell" else shop.ask()
        assert "not solved" in answer.content.detail
        return answer.status

    assert [fails() for _ in range(3)] == [503] * 3  # again and again: the disk is not blamed
    assert shop.registry.refusal is None
    assert kinds(shop) == ["stopped"]
    assert shop.tell((waiting.id, 1.0), name="third").status == 200
    assert kinds(shop, "third") == []
    monkeypatch.undo()
    assert shop.life().agent.rewards == 1  # nothing of the failed command was kept
    assert shop.life().seq >= seq
    assert {each.exit_code for each in shop.verdicts()} == {0}


def test_a_new_version_lets_it_go_on_with_all_rewards(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = shop.ask_one()
    break_policy(monkeypatch, shop, "tell")
    assert shop.tell((out.id, 0.0)).status == 503
    spec = SPEC | {"policy": {"kind": "UCB"}}
    made = shop.call(lambda registry: new_version(registry.find(NAME), wire.NewVersion(spec=spec)))
    assert made.status == 200
    assert kinds(shop) == []
    monkeypatch.undo()
    assert shop.tell((out.id, 0.0)).status == 200
    assert shop.life().agent.rewards == 2
    shop.restart(in_order=False)
    assert shop.life().agent.rewards == 2
    assert {each.exit_code for each in shop.verdicts()} == {0}


@pytest.mark.filterwarnings("ignore:the structure holds means outside")
def test_a_policy_that_cannot_plan_is_refused_at_the_start(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    structure = {"kind": "known_best_mean", "n_arms": 3, "value": 1e30}
    spec = SPEC | {"structure": structure, "policy": {"kind": "ThompsonSampling"}}
    answer = shop.create(spec)
    assert answer.status == 422
    assert shop.registry.experiments == {}
    shop.drop()


def test_a_missing_reward_that_holds_back_the_test_is_named(shop: Shop) -> None:
    lost = shop.ask_one()
    for _ in range(MOST_WAITING):
        decision = shop.registry.find(NAME).ask(wire.Ask()).decisions[0]
        shop.registry.find(NAME).tell([wire.Reward(id=decision.id, reward=0.5)])
    shop.registry.writer.write_now()
    alarms = {each.kind: each.text for each in alarms_of(shop.registry.find(NAME))}
    assert lost.id in alarms["waiting"]
    shop.call(lambda registry: registry.find(NAME).cancel(wire.Named(id=lost.id)))
    assert "waiting" not in kinds(shop)
