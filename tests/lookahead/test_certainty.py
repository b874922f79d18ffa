"""Plans are certain: after every part of a plan, with the worst and the most awkward means of the arm.

Random tapes seldom have the rewards that would break a plan. Here a plan is not played: the mean of its
arm after j pulls is set to its ends and to just inside or outside the radius of models, and the choice is
made from scratch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.cases import draw_case
from support.play import play
from support.stretches import Player

import structured_bandits as sb
from structured_bandits.base.confidence import Data, fresh_box, write_box
from structured_bandits.base.kl import coin_divergence
from structured_bandits.policies.indices import highest_index

CASES, PLANS = 150, 25


def awkward_means(
    policy: Any, arm: int, low: float, high: float, budget: float, pulls: int
) -> list[float]:
    """Means of the arm between `low` and `high`: the ends, and where models come and go."""
    cells = policy.cells
    tables = (cells.table,) if hasattr(cells, "table") else (cells.at_start, cells.at_end)
    models = np.unique([table[:, arm] for table in tables])[:12]
    radius = math.sqrt(budget / pulls)
    slack = 1e-8 * (radius + 1e-3)
    if policy.confidence == "hoeffding":
        edges = [m + side * radius for m in models for side in (-1, 1)]
    else:
        edges = [edge for m in models for edge in kl_edges(float(m), 2.0 * budget / pulls)]
    moved = (edge + shift for edge in edges for shift in (-slack, slack))
    return [low, high, *(edge for edge in moved if low <= edge <= high)]


def kl_edges(q: float, b: float) -> list[float]:
    """The means x with d(x, q) = b, by bisection: from 0 and from 1 towards q."""
    edges = []
    for x in (0.0, 1.0):
        far, near = x, q
        if not 0.0 < q < 1.0 or coin_divergence(x, q) <= b:
            continue
        for _ in range(60):
            middle = (far + near) / 2.0
            far, near = (middle, near) if coin_divergence(middle, q) > b else (far, middle)
        edges.append(far)
    return edges


def chosen(policy: Any, data: Any, arm: int, pulls: int, mean: float, t: int) -> tuple[int, bool]:
    """What SUCB chooses if `arm` had this mean over so many pulls, and whether the set is empty."""
    data = Data(data.pulls.copy(), data.sums.copy())
    data.pulls[arm], data.sums[arm] = pulls, mean * pulls
    box = fresh_box(len(data.pulls))
    level = policy.widths.at(4.0 * policy.sigma**2 * policy.alpha * math.log(t + 1))
    write_box(data, level, box)
    choice = policy.cells.optimistic_arm(box, policy.cells.fresh_notes())
    if choice >= 0:
        return choice, False
    return highest_index(data, level, policy.candidates).arm, True


@pytest.mark.parametrize("confidence", ["hoeffding", "kl"])
@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_nothing_can_change_the_choice_within_a_plan(kind: str, confidence: str) -> None:
    long = empty = 0
    for index in range(CASES):
        case = draw_case(41, index, kind, full_size=index % 15 == 0)
        rng = np.random.default_rng([6, index])
        alpha = float(10 ** rng.uniform(-2.0, 0.5))
        policy = sb.SUCB(case.structure, alpha=alpha, confidence=confidence)
        player, t = Player(policy), 0
        for _ in range(PLANS):
            plan = player.streak(sb.Now(t, 10**6), rng)
            data = player.state.data
            total, before = float(data.sums[plan.arm]), int(data.pulls[plan.arm])
            long, empty = long + (plan.length > 1), empty + (plan.empty > 1)
            for j in {1, plan.length // 2, plan.length - 1} - {0, plan.length}:
                pulls = before + j
                budget = policy.alpha * math.log(t + j + 1)
                ends = total / pulls, (total + j) / pulls
                for mean in awkward_means(policy, plan.arm, *ends, budget, pulls):
                    now = chosen(policy, data, plan.arm, pulls, mean, t + j)
                    assert now == (plan.arm, plan.empty > 0), (index, t, j, mean)
            made = int(rng.integers(1, min(plan.length, 10**4) + 1))
            ones = int(rng.binomial(made, rng.choice([0.0, 1.0, rng.random()])))
            player.end(sb.Outcome(plan.arm, made, float(ones), float(ones)))
            t += made
    assert long > 300
    assert empty > 30 or confidence == "kl"  # with KL intervals an empty set is looked at each time


@pytest.mark.parametrize(("kind", "cases"), [("finite", 75), ("curves", 200)])
def test_nothing_can_change_the_choice_while_misses_and_gains_are_few(
    kind: str, cases: int
) -> None:
    """Of the pulls so far, at most `misses` paid less than 1 and at most `gains` more than 0."""
    stopping = 0
    for index in range(cases):
        case = draw_case(43, index, kind, full_size=index % 15 == 0)
        rng = np.random.default_rng([8, index])
        policy = sb.SUCB.paper(case.structure, alpha=float(10 ** rng.uniform(-2.0, 0.5)))
        if policy.reward_range != (0.0, 1.0):
            continue
        player, t = Player(policy), 0
        share = rng.choice([0.0, 1.0, rng.random()], case.structure.n_arms)
        for _ in range(40):
            plan = player.streak(sb.Now(t, 10**6, 0.0, 1.0), rng)
            data = player.state.data
            total, before = float(data.sums[plan.arm]), int(data.pulls[plan.arm])
            stops = not plan.empty and plan.misses + plan.gains < 2 * plan.length - 2
            stopping += stops
            longest = min(plan.length, plan.misses + plan.gains + 1)
            assert 1 <= plan.surely <= longest
            for j in {1, longest // 2, longest - 1} - {0, longest} if stops else set():
                pulls = before + j
                least, most = max(0, j - plan.misses), min(j, plan.gains)
                ends = (total + least) / pulls, (total + most) / pulls
                budget = policy.alpha * math.log(t + j + 1)
                for mean in awkward_means(policy, plan.arm, *ends, budget, pulls):
                    assert chosen(policy, data, plan.arm, pulls, mean, t + j)[0] == plan.arm
            made = int(rng.integers(1, min(longest, 10**4) + 1))
            ones = int(rng.binomial(made, share[plan.arm]))
            player.end(sb.Outcome(plan.arm, made, float(ones), float(ones)))
            t += made
    assert stopping > 300


def test_a_radius_below_rounding_covers_nothing() -> None:
    """Found in review: a wide cell was taken to cover every mean, however small the radius."""
    structure = sb.CurveStructure([sb.Piece(0, 1, [0.0], [1.0])])
    rewards = np.ones((1, 300))
    rewards[0, 1:50] = 0
    policy = sb.SUCB.paper(structure, alpha=1e-31)
    planned = play(policy, rewards, 300, compiled=False, planning=True)
    assert planned.empty == play(policy, rewards, 300, compiled=False, planning=False).empty > 0


def test_a_line_that_hardly_rises() -> None:
    """Found in review: a position on it is infinite, and a cell was taken to be out for ever."""
    structure = sb.CurveStructure(
        [
            sb.Piece(0, 1, [0.3125, 0.0], [0.3125, 0.0]),
            sb.Piece(2, 3, [0.0, 0.5], [1e-310, 0.5]),
            sb.Piece(4, 5, [0.9, 0.5], [0.9, 0.5]),
        ]
    )
    rewards = np.zeros((2, 3000))
    rewards[0, :41:3] = 1
    policy = sb.SUCB.paper(structure, alpha=1.0)
    planned = play(policy, rewards, 3000, compiled=True, planning=True)
    assert planned.arms == play(policy, rewards, 3000, compiled=True, planning=False).arms
