"""BestArm: sample to be sure which arm is best, then play it (best-arm identification)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.base.checks import checked_at_least, checked_probability
from structured_bandits.base.families import kl_bernoulli, kl_gaussian
from structured_bandits.compilable import compilable
from structured_bandits.inference.likelihood_sets import (
    LikelihoodSets,
    fresh_logs,
    write_log_likelihoods,
)
from structured_bandits.inference.priors import believed_prior, plain_prior
from structured_bandits.planning.confidence import Data, fresh_data
from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    StructuredPolicy,
    checked_cells,
    checked_likelihood_sets,
    checked_rewards,
    registered,
)
from structured_bandits.policies.rivals import counted
from structured_bandits.protocol import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.reward_ranges import Rewards

UNDECIDED = 0


class BestArmState(NamedTuple):
    """What was learned, and when it became certain."""

    data: Data
    decided: Ints  # the pulls after which it was certain, UNDECIDED if it is not; and the arm
    logs: Floats  # memory for log-likelihoods


class _BestArm(NamedTuple):
    sets: LikelihoodSets
    gaps: Floats  # models x arms
    told: Floats  # models x models x arms
    budget: float  # log(1 / level)
    epsilon: float
    sigma: float
    bottom: float
    top: float


@registered
class BestArm(StructuredPolicy, ChoicePolicy, _BestArm):
    """Pull the arm that tells most against the likeliest rival, until one arm is best with certainty.

    With h the likeliest model and b its best arm, the rivals are the models in which b is not best (by
    more than `epsilon`), g the likeliest of them. The arm with the largest divergence d(h_k, g_k) is
    pulled, the lowest of several. Once log N - L_g >= log(1 / level) for all rivals g, where L is the
    log-likelihood and N the mean of the models' likelihoods by their prior, b is certain: if one of the
    models is true, another arm is best with a probability of at most `level`, whenever that happens
    (docs/mathematics.md 4.6). From then on b is played.

    `prior` has a weight for each model; by default those of the structure, or equal ones. Regret is not
    what it is made for: `sb.identify` says how many pulls it takes. It goes by all rewards
    that it was told. If they come late, and the later the worse they are, go by `Agent.certificate`,
    which counts them in the order of asking.

    >>> from structured_bandits import FiniteStructure
    >>> BestArm(FiniteStructure([[0.8, 0.3], [0.2, 0.7]]), level=0.01).level
    0.01
    """

    asks = ("table",)
    learned = ("data", "decided")

    absent_parameters: ClassVar = {"prior": None}

    level: float
    prior: Any

    def __new__(
        cls,
        structure: Structure,
        level: float = 0.05,
        epsilon: float = 0.0,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        prior: Any = None,
    ) -> BestArm:
        """Check the parameters."""
        table = checked_cells(cls, structure).table
        rewards = checked_rewards(reward_range, sigma, structure)
        prior = believed_prior(prior, structure)
        sets = checked_likelihood_sets(structure, rewards, prior)
        chance = checked_probability("level", level)
        policy = super().__new__(
            cls,
            sets,
            table.max(axis=1)[:, None] - table,
            divergences(table, rewards),
            -math.log(chance),
            checked_at_least("epsilon", epsilon, 0.0),
            *rewards,
        )
        policy.structure, policy.level, policy.prior = structure, chance, plain_prior(prior)
        return policy

    @property
    def model_prior(self) -> Any:
        """The prior."""
        return self.prior

    def init(self) -> BestArmState:
        """Return a fresh state."""
        arms = self.gaps.shape[1]
        return BestArmState(fresh_data(arms), np.zeros(2, np.int64), fresh_logs(self.sets))

    def moment(self, state: BestArmState) -> int:
        """Return the pulls after which it was certain, 0 if it is not."""
        return int(state.decided[0])

    def certain_arm(self, state: BestArmState) -> int:
        """Return the arm of which it is certain that it is best, -1 if it is of none."""
        return -1 if state.decided[0] == UNDECIDED else int(state.decided[1])

    def choose(self, state: BestArmState, now: Now, rng: np.random.Generator) -> Choice:
        """Return the arm that tells most, or the one that is certain; is one certain now?"""
        if state.decided[0] == UNDECIDED:
            total = write_log_likelihoods(self.sets, state.data, state.logs)
            lead = likeliest(self, state.logs)
            if not is_certain(self, state.logs, total, lead):
                return Choice(telling(self.told, lead), 0)
            if counted(state.data.pulls) == 0:  # there is no rival at all
                return Choice(lead.arm, 0)
            state.decided[0] = counted(state.data.pulls)
            state.decided[1] = lead.arm
        return Choice(state.decided[1], 0)


class Lead(NamedTuple):
    """The likeliest model, its best arm, and the likeliest model in which that is not best."""

    model: int
    arm: int
    rival: int  # -1 if there is none


def divergences(table: Floats, rewards: Rewards) -> Floats:
    """Return d(h_k, g_k) in nats for models h and g and arms k (models x models x arms)."""
    if not math.isfinite(rewards.bottom):
        return kl_gaussian(table[:, None], table[None], rewards.sigma)
    shares = ((table - rewards.bottom) / (rewards.top - rewards.bottom)).clip(0.0, 1.0)
    return kl_bernoulli(shares[:, None], shares[None])


@compilable
def likeliest(policy: Any, logs: Floats) -> Lead:
    """Return the likeliest model, its best arm, and its likeliest rival; the first of several."""
    model = 0
    for other in range(1, len(logs)):
        if logs[other] > logs[model]:
            model = other
    arm = policy.sets.best[model]
    rival = -1
    for other in range(len(logs)):
        if policy.gaps[other, arm] > policy.epsilon and (rival < 0 or logs[other] > logs[rival]):
            rival = other
    return Lead(model, arm, rival)


@compilable
def telling(told: Floats, lead: Lead) -> int:
    """Return the arm that tells most against the rival; without one, the arm of the likeliest model."""
    if lead.rival < 0:
        return lead.arm
    chosen = 0
    for arm in range(1, told.shape[2]):
        if told[lead.model, lead.rival, arm] > told[lead.model, lead.rival, chosen]:
            chosen = arm
    return chosen


@compilable
def is_certain(policy: Any, logs: Floats, total: float, lead: Lead) -> bool:
    """Are all rivals refuted?"""
    if total == -math.inf:  # rewards that are impossible in all models
        return False
    return lead.rival < 0 or total - logs[lead.rival] >= policy.budget
