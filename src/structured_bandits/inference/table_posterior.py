"""How likely each model of a table is, kept from pull to pull.

The logarithm of a model's weight is its prior plus, for each arm, hits * per_hit + misses * per_miss:
rewards in a range are scaled to [0, 1], and a reward x counts as x hits and 1 - x misses. Without a
range the two counts are the sum of the rewards and their number (`reward_counts`), and "hit" and "miss"
below stand for these.

Models are sorted by their best arm, so the weights of an arm stand together. All that is common to the
models is taken out of the evidence, which is at most 0 then: a single hit or miss multiplies the
weights by numbers up to 1, without an exponential. Weights so computed are good for a while
(`REFRESH`); after longer streaks they are computed anew from the logarithms. Those stay where a weight
is too small for a number, so that a model can come back.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import Record
from structured_bandits.inference.draws import Drawn, Known, draw_from, next_uniform
from structured_bandits.inference.weights import write_weights
from structured_bandits.protocols import Outcome

REFRESH = 64  # single pulls after which weights are computed anew
LEAST_TOTAL = 1e-30  # weights that have fallen so far are computed anew


class Belief(NamedTuple):
    """What is believed of the models, sorted by their best arm; weights up to a common factor."""

    logs: Floats  # logarithms of the weights
    weights: Floats
    arms: Floats  # for each arm the weight of the models in which it is best
    singles: Ints  # one number: single pulls since the weights were computed


class _TablePosterior(NamedTuple):
    prior: Floats  # logarithm of each model's weight, models sorted by their best arm
    per_hit: Floats  # arms x models: added to the logarithm by a hit, at most 0 and 0 for one model
    per_miss: Floats
    hit_factor: Floats  # arms x models: the exponentials of these
    miss_factor: Floats
    starts: Ints  # the models of arm i are those from starts[i] to starts[i + 1]
    order: Ints  # which model of the structure each one is
    agreed: Flags  # for each arm: have all models the same mean?
    bottom: float  # the range of rewards
    top: float


class TablePosterior(Record, _TablePosterior):
    """A prior over the models of a table, and what rewards say about them."""

    def __new__(
        cls,
        prior: Floats,
        per_hit: Floats,
        per_miss: Floats,
        best: Ints,
        reward_range: tuple[float, float],
    ) -> TablePosterior:
        """Sort the models by their best arm; the evidence is models x arms, as a structure has it."""
        order = np.argsort(best, kind="stable").astype(np.int64)
        arms = per_hit.shape[1]
        hit, miss = _sorted(per_hit, order), _sorted(per_miss, order)
        return super().__new__(
            cls,
            prior[order],
            hit,
            miss,
            np.exp(hit),
            np.exp(miss),
            np.searchsorted(best[order], np.arange(arms + 1)).astype(np.int64),
            order,
            np.all((hit == 0.0) & (miss == 0.0), axis=1),
            *reward_range,
        )

    def fresh_belief(self) -> Belief:
        """Return what is believed before the first pull."""
        belief = Belief(
            self.prior.copy(),
            np.zeros(len(self.prior)),
            np.zeros(len(self.starts) - 1),
            np.zeros(1, np.int64),
        )
        refresh(self, belief)
        return belief

    def take_in(self, belief: Belief, outcome: Outcome) -> None:
        """Let the results of some pulls of one arm count."""
        arm = outcome.arm
        single = outcome.pulls == 1
        if single and outcome.total == self.top:
            multiply(belief, self.per_hit[arm], self.hit_factor[arm])
        elif single and outcome.total == self.bottom:
            multiply(belief, self.per_miss[arm], self.miss_factor[arm])
        else:
            hits, misses = reward_counts(outcome.pulls, outcome.total, self.bottom, self.top)
            add_evidence(belief.logs, hits, self.per_hit[arm], misses, self.per_miss[arm])
            belief.singles[0] = REFRESH
        if belief.singles[0] >= REFRESH or sum_by_arm(self.starts, belief) < LEAST_TOTAL:
            refresh(self, belief)

    def believe(self, belief: Belief, data: Data) -> None:
        """Compute what is believed from all data, as if nothing had been learned before."""
        for model in range(len(self.prior)):  # one by one: a whole array would take memory
            belief.logs[model] = self.prior[model]
        for arm in range(len(data.pulls)):
            if data.pulls[arm] > 0:
                hits, misses = reward_counts(data.pulls[arm], data.sums[arm], self.bottom, self.top)
                add_evidence(belief.logs, hits, self.per_hit[arm], misses, self.per_miss[arm])
        refresh(self, belief)

    def draw_arm(self, belief: Belief, known: Known, rng: np.random.Generator) -> Drawn:
        """Draw a model; return its best arm."""
        return draw_from(belief.arms, next_uniform(known, rng))


def _sorted(evidence: Floats, order: Ints) -> Floats:
    """Return evidence as arms x models in a new order, less what is common to all models."""
    table = np.ascontiguousarray(evidence[order].T)
    return table - table.max(axis=1, keepdims=True)


@compilable
def reward_counts(pulls: int, total: float, bottom: float, top: float) -> tuple[float, float]:
    """Return hits and misses; of rewards without a range their sum and number."""
    if not math.isfinite(bottom):
        return total, float(pulls)
    hits = (total - pulls * bottom) / (top - bottom)
    return hits, pulls - hits


@compilable
def multiply(belief: Belief, evidence: Floats, factors: Floats) -> None:
    """Let one hit or miss count."""
    for model in range(len(factors)):
        belief.weights[model] *= factors[model]
        belief.logs[model] += evidence[model]
    belief.singles[0] += 1


@compilable
def add_evidence(
    logs: Floats, hits: float, per_hit: Floats, misses: float, per_miss: Floats
) -> None:
    """Let any number of hits and misses of one arm count."""
    for model in range(len(logs)):
        logs[model] += hits * per_hit[model] + misses * per_miss[model]


@compilable
def refresh(posterior: TablePosterior, belief: Belief) -> None:
    """Compute the weights from their logarithms, relative to the largest."""
    largest = belief.logs[write_weights(belief.logs, belief.weights).place]
    for model in range(len(belief.logs)):
        belief.logs[model] -= largest
    belief.singles[0] = 0
    sum_by_arm(posterior.starts, belief)


@compilable
def sum_by_arm(starts: Ints, belief: Belief) -> float:
    """Write the weight of each arm; return their sum."""
    total = 0.0
    for arm in range(len(starts) - 1):
        weight = 0.0
        for model in range(starts[arm], starts[arm + 1]):
            weight += belief.weights[model]
        belief.arms[arm] = weight
        total += weight
    return total
