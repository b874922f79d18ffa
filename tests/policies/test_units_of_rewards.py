"""Policies take the range of rewards from their structure, and play alike in other units."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.policies.base import POLICIES

UNIT, PULLS = 8.0, 300
TABLE = np.array([[0.75, 0.25, 0.5], [0.25, 0.625, 0.5], [0.5, 0.375, 0.8125]])


def structure(kind: str, unit: float, said: dict[str, Any]) -> sb.Structure:
    if kind != "WAGP":
        return sb.FiniteStructure(unit * TABLE, **said)
    first, last = unit * np.array([0.25, 0.875, 0.5]), unit * np.array([0.75, 0.125, 0.5])
    return sb.CurveStructure([sb.Piece(0, 1, first, last, closed="both")], **said)


def parameters(kind: str) -> dict[str, Any]:
    return {"horizon": PULLS} if kind in ("SAE", "ImprovedUCB") else {}


@pytest.mark.parametrize("kind", POLICIES)
def test_policies_play_alike_in_other_units(kind: str) -> None:
    """A power of two is a change of units that rounds nothing."""
    tape = np.random.default_rng(3).integers(0, 5, (3, PULLS)) / 4.0
    arms = []
    for unit, said in ((1.0, {}), (UNIT, {"reward_range": (0, UNIT)})):
        policy = POLICIES[kind](structure(kind, unit, said), **parameters(kind))  # type: ignore[call-arg]
        assert policy.reward_range == policy.parameters()["reward_range"] == (0.0, unit)
        result = sb.simulate(
            {"same": policy},
            sb.Tape(unit * tape),
            PULLS,
            runs=1,
            engine="python",
            record_arms=True,
            progress=False,
        )
        arms.append(result.arms["same"][0].tolist())
    assert arms[0] == arms[1]
    assert len(set(arms[0])) > 1


@pytest.mark.parametrize("kind", POLICIES)
def test_what_a_policy_is_given_wins(kind: str) -> None:
    ten = structure(kind, UNIT, {"reward_range": (0, UNIT)})
    own = POLICIES[kind](ten, reward_range=(-1.0, 9.0), **parameters(kind))  # type: ignore[call-arg]
    assert own.reward_range == (-1.0, 9.0)
    assert "reward_range=(-1.0, 9.0)" in repr(own)
    taken = POLICIES[kind](ten, reward_range="structure", **parameters(kind))  # type: ignore[call-arg]
    assert taken == POLICIES[kind](ten, **parameters(kind))  # type: ignore[call-arg]
    for wrong in ("structures", "01", (0, 1, 2), (0, None)):
        with pytest.raises(sb.ParameterError, match=r"expected a pair \(low, high\)"):
            POLICIES[kind](ten, reward_range=wrong, **parameters(kind))  # type: ignore[call-arg]


def test_unbounded_rewards_are_still_said_by_none() -> None:
    ten = sb.FiniteStructure(UNIT * TABLE, reward_range=(0, UNIT))
    policy = sb.SUCB.paper(ten, reward_range=None, sigma=2.0)
    assert (policy.reward_range, policy.sigma, policy.family) == (None, 2.0, "gaussian")
    assert sb.SUCB.paper(ten).sigma == UNIT / 2.0
    assert sb.UCB(3).reward_range == (0.0, 1.0)


def test_ossb_plays_curves_and_polytopes_in_other_units() -> None:
    played = []
    for unit, said in ((1.0, {}), (4.0, {"reward_range": (0, 4)})):
        chosen = sb.OSSB(structure("WAGP", unit, said))
        tape = sb.Tape(unit * np.random.default_rng(1).integers(0, 2, (3, 40)))
        how: dict[str, Any] = {"runs": 1, "record_arms": True, "progress": False}
        played.append(sb.simulate({"same": chosen}, tape, 40, **how).arms["same"][0].tolist())
    assert played[0] == played[1]
    assert len(set(played[0])) > 1


def test_snapshots_hold_the_range_that_was_resolved() -> None:
    """So a range may move from the policy to its structure, and earlier snapshots still fit."""
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        silent = sb.FiniteStructure(UNIT * TABLE)
    agent = sb.Agent(sb.ModelTS(silent, reward_range=(0, UNIT), prior=[1, 2, 3]))
    agent.tell(agent.ask().id, 7.5)
    text = agent.to_json()
    assert json.loads(text)["content"]["policy"]["parameters"]["reward_range"] == [0.0, UNIT]
    said = sb.FiniteStructure(UNIT * TABLE, reward_range=(0, UNIT), prior=[1, 2, 3])
    again = sb.Agent.from_json(text, sb.ModelTS(said))
    assert [again.ask().arm for _ in range(3)] == [agent.ask().arm for _ in range(3)]
    other = sb.FiniteStructure(UNIT * TABLE, reward_range=(0, 9), prior=[1, 2, 3])
    with pytest.raises(sb.FileFormatError, match="its parameters is"):
        sb.Agent.from_json(text, sb.ModelTS(other))
    with pytest.raises(sb.FileFormatError, match="its structure has other means"):
        sb.Agent.from_json(
            sb.Agent(sb.SUCB.paper(said)).to_json(), sb.SUCB.paper(silent, reward_range=(0, UNIT))
        )
    with pytest.raises(sb.RewardError, match=r"expected a number in \[0, 8\]"):
        again.tell(0 if 0 in {d.id for d in again.pending} else again.ask().id, 9.0)
