"""Snapshots that earlier versions wrote load, and their agents go on as those of these versions did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.first_version import SAVED, table
from support.snapshots import resealed

import structured_bandits as sb

DATA = Path(__file__).parent / "data"
SECOND = ("ucb", "sucb-curves", "sae-table", "asae-theory", "wagp", "own-policy")


def read(name: str, version: str = "0.1.0") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((DATA / version / f"{name}.json").read_text())
    assert content["version"] == version
    assert content["snapshot"]["structured_bandits_agent"] == {"0.1.0": 1, "0.2.0": 2}[version]
    return content


@pytest.mark.parametrize("name", SAVED)
def test_an_agent_of_the_first_version_goes_on_as_it_did(name: str) -> None:
    saved = read(name)
    agent = sb.Agent.from_json(json.dumps(saved["snapshot"]), SAVED[name].make())
    assert agent.pulls.tolist() == saved["snapshot"]["counts"]["_pulls"]
    assert [each.id for each in agent.pending] == [
        each["id"] for each in saved["snapshot"]["pending"]
    ]
    check_next_events(agent, saved["next"])


@pytest.mark.parametrize("name", SECOND)
def test_an_agent_of_the_second_version_goes_on_as_it_did(name: str) -> None:
    saved = read(name, "0.2.0")
    agent = sb.Agent.from_json(resealed(saved["snapshot"]), SAVED[name].make())
    content = saved["snapshot"]["content"]
    assert agent.pulls.tolist() == content["seen"]["pulls"]
    assert agent._settled.pulls.tolist() == content["seen"]["pulls"]  # nobody knows the order
    assert [each.id for each in agent.pending] == content["pending"]["id"]
    assert [int(each.extra) for each in agent.pending] == content["pending"]["extra"]
    check_next_events(agent, saved["next"])


def check_next_events(agent: Any, events: Any) -> None:
    """Without the decisions that were out: what to ask while they are has another rule since."""
    assert all(each.reason == ("extra" if each.extra else "plan") for each in agent.pending)
    for each in agent.pending:
        agent.cancel(each.id)
    for number, arm, extra, told, reward in events:
        decision = agent.ask()
        assert (decision.id, decision.arm, decision.extra) == (number, arm, extra)
        agent.tell(told, reward)
        agent = sb.Agent.from_json(agent.to_json(), agent.policy)  # as version 3


def test_the_files_hold_what_is_hard_about_old_snapshots() -> None:
    saved = {name: read(name)["snapshot"] for name in SAVED}
    assert any(
        each["plan"] < content["counters"]["_plans"]
        for content in saved.values()
        for each in content["pending"]
    )
    complete = saved["sae-complete"]["counts"]
    assert complete["_told"] >= complete["_quota"]
    assert saved["sucb-empty"]["counters"]["_empty"] > 0
    assert saved["asae-new"]["state"]["exponent"] == [0.0]
    assert saved["asae-logged"]["counters"]["_plans"] == 0
    assert "sums" not in saved["own-policy"]["state"]


def test_the_fingerprint_of_the_first_version_had_default_names_and_is_accepted() -> None:
    fingerprint = read("sucb-table")["snapshot"]["policy"]["structure"]
    assert fingerprint != table().fingerprint
    assert fingerprint in table().fingerprints
    assert fingerprint not in table(["a", "b", "c", "d"]).fingerprints
    other = sb.FiniteStructure(table().cells.table[::-1])
    text = json.dumps(read("sucb-table")["snapshot"])
    with pytest.raises(sb.FileFormatError, match="does not fit the policy: its structure"):
        sb.Agent.from_json(text, sb.SUCB.paper(other, alpha=0.2))


class Patient(sb.SUCB):
    """What SUCB would be if a later version gave it another parameter."""

    absent_parameters = {"patience": 1}  # noqa: RUF012

    def __new__(cls, structure: Any, alpha: float = 2.0, patience: int = 1) -> Patient:
        policy = super().__new__(cls, structure, alpha)
        policy.patience = patience
        return policy


@pytest.mark.parametrize("version", [1, 3])
def test_parameters_that_an_old_file_lacks_count_as_the_defaults_of_its_version(
    version: int,
) -> None:
    if version == 1:
        saved = read("sucb-table")["snapshot"]
        identity = saved["policy"]
    else:
        saved = json.loads(sb.Agent(Patient(table(), alpha=0.2)).to_json())
        identity = saved["content"]["policy"]
    identity["class"] = "Patient"
    identity["parameters"] = {"alpha": 0.2}
    text = json.dumps(saved) if version == 1 else resealed(saved)
    agent = sb.Agent.from_json(text, Patient(table(), alpha=0.2))
    assert agent.pulls.sum() == (0 if version == 3 else sum(saved["counts"]["_pulls"]))
    with pytest.raises(sb.FileFormatError, match="its parameters"):
        sb.Agent.from_json(text, Patient(table(), alpha=0.2, patience=2))


def test_the_next_snapshot_is_of_the_present_version() -> None:
    agent = sb.Agent.from_json(json.dumps(read("ucb")["snapshot"]), SAVED["ucb"].make())
    assert json.loads(agent.to_json())["structured_bandits_agent"] == 3
