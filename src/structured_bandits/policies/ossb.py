"""OSSB: explore in proportion to what the lower bound asks for (Combes, Magureanu, Proutiere 2017)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_at_least
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data, fresh_data
from structured_bandits.errors import ParameterError
from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    checked_rewards,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.ossb_targets import (
    Allocation,
    ArmGuide,
    Guide,
    ModelGuide,
    SolvedGuide,
    fresh_allocation,
    model_allocations,
)
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.reward_ranges import Rewards


class OSSBState(NamedTuple):
    """What was seen of each arm, how often it explored and the allocation."""

    data: Data
    explored: Ints  # one number: decisions to explore
    allocation: Allocation  # for the estimate


class Decided(NamedTuple):
    """An arm, and whether it is played because all arms have enough pulls."""

    arm: int
    empty: int
    exploits: bool


class _OSSB(NamedTuple):
    cells: Guide  # what is asked for the estimate and its allocation
    n_arms: int
    epsilon: float
    gamma: float
    sigma: float
    bottom: float
    top: float


@registered
class OSSB(ChoicePolicy, _OSSB):
    """Pull each arm as often as the lower bound of Graves and Lai requires, and otherwise the best one.

    The estimate is the model with the least squares, and c is the cheapest allocation of pulls that
    refutes the models which could be confused with it. If every arm i has c_i (1 + gamma) log t pulls,
    the estimate's best arm is played. Otherwise the policy explores: it plays the arm with the fewest
    pulls if these are no more than epsilon times the number of explorations so far, and else the arm
    with the least T_i / c_i. If epsilon and gamma are small but positive, no policy that does well in
    every model has a regret that grows more slowly; in practice 0 is better.

    On curves and polytopes the allocation is computed during play, in Python: when the estimate has
    moved by more than 0.001 or has another best arm, and when t passes a power of 2, and so that no
    model is refuted by less than 0.9999 of what is required; with `exact=True` at every decision, and to
    eight digits.

    >>> OSSB(3)
    OSSB(3 arms, epsilon=0.0, gamma=0.0, exact=False, reward_range=(0.0, 1.0), sigma=0.5)
    """

    learned = ("data", "explored", "allocation")
    exact: bool

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        epsilon: float = 0.0,
        gamma: float = 0.0,
        exact: bool = False,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> OSSB:
        """Check the parameters and solve for the allocations."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        epsilon = checked_at_least("epsilon", epsilon, 0.0)
        gamma = checked_at_least("gamma", gamma, 0.0)
        if not isinstance(exact, bool):
            raise ParameterError(f"exact={exact!r}: accepted are True and False")
        rewards = checked_rewards(reward_range, sigma, structure)
        guide = guide_for(structure, n_arms, rewards, exact)
        policy = super().__new__(cls, guide, n_arms, epsilon, gamma, *rewards)
        policy.structure = structure
        policy.exact = exact
        return policy

    def init(self) -> OSSBState:
        """Return a fresh state."""
        return OSSBState(
            fresh_data(self.n_arms),
            np.zeros(1, np.int64),
            fresh_allocation(self.n_arms),
        )

    def check_learned(self, state: OSSBState, t: int) -> None:
        """Raise a ValueError if it cannot have explored so often, or if this is no allocation."""
        wanted, _, (time, best) = state.allocation
        if not state.explored[0] >= 0:  # plans count, and some are never pulled
            raise ValueError(f"explored: {state.explored[0]} times")
        if not (wanted >= 0.0).all() or not 0 <= time <= t or not 0 <= best < self.n_arms:
            raise ValueError(f"allocation: {state.allocation}")

    def choose(self, state: OSSBState, now: Now, rng: np.random.Generator) -> Choice:
        """Return the estimate's best arm if all arms have enough pulls, else one to explore."""
        return Choice(exploit_or_explore(self, state, now.t, self.cells.guide_work()).arm, 0)


@compilable
def exploit_or_explore(policy: OSSB, state: OSSBState, t: int, work: Any) -> Decided:
    """Bring estimate and allocation up to date; return an arm, and whether all have enough pulls."""
    data, wanted = state.data, state.allocation.wanted
    best = policy.cells.consult(data, t, state.allocation, work)
    if has_enough(data.pulls, wanted, (1.0 + policy.gamma) * math.log(t + 1)):
        return Decided(best, 0, True)
    state.explored[0] += 1
    arm = fewest_pulls(data.pulls)
    if data.pulls[arm] > policy.epsilon * state.explored[0]:
        arm = neediest_arm(data.pulls, wanted)
    return Decided(arm, 0, False)


def guide_for(structure: Structure | None, n_arms: int, rewards: Rewards, exact: bool) -> Guide:
    """Return what estimates and allocates on such a structure."""
    if structure is None:
        return ArmGuide(n_arms, *rewards)
    if isinstance(structure, FiniteStructure):
        allocations = model_allocations(structure, rewards)
        return ModelGuide(structure.fitting_cells, allocations, rewards.bottom, rewards.top)
    return SolvedGuide(structure, rewards, exact)


@compilable
def has_enough(pulls: Ints, wanted: Floats, level: float) -> bool:
    """Has every arm the wanted pulls at this level, (1 + gamma) log t? At level 0 it has."""
    for arm in range(len(pulls)):
        if level > 0.0 and pulls[arm] < wanted[arm] * level:
            return False
    return True


@compilable
def fewest_pulls(pulls: Ints) -> int:
    """Return the arm with the fewest pulls, the lowest of several."""
    fewest = 0
    for arm in range(len(pulls)):
        if pulls[arm] < pulls[fewest]:
            fewest = arm
    return fewest


@compilable
def neediest_arm(pulls: Ints, wanted: Floats) -> int:
    """Return the arm with the least share of its wanted pulls, the lowest of several.

    Those that want infinitely many come first, by their pulls.
    """
    least = math.inf
    choice = 0
    for arm in range(len(pulls)):
        if wanted[arm] > 0.0:
            share = pulls[arm] / wanted[arm]
            if wanted[arm] == math.inf:
                share = -1.0 / (1.0 + pulls[arm])
            if share < least:
                least = share
                choice = arm
    return choice
