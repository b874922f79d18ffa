"""Which models may protect a choice: two small examples, played by agents from logged data."""

from __future__ import annotations

import structured_bandits as sb


def test_protectors_may_come_in_later() -> None:
    """The example of docs/planning.md 3.2: the choice is sure after 7 pulls but not after 5."""
    models = [[0.2, 0.6], [0.4, 0.5], [0.2, 0.2], [0.3, 0.8]]
    policy = sb.SUCB(sb.FiniteStructure(models), alpha=0.4)

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
    """docs/planning.md 5.3: counting model 1, which arm 1 keeps out, would plan six pulls of arm 0.

    Found by a mutant that the other tests of planning let live: after three rewards of 0 the choice
    is arm 1.
    """
    policy = sb.SUCB(sb.FiniteStructure([[0.15, 0.55], [0.85, 0.75], [0.5, 0.3]]), alpha=1.0)
    agent, later = sb.Agent(policy), sb.Agent(policy)
    agent.learn([14, 11], [10, 2])
    later.learn([14 + 3, 11], [10, 2])
    assert later.ask().arm == 1
    assert agent.ask().arm == 0
    assert agent.plan[0] <= 3
