"""Agents can be copied and pickled, whatever they play and however much they have played."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.huge_counts import every_kind
from support.playable import made, playable

import structured_bandits as sb

COPIES: list[Callable[[Any], Any]] = [
    copy.deepcopy,
    lambda agent: pickle.loads(pickle.dumps(agent)),
]


@pytest.mark.parametrize("kind", every_kind())
def test_a_copy_plays_on_as_the_agent_itself(kind: str) -> None:
    """Found by attack: on linear and concave structures a used agent held what cannot be copied."""
    structure = every_kind()[kind]
    for name in playable(structure):
        policy, rewards = made(name, structure), np.random.default_rng(2)
        agent = sb.Agent(policy, seed=2)
        fresh = [copied(agent) for copied in COPIES]
        for _ in range(12):
            decision, reward = agent.ask(), float(rewards.random() < 0.5)
            agent.tell(decision.id, reward)
            for each in fresh:
                assert each.ask() == decision
                each.tell(decision.id, reward)
        agent.ask(3)
        used = [copied(agent) for copied in COPIES]
        assert {each.to_json() for each in used} == {agent.to_json()}
        for turn in range(4):
            decision = agent.ask()
            agent.tell(decision.id, float(turn % 2))
            for each in used:
                assert each.ask() == decision, name
                each.tell(decision.id, float(turn % 2))
        assert {each.to_json() for each in used} == {agent.to_json()}
