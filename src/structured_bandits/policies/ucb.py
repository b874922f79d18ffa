"""UCB: optimism arm by arm, blind to the structure."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import chosen_by_class
from structured_bandits.planning.confidence import (
    Data,
    fresh_data,
    radius_growth,
    width_budget,
)
from structured_bandits.planning.fronts import (
    Indices,
    ShortList,
    drop_list,
    fresh_list,
    front_arm,
    rivals_after,
)
from structured_bandits.planning.intervals import RELATIVE_ERROR, Hoeffding, Intervals
from structured_bandits.planning.kl_leads import Growth, budget_at, kl_front, kl_streak
from structured_bandits.planning.leads import (
    Lead,
    Rivals,
    lead_streak,
    lost_at_once,
    near_future,
)
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    GivenRange,
    StreakPolicy,
    checked_rewards,
    checked_scale,
    checked_widths,
    registered,
    structure_and_arms,
    width_in_words,
    widths_of,
)
from structured_bandits.protocol import Now, Outcome
from structured_bandits.structures.base import Structure


class UCBState(NamedTuple):
    """What was seen of each arm, and what its index is made of."""

    data: Data
    means: Floats  # on the scale of the intervals; inf before the first pull
    roots: Floats  # 1 / sqrt(pulls); 0 before the first pull
    short: ShortList  # of arms with high indices
    playable: Ints  # all arms
    latest: Floats  # pulls in the latest streak of each arm


class _UCB(NamedTuple):
    widths: Intervals  # of a budget of 0
    n_arms: int
    alpha: float
    sigma: float
    bottom: float
    top: float


@registered
class UCB(StreakPolicy, _UCB):
    """Play the arm with the highest mean + 2 sigma sqrt(alpha log t / pulls), each arm once first.

    Every arm is played, also those that are best in no model. UCB1 is alpha = 2. The paper gives no
    formula for its UCB; ours has the widths of SUCB and SAE at equal alpha (errata, I-12). With
    confidence="kl" the index is the upper end of the KL interval, T kl(mean, q) <= 2 alpha log t: at
    alpha = 1/2 that is `KLUCB`.

    >>> UCB(3)
    UCB(3 arms, alpha=2.0, reward_range=(0.0, 1.0), sigma=0.5, confidence='hoeffding')
    """

    absent_parameters: ClassVar = {"confidence": "hoeffding"}
    confidence: str

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        alpha: float = 2.0,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str = "hoeffding",
    ) -> UCB:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        rewards = checked_rewards(reward_range, sigma, structure)
        widths = checked_widths(confidence, rewards)
        policy = super().__new__(cls, widths, n_arms, checked_scale("alpha", alpha), *rewards)
        policy.structure = structure
        policy.confidence = confidence
        return policy

    def width(self) -> str:
        """Return the confidence interval in words."""
        return width_in_words(self, "t")

    def widths_at(self, state: UCBState, t: int) -> Intervals:
        """Return the intervals of the next pull."""
        return widths_of(self, math.log(t + 1))

    def init(self) -> UCBState:
        """Return a fresh state."""
        return UCBState(
            fresh_data(self.n_arms),
            np.full(self.n_arms, math.inf),
            np.zeros(self.n_arms),
            fresh_list(self.n_arms),
            np.arange(self.n_arms),
            np.zeros(self.n_arms),
        )

    def restore(self, state: UCBState) -> None:
        """Compute what the indices are made of, as `end_streak` does, for all arms at once."""
        pulled = np.flatnonzero(state.data.pulls)
        pulls = state.data.pulls[pulled]
        state.means[pulled] = self.widths.scaled(state.data.sums[pulled] / pulls)
        state.roots[pulled] = 1.0 / np.sqrt(pulls)
        drop_list(state.short)

    def streak(self, state: UCBState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the arm with the highest index as long as it is sure to have it."""
        return index_streak(self.widths, self, state, now)

    def end_streak(self, state: UCBState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards, and note what the arm's index is made of."""
        arm, data = outcome.arm, state.data
        data.pulls[arm] += outcome.pulls
        data.sums[arm] += outcome.total
        state.means[arm] = self.widths.scaled(data.sums[arm] / data.pulls[arm])
        state.roots[arm] = 1.0 / math.sqrt(data.pulls[arm])
        state.latest[arm] = outcome.pulls
        if not state.short.listed[arm]:
            drop_list(state.short)


def radius_streak(widths: Hoeffding, policy: UCB, state: UCBState, now: Now) -> Streak:
    """Play by mean + radius: `leads.highest_index`, from numbers kept for each arm."""
    log_time = math.log(now.t + 1)
    root = math.sqrt(width_budget(policy.alpha, policy.sigma, log_time))
    growth = root * radius_growth(now.t + 1.0, log_time) if now.t > 0 else 0.0
    indices = Indices(state.means, state.roots)
    arm, highest, second = front_arm(indices, state.short, root, growth)
    if now.limit == 1 or highest == math.inf or not math.isfinite(policy.bottom):
        return certain_streak(arm, 1, 0)  # without pulls or bounds nothing more is certain
    if second == -math.inf:
        return certain_streak(arm, now.limit, 0)  # there is no other arm
    second += RELATIVE_ERROR * (abs(highest) + root)
    pulls, mean = state.data.pulls[arm], state.means[arm]
    room, fall = (highest - second) * pulls, 0.5 * root * state.roots[arm]
    lead = Lead(arm, pulls, room, mean - policy.bottom, policy.top - mean, fall)
    if lost_at_once(lead):
        return certain_streak(arm, 1, 0)
    far = near_future(pulls, state.latest[arm], now.limit)
    widest, rival = rivals_after(indices, arm, second, root + growth * far)
    always = Rivals(growth * widest * pulls, now.limit - 1.0)
    near = Rivals((rival - second) / far * pulls, far)
    return lead_streak(lead, always, near, policy.top)


def divergence_streak(widths: Intervals, policy: UCB, state: UCBState, now: Now) -> Streak:
    """Play by the upper ends of KL intervals, arms without pulls first: KL-UCB."""
    growth = Growth(2.0 * policy.alpha, 0.0)
    budget = budget_at(growth, math.log(now.t + 1))
    front = kl_front(state.data, state.means, state.playable, budget)
    if now.limit == 1 or front.highest == math.inf:
        return certain_streak(front.arm, 1, 0)
    return kl_streak(state, state.playable, front, growth, now, policy.top)


#: Pull the arm with the highest index as long as it is sure to have it.
index_streak = chosen_by_class({Hoeffding: radius_streak}, divergence_streak)
