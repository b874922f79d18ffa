"""UCB: optimism arm by arm, blind to the structure."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import chosen_by_class, compilable
from structured_bandits.planning.confidence import (
    Data,
    Prospect,
    fresh_data,
    radius_growth,
    width_budget,
)
from structured_bandits.planning.intervals import RELATIVE_ERROR, Hoeffding, Intervals
from structured_bandits.planning.kl_leads import Growth, budget_at, kl_front, kl_streak
from structured_bandits.planning.leads import Leader, lead_drift
from structured_bandits.planning.streaks import NO_LIMIT, Streak, certain_streak
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
    playable: Ints  # all arms


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
            np.arange(self.n_arms),
        )

    def restore(self, state: UCBState) -> None:
        """Compute what the indices are made of: the same as `note_index`, for all arms at once."""
        pulled = np.flatnonzero(state.data.pulls)
        pulls = state.data.pulls[pulled]
        state.means[pulled] = self.widths.scaled(state.data.sums[pulled] / pulls)
        state.roots[pulled] = 1.0 / np.sqrt(pulls)

    def streak(self, state: UCBState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the arm with the highest index as long as it is sure to have it."""
        return index_streak(self.widths, self, state, now)

    def end_streak(self, state: UCBState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards."""
        state.data.pulls[outcome.arm] += outcome.pulls
        state.data.sums[outcome.arm] += outcome.total
        note_index(state, outcome.arm, self.widths)


@compilable
def note_index(state: UCBState, arm: int, widths: Intervals) -> None:
    """Note what the index of an arm is made of."""
    state.means[arm] = widths.scaled(state.data.sums[arm] / state.data.pulls[arm])
    state.roots[arm] = 1.0 / math.sqrt(state.data.pulls[arm])


@compilable
def lead_length(room: float, miss: float, drift: float, width: float) -> tuple[float, float]:
    """Return pulls and misses up to which an arm surely keeps the highest index.

    With T pulls so far, j more pulls of which z are misses lower the arm's mean by at most z miss / T,
    where `miss` is how far the least reward is below the mean, and lose no more than j drift / T
    besides (`lead_drift`). So every pair with z miss + j drift < `room`, the lead times T, is certain
    (docs/planning.md 7.1, 7.2). Which one is best is a guess: if the arm goes on as before, with
    rewards at the ends of a range of `width`, j pulls bring about z misses less one deviation.
    """
    share = max(0.0, 1.0 - miss / width)  # of misses among the pulls, if rewards are bottom or top
    misses = (room * share - drift) / (drift + miss * share)
    misses = math.floor(misses + math.sqrt(misses)) if misses > 0.0 else 0.0
    length = (room - misses * miss) / drift
    if length < misses:  # nothing but misses may come
        length = misses = room / (miss + drift)
    return length, misses


def radius_streak(widths: Hoeffding, policy: UCB, state: UCBState, now: Now) -> Streak:
    """Play by mean + radius: `leads.highest_index`, from numbers kept for each arm."""
    limit = now.limit
    log_time = math.log(now.t + 1)
    root = math.sqrt(width_budget(policy.alpha, policy.sigma, log_time))
    highest = second = -math.inf
    widest = 0.0
    choice = 0
    for arm in range(policy.n_arms):
        index = state.means[arm] + root * state.roots[arm]
        widest = state.roots[arm] if state.roots[arm] > widest else widest
        lower = highest if index > highest else index
        choice = arm if index > highest else choice
        highest = index if index > highest else highest
        second = lower if lower > second else second
    if limit == 1 or highest == math.inf or not math.isfinite(policy.bottom):
        return certain_streak(choice, 1, 0)  # without pulls or bounds nothing more is certain
    lead = highest - second - RELATIVE_ERROR * (abs(highest) + root)
    factor = width_budget(policy.alpha, policy.sigma, 1.0)
    level = widths.at(factor * log_time)
    prospect = Prospect(now.t, limit, factor, level, policy.bottom, policy.top)
    return lead_streak(Leader(choice, lead, widest), state.data, prospect, log_time)


@compilable
def lead_streak(leader: Leader, data: Data, prospect: Prospect, log_time: float) -> Streak:
    """Pull the arm with the highest mean + radius as long as it is sure to have it."""
    arm, lead, widest = leader
    t, limit, _, level, bottom, top = prospect
    if lead <= 0.0:
        return certain_streak(arm, 1, 0)
    pulls = data.pulls[arm]
    miss = data.sums[arm] / pulls - bottom
    growth = radius_growth(t + 1.0, log_time)
    drift = lead_drift(math.sqrt(level.budget), 1.0 / math.sqrt(pulls), widest, pulls, growth)
    room = min(lead * pulls, limit * (miss + drift))  # more than that is never used
    length, misses = lead_length(room, miss, drift, top - bottom)
    certain = min(room / (miss + drift), limit - 1.0)  # if there are nothing but misses
    longest = 1 + int(min(length, limit - 1.0))
    return Streak(arm, 1 + int(certain), longest, int(misses), 0, -math.inf, NO_LIMIT)


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
