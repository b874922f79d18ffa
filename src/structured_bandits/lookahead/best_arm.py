"""Lookahead of BestArm: an arm that is certain is played to the end."""

from __future__ import annotations

import numpy as np

from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.best_arm import UNDECIDED, BestArm, BestArmState
from structured_bandits.protocols import Choice, Now


def stretch(
    policy: BestArm,
    state: BestArmState,
    choice: Choice,
    now: Now,
    rng: np.random.Generator,
    work: Work,
) -> Streak:
    """Pull once, or without an end."""
    length = 1 if state.decided[0] == UNDECIDED else now.limit
    return certain_streak(choice.arm, length, 0)
