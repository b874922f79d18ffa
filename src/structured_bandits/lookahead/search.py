"""How far ahead a reward-driven policy may plan: until a reward could change its mind.

A policy that offers `certain(state, arm, now, extra)` says whether it is sure to choose `arm` again
after each of the next `extra` pulls of it, whatever rewards in the declared range come. The answer must
be monotone: sure of a longer run implies sure of a shorter one (docs/notes/lookahead.md 3.1). A
shorter plan is always right, so the search stops within 1/16 of the longest.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from structured_bandits.base.compilable import compilable
from structured_bandits.protocols import Now


class LooksAhead(Protocol):
    """What `certain_pulls` needs of a policy; its states have `lengths`, a number for each arm."""

    @property
    def bottom(self) -> float:
        """The least possible reward."""

    def certain(self, state: Any, arm: int, now: Now, extra: int) -> bool:
        """Is the policy, whose choice is `arm` now, certain of it `extra` pulls more?"""


@compilable
def certain_pulls(policy: LooksAhead, state: Any, arm: int, now: Now) -> int:
    """Return a number of pulls, from 1 to now.limit, in which `arm` is certain to be chosen.

    `arm` is the choice now, so one pull is always right; without bounds on rewards nothing more is
    (docs/notes/lookahead.md 1). The search begins at the length found last for this arm,
    state.lengths[arm].
    """
    if now.limit == 1 or not math.isfinite(policy.bottom):
        return 1
    sure = 1
    unsure = now.limit + 1
    trial = min(max(2, state.lengths[arm]), now.limit)
    while unsure - sure > max(1, sure // 16):
        if policy.certain(state, arm, now, trial - 1):
            sure = trial
        else:
            unsure = trial
        trial = min(2 * sure, now.limit) if unsure > now.limit else (sure + unsure) // 2
    state.lengths[arm] = sure
    return sure
