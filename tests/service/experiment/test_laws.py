"""What the service does by chance follows the laws that it states.

Seeds are fixed, so these tests always do the same. The bounds are those of a test that would fail once in
10,000 times if the law holds and seeds were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.bare_life import BareLife

from structured_bandits.service.experiment.choosing import AUDIT, CONTROL
from structured_bandits.service.experiment.spec import build_spec

RARE = 1e-4
MEANS = [[0.75, 0.25, 0.5, 0.125], [0.25, 0.75, 0.5, 0.125], [0.5, 0.25, 0.875, 0.375]]
SPEC: dict[str, Any] = {
    "structure": {"kind": "finite", "means": MEANS},
    "policy": {"kind": "SAE"},
    "horizon": 20_000,
    "order": "drawn",
    "seed": 1,
}


def far(counts: Sequence[int], chances: np.ndarray) -> float:
    """Return the p-value of counts of arms, if decision t had these chances (decisions × arms).

    The counts of all arms but the last are nearly normal; their covariance is the sum of those of the
    decisions.
    """
    used = chances.sum(axis=0) > 0
    chances, seen = chances[:, used], np.asarray(counts)[used]
    expected = chances.sum(axis=0)
    covariance = np.diag(expected) - chances.T @ chances
    off = (seen - expected)[:-1]
    distance = off @ np.linalg.solve(covariance[:-1, :-1], off)
    return float(stats.chi2.sf(distance, len(off)))


def wanted(one: BareLife) -> np.ndarray:
    """Return the chance of each arm by the plan alone: what it still wants to hand out."""
    agent = one.state.agent
    out = np.bincount([each.arm for each in agent.pending], minlength=4)
    left = np.maximum(agent.plan - out, 0)
    return left / left.sum()


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_arms_come_as_often_as_their_propensities_say(share: float) -> None:
    spec = {**SPEC, "control": {"arm": 3, "share": share}} if share else SPEC
    one = BareLife(spec, 17)
    rng, chances, counts = np.random.default_rng(3), [], [0] * 4
    for _ in range(3_000):
        plan = wanted(one)
        chance = (1.0 - share) * plan + share * (np.arange(4) == 3)
        ((number, choice),) = one.ask()
        assert choice.propensity == pytest.approx(chance[choice.arm], abs=1e-12)
        chances.append(chance)
        counts[choice.arm] += 1
        one.tell([(number, float(rng.random() < MEANS[2][choice.arm]))])
    assert min(counts[:3]) > 50
    assert far(counts, np.array(chances)) > RARE


def test_within_a_plan_each_arm_comes_exactly_as_often_as_planned() -> None:
    one = BareLife(SPEC, 18)
    plan = one.state.agent.plan
    asked = [choice.arm for _, choice in one.ask(int(plan.sum()))]
    assert np.bincount(asked, minlength=4).tolist() == plan.tolist()
    turns = asked[: 2 * len(plan)]
    assert turns != sorted(turns)  # drawn, not one after the other


def within(found: int, n: int, share: float) -> bool:
    """Is a count what so many draws with this share may give?"""
    return stats.binomtest(found, n, share).pvalue > RARE


def test_the_control_share_is_what_was_said() -> None:
    one = BareLife({**SPEC, "control": {"arm": 1, "share": 0.2}}, 19)
    choices = [choice for _, choice in one.ask(4_000)]
    control = [choice for choice in choices if choice.reason == CONTROL]
    assert {choice.arm for choice in control} == {1}
    assert within(len(control), len(choices), 0.2)


def test_the_audit_is_on_dropped_arms_only_and_as_often_as_said() -> None:
    one = BareLife({**SPEC, "audit": {"share": 0.1}}, 20)
    rng = np.random.default_rng(4)
    audited, chances = 0, []
    for _ in range(1_500):
        active = set(one.state.agent.active_arms)
        told = []
        for number, choice in one.ask(2):
            if choice.reason == AUDIT:
                audited += 1
                assert choice.arm not in active
            else:
                assert choice.arm in active
            told.append((number, float(rng.random() < MEANS[0][choice.arm])))
        chances += [0.1 if len(active) < 4 else 0.0] * 2
        one.tell(told)
    assert len(one.state.agent.active_arms) == 1
    assert within(audited, sum(chance > 0 for chance in chances), 0.1)


# --- windows

SHOP: dict[str, Any] = {
    "structure": {"kind": "finite", "means": [[0.4, 0.3], [0.3, 0.4]]},
    "policy": {"kind": "SAE"},
    "horizon": 5_000,
    "alarm": {"fallback": "none"},
}
DAY = 86_400.0
TRUTH = (0.40, 0.30)
DELAYS = (0.6 * DAY, 0.01 * DAY)  # until a purchase; the better offer takes longer


def shop_life(number: int, held: bool) -> BareLife:
    """Let a shop live for four days: purchases are told when they come, and their lack after a day."""
    reward = {"reward": {"window": "24h", "missing": 0.0}} if held else {}
    one = BareLife({**SHOP, **reward}, number)
    rng = np.random.default_rng([number, 5])
    coming: list[tuple[float, int, float]] = []
    for _ in range(400):
        one.now += DAY / 100
        due = [each for each in coming if each[0] <= one.now]
        coming = [each for each in coming if each[0] > one.now]
        one.tell([(decision, reward) for _, decision, reward in due])
        one.settle()
        for decision, choice in one.ask(6):
            if rng.random() < TRUTH[choice.arm]:
                wait = DELAYS[choice.arm] * rng.random()
                coming.append((one.now + wait, decision, 1.0))
            elif not held:  # nobody tells what did not happen, unless the caller waits for it
                coming.append((one.now + DAY, decision, 0.0))
    return one


def estimates(lives: Sequence[BareLife]) -> tuple[np.ndarray, np.ndarray]:
    """Return the pooled mean of each arm, and its standard error."""
    pulls = sum(one.state.agent.pulls for one in lives)
    means = sum(one.state.agent.sums for one in lives) / pulls
    return means, np.sqrt(means * (1.0 - means) / pulls)


def test_windows_keep_rewards_without_bias() -> None:
    lives = [shop_life(number, held=True) for number in range(8)]
    means, errors = estimates(lives)
    assert (np.abs(means - TRUTH) < stats.norm.isf(RARE / 2) * errors).all(), means
    assert all(0 in one.state.agent.active_arms for one in lives)
    assert sum(one.state.agent.empty for one in lives) == 0


def test_as_they_arrive_rewards_are_biased() -> None:
    """Without a window the same shop is misled: this is what windows are for."""
    lives = [shop_life(number, held=False) for number in range(8)]
    means, errors = estimates(lives)
    assert (means - TRUTH > stats.norm.isf(RARE / 2) * errors).all(), means
    assert all(one.state.agent.empty for one in lives)  # at some time no model fitted


# --- the alarm

LEVEL = 0.05


def alarms(policy: str, truth: Sequence[float], lives: int, first: int) -> list[bool]:
    """Return of each life whether its alarm has rung within 200 rewards."""
    spec = build_spec({**SPEC, "policy": {"kind": policy}, "alarm": {"level": LEVEL}})
    rung = []
    for number in range(first, first + lives):
        one = BareLife(spec, number)
        one.play(truth, 200, at_once=10, seed=number)
        rung.append(one.state.fallen_at is not None)
    return rung


@pytest.mark.parametrize(("policy", "lives"), [("SAE", 50), ("SUCB", 10)])
def test_false_alarms_are_not_more_than_the_level(policy: str, lives: int) -> None:
    rung = []
    for number, truth in enumerate(MEANS):
        rung += alarms(policy, truth, lives, 1_000 * number)
    found = stats.binomtest(sum(rung), len(rung), LEVEL, alternative="greater")
    assert found.pvalue > RARE, sum(rung)


@pytest.mark.parametrize("policy", ["SAE", "SUCB", "KLUCBC", "ModelTS"])
def test_a_wrong_structure_is_found(policy: str) -> None:
    """The truth is far from all models on the arms that each of them recommends."""
    assert all(alarms(policy, [0.5, 0.5, 0.125, 0.875], 10, 9_000))
