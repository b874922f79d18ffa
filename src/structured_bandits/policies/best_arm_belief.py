"""What is believed of the best arm: the posterior over models, grouped by their best arm.

From it follow, for each arm, the expected regret of a pull and the information that it brings about
which arm is best (docs/notes/mathematics.md 2.19).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import Record
from structured_bandits.inference.likelihood import Likelihood, likelihood_of, write_logs
from structured_bandits.inference.weights import write_weights
from structured_bandits.policies.information_ratio import coin_information
from structured_bandits.structures.reward_ranges import Rewards

UNSEEN = 1e-18  # a summand of this share, or many of them, cannot be seen in a sum of floats


class _Groups(NamedTuple):
    arms: Ints  # the best arm of each group, rising
    group: Ints  # of each model
    gaps: Floats  # models x arms: how far an arm is below the model's best mean
    means: Floats  # models x arms, in the units in which information is measured
    log_prior: Floats
    likelihood: Likelihood


class Groups(Record, _Groups):
    """The models, grouped by their best arm: what each says of rewards, costs and arms."""


class Belief(NamedTuple):
    """Memory for the posterior and what follows from it."""

    logs: Floats  # of each model
    weights: Floats
    chances: Floats  # of each group: the probability that its arm is best
    shifts: Floats  # groups x arms: expected mean in a group, less the expected mean
    means: Floats  # expected, of each arm
    lacks: Floats  # 1 less the means, also where that is tiny
    variances: Floats  # of each arm's shifts
    regret: Floats  # expected, of each arm
    information: Floats  # about the best arm, that a pull of each arm brings


def group_models(table: Floats, log_prior: Floats, rewards: Rewards) -> Groups:
    """Return the models of a table (models x arms) as IDS needs them."""
    best = table.argmax(axis=1)
    arms, group = np.unique(best, return_inverse=True)
    return Groups(
        arms,
        group.astype(np.int64),
        table.max(axis=1)[:, None] - table,
        measured_means(table, rewards),
        log_prior,
        likelihood_of(table, rewards),
    )


def measured_means(table: Floats, rewards: Rewards) -> Floats:
    """Return means in the units of information.

    Bounded rewards are measured as coins, means outside their range as the nearest coin; for Gaussian
    rewards the information of a shift is its square in units of 2 sigma^2.
    """
    if not math.isfinite(rewards.bottom):
        return table / (math.sqrt(2.0) * rewards.sigma)
    shares = (table - rewards.bottom) / (rewards.top - rewards.bottom)
    return shares.clip(0.0, 1.0)


@compilable
def fresh_belief(groups: Groups) -> Belief:
    """Return the memory of a belief."""
    models, arms = groups.gaps.shape
    count = len(groups.arms)
    return Belief(
        np.zeros(models),
        np.zeros(models),
        np.zeros(count),
        np.zeros((count, arms)),
        np.zeros(arms),
        np.zeros(arms),
        np.zeros(arms),
        np.zeros(arms),
        np.zeros(arms),
    )


@compilable
def write_belief(groups: Groups, data: Data, belief: Belief) -> None:
    """Write the posterior and what is expected under it; all but the information."""
    write_logs(groups.likelihood, groups.log_prior, data, belief.logs)
    heaviest = write_weights(belief.logs, belief.weights)
    for model in range(len(belief.weights)):
        belief.weights[model] /= heaviest.total
    write_expectations(groups, groups.means[heaviest.place], belief)
    centre_shifts(belief)


@compilable
def write_expectations(groups: Groups, origin: Floats, belief: Belief) -> None:
    """Write chances, expected regret and, as sums over the models, shifts of the means from `origin`.

    If the origin is a model, shifts are exactly 0 where all models agree with it.
    """
    for arm in range(len(origin)):
        belief.means[arm] = origin[arm]
        belief.lacks[arm] = 1.0 - origin[arm]
        belief.regret[arm] = 0.0
    belief.chances[:] = 0.0
    belief.shifts[:] = 0.0
    for model in range(len(belief.weights)):
        chance = belief.weights[model]
        if chance > 0.0:
            group = groups.group[model]
            belief.chances[group] += chance
            for arm in range(len(origin)):
                belief.shifts[group, arm] += chance * (groups.means[model, arm] - origin[arm])
                belief.regret[arm] += chance * groups.gaps[model, arm]


@compilable
def centre_shifts(belief: Belief) -> None:
    """Turn the sums over models into expected shifts of the groups from the expected means.

    First from the likeliest group, then from the drift that the others cause: so what is small is
    never the difference of two large numbers.
    """
    chances, shifts = belief.chances, belief.shifts
    drifts = belief.variances  # memory that the variances take afterwards
    base = likeliest_group(chances)
    for arm in range(len(drifts)):
        drifts[arm] = 0.0
        shifts[base, arm] /= chances[base]
    for group in range(len(chances)):
        if chances[group] > 0.0 and group != base:
            for arm in range(len(drifts)):
                shifts[group, arm] = shifts[group, arm] / chances[group] - shifts[base, arm]
                drifts[arm] += chances[group] * shifts[group, arm]
    for arm in range(len(drifts)):
        belief.means[arm] += shifts[base, arm] + drifts[arm]
        belief.lacks[arm] -= shifts[base, arm] + drifts[arm]
        shifts[base, arm] = 0.0
    for group in range(len(chances)):
        if chances[group] > 0.0:
            for arm in range(len(drifts)):
                shifts[group, arm] -= drifts[arm]
    write_variances(belief)


@compilable
def write_variances(belief: Belief) -> None:
    """Write the variance of each arm's shifts."""
    belief.variances[:] = 0.0
    for group in range(len(belief.chances)):
        chance = belief.chances[group]
        if chance > 0.0:
            for arm in range(len(belief.variances)):
                shift = belief.shifts[group, arm]
                belief.variances[arm] += chance * shift * shift


@compilable
def write_information(coins: bool, belief: Belief) -> None:
    """Write how much a pull of each arm says about which arm is best: the mutual information.

    That is the expected divergence of a group's rewards from those that are expected.
    """
    for arm in range(len(belief.means)):
        known = coins_information(belief, arm) if coins else belief.variances[arm]
        belief.information[arm] = known


@compilable
def coins_information(belief: Belief, arm: int) -> float:
    """Return the expected divergence of the groups' coins from the expected coin.

    The divergence of a shift s is at least 2 s^2 and at most s^2 / (mean (1 - mean)). So the variance of
    the shifts tells which groups are too improbable to be seen in the sum; their logarithms are
    spared, and so are those of groups that agree with the likeliest one.
    """
    mean, lack = belief.means[arm], belief.lacks[arm]
    unseen = UNSEEN * belief.variances[arm] * mean * lack
    usual = belief.shifts[likeliest_group(belief.chances), arm]
    divergence = coin_information(mean, lack, usual)
    total = 0.0
    for group in range(len(belief.chances)):
        chance, shift = belief.chances[group], belief.shifts[group, arm]
        if shift == usual:
            total += chance * divergence
        elif chance * shift * shift > unseen:
            total += chance * coin_information(mean, lack, shift)
    return total


@compilable
def likeliest_group(chances: Floats) -> int:
    """Return the group with the largest chance, the first of several."""
    likeliest = 0
    for group in range(1, len(chances)):
        if chances[group] > chances[likeliest]:
            likeliest = group
    return likeliest
