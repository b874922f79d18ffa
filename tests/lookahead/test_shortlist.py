"""The front arm by a short list is the front arm of all, to the last bit, however arms are pulled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.stretches import Player

import structured_bandits as sb
from structured_bandits.lookahead import shortlist
from structured_bandits.lookahead.shortlist import Indices, fresh_list, front_arm, front_of_all


@pytest.mark.parametrize("arms", [17, 60])
@pytest.mark.parametrize("rounded", [False, True])  # so that many indices are equal
def test_a_list_says_what_all_arms_say(arms: int, rounded: bool) -> None:
    rng = np.random.default_rng([arms, rounded])
    pulls, sums = np.zeros(arms), np.zeros(arms)
    shares = rng.random(arms)
    indices, short = Indices(np.full(arms, math.inf), np.zeros(arms)), fresh_list(arms)
    by_list = 0
    for t in range(6_000):
        root = math.sqrt(0.5 * math.log(t + 1.0))
        if rounded:
            root = round(root, 3)
        growth = 0.25 / ((t + 1.0) * root) if root > 0.0 else 0.0
        by_list += root <= short.limit[0]
        front = front_arm(indices, short, root, growth)
        assert front == front_of_all(indices, root)
        arm = (
            front.arm if rng.random() < 0.97 else int(rng.integers(arms))
        )  # somebody else's choice
        pulls[arm] += 1
        sums[arm] += rng.random() < shares[arm]
        indices.means[arm], indices.roots[arm] = sums[arm] / pulls[arm], pulls[arm] ** -0.5
        if not short.listed[arm]:
            shortlist.drop_list(short)
    assert 2_000 < by_list < 6_000


def test_ucb_of_many_arms_plays_by_the_definition() -> None:
    """With its list, planning or not, on a tape of 40 arms."""
    rng = np.random.default_rng(3)
    rewards = (rng.random((40, 3_000)) < rng.random((40, 1))).astype(float)
    pulls, sums, arms = np.zeros(40), np.zeros(40), []
    for t in range(3_000):
        unplayed = np.flatnonzero(pulls == 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            index = sums / pulls + np.sqrt(0.3 * math.log(t + 1) / pulls)
        arm = int(unplayed[0] if len(unplayed) else np.argmax(index))
        arms.append(arm)
        sums[arm] += rewards[arm, int(pulls[arm])]
        pulls[arm] += 1
    how = {"horizon": 3_000, "runs": 1, "record_arms": True}
    for planning in (True, False):
        result = sb.simulate(sb.UCB(40, 0.3), sb.Tape(rewards), planning=planning, **how)
        assert result.arms["UCB"][0].tolist() == arms


def test_results_of_an_arm_that_is_not_listed_count() -> None:
    """An agent may be told rewards of an arm that UCB would not have pulled."""
    policy, rng = sb.UCB(30, 0.1), np.random.default_rng(0)
    player = Player(policy)
    for t in range(400):
        arm = player.streak(sb.Now(t, 1), rng).arm
        player.end(sb.Outcome(arm, 1, float(arm > 20), float(arm > 20)))
    assert not player.memory.short.listed[3]
    player.end(sb.Outcome(3, 1, 1e3, 1e6))  # its mean is far above the others' now
    assert player.streak(sb.Now(400, 1), rng).arm == 3
    pulls, sums = player.state.data.pulls, np.zeros(30)  # only one arm is any good
    sums[5] = pulls[5]
    assert Player(policy, pulls, sums).streak(sb.Now(400, 1), rng).arm == 5
