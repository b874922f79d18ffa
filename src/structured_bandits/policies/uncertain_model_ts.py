"""Posterior sampling that does not take the table at its word."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.base.checks import checked_at_least, numbers
from structured_bandits.compilable import compilable
from structured_bandits.errors import ParameterError
from structured_bandits.inference.likelihood import FLOOR, evidence_of
from structured_bandits.inference.priors import believed_prior, checked_prior, plain_prior
from structured_bandits.planning.confidence import Data, fresh_data
from structured_bandits.planning.rising import log_rising
from structured_bandits.planning.weights import Heaviest, write_weights
from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    StructuredPolicy,
    checked_cells,
    checked_rewards,
    registered,
)
from structured_bandits.policies.playing import add_outcome
from structured_bandits.protocol import Choice, Now, Outcome
from structured_bandits.records import Record
from structured_bandits.structures.base import Structure
from structured_bandits.structures.reward_ranges import Rewards

STRENGTHS = (2.0, 10.0, 50.0, 250.0, 1000.0, 4000.0)


class _Pairs(NamedTuple):
    strengths: Floats  # arms x places without the exact ones: pseudo-counts behind a mean
    ones: Floats  # those of reward 1
    zeros: Floats  # those of reward 0
    per_reward: Floats  # arms x models: log-likelihoods of the exact models
    per_pull: Floats
    log_prior: Floats  # of each place


class Pairs(Record, _Pairs):
    """Models that are only near the table, one for each strength, and models that are exact.

    Places are counted strength by strength, in each of them model by model, the exact models last.
    """


class PairsState(NamedTuple):
    """What was seen of each arm, and how likely each pair makes it."""

    data: Data
    terms: Floats  # arms x places: log-likelihoods of what was seen of each arm


class Weights(NamedTuple):
    """Memory for the posterior weights of the pairs, and their logarithms."""

    logs: Floats
    weights: Floats


class _UncertainModelTS(NamedTuple):
    pairs: Pairs
    best: Ints  # the best arm of each model
    sigma: float
    bottom: float
    top: float


@registered
class UncertainModelTS(StructuredPolicy, ChoicePolicy, _UncertainModelTS):
    """Posterior sampling over models that may be exact or only near the truth.

    `trust` is the probability that a row of the table is exactly right. The rest of the prior goes in
    equal parts to the `strengths`: with strength k the mean of an arm has a Beta law around the table's,
    as if k rewards stood behind it. At each pull a pair of model and strength is drawn from the
    posterior, and then a mean for each arm (for an exact model these are the row's means); the arm with
    the highest mean is played (docs/mathematics.md 2.18). `strengths` is a number, several of them, or a
    table of models x arms: how many observations stand behind each mean. `prior` gives a weight to each
    model, by default the structure's weights, or equal ones if it has none. It decides before every
    pull.

    >>> from structured_bandits import FiniteStructure
    >>> UncertainModelTS(FiniteStructure([[0.8, 0.3], [0.2, 0.7]]), trust=0.25, strengths=100)
    UncertainModelTS(FiniteStructure(2 models × 2 arms, 2 arms best in some model), trust=0.25, \
strengths=100.0, prior=None, reward_range=(0.0, 1.0))
    """

    asks = ("table",)
    randomised = True

    trust: float
    strengths: Any
    prior: list[float] | None

    def __new__(
        cls,
        structure: Structure,
        trust: float = 0.5,
        strengths: Any = STRENGTHS,
        prior: Any = None,
        reward_range: GivenRange = "structure",
    ) -> UncertainModelTS:
        """Check the parameters."""
        cells = checked_cells(cls, structure)
        if reward_range is None:
            raise ParameterError(
                "reward_range=None: expected a pair (low, high), since the means have Beta laws"
            )
        prior = believed_prior(prior, structure)
        rewards = checked_rewards(reward_range, None, structure)
        trust, levels = checked_trust(trust), checked_strengths(strengths, cells.table.shape)
        log_prior = checked_prior(prior, len(cells.table))
        pairs = make_pairs(cells.table, trust, levels, log_prior, rewards)
        policy = super().__new__(cls, pairs, cells.best, *rewards)
        policy.structure = structure
        policy.trust = trust
        policy.strengths = np.asarray(strengths, np.float64).tolist()
        policy.prior = plain_prior(prior)
        return policy

    @property
    def model_prior(self) -> Any:
        """The prior."""
        return self.prior

    def init(self) -> PairsState:
        """Return a fresh state."""
        arms, places = len(self.pairs.ones), len(self.pairs.log_prior)
        return PairsState(fresh_data(arms), np.zeros((arms, places)))

    def restore(self, state: PairsState) -> None:
        """Compute the log-likelihoods."""
        for arm in np.flatnonzero(state.data.pulls):
            write_terms(self.pairs, state, int(arm), self.bottom, self.top)

    def choose(self, state: PairsState, now: Now, rng: np.random.Generator) -> Choice:
        """Draw a pair of model and strength, and a mean for each arm; return the best arm."""
        return Choice(draw_best(self, state, fresh_weights(self.pairs), rng), 0)

    def update(self, state: PairsState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards, and see what they say."""
        add_outcome(self, state, outcome)
        write_terms(self.pairs, state, outcome.arm, self.bottom, self.top)


@compilable
def fresh_weights(pairs: Pairs) -> Weights:
    """Return memory for the weights of the pairs."""
    places = len(pairs.log_prior)
    return Weights(np.zeros(places), np.zeros(places))


@compilable
def draw_best(
    policy: UncertainModelTS, state: PairsState, memory: Weights, rng: np.random.Generator
) -> int:
    """Draw a pair and the means of the arms; return the arm with the highest, the first of several."""
    pairs = policy.pairs
    write_logs(pairs, state, memory.logs)
    heaviest = write_weights(memory.logs, memory.weights)
    place = draw_place(memory.weights, heaviest, len(policy.best), rng)
    near = pairs.ones.shape[1]
    if place >= near:
        return int(policy.best[place - near])
    highest = -1.0
    choice = 0
    for arm in range(len(state.data.pulls)):
        ones, zeros = scaled_counts(state.data, arm, policy.bottom, policy.top)
        mean = rng.beta(pairs.ones[arm, place] + ones, pairs.zeros[arm, place] + zeros)
        if mean > highest:
            highest = mean
            choice = arm
    return choice


def checked_trust(trust: Any) -> float:
    """Return a probability."""
    probability = checked_at_least("trust", trust, 0.0)
    if probability > 1.0:
        raise ParameterError(f"trust={trust!r}: expected a probability, from 0 to 1")
    return probability


def checked_strengths(strengths: Any, shape: tuple[int, int]) -> Floats:
    """Return the pseudo-counts as an array that goes with levels x models x arms."""
    levels = numbers(strengths)
    fits = levels is not None and (levels.ndim < 2 or levels.shape == shape) and levels.size > 0
    if levels is None or not fits or not (np.isfinite(levels).all() and (levels > 0.0).all()):
        raise ParameterError(
            f"strengths={strengths!r}: expected a positive number, several of them, or a table of "
            f"{shape[0]} models × {shape[1]} arms"
        )
    return levels[None] if levels.ndim == 2 else levels.reshape(-1, 1, 1)


def make_pairs(
    table: Floats, trust: float, levels: Floats, log_prior: Floats, rewards: Rewards
) -> Pairs:
    """Return the pairs of models and strengths; without those that the trust rules out."""
    if trust == 1.0:
        levels = levels[:0]
    shares = (table - rewards.bottom) / (rewards.top - rewards.bottom)
    means = shares.clip(FLOOR, 1.0 - FLOOR)
    exact = evidence_of(table, rewards)
    chances = np.full(len(levels) + 1, (1.0 - trust) / max(1, len(levels)))
    chances[-1] = trust
    with np.errstate(divide="ignore"):
        log_levels = np.log(chances)
    return Pairs(
        by_arm(levels * np.ones_like(means)),
        by_arm(levels * means),
        by_arm(levels * (1.0 - means)),
        np.ascontiguousarray(exact.per_reward.T),
        np.ascontiguousarray(exact.per_pull.T),
        (log_levels[:, None] + log_prior).ravel(),
    )


def by_arm(numbers: Floats) -> Floats:
    """Return levels x models x arms as arms x places."""
    return np.ascontiguousarray(numbers.reshape(-1, numbers.shape[2]).T)


@compilable
def scaled_counts(data: Data, arm: int, bottom: float, top: float) -> tuple[float, float]:
    """Return the sum of an arm's rewards, scaled to [0, 1], and the pulls less that sum."""
    pulls = data.pulls[arm]
    ones = (data.sums[arm] - pulls * bottom) / (top - bottom)
    ones = min(max(ones, 0.0), float(pulls))
    return ones, pulls - ones


@compilable
def write_terms(pairs: Pairs, state: PairsState, arm: int, bottom: float, top: float) -> None:
    """Write the log-likelihoods of all that was seen of an arm.

    With Beta(a, b) behind it: Gamma(a + ones) / Gamma(a) and the like, whatever the order was in which
    the rewards came. Models of one strength share the part that is its own.
    """
    ones, zeros = scaled_counts(state.data, arm, bottom, top)
    pulls, total = state.data.pulls[arm], state.data.sums[arm]
    near = pairs.ones.shape[1]
    terms = state.terms[arm]
    strength = spread = 0.0
    for place in range(near):
        if pairs.strengths[arm, place] != strength:
            strength = pairs.strengths[arm, place]
            spread = log_rising(strength, float(pulls))
        chance = log_rising(pairs.ones[arm, place], ones)
        chance += log_rising(pairs.zeros[arm, place], zeros)
        terms[place] = chance - spread
    for model in range(pairs.per_pull.shape[1]):
        likelihood = total * pairs.per_reward[arm, model] + pulls * pairs.per_pull[arm, model]
        terms[near + model] = likelihood


@compilable
def write_logs(pairs: Pairs, state: PairsState, logs: Floats) -> None:
    """Write the logarithms of the posterior weights, up to a constant.

    As sums over the arms in their order, so that the order in which they were pulled does not matter.
    """
    for place in range(len(logs)):
        logs[place] = pairs.log_prior[place]
    for arm in range(len(state.terms)):
        if state.data.pulls[arm] > 0:
            for place in range(len(logs)):
                logs[place] += state.terms[arm, place]


@compilable
def draw_place(weights: Floats, heaviest: Heaviest, models: int, rng: np.random.Generator) -> int:
    """Draw a place by weight: models in order, for each its strengths, exactness last."""
    left = rng.uniform(0.0, 1.0) * heaviest.total
    for model in range(models):
        for place in range(model, len(weights), models):
            left -= weights[place]
            if left < 0.0:
                return place
    return heaviest.place  # only rounding comes here
