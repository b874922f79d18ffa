"""Models that fit best, and for how long they do: losses that are affine in pulls and sums.

The loss of a model is the sum over the arms of pulls_i * per_pull_i + sums_i * per_reward_i. Least
squares and negative log-likelihoods are of this kind, so while one arm is pulled the difference of two
losses is affine in its new pulls and rewards, and is largest at a corner of what they can be
(docs/planning.md 17.1, 22.1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable, compiled_as
from structured_bandits.planning.confidence import Data
from structured_bandits.planning.streaks import Streak, certain_streak, streak_until
from structured_bandits.protocol import Now
from structured_bandits.records import Record

ROUNDING = 2.0**-52
FEW_PULLS = 8  # of an arm: its mean says little of the misses to come


class RewardRange(NamedTuple):
    """The least and the highest reward; infinite if rewards have no bounds."""

    bottom: float
    top: float


class FitWork(NamedTuple):
    """Scratch memory, a number for each model."""

    losses: Floats
    # For how many further pulls of its best arm a policy goes on pulling it if this model comes to fit
    # best: for ever, unless the policy says otherwise.
    agreeing: Floats


@compilable
def fresh_fit_work(models: int) -> FitWork:
    """Return the memory for so many models."""
    return FitWork(np.zeros(models), np.full(models, math.inf))


class _ModelFit(NamedTuple):
    per_pull: Floats  # models x arms
    per_reward: Floats
    best: Ints  # best arm of each model
    most_per_pull: float  # the largest of these numbers, without their signs
    most_per_reward: float


class ModelFit(Record, _ModelFit):
    """Finitely many models and their losses; the first model wins a tie.

    Losses are told from those of a model made of the commonest means: where most models agree there is
    nothing to add, and so no rounding, however often an arm is pulled.
    """

    def __new__(cls, per_pull: Floats, per_reward: Floats, best: Ints) -> ModelFit:
        """Note the largest numbers, for what rounding may do."""
        common = commonest_rows(per_reward), np.arange(per_reward.shape[1])
        per_pull, per_reward = per_pull - per_pull[common], per_reward - per_reward[common]
        most = float(np.abs(per_pull).max()), float(np.abs(per_reward).max())
        return super().__new__(cls, per_pull, per_reward, best, *most)

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.per_pull.shape[1]

    def fitting_arm(self, data: Data) -> int:
        """Return the best arm of the first model with the least loss."""
        return int(self.best[write_losses(self, data, np.zeros(len(self.best)))])


def commonest_rows(table: Floats) -> Ints:
    """Return a row of each column in which its commonest number stands."""
    rows = np.zeros(table.shape[1], np.int64)
    for column, values in enumerate(table.T):
        _, first, counts = np.unique(values, return_index=True, return_counts=True)
        rows[column] = first[counts.argmax()]
    return rows


def squares_of(table: Floats, best: Ints) -> ModelFit:
    """Return the fit by least squares: sums of pulls * (mean - model)^2, less what all models share.

    Exact for rewards of 0 and 1 and models that are short binary fractions.
    """
    return ModelFit(table * table, -2.0 * table, best)


def write_one_by_one(fit: ModelFit, data: Data, losses: Floats) -> int:
    """Write the losses model by model, arm by arm."""
    pulls, sums = data.pulls, data.sums
    least = math.inf
    choice = 0
    for model in range(len(losses)):
        loss = 0.0
        for arm in range(len(pulls)):
            loss += pulls[arm] * fit.per_pull[model, arm] + sums[arm] * fit.per_reward[model, arm]
        losses[model] = loss
        if loss < least:
            least = loss
            choice = model
    return choice


@compiled_as(write_one_by_one)
def write_losses(fit: ModelFit, data: Data, losses: Floats) -> int:
    """Write the loss of each model; return the first of those with the least.

    All models at once, but arm by arm: then sums round as in compiled code.
    """
    losses[:] = 0.0
    for arm in range(len(data.pulls)):
        losses += data.pulls[arm] * fit.per_pull[:, arm] + data.sums[arm] * fit.per_reward[:, arm]
    return int(losses.argmin())


@compilable
def loss_error(fit: ModelFit, rewards: RewardRange) -> float:
    """Return what rounding may do to the difference of two losses, for each pull so far."""
    size = fit.most_per_pull + fit.most_per_reward * max(abs(rewards.bottom), abs(rewards.top))
    return (fit.per_pull.shape[1] + 8.0) * ROUNDING * size


@compilable
def miss_share(arm: int, data: Data, rewards: RewardRange) -> float:
    """Return a share of misses that further rewards of an arm rarely exceed.

    Any share is right; this one, two deviations above what was seen, makes plans long.
    """
    pulls = data.pulls[arm]
    if pulls <= FEW_PULLS:
        return 1.0
    mean = (data.sums[arm] / pulls - rewards.bottom) / (rewards.top - rewards.bottom)
    mean = min(max(mean, 0.0), 1.0)
    return min(1.0, 1.0 - mean + 2.0 * math.sqrt((mean * (1.0 - mean) + 0.02) / pulls))


@compilable
def pulls_left(lead: float, rate: float) -> float:
    """Return for how many pulls a lead lasts that shrinks by at most `rate` a pull."""
    if lead <= 0.0:
        return 0.0
    return lead / rate if rate > 0.0 else math.inf


@compilable
def keeps_distance(fit: ModelFit, other: int, model: int, data: Data) -> bool:
    """Do pulls of the best arm of `model` leave the difference of two losses as it is, to the last bit?

    If they add nothing to either loss. Or if the models look alike on all arms that have pulls and on
    this one: then the losses are the same sums, and the first model wins.
    """
    own = fit.best[model]
    if not look_alike(fit, other, model, own):
        return False
    if fit.per_pull[model, own] == 0.0 and fit.per_reward[model, own] == 0.0:
        return True
    for arm in range(len(data.pulls)):
        if data.pulls[arm] > 0 and not look_alike(fit, other, model, arm):
            return False
    return True


@compilable
def look_alike(fit: ModelFit, one: int, two: int, arm: int) -> bool:
    """Do rewards of an arm say the same of two models?"""
    same = fit.per_pull[one, arm] == fit.per_pull[two, arm]
    return bool(same and fit.per_reward[one, arm] == fit.per_reward[two, arm])


@compilable
def agreed_streak(
    fit: ModelFit,
    model: int,
    data: Data,
    work: FitWork,
    now: Now,
    rewards: RewardRange,
    most: float,
) -> Streak:
    """Return a streak of a model's best arm that whatever model comes to fit best agrees with.

    Another model is harmless for as long as it agrees (`work.agreeing`, if its best arm is the same),
    has a larger loss than `model`, which fits best now, or keeps its distance. Let hit and miss be what
    the highest and the least reward take from the lead of `model`. Then k pulls with a share of misses
    of up to s take at most k max(hit, s miss, hit + s (miss - hit)) from it (docs/planning.md 22.1).
    There are `most` further pulls at most.
    """
    arm = int(fit.best[model])
    if now.limit == 1 or not math.isfinite(rewards.bottom):
        return certain_streak(arm, 1, 0)
    error = loss_error(fit, rewards)
    share = miss_share(arm, data, rewards)
    length = certain = min(most, now.limit - 1.0)
    for other in range(len(fit.best)):
        agrees = work.agreeing[other] if fit.best[other] == arm else 0.0
        if agrees < length and not keeps_distance(fit, other, model, data):
            pull = fit.per_pull[model, arm] - fit.per_pull[other, arm] + error
            reward = fit.per_reward[model, arm] - fit.per_reward[other, arm]
            hit = pull + reward * rewards.top
            miss = pull + reward * rewards.bottom
            lead = work.losses[other] - work.losses[model] - error * now.t
            worst = max(hit, share * miss, hit + share * (miss - hit))
            length = min(length, max(agrees, pulls_left(lead, worst)))
            certain = min(certain, max(agrees, pulls_left(lead, max(hit, miss))))
        if length < 1.0:
            return certain_streak(arm, 1, 0)
    further = int(length)
    misses = int(share * further)
    if misses >= further:
        return certain_streak(arm, 1 + further, 0)
    surely = 1 + max(misses, int(min(certain, length)))
    return streak_until(arm, surely, 1 + further, misses, rewards.top)
