"""For how long a model fits best: losses are affine in pulls and sums.

See docs/notes/lookahead.md 17.1, 22.1.

While one arm is pulled the difference of two losses is affine in its new pulls and rewards, and is
largest at a corner of what they can be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.lookahead.streaks import Streak, certain_streak, streak_until
from structured_bandits.protocols import Now
from structured_bandits.structures.model_fit import FitWork, ModelFit

FEW_PULLS = 8  # of an arm: its mean says little of the misses to come
ROUNDING = 2.0**-52


class RewardRange(NamedTuple):
    """The least and the highest reward; infinite if rewards have no bounds."""

    bottom: float
    top: float


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
    of up to s take at most k max(hit, s miss, hit + s (miss - hit)) from it (docs/notes/lookahead.md
    22.1). There are `most` further pulls at most.
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
