"""Quiet stretches of Thompson sampling: pulls at which nothing can happen, without a draw for each.

The *leader* is the arm with the highest expected mean. Fix a level below it and above the others. If
the leader's drawn mean is above the level and the others' are not, the leader is played. The opposite
needs an arm in a tail of its law, and tails are drawn by envelopes (`rejection_envelopes`): while
nobody proposes nobody is in a tail. How many decisions pass before somebody proposes is geometric,
and drawn at once (docs/notes/lookahead.md 19.2).

What is known of the next decision when a stretch ends, that somebody proposes or that nobody does, is
kept: to forget it would be a bias. The leader's envelope holds for any ones and for a number of misses,
and a stretch ends when there are as many; so what is known at its end is still right.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.lookahead.rejection_envelopes import (
    NOBODY,
    Betas,
    Envelopes,
    arm_of_proposals,
    fresh_envelopes,
    most_misses,
    raise_envelope,
    write_lower_tail,
    write_upper_tail,
)
from structured_bandits.lookahead.streaks import Streak, certain_streak, streak_until

NOT_WAITING = -1
LOG_TWO = math.log(2.0)
LEAST_MASS = 1e-15  # of the leader's envelope: a larger one is right too, and waits stay below 2^63
NOTHING, NOBODY_PROPOSES, SOMEBODY_PROPOSES = 0, 1, 2  # that is known of the next decision
UNDECIDED = certain_streak(NOBODY, 0, 0)

# What follows decides how long stretches are, not whether they are right.
MOST_OTHERS = 0.4  # of how often the others may propose for a stretch to be worth its making
MOST_LEADER = 0.2  # and the leader
FEWEST_COUNTS = 6.0  # of the leader, the prior's included
LOWEST = 40.0  # deviations of the leader below its expected mean that a level may be
GROWTH = 1.5  # of the leader's counts, after which another level may be better
REST = 2  # single pulls after an attempt that was not worth it


class Quiet(NamedTuple):
    """The envelopes, and the stretch that is being played, if any. One number each but for these."""

    envelopes: Envelopes
    others: Floats  # minus the logarithm of the probability that none of the others proposes
    until: Floats  # counts of the leader up to which the level is kept
    misses: Ints  # of the leader, for which its envelope holds
    wait: Ints  # pulls of the leader before somebody proposes; NOT_WAITING if there is no stretch
    known: Ints  # of the next decision
    rest: Ints  # single pulls before the next attempt


@compilable
def fresh_quiet(arms: int) -> Quiet:
    """Return the memory before the first pull: nothing is known of the next decision."""
    return Quiet(
        fresh_envelopes(arms),
        np.zeros(1),
        np.zeros(1),
        np.zeros(1, np.int64),
        np.full(1, NOT_WAITING),
        np.full(1, NOTHING),
        np.zeros(1, np.int64),
    )


# --------------------------------------------------------------------------------- envelopes


@compilable
def expected_mean(betas: Betas, arm: int) -> float:
    """Return the expected mean of an arm."""
    return float(betas.a[arm] / (betas.a[arm] + betas.b[arm]))


@compilable
def deviation(betas: Betas, arm: int) -> float:
    """Return the standard deviation of the law of an arm's mean; it is above 0."""
    a, b = betas.a[arm], betas.b[arm]
    counts = a + b
    return math.sqrt(a / counts * (b / counts) / (counts + 1.0))


@compilable
def highest_expected(betas: Betas, playable: Ints) -> int:
    """Return the arm with the highest expected mean."""
    leader = playable[0]
    for arm in playable:
        if expected_mean(betas, arm) > expected_mean(betas, leader):
            leader = arm
    return int(leader)


@compilable
def good_level(betas: Betas, playable: Ints, leader: int) -> float:
    """Return a level at which few arms propose.

    Equally many deviations from the leader and from another arm; and a little lower, as far as the
    other one hardly notices: the fewer deviations the leader is from it, the sooner misses matter.
    """
    mean, spread = expected_mean(betas, leader), deviation(betas, leader)
    level = mean - LOWEST * spread
    for arm in playable:
        if arm != leader:
            other, width = expected_mean(betas, arm), deviation(betas, arm)
            between = (other * spread + mean * width) / (spread + width)
            level = max(level, between - max(spread, min(0.1 * width, LOWEST * spread)))
    return level


@compilable
def write_others(quiet: Quiet, betas: Betas, playable: Ints) -> bool:
    """Choose leader and level and write the others' envelopes; return whether that is worth it."""
    quiet.envelopes.leader[0] = NOBODY
    leader = highest_expected(betas, playable)
    counts = betas.a[leader] + betas.b[leader]
    level = good_level(betas, playable, leader)
    if counts < FEWEST_COUNTS or not 0.0 < level < 1.0:
        return False
    quiet.envelopes.level[0] = level
    for arm in playable:
        if arm != leader and write_upper_tail(quiet.envelopes, betas, arm) > -LOG_TWO:
            return False
    quiet.envelopes.leader[0] = leader
    quiet.until[0] = GROWTH * counts
    return note_others(quiet, playable)


