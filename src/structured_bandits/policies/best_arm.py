"""BestArm: sample to be sure which arm is best, then play it (best-arm identification)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_at_least, checked_probability
from structured_bandits.base.compilable import chosen_by_class, compilable
from structured_bandits.base.confidence import Data, fresh_data
from structured_bandits.base.records import Record
from structured_bandits.errors import ParameterError
from structured_bandits.inference.evidence import evidence_on, has_model_prior
from structured_bandits.inference.likelihood_sets import (
    TableSets,
    write_log_likelihoods,
)
from structured_bandits.inference.priors import believed_prior, plain_prior
from structured_bandits.inference.shares import divergences_from
from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    StructuredPolicy,
    checked_likelihood_sets,
    checked_rewards,
    checked_structure,
    registered,
)
from structured_bandits.policies.rival_finder import RivalFinder
from structured_bandits.policies.rivals import counted
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.reward_ranges import Rewards

UNDECIDED = 0


class BestArmState(NamedTuple):
    """What was learned, and when it became certain."""

    data: Data
    decided: Ints  # the pulls after which it was certain, UNDECIDED if it is not; and the arm
    work: (
        Any  # memory for log-likelihoods; of structures that are no tables, what was found at looks
    )


class Finder(Protocol):
    """What `BestArm` asks of what finds rivals, `TableFinder` or `RivalFinder`."""

    def arm_count(self) -> int:
        """Return the number of arms."""

    def fresh_work(self) -> Any:
        """Return the memory of a run."""


class _TableFinder(NamedTuple):
    sets: TableSets
    gaps: Floats  # models x arms
    told: Floats  # models x models x arms


class TableFinder(Record, _TableFinder):
    """The models of a table, and what each arm tells between any two of them."""

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.gaps.shape[1]

    def fresh_work(self) -> Floats:
        """Return memory for log-likelihoods."""
        return self.sets.fresh_logs()


class _BestArm(NamedTuple):
    finder: Any  # `TableFinder`, or `RivalFinder` on other structures
    budget: float  # log(1 / level)
    epsilon: float
    sigma: float
    bottom: float
    top: float


@registered
class BestArm(StructuredPolicy, ChoicePolicy, _BestArm):
    """Pull the arm that tells most against the likeliest rival model, until one arm is certain.

    With h the likeliest model and b its best arm, the rivals are the models in which b is not best (by
    more than `epsilon`), g the likeliest of them. The arm with the largest divergence d(h_k, g_k) is
    pulled, the lowest of several. On a table, once log N - L_g >= log(1 / level) for all rivals g, where
    L is the log-likelihood and N the mean of the models' likelihoods by their prior, b is certain: if
    one of the models is true, b is wrong with a probability of at most `level`, however often one
    looks (docs/notes/mathematics.md 4.6). From then on b is played.

    On other structures b is certain once the evidence of `Agent.certificate` says so. It is looked at
    after each pull at first, then after each 2 % more, and in between the same arm is pulled. Where
    the structure says little about the means, the rewards of two arms alone can decide sooner than the
    structure: whether to play against the likeliest
    rival or against the arm that is hardest to tell from b follows from the characteristic times of h
    with and without the structure, at each doubling of the pulls. There, no arm has fewer than
    sqrt(t) - K/2 pulls (docs/notes/mathematics.md 8.3).

    `prior` has a weight for each model of a table, each piece of a curve, or a prior for each group of a
    product; by default those of the structure. It does not try to lose little; `sb.identify` says how
    many pulls it takes. It goes by all rewards that it was told. If they come late, and the later the
    worse they are, go by `Agent.certificate`, which counts them in the order of asking.

    >>> from structured_bandits import FiniteStructure
    >>> BestArm(FiniteStructure([[0.8, 0.3], [0.2, 0.7]]), level=0.01).level
    0.01
    """

    asks = ("bounds_likelihood",)

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
        known = checked_structure(cls, structure)
        rewards = checked_rewards(reward_range, sigma, structure)
        if prior is not None and not has_model_prior(structure):
            raise ParameterError(
                f"prior={prior!r}: {structure!r} has no prior over its models here; leave it out"
            )
        prior = believed_prior(prior, structure)
        chance = checked_probability("level", level)
        policy = super().__new__(
            cls,
            finder_on(known, rewards, prior, chance),
            -math.log(chance),
            checked_at_least("epsilon", epsilon, 0.0),
            *rewards,
        )
        policy.structure, policy.level, policy.prior = structure, chance, plain_prior(prior)
        if isinstance(policy.finder, RivalFinder):
            policy.__dict__["learned"] = ("data", "decided", "work")
        return policy

    @property
    def model_prior(self) -> Any:
        """The prior."""
        return self.prior

    def init(self) -> BestArmState:
        """Return a fresh state."""
        return BestArmState(
            fresh_data(self.finder.arm_count()), np.zeros(2, np.int64), self.finder.fresh_work()
        )

    def check_learned(self, state: BestArmState, t: int) -> None:
        """Raise a ValueError if no play of `t` pulls leads to such learned fields."""
        pulls, arm = state.decided
        if not (0 <= pulls <= t and 0 <= arm < self.n_arms):
            raise ValueError("what is certain was not so within these pulls")
        if isinstance(self.finder, RivalFinder):
            self.finder.check_work(state.work, state.data)

    def moment(self, state: BestArmState) -> int:
        """Return the pulls after which it was certain, 0 if it is not."""
        return int(state.decided[0])

    def certain_arm(self, state: BestArmState) -> int:
        """Return the arm of which it is certain that it is best, -1 if it is of none."""
        return -1 if state.decided[0] == UNDECIDED else int(state.decided[1])

    def choose(self, state: BestArmState, now: Now, rng: np.random.Generator) -> Choice:
        """Return the arm that tells most, or the one that is certain; is one certain now?"""
        if state.decided[0] == UNDECIDED:
            return Choice(look(self.finder, self, state), 0)
        return Choice(state.decided[1], 0)


def look_at_table(finder: TableFinder, policy: BestArm, state: BestArmState) -> int:
    """Return the arm that tells most against the likeliest rival, or note which one is certain."""
    total = write_log_likelihoods(finder.sets, state.data, state.work)
    lead = likeliest(finder, policy.epsilon, state.work)
    if not is_certain(policy.budget, state.work, total, lead):
        return telling(finder.told, lead)
    if counted(state.data.pulls) > 0:  # else there is no rival at all
        state.decided[0] = counted(state.data.pulls)
        state.decided[1] = lead.arm
    return lead.arm


def look_at_rivals(finder: RivalFinder, policy: BestArm, state: BestArmState) -> int:
    """Return the arm that tells most against the rivals, or note which one is certain."""
    arm, certain = finder.look(state.data, policy.budget, policy.epsilon, state.work)
    if certain and counted(state.data.pulls) > 0:
        state.decided[0] = counted(state.data.pulls)
        state.decided[1] = arm
    return arm


look = chosen_by_class({TableFinder: look_at_table}, look_at_rivals)


def finder_on(
    structure: Any, rewards: Rewards, prior: Any, level: float
) -> TableFinder | RivalFinder:
    """Return what finds rivals on a structure."""
    table = getattr(structure.cells, "table", None)
    if table is not None:
        sets: Any = checked_likelihood_sets(structure, rewards, prior)
        gaps = table.max(axis=1)[:, None] - table
        return TableFinder(sets, gaps, divergences_from(table[:, None], table[None], rewards))
    evidence = evidence_on(structure, rewards, prior)
    return RivalFinder(evidence, rewards, structure, level)


class Lead(NamedTuple):
    """The likeliest model, its best arm, and the likeliest model in which that is not best."""

    model: int
    arm: int
    rival: int  # -1 if there is none


@compilable
def likeliest(finder: TableFinder, epsilon: float, logs: Floats) -> Lead:
    """Return the likeliest model, its best arm, and its likeliest rival; the first of several."""
    model = 0
    for other in range(1, len(logs)):
        if logs[other] > logs[model]:
            model = other
    arm = finder.sets.best[model]
    rival = -1
    for other in range(len(logs)):
        if finder.gaps[other, arm] > epsilon and (rival < 0 or logs[other] > logs[rival]):
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
def is_certain(budget: float, logs: Floats, total: float, lead: Lead) -> bool:
    """Are all rivals refuted?"""
    if total == -math.inf:  # rewards that are impossible in all models
        return False
    return lead.rival < 0 or total - logs[lead.rival] >= budget
