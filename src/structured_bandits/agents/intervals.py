"""Where the mean of each arm can be: an agent's data as intervals.

Policies that put confidence intervals around arms have them as `widths_at`, and these are shown: they
are what the policy goes by at this moment. For all others there are intervals that hold together and at
all times: with probability 1 - MISS at least, no true mean ever leaves the interval of its arm,
whatever is played, as long as the rewards of an arm keep their mean. For K arms and one with T rewards
of mean m:

- rewards in a range, scaled to [0, 1]: the means q with T d(m, q) < log(2 K sqrt(T) / MISS), where d is
  the divergence of coins;
- Gaussian rewards: |m - q| < sigma sqrt((1 + 1 / T) (2 log(K / MISS) + log(T + 1)) / T).

Both follow from mixtures of likelihoods (docs/notes/mathematics.md 8).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.confidence import Box, Data, fresh_box, write_box
from structured_bandits.base.intervals import Hoeffding, Intervals, KLIntervals

MISS = 0.05  # the probability that some mean ever leaves its interval


def open_box(policy: Any, state: Any, data: Data) -> Box:
    """Return the open intervals of all arms, infinite for arms that were never pulled."""
    box = fresh_box(len(data.pulls))
    level = own_widths(policy, state, int(data.pulls.sum()))
    if level is not None:
        write_box(data, level, box)
        return box
    box.low[:], box.high[:] = -math.inf, math.inf
    for arm in np.flatnonzero(data.pulls):
        pulls, total = int(data.pulls[arm]), float(data.sums[arm])
        level = lasting_widths(policy, pulls, len(data.pulls))
        box.low[arm], box.high[arm] = level.interval(pulls, total)
    return box


def own_widths(policy: Any, state: Any, t: int) -> Intervals | None:
    """Return the intervals that a policy puts around arms after `t` rewards, None without any."""
    if not hasattr(policy, "widths_at"):
        return None
    level: Intervals | None = policy.widths_at(state, t)
    return level


def lasting_widths(policy: Any, pulls: int, arms: int) -> Intervals:
    """Return the intervals that hold at all times, for an arm with this many pulls."""
    allowed = getattr(policy, "reward_range", None)
    if allowed is not None:
        bottom, width = allowed[0], allowed[1] - allowed[0]
        budget = math.log(2.0 * arms / MISS) + 0.5 * math.log(pulls)
        return KLIntervals(0.5 * width * width * budget, bottom, width)
    sigma = getattr(policy, "sigma", math.inf)  # a policy of one's own need not say
    budget = 2.0 * math.log(arms / MISS) + math.log1p(pulls)
    return Hoeffding(sigma * sigma * (1.0 + 1.0 / pulls) * budget)


def shown_intervals(box: Box, allowed: tuple[float, float]) -> Floats:
    """Return the intervals (arms x 2), cut to the range of rewards, in which every mean is."""
    return np.stack([np.clip(box.low, *allowed), np.clip(box.high, *allowed)], axis=1)
