"""Paths that rewards can take inside a streak: the hostile ones, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from support.stretches import Player

from structured_bandits.lookahead.streaks import Streak
from structured_bandits.protocols import Now, Outcome


def paths(streak: Streak, rng: np.random.Generator) -> Iterator[list[bool]]:
    """Yield orders of misses (True) that let the whole streak be played; all misses if it is certain."""
    further = streak.length - 1
    misses = min(further, streak.misses)
    worst = [True] * misses + [False] * (further - misses)
    yield worst
    yield worst[::-1]
    yield [False] * further
    yield [True] * (streak.surely - 1)
    yield list(rng.permutation(worst))


def assert_certain(policy: Any, pulls: Any, sums: Any, rng: np.random.Generator) -> int:
    """Play a streak along hostile paths, asking at each pull; return its length.

    The last reward of a path is followed by one more question, the last that the streak answers.
    """
    t = int(sum(pulls))
    streak = Player(policy, pulls, sums).streak(Now(t, 1000), rng)
    for path in paths(streak, rng):
        player = Player(policy, pulls, sums)
        for made, miss in enumerate([*path, None]):
            asked = player.streak(Now(t + made, 1), rng)
            assert asked.arm == streak.arm, (
                f"{made} of {streak} after {pulls}, {sums}: {path[:made]}"
            )
            if miss is not None:
                paid = policy.bottom if miss else policy.top
                player.end(Outcome(streak.arm, 1, paid, float("nan")))
    return streak.length
