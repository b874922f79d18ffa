"""What the policies that are blind to the structure and give each arm an index have in common."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_count
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.policies.base import ChoicePolicy

NO_ARM = -1


class BlindPolicy(ChoicePolicy):
    """Mixin: all it takes from a structure is which arms are `playable`."""

    playable: Ints

    def active_arms(self, state: Any, t: int) -> tuple[int, ...]:
        """Return the arms that the policy plays at all."""
        return tuple(int(arm) for arm in self.playable)


def first_unpulled(data: Data, playable: Ints) -> int:
    """Return the first of these arms without a pull, NO_ARM if all have one."""
    unpulled = playable[data.pulls[playable] == 0]
    return int(unpulled[0]) if len(unpulled) else NO_ARM


def scaled_means(data: Data, bottom: float, top: float) -> Floats:
    """Return the mean of each arm, scaled to [0, 1] if rewards have a range; 0 without a pull."""
    pulls, sums = data
    if math.isfinite(bottom):
        sums = sums - pulls * bottom
    means: Floats = sums / (np.maximum(pulls, 1) * width_of(bottom, top))
    return means


@compilable
def width_of(bottom: float, top: float) -> float:
    """Return the width of the range of rewards, by which they are scaled; 1 if there is none."""
    return top - bottom if math.isfinite(bottom) else 1.0


def checked_horizon(horizon: Any) -> int | None:
    """Return the number of pulls in all, None if it is not known."""
    return None if horizon is None else checked_count("horizon", horizon)
