"""Decisions that a randomised policy may skip, exactly (docs/notes/lookahead.md 17.2).

Write a randomised policy as a function of the data and of one uniform number for each pull, such that
its leader, the arm that it plays mostly, is played if and only if u >= q(data). As long as q <= B,
pulls with u >= B need no look at the data: their number is geometric, and so the policy draws it at
once. What it then knows of the next uniform (below B if that ended the wait, at least B if something
else did) it must not forget: that would be a bias.

The arms are the very ones that pull-by-pull play chooses with the same uniforms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.inference.draws import Known

LEAST_BOUND = 1e-15  # a larger bound is right too, and waits stay below 2^63


class Thinning(NamedTuple):
    """What is known of the next uniform number, and the wait that is being played, if any."""

    known: Floats  # two numbers: it lies between these
    bound: Floats  # one number: B of the wait
    wait: Ints  # one number: pulls to skip after the first; NOT_WAITING if none are


NOT_WAITING = -1


@compilable
def fresh_thinning() -> Thinning:
    """Return the memory before the first pull: nothing is known of the next uniform."""
    return Thinning(np.array([0.0, 1.0]), np.zeros(1), np.full(1, NOT_WAITING))


@compilable
def known_uniform(thinning: Thinning) -> Known:
    """Return what is known of the uniform number of this pull."""
    return Known(thinning.known[0], thinning.known[1])


@compilable
def draw_wait(thinning: Thinning, bound: float, rng: np.random.Generator) -> int:
    """Draw how many uniforms of at least `bound` follow before the first below it.

    After this pull of the leader so many more of it need no decision, as long as another arm is played
    with a probability of at most `bound`.
    """
    thinning.bound[0] = max(bound, LEAST_BOUND)
    thinning.wait[0] = rng.geometric(thinning.bound[0]) - 1
    return int(thinning.wait[0])


@compilable
def end_wait(thinning: Thinning, pulls: int) -> None:
    """Note what is known of the next uniform after `pulls` pulls were played."""
    thinning.known[0] = 0.0
    thinning.known[1] = 1.0
    if thinning.wait[0] != NOT_WAITING:
        if pulls == thinning.wait[0] + 1:
            thinning.known[1] = thinning.bound[0]
        else:
            thinning.known[0] = thinning.bound[0]
        thinning.wait[0] = NOT_WAITING
