"""Models that protect a choice and models that threaten it: small examples, played by agents from logged data."""

from __future__ import annotations

import numpy as np
import pytest

import structured_bandits as sb


def test_protectors_may_come_in_later() -> None:
    """The example of docs/notes/lookahead.md 3.2: the choice is sure after 7 pulls but not after 5."""
    models = [[0.2, 0.6], [0.4, 0.5], [0.2, 0.2], [0.3, 0.8]]
    policy = sb.SUCB.paper(sb.FiniteStructure(models), alpha=0.4)

    def choices(extra: int) -> set[int]:
        chosen = set()
        for ones in range(extra + 1):
            agent = sb.Agent(policy)
            agent.learn([13, 9 + extra], [1, 4 + ones])
            chosen.add(agent.ask().arm)
        return chosen

    certain = [choices(extra) == {1} for extra in range(9)]
    assert certain == [True] * 5 + [False] * 2 + [True] * 2
    agent = sb.Agent(policy)
    agent.learn([13, 9], [1, 4])
    assert 1 <= agent.plan[1] <= 5


def test_a_model_that_is_out_does_not_protect_before_it_comes_in() -> None:
    """docs/notes/lookahead.md 5.3: counting model 1, which arm 1 keeps out, would plan six pulls of arm 0.

    Found by a mutant that the other tests of planning let live: after three rewards of 0 the choice
    is arm 1.
    """
    policy = sb.SUCB.paper(sb.FiniteStructure([[0.15, 0.55], [0.85, 0.75], [0.5, 0.3]]), alpha=1.0)
    agent, later = sb.Agent(policy), sb.Agent(policy)
    agent.learn([14, 11], [10, 2])
    later.learn([14 + 3, 11], [10, 2])
    assert later.ask().arm == 1
    assert agent.ask().arm == 0
    assert agent.plan[0] <= 3


def test_a_mean_above_every_reward_may_be_within_reach_before_the_end() -> None:
    """docs/notes/lookahead.md 2.3: the second model's mean of arm 1 is 1.4, and rewards end at 1.

    Found by a mutant that the other tests of planning let live: a band with an end above the rewards
    would plan 30 pulls of arm 1, but after 28 rewards of 1 the choice is arm 0.
    """
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        structure = sb.PolyhedralStructure([single_model([0.7, 0.85]), single_model([1.5, 1.4])])
    policy = sb.SUCB.paper(structure, alpha=2.0)
    agent, later = sb.Agent(policy), sb.Agent(policy)
    agent.learn([12, 24], [8, 24])
    later.learn([12, 24 + 28], [8, 24 + 28])
    assert later.ask().arm == 0
    assert agent.ask().arm == 1
    assert agent.plan[1] <= 28


def single_model(means: list[float]) -> sb.Polytope:
    nothing = np.zeros(0)
    return sb.Polytope(np.zeros((len(means), 0)), means, np.zeros((0, 0)), nothing, nothing)
