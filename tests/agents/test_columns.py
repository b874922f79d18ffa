"""Columns of many decisions in snapshots: packed, read again, and refused if they are damaged."""

from __future__ import annotations

import json
from array import array
from base64 import b64encode

import pytest

import structured_bandits as sb
from structured_bandits.agents.pending import FEW, packed, unpacked
from structured_bandits.errors import FileFormatError

MANY = FEW + 200


@pytest.mark.parametrize(
    "values",
    [
        [],
        [7],
        list(range(FEW)),
        list(range(3, 3 + MANY)),
        [(-1) ** n * 127 * n for n in range(MANY)],
        [2**40 + n * 2**33 for n in range(MANY)],
        [2**62 * (n % 2) for n in range(MANY)],
    ],
    ids=["none", "one", "few", "rising", "two bytes and more", "eight bytes", "far apart"],
)
def test_columns_come_back(values: list[int]) -> None:
    as_text = json.dumps(packed(array("q", values)))
    assert unpacked("id", json.loads(as_text)).tolist() == values


def test_a_column_of_many_decisions_is_short() -> None:
    assert len(json.dumps(packed(range(10**6)))) < 1.4e6


def lively() -> tuple[sb.Agent, sb.Policy]:
    """Return an agent with many rewards out, and many that wait for their turn."""
    policy = sb.SAE.paper(sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]]), horizon=100_000)
    agent = sb.Agent(policy, seed=3)
    ids = [each.id for each in agent.ask(5 * MANY)]
    for decision in ids[1 : 4 * MANY : 2]:
        agent.tell(decision, float(decision % 3 == 0))
    return agent, policy


def test_an_agent_with_many_decisions_out_goes_on_as_before() -> None:
    agent, policy = lively()
    text = agent.to_json()
    again = sb.Agent.from_json(text, policy)
    assert again.to_json() == text
    assert [each.id for each in again.pending] == [each.id for each in agent.pending]
    assert isinstance(json.loads(text)["content"]["waiting"]["id"], dict)
    for decision in [each.id for each in agent.pending][:MANY]:
        for each in (agent, again):
            each.tell(decision, 1.0)
        assert again.ask() == agent.ask()
    assert again.to_json() == agent.to_json()


@pytest.mark.parametrize(
    "damage",
    [
        {"width": 3},
        {"width": True},
        {"first": 0.5},
        {"steps": "no base64!"},
        {"steps": b64encode(b"\x01\x01").decode()},
        {"steps": 7},
        {"first": 10**30},
        {"first": -1},
    ],
    ids=["width", "flag", "fraction", "letters", "short", "number", "huge", "below zero"],
)
def test_damaged_columns_are_refused(
    damage: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, policy = lively()
    saved = json.loads(agent.to_json())
    assert saved["content"]["pending"]["id"]["width"] == 1
    saved["content"]["pending"]["id"] |= damage
    monkeypatch.setattr(
        "structured_bandits.agents.snapshot._checksum", lambda text: saved["checksum"]
    )
    with pytest.raises(FileFormatError, match="the snapshot is damaged"):
        sb.Agent.from_json(json.dumps(saved), policy)
