"""Lookahead of OSSB: for how long the estimate's best arm has to be played.

See docs/notes/lookahead.md 22.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import chosen_by_class, compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.intervals import RELATIVE_ERROR
from structured_bandits.base.kl import coin_divergence, kl_upper
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.fit_margin import RewardRange, agreed_streak
from structured_bandits.lookahead.streaks import Streak, certain_streak, streak_until
from structured_bandits.policies.ossb import OSSB, Decided, OSSBState, exploit_or_explore
from structured_bandits.policies.ossb_targets import ArmGuide, ArmWork, ModelGuide
from structured_bandits.protocols import Now
from structured_bandits.structures.model_fit import FitWork

LOG_ERROR = 1e-13  # a generous bound on the relative error of a logarithm and of products with it


def memory(policy: OSSB, tables: Any) -> Any:
    """Return the memory of the guide."""
    return policy.cells.guide_work()


def quick_choose(
    policy: OSSB, state: OSSBState, now: Now, rng: np.random.Generator, work: Work
) -> Decided:
    """Choose by definition, in memory that is kept."""
    return exploit_or_explore(policy, state, now.t, work.memory)


def stretch(
    policy: OSSB, state: OSSBState, choice: Decided, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Exploit for as long as that is certain, or explore once."""
    if not choice.exploits:
        return certain_streak(choice.arm, 1, 0)
    growth = 1.0 + policy.gamma
    return exploit(policy.cells, choice.arm, now, state.data, growth, work.memory)


def while_models_agree(
    guide: ModelGuide, arm: int, now: Now, data: Data, growth: float, work: FitWork
) -> Streak:
    """Return a streak in which every model that may come to fit best has enough pulls too.

    The others have to stay behind (docs/notes/lookahead.md 22.2).
    """
    model = 0
    for other in range(len(work.losses)):
        if work.losses[other] < work.losses[model]:
            model = other
        if guide.fit.best[other] == arm:
            row = guide.allocations[other]
            work.agreeing[other] = enough_for(data.pulls, row, growth, now.t)
    rewards = RewardRange(guide.bottom, guide.top)
    most = work.agreeing[model]
    return agreed_streak(guide.fit, model, data, work, now, rewards, most)


def while_the_mean_is_high(
    guide: ArmGuide, arm: int, now: Now, data: Data, growth: float, work: ArmWork
) -> Streak:
    """Return a streak in which the mean of the best arm stays high enough.

    See docs/notes/lookahead.md 22.3.

    Half of the time, on a log scale, that the pulls of the others are enough for is for the clock;
    the other half is for the mean, which misses lower.
    """
    if not math.isfinite(guide.bottom) or data.pulls[arm] == 0:
        return certain_streak(arm, 1, 0)
    share = work.shares[arm]
    level = math.inf
    for other in range(guide.arms):
        if other != arm:
            tells = coin_divergence(work.shares[other], share)
            level = min(level, data.pulls[other] * tells / growth)
    start = math.log(now.t + 1.0)
    if level == math.inf:  # a mean of 1, or no other arm: see how far the means are from there
        level = start + 2.0 * math.log(2.0 + now.limit)
    level = 0.5 * (start + level)
    length = min(pulls_until(level, now.t), now.limit - 1.0)
    low = 0.0
    for other in range(guide.arms):
        if other != arm:
            bound = kl_upper(work.shares[other], growth * level / data.pulls[other])
            low = max(low, bound)
    size = max(abs(guide.bottom), abs(guide.top)) / (guide.top - guide.bottom)
    low = low * (1.0 + LOG_ERROR) + LOG_ERROR + RELATIVE_ERROR * size
    if length < 1.0 or low >= share:
        return certain_streak(arm, 1, 0)
    further = int(length)
    pulls = data.pulls[arm]
    room = pulls * share * (1.0 - RELATIVE_ERROR) / low - pulls if low > 0.0 else length
    misses = int(min(max(room, 0.0), length))
    if misses >= further:
        return certain_streak(arm, 1 + further, 0)
    return streak_until(arm, 1 + misses, 1 + further, misses, guide.top)


@compilable
def once(guide: Any, arm: int, now: Now, data: Data, growth: float, work: Any) -> Streak:
    """Decide before each pull."""
    return certain_streak(arm, 1, 0)


#: Return a streak of the best arm, which all arms have enough pulls for now: decisions ask for wanted *
#: growth * log t pulls. The guide has just been consulted.
exploit = chosen_by_class({ModelGuide: while_models_agree, ArmGuide: while_the_mean_is_high}, once)


@compilable
def enough_for(pulls: Ints, wanted: Floats, growth: float, t: int) -> float:
    """Return for how many further pulls of another arm `pulls` are surely enough.

    They are enough at time t + j if wanted * growth * log(t + j + 1) is no more, arm by arm.
    """
    level = math.inf
    for arm in range(len(pulls)):
        if wanted[arm] > 0.0:
            level = min(level, pulls[arm] / (wanted[arm] * growth))
    return pulls_until(level, t)


@compilable
def pulls_until(level: float, t: int) -> float:
    """Return for how many pulls after the next one log t surely stays at or below `level`."""
    safe = level * (1.0 - LOG_ERROR)
    return math.exp(safe) - 1.0 - t if safe < 700.0 else math.inf
