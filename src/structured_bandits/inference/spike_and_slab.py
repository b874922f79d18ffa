"""The posterior of models that may be wrong: on single arms, or a little on all of them.

A *place* is a model at one of several levels of doubt. At each level the mean of an arm is, with
probability 1 - off, the model's (the *spike*: a number, or a law around it that is worth `strengths`
observations), and else anything (the *slab*: a law as wide as all entries of the table). All laws are
Beta laws, or normal ones if rewards have no range, so the likelihood of a place is a product over the
arms of (1 - off) spike + off slab, each in closed form (docs/notes/mathematics.md 2.18).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable, compiled_as
from structured_bandits.base.confidence import Data
from structured_bandits.base.draws import draw_normal
from structured_bandits.base.records import Record
from structured_bandits.inference.draws import Drawn, Known, next_uniform
from structured_bandits.inference.likelihood import FLOOR
from structured_bandits.inference.table_posterior import reward_counts
from structured_bandits.inference.weights import write_weights
from structured_bandits.protocols import Outcome
from structured_bandits.structures.reward_ranges import Rewards

STRENGTHS = (2.0, 10.0, 50.0, 250.0, 1000.0, 4000.0)
OFF = 0.1
LARGE = 16.0  # from here on four terms of Stirling's series have all digits that a float holds
LEAST_SLAB = 0.5  # observations behind it: with less it is nearly a coin that says 0 or 1


class Doubt(NamedTuple):
    """The parameters of doubt: trust, the chance that an arm is off, and strengths of near models."""

    trust: float
    off: float
    strengths: tuple[float, ...]


class Spikes(NamedTuple):
    """Means of models (models x arms), and how many observations stand behind each; inf: exact."""

    means: Floats
    worth: Floats


class Law(NamedTuple):
    """A law of means: Beta(mean worth, (1 - mean) worth), or normal with sigma^2 / worth."""

    mean: float
    worth: float


class BestDrawn(NamedTuple):
    """The arm with the highest mean that was drawn, the first of several."""

    arm: int
    mean: float


class SlabBelief(NamedTuple):
    """Counts of each arm, and their log-likelihoods at each place."""

    logs: Floats  # logarithms of the places' weights
    weights: Floats
    arms: Floats  # as many zeros as arms: no weights of arms are known, means have to be drawn
    hits: Floats  # of each arm; of rewards without a range their sum
    misses: Floats  # and their number
    ones: Floats  # arms x places: what the hits say if the arm is not off
    zeros: Floats  # and what the misses say
    slabs: Floats  # arms: log-likelihood of both if the arm is off
    terms: Floats  # arms x places: log-likelihood if it may be off


class _SpikeAndSlab(NamedTuple):
    prior: Floats  # logarithm of each place's weight: level by level, in each model by model
    off: Floats  # places: the probability that an arm is off
    means: Floats  # arms x places, scaled to [0, 1] if rewards have a range
    worth: Floats  # arms x places: observations behind the means; inf: the mean is exact
    slab: Law
    temper: float
    sigma: float  # of rewards without a range
    bottom: float  # the range of rewards
    top: float


class SpikeAndSlab(Record, _SpikeAndSlab):
    """A prior over models that may be wrong, and what rewards say about them."""

    def fresh_belief(self) -> SlabBelief:
        """Return what is believed before the first pull."""
        arms, places = self.means.shape
        return SlabBelief(
            self.prior.copy(),
            np.zeros(places),
            np.zeros(arms),
            np.zeros(arms),
            np.zeros(arms),
            np.zeros((arms, places)),
            np.zeros((arms, places)),
            np.zeros(arms),
            np.zeros((arms, places)),
        )

    def take_in(self, belief: SlabBelief, outcome: Outcome) -> None:
        """Let the results of some pulls of one arm count."""
        hits, misses = reward_counts(outcome.pulls, outcome.total, self.bottom, self.top)
        arm = outcome.arm
        hits = belief.hits[arm] + self.temper * hits
        write_terms(self, belief, arm, hits, belief.misses[arm] + self.temper * misses)

    def believe(self, belief: SlabBelief, data: Data) -> None:
        """Compute what is believed from all data, as if nothing had been learned before."""
        for arm in range(len(data.pulls)):
            hits, misses = reward_counts(data.pulls[arm], data.sums[arm], self.bottom, self.top)
            write_terms(self, belief, arm, self.temper * hits, self.temper * misses)

    def draw_arm(self, belief: SlabBelief, known: Known, rng: np.random.Generator) -> Drawn:
        """Draw a place and the means of the arms; return the best arm."""
        return Drawn(draw_best(self, belief, known, rng).arm, math.inf)


class _SlabGroup(NamedTuple):
    sampling: SpikeAndSlab


class SlabGroup(Record, _SlabGroup):
    """A group of models that may be wrong."""

    def arm_count(self) -> int:
        """Return the number of its arms."""
        return len(self.sampling.means)

    def draw_model(
        self, belief: SlabBelief, known: Known, rng: np.random.Generator
    ) -> tuple[int, float]:
        """Draw a model and means; return the best arm and its mean."""
        arm, mean = draw_best(self.sampling, belief, known, rng)
        bottom, top = self.sampling.bottom, self.sampling.top
        return arm, bottom + mean * (top - bottom) if math.isfinite(bottom) else mean


def spike_and_slab(
    spikes: Spikes, log_prior: Floats, doubt: Doubt, temper: float, rewards: Rewards
) -> SpikeAndSlab:
    """Return the posterior of models that may be wrong, before the first pull.

    Exact models have the weight trust^2, models of which single arms may be off 2 trust (1 - trust), and
    models that are near, arms off included, (1 - trust)^2, in equal parts for each of the strengths.
    """
    means = spikes.means
    if math.isfinite(rewards.bottom):
        means = (means - rewards.bottom) / (rewards.top - rewards.bottom)
    near = [np.full_like(means, strength) for strength in doubt.strengths]
    levels = [spikes.worth, spikes.worth, *near]
    share = (1.0 - doubt.trust) ** 2 / max(1, len(near))
    weights = [doubt.trust**2, 2.0 * doubt.trust * (1.0 - doubt.trust), *(share for _ in near)]
    offs = [0.0, *(doubt.off for _ in levels[1:])]
    kept = [level for level, weight in enumerate(weights) if weight > 0.0]
    models = len(means)
    return SpikeAndSlab(
        np.concatenate([log_prior + math.log(weights[level]) for level in kept]),
        np.repeat([offs[level] for level in kept], models),
        np.ascontiguousarray(np.tile(means.T, len(kept))),
        np.ascontiguousarray(np.concatenate([levels[level] for level in kept]).T),
        slab_of(means, rewards),
        temper,
        rewards.sigma,
        rewards.bottom,
        rewards.top,
    )


def slab_of(means: Floats, rewards: Rewards) -> Law:
    """Return the law of a mean of which nothing is known.

    It has the mean and twice the variance of the table's entries. Where no Beta law has these, or only
    one that is nearly a coin, it is the uniform one. Where all entries are equal, a normal law has the
    variance of a reward.
    """
    bounded = math.isfinite(rewards.bottom)
    entries = means.clip(0.0, 1.0) if bounded else means
    mean = float(entries.mean())
    variance = 2.0 * float(entries.var()) if entries.min() < entries.max() else 0.0
    if not bounded:
        return Law(mean, rewards.sigma**2 / variance if variance > 0.0 else 1.0)
    worth = mean * (1.0 - mean) / variance - 1.0 if variance > 0.0 else 0.0
    return Law(mean, worth) if worth >= LEAST_SLAB else Law(0.5, 2.0)


@compilable
def write_terms(
    posterior: SpikeAndSlab, belief: SlabBelief, arm: int, hits: float, misses: float
) -> None:
    """Write the log-likelihoods of all that was seen of an arm: hits and misses, in whatever order.

    What follows from a number that has not changed is not computed again.
    """
    more_hits, more_misses = hits != belief.hits[arm], misses != belief.misses[arm]
    if not (more_hits or more_misses):
        return
    belief.hits[arm], belief.misses[arm] = hits, misses
    bounded = math.isfinite(posterior.bottom)
    slab, sigma = posterior.slab, posterior.sigma
    slabs = log_marginal(slab.mean, slab.worth, hits, misses, bounded, sigma)
    belief.slabs[arm] = slabs
    ones, zeros, terms = belief.ones[arm], belief.zeros[arm], belief.terms[arm]
    means, worth = posterior.means[arm], posterior.worth[arm]
    known = both = 0.0
    for place in range(len(terms)):
        if not bounded:
            spike = log_normal(means[place], worth[place], hits, misses, sigma)
        else:
            if more_hits:
                ones[place] = log_chance(means[place], worth[place], hits)
            if more_misses:
                zeros[place] = log_chance(1.0 - means[place], worth[place], misses)
            if worth[place] != known:
                known = worth[place]
                both = log_spread(known, hits + misses)
            spike = ones[place] + zeros[place] - both
        off = posterior.off[place]
        terms[place] = spike if off == 0.0 else log_mix(off, slabs, spike)


@compilable
def log_marginal(
    mean: float, worth: float, hits: float, misses: float, bounded: bool, sigma: float
) -> float:
    """Return the log-likelihood of hits and misses (or sum and number) if the mean has a law."""
    if not bounded:
        return log_normal(mean, worth, hits, misses, sigma)
    said = log_chance(mean, worth, hits) + log_chance(1.0 - mean, worth, misses)
    return said - log_spread(worth, hits + misses)


@compilable
def log_chance(share: float, worth: float, times: float) -> float:
    """Return log(Gamma(a + times) / Gamma(a)) with a = share worth; times log(share) if that is inf.

    For hits and misses, less that of their sum (`log_spread`), it is the log-likelihood if the mean has
    the law Beta(share worth, (1 - share) worth); in the limit it is that of the mean itself.
    """
    if worth == math.inf:
        return times * math.log(max(share, FLOOR))
    return log_rising(floored(share) * worth, times)


@compilable
def log_spread(worth: float, times: float) -> float:
    """Return log(Gamma(worth + times) / Gamma(worth)), 0 in the limit."""
    return 0.0 if worth == math.inf else log_rising(worth, times)


@compilable
def floored(share: float) -> float:
    """Return a share that is not closer to 0 or 1 than the floor."""
    return min(max(share, FLOOR), 1.0 - FLOOR)


@compilable
def log_normal(mean: float, worth: float, total: float, pulls: float, sigma: float) -> float:
    """Return the log-likelihood of a sum of Gaussian rewards if the mean has a normal law."""
    told = mean * (total - 0.5 * pulls * mean) / (sigma * sigma)
    if worth == math.inf:
        return told
    shift = (total - pulls * mean) / sigma  # of the sum from what was expected
    return told + 0.5 * shift * shift / (worth + pulls) - 0.5 * math.log1p(pulls / worth)


@compilable
def log_rising(x: float, more: float) -> float:
    """Return log Gamma(x + more) - log Gamma(x), for x > 0 and more >= 0.

    For large x by Stirling's series with the large terms cancelled by hand: log Gamma(10^9) is about
    2e10, and a difference of two such floats is off by some 1e-6.
    """
    if x < LARGE:
        return math.lgamma(x + more) - math.lgamma(x)
    tails = stirling_tail(x + more) - stirling_tail(x)
    return (x - 0.5) * math.log1p(more / x) + more * (math.log(x + more) - 1.0) + tails


@compilable
def stirling_tail(x: float) -> float:
    """Return what log Gamma(x) is above (x - 1/2) log x - x + log(2 pi) / 2, for large x."""
    r = 1.0 / (x * x)
    return (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0))) / x


@compilable
def log_mix(off: float, slab: float, spike: float) -> float:
    """Return log(off exp(slab) + (1 - off) exp(spike))."""
    wide, narrow = math.log(off) + slab, math.log1p(-off) + spike
    larger = max(wide, narrow)
    return larger + math.log1p(math.exp(min(wide, narrow) - larger))


@compilable
def draw_best(
    posterior: SpikeAndSlab, belief: SlabBelief, known: Known, rng: np.random.Generator
) -> BestDrawn:
    """Draw a place, then the mean of each arm, rising; return the best arm."""
    place = draw_place(posterior, belief, next_uniform(known, rng))
    best = BestDrawn(0, draw_mean(posterior, belief, 0, place, rng))
    for arm in range(1, len(belief.hits)):
        mean = draw_mean(posterior, belief, arm, place, rng)
        if mean > best.mean:
            best = BestDrawn(arm, mean)
    return best


@compilable
def write_one_by_one(posterior: SpikeAndSlab, belief: SlabBelief) -> None:
    """Write the logarithms of the places' weights, as sums over the arms in their order.

    So it leaves no trace in which order they were pulled.
    """
    for place in range(len(belief.logs)):
        belief.logs[place] = posterior.prior[place]
    for arm in range(len(belief.terms)):
        if belief.hits[arm] != 0.0 or belief.misses[arm] != 0.0:
            for place in range(len(belief.logs)):
                belief.logs[place] += belief.terms[arm, place]


@compiled_as(write_one_by_one)
def write_logs(posterior: SpikeAndSlab, belief: SlabBelief) -> None:
    """Write them all at once, arm by arm: the same numbers to the last bit."""
    belief.logs[:] = posterior.prior
    for arm in np.flatnonzero((belief.hits != 0.0) | (belief.misses != 0.0)):
        belief.logs[:] += belief.terms[arm]


@compilable
def draw_place(posterior: SpikeAndSlab, belief: SlabBelief, u: float) -> int:
    """Return the place that u, uniform in [0, 1), draws."""
    write_logs(posterior, belief)
    heaviest = write_weights(belief.logs, belief.weights)
    left = u * heaviest.total
    for place in range(len(belief.weights)):
        left -= belief.weights[place]
        if left < 0.0:
            return place
    return heaviest.place  # only rounding comes here


@compilable
def draw_mean(
    posterior: SpikeAndSlab, belief: SlabBelief, arm: int, place: int, rng: np.random.Generator
) -> float:
    """Draw the mean of an arm at a place: whether it is off, and if it has a law, from that."""
    mean, worth = posterior.means[arm, place], posterior.worth[arm, place]
    off = posterior.off[place]
    if off > 0.0:
        chance = math.log(off) + belief.slabs[arm] - belief.terms[arm, place]
        if rng.uniform(0.0, 1.0) < math.exp(min(chance, 0.0)):
            mean, worth = posterior.slab.mean, posterior.slab.worth
    if worth == math.inf:
        return mean
    hits, misses = belief.hits[arm], belief.misses[arm]
    if math.isfinite(posterior.bottom):
        return rng.beta(floored(mean) * worth + hits, floored(1.0 - mean) * worth + misses)
    known = worth + misses
    center = (worth * mean + hits) / known
    return draw_normal(center, posterior.sigma / math.sqrt(known), rng)
