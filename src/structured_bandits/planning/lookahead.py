"""How far ahead a reward-driven policy may plan: until a reward could change its mind.

A policy that offers `certain(state, arm, t, extra)` says whether it is sure to choose `arm` again after
each of the next `extra` pulls of it, whatever rewards in the declared range come. The answer must be
monotone: sure of a longer run implies sure of a shorter one (PLANNING, Theorem and its last
sentence). A shorter plan is always right, so the search stops within 1/16 of the longest.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from structured_bandits.compilable import compilable


class LooksAhead(Protocol):
    """What `certain_pulls` needs of a policy; its states have `lengths`, a number for each arm."""

    @property
    def low(self) -> float:
        """The least possible reward."""

    def certain(self, state: Any, arm: int, t: int, extra: int) -> bool:
        """Is the policy, whose choice after `t` pulls is `arm`, certain of it `extra` pulls more?"""


@compilable
def certain_pulls(policy: LooksAhead, state: Any, arm: int, t: int, limit: int) -> int:
    """Return a number of pulls, from 1 to `limit`, in which `arm` is certain to be chosen.

    `arm` is the choice after `t` pulls, so one pull is always right; where rewards have no bounds,
    nothing more is. The search begins at the length found last for this arm, state.lengths[arm].
    """
    if limit == 1 or not math.isfinite(policy.low):
        return 1
    sure = 1
    unsure = limit + 1
    trial = min(max(2, state.lengths[arm]), limit)
    while unsure - sure > max(1, sure // 16):
        if policy.certain(state, arm, t, trial - 1):
            sure = trial
        else:
            unsure = trial
        trial = min(2 * sure, limit) if unsure > limit else (sure + unsure) // 2
    state.lengths[arm] = sure
    return sure
