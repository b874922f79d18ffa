"""UCB: optimism arm by arm, blind to the structure."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.compilable import chosen_by_class
from structured_bandits.base.confidence import Data, width_budget
from structured_bandits.base.intervals import Hoeffding, Intervals
from structured_bandits.policies.base import (
    ChoicePolicy,
    ConfidenceSetPolicy,
    GivenRange,
    State,
    checked_sets,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.indices import kl_front
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure


class _UCB(NamedTuple):
    widths: Intervals  # of a budget of 0
    n_arms: int
    alpha: float
    sigma: float
    bottom: float
    top: float


@registered
class UCB(ConfidenceSetPolicy, ChoicePolicy, _UCB):
    """Play the arm with the highest mean + 2 sigma sqrt(alpha log t / pulls), each arm once first.

    Every arm is played, also those that are best in no model. UCB1 is alpha = 2. The paper gives no
    formula for its UCB; ours has the widths of SUCB and SAE at equal alpha (errata, I-12). With
    confidence="kl" the index is the upper end of the KL interval, T kl(mean, q) <= 2 alpha log t: at
    alpha = 1/2 that is `KLUCB`.

    >>> UCB(3)
    UCB(3 arms, alpha=2.0, reward_range=(0.0, 1.0), sigma=0.5, confidence='hoeffding')
    """

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
        sets = checked_sets(structure, alpha, reward_range, sigma, confidence)
        policy = super().__new__(cls, sets.widths, n_arms, sets.alpha, *sets.rewards)
        policy.structure, policy.confidence = structure, sets.confidence
        return policy

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the first arm without a pull, else the one with the highest index."""
        pulls = state.data.pulls
        if not pulls.all():
            return Choice(int(pulls.argmin()), 0)
        return Choice(highest_index(self.widths, self, state.data, math.log(now.t + 1)), 0)


def highest_radius_index(widths: Hoeffding, policy: UCB, data: Data, log_time: float) -> int:
    """Return the arm with the highest mean + 2 sigma sqrt(alpha log t / pulls)."""
    root = math.sqrt(width_budget(policy.alpha, policy.sigma, log_time))
    indices = data.sums / data.pulls + root * (1.0 / np.sqrt(data.pulls))
    return int(indices.argmax())


def highest_kl_index(widths: Intervals, policy: UCB, data: Data, log_time: float) -> int:
    """Return the arm with the highest q such that pulls * kl(mean, q) <= 2 alpha log t."""
    means = widths.scaled(data.sums / data.pulls)
    return kl_front(data, means, np.arange(len(means)), 2.0 * policy.alpha * log_time).arm


#: Return the arm with the highest index after t - 1 pulls, given log t.
highest_index = chosen_by_class({Hoeffding: highest_radius_index}, highest_kl_index)
