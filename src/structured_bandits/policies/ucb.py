"""UCB: optimism arm by arm, blind to the structure."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import chosen_by_class, compilable
from structured_bandits.planning.confidence import (
    Data,
    fresh_data,
    radius_growth,
    width_budget,
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
            np.arange(self.n_arms),
            np.zeros(self.n_arms),
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
        state.latest[outcome.arm] = outcome.pulls
        note_index(state, outcome.arm, self.widths)


@compilable
def note_index(state: UCBState, arm: int, widths: Intervals) -> None:
    """Note what the index of an arm is made of."""
    state.means[arm] = widths.scaled(state.data.sums[arm] / state.data.pulls[arm])
    state.roots[arm] = 1.0 / math.sqrt(state.data.pulls[arm])


class Front(NamedTuple):
    """The arm with the highest index, that index, and the second highest."""

    arm: int
    highest: float
    second: float


@compilable
def front_arm(state: UCBState, root: float) -> Front:
    """Return the arm with the highest mean + root / sqrt(pulls), the lowest one of equals."""
    highest = second = -math.inf
    choice = 0
    for arm in range(len(state.means)):
        index = state.means[arm] + root * state.roots[arm]
        lower = highest if index > highest else index
        choice = arm if index > highest else choice
        highest = index if index > highest else highest
        second = lower if lower > second else second
    return Front(choice, highest, second)


def radius_streak(widths: Hoeffding, policy: UCB, state: UCBState, now: Now) -> Streak:
    """Play by mean + radius: `leads.highest_index`, from numbers kept for each arm."""
    log_time = math.log(now.t + 1)
    root = math.sqrt(width_budget(policy.alpha, policy.sigma, log_time))
    arm, highest, second = front_arm(state, root)
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
    growth = root * radius_growth(now.t + 1.0, log_time)
    far = near_future(pulls, state.latest[arm], now.limit)
    widest, rival = rivals_after(state, arm, second, root + growth * far)
    always = Rivals(growth * widest * pulls, now.limit - 1.0)
    near = Rivals((rival - second) / far * pulls, far)
    return lead_streak(lead, always, near, policy.top)


@compilable
def rivals_after(state: UCBState, arm: int, second: float, root: float) -> tuple[float, float]:
    """Return the largest 1 / sqrt(pulls), and the highest index of the others when radii have grown.

    It is at least `second`. On the way there it lies below the straight line from what it was, since the
    highest of numbers that rise steadily is convex (docs/planning.md 7.2).
    """
    widest = 0.0
    rival = second
    for other in range(len(state.means)):
        index = state.means[other] + root * state.roots[other]
        index = index if other != arm else second
        rival = index if index > rival else rival
        widest = state.roots[other] if state.roots[other] > widest else widest
    return widest, rival


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