@compilable
def rewrite_other(quiet: Quiet, betas: Betas, playable: Ints, arm: int) -> bool:
    """Write the envelope of another arm that was pulled; return whether the level is still good."""
    few = write_upper_tail(quiet.envelopes, betas, arm) <= -LOG_TWO
    return few and note_others(quiet, playable)


@compilable
def note_others(quiet: Quiet, playable: Ints) -> bool:
    """Note how often the others propose; return whether that is rarely enough."""
    quiet.others[0] = 0.0
    for arm in playable:
        if arm != quiet.envelopes.leader[0]:
            quiet.others[0] -= math.log1p(-quiet.envelopes.masses[arm])
    return quiet.others[0] <= MOST_OTHERS


@compilable
def write_leader(quiet: Quiet, betas: Betas, limit: int) -> bool:
    """Write the leader's envelope for a good number of misses; return whether that is worth it.

    Each miss makes its mass grow. It may become twice what it is, half of the others', or so small that
    the leader hardly proposes in all pulls that are left.
    """
    leader, level = quiet.envelopes.leader[0], quiet.envelopes.level[0]
    a, b = betas.a[leader], betas.b[leader]
    least = write_lower_tail(quiet.envelopes, betas, leader, 1.0)
    growth = math.log((1.0 - level) * (a + b + 1.0) / (b + 1.0))  # by each further miss, or less
    if least > math.log(MOST_LEADER) or growth <= 0.0:  # not above 0: among 10^16 counts or more
        return False
    most = math.log(max(0.5 * quiet.others[0], 0.1 / limit))
    most = min(max(most, least + LOG_TWO), math.log(MOST_LEADER))
    further = min((most - least) / growth, most_misses(level, a, b) - 1.0, 1e15)
    misses = 1.0 + math.floor(further)
    while write_lower_tail(quiet.envelopes, betas, leader, misses) > most + LOG_TWO:
        misses = max(1.0, math.floor(0.5 * misses))  # the last resort is the envelope for one
    raise_envelope(quiet.envelopes, leader, LEAST_MASS)
    quiet.misses[0] = int(misses)
    quiet.envelopes.chance[0] = -math.expm1(
        math.log1p(-quiet.envelopes.masses[leader]) - quiet.others[0]
    )
    return True


@compilable
def write_envelopes(quiet: Quiet, betas: Betas, playable: Ints, limit: int) -> bool:
    """Write envelopes that hold from now on; return whether a stretch is worth its making."""
    leader = quiet.envelopes.leader[0]
    kept = leader != NOBODY and betas.a[leader] + betas.b[leader] <= quiet.until[0]
    ready = kept and write_leader(quiet, betas, limit)
    if not ready:
        ready = write_others(quiet, betas, playable) and write_leader(quiet, betas, limit)
    if not ready:
        quiet.envelopes.leader[0] = NOBODY
        quiet.rest[0] = REST
    return ready


# --------------------------------------------------------------------------------- stretches


@compilable
def leader_streak(
    quiet: Quiet, decided: int, limit: int, top: float, rng: np.random.Generator
) -> Streak:
    """Draw how long nobody proposes after `decided` pulls of the leader, and return the streak.

    It ends with the last miss for which the leader's envelope holds.
    """
    quiet.wait[0] = decided + rng.geometric(quiet.envelopes.chance[0]) - 1
    length = min(quiet.wait[0], limit)
    misses = quiet.misses[0]
    leader = int(quiet.envelopes.leader[0])
    return streak_until(leader, min(length, misses), length, misses - 1, top)


@compilable
def quiet_streak(
    quiet: Quiet, betas: Betas, playable: Ints, limit: int, top: float, rng: np.random.Generator
) -> Streak:
    """Return the next pulls, UNDECIDED if the means of all arms have to be drawn."""
    known = quiet.known[0]
    if known == NOTHING:
        if quiet.rest[0] > 0:
            quiet.rest[0] -= 1
            return UNDECIDED
        if not write_envelopes(quiet, betas, playable, limit):
            return UNDECIDED
        streak = leader_streak(quiet, 0, limit, top, rng)
        if streak.length > 0:
            return streak
    arm = int(quiet.envelopes.leader[0])
    if known != NOBODY_PROPOSES:
        arm = arm_of_proposals(quiet.envelopes, betas, playable, rng)
    quiet.wait[0] = NOT_WAITING
    leads = arm == quiet.envelopes.leader[0] and write_envelopes(quiet, betas, playable, limit)
    if leads and arm == quiet.envelopes.leader[0]:  # still: the new envelopes may have another
        return leader_streak(quiet, 1, limit, top, rng)
    return certain_streak(arm, 1, 0)


@compilable
def end_quiet(quiet: Quiet, betas: Betas, playable: Ints, arm: int, pulls: int) -> None:
    """Note what is known of the next decision after `pulls` pulls of an arm."""
    if quiet.wait[0] == NOT_WAITING:
        quiet.known[0] = NOTHING
    elif pulls == quiet.wait[0]:
        quiet.known[0] = SOMEBODY_PROPOSES
    else:
        quiet.known[0] = NOBODY_PROPOSES
    quiet.wait[0] = NOT_WAITING
    leader = quiet.envelopes.leader[0]
    if leader not in (NOBODY, arm) and not rewrite_other(quiet, betas, playable, arm):
        quiet.envelopes.leader[0] = NOBODY
