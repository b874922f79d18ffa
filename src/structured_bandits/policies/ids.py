"""Information-directed sampling: pay regret only for information about the best arm."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Data, fresh_data
from structured_bandits.planning.information_ratio import NO_ARM, Mixture, least_ratio
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.planning.thinning import LEAST_BOUND
from structured_bandits.policies.base import (
    GivenRange,
    StreakPolicy,
    StructuredPolicy,
    checked_cells,
    checked_rewards,
    registered,
)
from structured_bandits.policies.best_arm_belief import (
    Belief,
    Groups,
    fresh_belief,
    group_models,
    likeliest_group,
    write_belief,
    write_information,
)
from structured_bandits.policies.evidence import believed_prior, checked_prior, plain_prior
from structured_bandits.protocol import Now, Outcome
from structured_bandits.structures.base import Structure

NO_WAIT = -1


class IDSState(NamedTuple):
    """What was seen of each arm, the belief, and the wait that is being played, if any."""

    data: Data
    belief: Belief
    due: Ints  # one number: pulls of `turn[0]` before the next of `turn[1]`; NO_WAIT if none
    turn: Ints  # two arms


class _IDS(NamedTuple):
    groups: Groups
    sigma: float
    bottom: float
    top: float


@registered
class IDS(StructuredPolicy, StreakPolicy, _IDS):
    """Information-directed sampling (Russo and Van Roy) on finitely many models.

    The arm is drawn at random, with the probabilities that make (expected regret)^2 / (information about
    which arm is best) smallest; both are expectations under the posterior over the models. At most two
    arms have a positive probability (docs/mathematics.md 2.19). `prior` gives a weight to each model; by
    default these are the structure's weights, or equal ones if it has none. If all models agree on the
    mean of the arm that is played, its rewards teach nothing, and simulations do not decide again until
    it is the other arm's turn.

    >>> from structured_bandits import FiniteStructure
    >>> IDS(FiniteStructure([[0.8, 0.3], [0.2, 0.7]]), prior=[3, 1])
    IDS(FiniteStructure(2 models × 2 arms, 2 arms best in some model), prior=[3, 1], \
reward_range=(0.0, 1.0), sigma=0.5)
    """

    asks = ("table",)
    randomised = True

    prior: list[float] | None

    def __new__(
        cls,
        structure: Structure,
        prior: Any = None,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> IDS:
        """Check the parameters."""
        table = checked_cells(cls, structure).table
        prior = believed_prior(prior, structure)
        rewards = checked_rewards(reward_range, sigma, structure)
        log_prior = checked_prior(prior, len(table))
        policy = super().__new__(cls, group_models(table, log_prior, rewards), *rewards)
        policy.structure = structure
        policy.prior = plain_prior(prior)
        return policy

    @property
    def model_prior(self) -> Any:
        """The prior."""
        return self.prior

    def init(self) -> IDSState:
        """Return a fresh state."""
        data = fresh_data(self.groups.gaps.shape[1])
        belief = fresh_belief(self.groups)
        return IDSState(data, belief, np.full(1, NO_WAIT), np.zeros(2, np.int64))

    def plan(self, state: IDSState, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Plan one pull: before a wait is over an agent may have learned from elsewhere."""
        quota[:] = 0
        quota[self.streak(state, Now(now.t, 1, math.nan, math.nan), rng).arm] = 1
        return 0

    def streak(self, state: IDSState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull an arm once, or until the other's turn if its rewards say nothing.

        Rewards of such an arm leave the posterior as it is, so every uniform decides as this one until
        the first on the other side (docs/planning.md 21).
        """
        due, turn = state.due, state.turn
        if due[0] == NO_WAIT:
            write_belief(self.groups, state.data, state.belief)
            write_information(math.isfinite(self.bottom), state.belief)
            choice = choose(self.groups, state.belief)
            arm = pick(choice, rng.uniform(0.0, 1.0))
            if now.limit == 1 or not self.groups.silent[arm]:
                return certain_streak(arm, 1, 0)
            if choice.second == NO_ARM:
                return certain_streak(arm, now.limit, 0)
            if choice.share < LEAST_BOUND:  # a longer wait than whole numbers can count
                return certain_streak(arm, 1, 0)
            due[0] = rng.geometric(choice.share)
            turn[0], turn[1] = choice.first, choice.second
        if due[0] == 0:
            return certain_streak(turn[1], 1, 0)
        return certain_streak(turn[0], min(due[0], now.limit), 0)

    def end_streak(self, state: IDSState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards; count them off the wait."""
        state.data.pulls[outcome.arm] += outcome.pulls
        state.data.sums[outcome.arm] += outcome.total
        if state.due[0] != NO_WAIT:
            state.due[0] -= outcome.pulls  # the other arm's pull, when none is due, ends the wait


@compilable
def choose(groups: Groups, belief: Belief) -> Mixture:
    """Return what to play: if no arm says anything, the one that is most probably best."""
    for arm in range(len(belief.information)):
        if belief.information[arm] > 0.0:
            return least_ratio(belief.regret, belief.information)
    return Mixture(groups.arms[likeliest_group(belief.chances)], NO_ARM, 0.0)


@compilable
def pick(choice: Mixture, u: float) -> int:
    """Return the arm for a uniform number: the lower of the two if u is below its probability."""
    if choice.second == NO_ARM:
        return choice.first
    if choice.first < choice.second:
        return choice.first if u < 1.0 - choice.share else choice.second
    return choice.second if u < choice.share else choice.first
