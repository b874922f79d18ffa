"""Phases of arm elimination, shared by SAE and ASAE (paper, Algorithm 1 lines 6-9)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable, do_nothing
from structured_bandits.base.confidence import Box, Data, write_box
from structured_bandits.base.intervals import Intervals
from structured_bandits.errors import ParameterError
from structured_bandits.inference.likelihood_sets import LikelihoodSets, by_sets
from structured_bandits.structures.questions import Cells, forget_history

MOST_PULLS = 1 << 52  # more than any horizon; sums over two thousand arms still fit 64 bits
MOST_PHASES = 1000  # the smallest budget grows from 1e-300 to 2^52 in fewer


class Presence(NamedTuple):
    """Which arms can be pulled; scratch memory of a state, in which a live agent writes `away`."""

    away: Flags  # arms that plans leave out
    here: Flags  # active arms that are not away; all active ones if none is here


@compilable
def all_present(arms: int) -> Presence:
    """Return that no arm is away."""
    return Presence(np.zeros(arms, np.bool_), np.zeros(arms, np.bool_))


@compilable
def note_here(active: Flags, presence: Presence) -> None:
    """Note which active arms are here.

    Phases end without those that are away, and the first plan after they are back makes up for it. That
    is sound where sets are made from the pulls that were made, whatever their number. If all active arms
    are away, they are waited for.
    """
    anyone = False
    for arm in range(len(active)):
        presence.here[arm] = active[arm] and not presence.away[arm]
        anyone = anyone or presence.here[arm]
    if not anyone:
        copy_flags(active, presence.here)


@compilable
def largest_gap(bottom: float, top: float) -> float:
    """Return the gap from which elimination starts to halve: the range's width, 1 if unbounded.

    The paper has rewards in [0, 1] and starts from 1; starting from the width makes the choice of
    units irrelevant.
    """
    return top - bottom if math.isfinite(top - bottom) else 1.0


@compilable
def phase_target(budget: float, beta: float, gap: float, phase: int) -> int:
    """Return the pulls p_h = ceil(alpha log n (1 + 1/beta)^2 / (gap 2^-h)^2) that end phase h.

    That is line 6, with `gap` = 1 for rewards in [0, 1]. At least one pull. With n = 1 the formula
    is 0 in every phase and phases would never end; they then have 4^h pulls.
    """
    widening = (1.0 + 1.0 / beta) / gap
    pulls = budget * widening * widening
    if pulls == 0.0:
        pulls = 1.0
    for _ in range(phase):
        pulls *= 4.0
    if pulls >= MOST_PULLS:
        return MOST_PULLS
    return max(1, math.ceil(pulls))


def check_first_phase(policy: Any, budget: float) -> None:
    """Raise if the first phase of a policy would take more pulls than can be counted."""
    gap = largest_gap(policy.bottom, policy.top)
    if phase_target(budget, policy.beta, gap, 0) >= MOST_PULLS:
        raise ParameterError(
            f"sigma={policy.sigma:g}, alpha={policy.alpha:g}: the first phase would take 2**52 pulls "
            f"of each arm or more, for rewards whose range is {policy.reward_range}; the radius "
            f"{policy.width()} is too wide for it"
        )


@compilable
def top_up(pulls: Ints, active: Flags, target: int, quota: Ints) -> bool:
    """Write the pulls that the active arms lack to the target; is there any?"""
    lacking = False
    for arm in range(len(quota)):
        quota[arm] = max(0, target - pulls[arm]) if active[arm] else 0
        lacking = lacking or quota[arm] > 0
    return lacking


@compilable
def find_best_arms(
    cells: Cells, data: Data, level: Intervals, box: Box, found: Flags, notes: Any
) -> bool:
    """Rebuild the confidence set from all models and data, mark its best arms; is it non-empty?"""
    write_box(data, level, box)
    return cells.best_arms_in(box, found, notes)


@compilable
def keep_only(active: Flags, found: Flags) -> int:
    """Intersect the active arms with those found (line 8); if nothing is left, keep them, return 1.

    The paper is silent on an empty intersection; keeping the arms lets the next phase decide.
    """
    left = False
    for arm in range(len(active)):
        if active[arm] and found[arm]:
            left = True
    if not left:
        return 1
    for arm in range(len(active)):
        active[arm] = active[arm] and found[arm]
    return 0


@compilable
def copy_flags(source: Flags, target: Flags) -> None:
    """Copy flags one by one: a slice assignment takes memory, which plans must not."""
    for arm in range(len(target)):
        target[arm] = source[arm]


def box_notes(widths: Intervals, cells: Cells) -> Any:
    """Return what the cells note of a box."""
    return cells.fresh_notes()


def likelihood_notes(widths: LikelihoodSets, cells: Cells) -> Floats:
    """Return memory for the log-likelihoods of all models."""
    return widths.fresh_logs()


notes_of = by_sets(likelihood_notes, box_notes)


def forget_box(widths: Intervals, cells: Cells, notes: Any) -> None:
    """Clear what the cells noted for earlier plans."""
    forget_history(cells, notes)


forget_notes = by_sets(do_nothing, forget_box)


def check_phase(phase: int, active: Flags, candidates: Flags, most: int = MOST_PHASES) -> None:
    """Raise a ValueError if this is no phase, or these are no arms that may be active in one."""
    if not 0 <= phase <= most:
        raise ValueError(f"phase {phase}")
    if not active.any() or (active & ~candidates).any():
        raise ValueError("active arms that are best in no model, or none")
