"""KL-UCB: optimism arm by arm with the divergence of coins (Garivier and Cappé, 2011)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.base.checks import checked_at_least
from structured_bandits.compilable import compilable
from structured_bandits.errors import ParameterError
from structured_bandits.planning.corners import stopping_streak
from structured_bandits.planning.indices import CLOSE, SPREAD, Front, front_of
from structured_bandits.planning.kl import kl_upper
from structured_bandits.planning.kl_leads import (
    Growth,
    StaysAbove,
    budget_at,
    kl_front,
    kl_streak,
    most_misses,
    surest_reach,
)
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    GivenRange,
    checked_rewards,
    playable_arms,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.index_policy import (
    IndexPolicy,
    IndexState,
    checked_horizon,
    take_in,
)
from structured_bandits.protocol import Now, Outcome
from structured_bandits.structures.base import Structure


class _KLUCB(NamedTuple):
    n_arms: int
    playable: Ints
    c: float
    pulls_in_all: int  # of the variant "++"; 0: the plain one
    sigma: float
    bottom: float
    top: float


@registered
class KLUCB(IndexPolicy, _KLUCB):
    """Play the arm with the highest index, the largest q with T d(m, q) <= f, each arm once first.

    T and m are the pulls and the mean of an arm, d is the Kullback-Leibler divergence of two coins with
    the means m and q, and f = log t + c log log t, or, for the variant "++" that knows the horizon n,
    log+(y (1 + log+(y)^2)) with y = n / (K T) for K arms. For Gaussian rewards (no range) the index is
    the mean + sigma sqrt(2 f / T). docs/mathematics.md 2.12 has the definition.

    >>> KLUCB(3)
    KLUCB(3 arms, c=0.0, variant='plain', horizon=None, arms='all', reward_range=(0.0, 1.0), sigma=0.5)
    """

    variant: str
    horizon: int | None
    arms: str

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        c: float = 0.0,
        variant: str = "plain",
        horizon: int | None = None,
        arms: str = "all",
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> KLUCB:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        playable = playable_arms(structure, n_arms, arms)
        known = _checked_variant(variant, checked_horizon(horizon))
        rewards = checked_rewards(reward_range, sigma, structure)
        constant = checked_at_least("c", c, 0.0)
        policy = super().__new__(cls, n_arms, playable, constant, known or 0, *rewards)
        policy.structure, policy.arms = structure, arms
        policy.variant, policy.horizon = variant, known
        return policy

    def width(self) -> str:
        """Return the confidence radius in words."""
        if self.pulls_in_all > 0:
            return "T d(m, q) <= log+(n / (K T)) + ..."
        repeated = f" + {self.c:g} log log t" if self.c > 0.0 else ""
        return f"T d(m, q) <= log t{repeated}"

    def restore(self, state: IndexState) -> None:
        """Compute the means, and the indices as far as they do not depend on time."""
        super().restore(state)
        for arm in np.flatnonzero(state.data.pulls) if self.pulls_in_all > 0 else ():
            note_plus_index(state, int(arm), self)

    def streak(self, state: IndexState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the arm with the highest index as long as it is sure to have it."""
        growth = Growth(1.0, self.c)
        front = front_now(self, state, budget_at(growth, math.log(now.t + 1)))
        if now.limit == 1 or front.highest == math.inf or not math.isfinite(self.bottom):
            return certain_streak(front.arm, 1, 0)  # without pulls or bounds no more is certain
        if self.pulls_in_all == 0:
            return kl_streak(state, self.playable, front, growth, now, self.top)
        return steady_streak(self, state, front, now)

    def end_streak(self, state: IndexState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards."""
        take_in(state, outcome, self.bottom, self.top)
        if self.pulls_in_all > 0:
            note_plus_index(state, outcome.arm, self)


@compilable
def front_now(policy: Any, state: IndexState, budget: float) -> Front:
    """Return which arm leads; `budget` is that of the plain variant, "++" has its indices already."""
    if policy.pulls_in_all == 0 and math.isfinite(policy.bottom):
        return kl_front(state.data, state.means, policy.playable, budget)
    if policy.pulls_in_all == 0:
        for place in range(len(policy.playable)):
            write_index(state, policy.playable[place], budget, policy.sigma, policy.bottom)
    return front_of(state.indices, policy.playable)


@compilable
def write_index(state: IndexState, arm: int, budget: float, sigma: float, bottom: float) -> None:
    """Write the index of an arm with pulls; others keep theirs, which is infinite."""
    pulls = state.data.pulls[arm]
    if pulls > 0 and math.isfinite(bottom):
        state.indices[arm] = kl_upper(state.means[arm], budget / pulls)
    elif pulls > 0:
        state.indices[arm] = state.means[arm] + sigma * math.sqrt(2.0 * budget / pulls)


@compilable
def plus_budget(pulls_in_all: int, arms: int, pulls: int) -> float:
    """Return the budget of the variant "++" for an arm with `pulls` pulls: it falls with them."""
    ratio = pulls_in_all / (arms * pulls)
    log_ratio = max(math.log(ratio), 0.0)
    return max(math.log(ratio * (1.0 + log_ratio * log_ratio)), 0.0)


@compilable
def note_plus_index(state: IndexState, arm: int, policy: Any) -> None:
    """Write the index of an arm for the variant "++", which does not depend on time."""
    budget = plus_budget(policy.pulls_in_all, len(policy.playable), state.data.pulls[arm])
    write_index(state, arm, budget, policy.sigma, policy.bottom)


@compilable
def steady_streak(policy: Any, state: IndexState, front: Front, now: Now) -> Streak:
    """Pull the leader of the variant "++" as long as it surely leads: the others' indices stand still.

    Its own budget falls with its pulls, so the condition has that of the plan's end
    (docs/planning.md 18.1). A plan holds no more pulls than the arm has; doubling them is far enough.
    """
    arm = front.arm
    if front.second == -math.inf:
        return certain_streak(arm, now.limit, 0)  # there is no other arm
    if front.highest - front.second < CLOSE:
        return certain_streak(arm, 1, 0)
    pulls = state.data.pulls[arm]
    mean = state.means[arm]
    length = min(now.limit - 1, pulls)
    while length > 0:
        budget = plus_budget(policy.pulls_in_all, len(policy.playable), pulls + length)
        condition = StaysAbove(float(pulls), pulls * mean, front.second + SPREAD, budget)
        misses = most_misses(condition)
        # If there are rarely more misses than that, a shorter plan would not last longer.
        if misses + 1.0 >= 0.5 * length * (1.0 - mean):
            reach = surest_reach(condition, state, arm, length, misses)
            return stopping_streak(arm, reach, policy.top)
        length //= 2
    return certain_streak(arm, 1, 0)


def _checked_variant(variant: str, horizon: int | None) -> int | None:
    """Return the horizon if the variant has a use for one."""
    if variant not in ("plain", "++"):
        raise ParameterError(f"variant={variant!r}: accepted are 'plain' and '++'")
    if variant == "++" and horizon is None:
        raise ParameterError(
            "horizon=None: the variant '++' is made for a number of pulls in all; give "
            "horizon=10_000, for example, or take variant='plain'"
        )
    return horizon if variant == "++" else None
