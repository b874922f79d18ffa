"""Lookahead of OSSB: for how long the estimate's best arm has to be played (docs/planning.md 22)."""

from __future__ import annotations

from typing import Any

import numpy as np

from structured_bandits.lookahead.base import Work
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.ossb import OSSB, Decided, OSSBState, exploit_or_explore
from structured_bandits.protocol import Now


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
    return policy.cells.exploit(choice.arm, now, state.data, growth, work.memory)
