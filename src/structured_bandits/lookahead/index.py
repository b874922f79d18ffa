"""What lookaheads of policies with an index for each arm keep of the arms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.policies.index_policy import width_of


class IndexMemory(NamedTuple):
    """The mean and the index of each arm."""

    means: Floats  # scaled to [0, 1] if rewards have a range; of arms with pulls
    indices: Floats  # infinite before the first pull


class LeadingArm(NamedTuple):
    """The arm with the highest index, the lowest of several, and what it leads by."""

    arm: int
    empty: int
    highest: float  # index
    second: float  # highest index; -inf if there is no other arm


def index_memory(policy: Any, tables: Any) -> IndexMemory:
    """Return the memory before the first pull."""
    return IndexMemory(np.zeros(policy.n_arms), np.full(policy.n_arms, math.inf))


@compilable
def note_mean(means: Floats, data: Data, arm: int, bottom: float, top: float) -> None:
    """Note the mean of an arm, scaled to [0, 1] if rewards have a range."""
    pulls, total = data.pulls[arm], data.sums[arm]
    if math.isfinite(bottom):
        total -= pulls * bottom
    means[arm] = total / (pulls * width_of(bottom, top))
