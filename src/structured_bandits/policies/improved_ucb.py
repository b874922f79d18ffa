"""Improved UCB: arm elimination that is blind to the structure (Auer and Ortner, 2010)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Ints
from structured_bandits.base.checks import checked_count
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data, fresh_data
from structured_bandits.errors import ParameterError
from structured_bandits.policies.base import (
    GivenRange,
    Policy,
    checked_rewards,
    flagged,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.phases import (
    MOST_PULLS,
    Presence,
    all_present,
    largest_gap,
    note_here,
    top_up,
)
from structured_bandits.protocols import Now
from structured_bandits.structures.base import Structure


class ImprovedUCBState(NamedTuple):
    """What was seen of each arm, the arms still in, and the round."""

    data: Data
    active: Flags
    round: Ints  # one number
    presence: Presence


@compilable
def best_mean(data: Data, active: Flags) -> int:
    """Return the active arm with the highest mean, the lowest arm on ties."""
    highest = -math.inf
    choice = -1
    for arm in range(len(data.pulls)):
        if active[arm] and data.sums[arm] / data.pulls[arm] > highest:
            highest = data.sums[arm] / data.pulls[arm]
            choice = arm
    return choice


@compilable
def last_round(horizon: int) -> int:
    """Return the number of the last round, floor(log2(n / e) / 2)."""
    return max(0, math.floor(0.5 * math.log2(horizon / math.e)))


@compilable
def round_of(policy: Any, number: int) -> tuple[int, float]:
    """Return the pulls of each arm that end a round, and the radius then."""
    variance = 4.0 * policy.sigma * policy.sigma
    halved = math.ldexp(1.0, -int(number))
    log_term = variance * math.log(policy.horizon * halved * halved)
    gap = halved * largest_gap(policy.bottom, policy.top)
    target = max(1, math.ceil(min(2.0 * log_term / (gap * gap), MOST_PULLS)))
    return target, math.sqrt(log_term / (2.0 * target))


class _ImprovedUCB(NamedTuple):
    n_arms: int
    horizon: int
    sigma: float
    bottom: float
    top: float


@registered
class ImprovedUCB(Policy, _ImprovedUCB):
    """Play in rounds; drop the arms that are worse by a distance D, which is halved from round to round.

    For rewards in [0, 1], round m has D = 2^-m and ends when each remaining arm has n_m = ceil(2 (2
    sigma)^2 log(n D^2) / D^2) pulls; an arm is dropped if its mean is more than twice the radius 2 sigma
    sqrt(log(n D^2) / (2 n_m)) below the highest. Other ranges are scaled to this. There are floor(log2(n
    / e) / 2) + 1 rounds; then, or when one arm is left, the remaining arm with the highest mean is
    played to the end. Arms that are parked (`Agent.park`) are not dropped: a round is decided among the
    arms that are present, and the last round is decided again when an arm comes back.
    """

    learned = ("data", "active", "round")

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        horizon: int,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> ImprovedUCB:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        rewards = checked_rewards(reward_range, sigma, structure)
        policy = super().__new__(cls, n_arms, checked_count("horizon", horizon), *rewards)
        policy.structure = structure
        if round_of(policy, 0)[0] >= MOST_PULLS:
            raise ParameterError(
                f"sigma={policy.sigma:g}: the first round would take 2**52 pulls of each arm or more, "
                f"for rewards whose range is {policy.reward_range}"
            )
        return policy

    def width(self) -> str:
        """Return the confidence radius in words."""
        return f"sqrt({2 * self.sigma**2:g} log(n D^2) / T)"

    def active_arms(self, state: ImprovedUCBState, t: int) -> tuple[int, ...]:
        """Return the arms that have not been eliminated."""
        return flagged(state.active)

    def init(self) -> ImprovedUCBState:
        """Return a fresh state."""
        return ImprovedUCBState(
            fresh_data(self.n_arms),
            np.ones(self.n_arms, np.bool_),
            np.zeros(1, np.int64),
            all_present(self.n_arms),
        )

    def check_learned(self, state: ImprovedUCBState, t: int) -> None:
        """Raise a ValueError if this is no round of the policy."""
        done = int(state.round[0])
        if not state.active.any() or not 0 <= done <= last_round(self.horizon) + 1:
            raise ValueError(f"round {done} with {int(state.active.sum())} arms")
        if done > last_round(self.horizon) and state.active.sum() > 1:
            raise ValueError(f"round {done} is over, with {int(state.active.sum())} arms left")

    def plan(self, state: ImprovedUCBState, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Plan the rest of the round, or of the game once one arm is left."""
        last = last_round(self.horizon)
        data = state.data
        while True:
            note_here(state.active, state.presence)
            here = state.presence.here
            survivors = 0
            for arm in range(self.n_arms):
                survivors += here[arm]
                quota[arm] = self.horizon if here[arm] else 0
            if survivors == 1:
                return 0
            target, radius = round_of(self, state.round[0])
            if top_up(data.pulls, here, target, quota):
                return 0
            best = best_mean(data, here)
            highest = data.sums[best] / data.pulls[best]
            absent = 0
            for arm in range(self.n_arms):
                if here[arm]:
                    mean = data.sums[arm] / data.pulls[arm]
                    worse = mean + radius < highest - radius
                    state.active[arm] = arm == best if state.round[0] == last else not worse
                else:
                    absent += state.active[arm]
            if state.round[0] < last or absent == 0:
                state.round[0] += 1
