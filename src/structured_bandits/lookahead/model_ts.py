"""Lookahead of ModelTS: a leader is played until another may be drawn.

See docs/notes/lookahead.md 17.2, 20.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.compilable import chosen_by_class
from structured_bandits.inference.curve_posterior import CurvePosterior
from structured_bandits.inference.draws import Drawn
from structured_bandits.inference.table_posterior import TablePosterior
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.curve_odds import curve_reach
from structured_bandits.lookahead.rejection_skip import (
    Thinning,
    draw_wait,
    end_wait,
    fresh_thinning,
    known_uniform,
)
from structured_bandits.lookahead.streaks import Streak, certain_streak, streak_until
from structured_bandits.lookahead.table_odds import (
    PlanMemory,
    fresh_plan_memory,
    no_reach,
    table_reach,
)
from structured_bandits.policies.model_ts import ModelTS, ModelTSState
from structured_bandits.protocols import Now, Outcome

#: How long the odds against the leader, which was drawn, stay low.
odds_reach = chosen_by_class({TablePosterior: table_reach, CurvePosterior: curve_reach}, no_reach)


class Memory(NamedTuple):
    """What earlier plans were like, and what is known of the next uniform number."""

    plans: PlanMemory
    thinning: Thinning


class Chosen(NamedTuple):
    """The arm that was drawn, and the odds against it if it is the leader; infinite if it is not."""

    arm: int
    empty: int
    odds: float


def memory(policy: ModelTS, tables: Any) -> Memory:
    """Return the memory before the first pull."""
    belief = policy.posterior.fresh_belief()
    return Memory(fresh_plan_memory(len(belief.arms), len(belief.weights)), fresh_thinning())


def quick_choose(
    policy: ModelTS, state: ModelTSState, now: Now, rng: np.random.Generator, work: Work
) -> Chosen:
    """Draw a model, given what is known of the uniform number."""
    known = known_uniform(work.memory.thinning)
    drawn = policy.posterior.draw_arm(state.belief, known, rng)
    return Chosen(drawn.arm, 0, drawn.odds)


def stretch(
    policy: ModelTS,
    state: ModelTSState,
    choice: Chosen,
    now: Now,
    rng: np.random.Generator,
    work: Work,
) -> Streak:
    """Pull the leader as long as no other arm can be drawn."""
    arm, _, odds = choice
    if odds == math.inf or not math.isfinite(policy.bottom):
        return certain_streak(arm, 1, 0)
    plans, thinning = work.memory
    drawn = Drawn(arm, odds)
    found = odds_reach(policy.posterior, state.belief, plans, drawn, state.data, now.limit)
    if found.reach.length == 0:
        return certain_streak(arm, 1, 0)
    bound = found.odds / (1.0 + found.odds)  # on the probability of another arm
    further = min(draw_wait(thinning, bound, rng), found.reach.length)
    misses = found.reach.misses
    surely = 1 + min(further, misses)
    return streak_until(arm, surely, 1 + further, misses, policy.top)


def note(policy: ModelTS, state: ModelTSState, outcome: Outcome, work: Work) -> None:
    """Note what is known of the next uniform number."""
    end_wait(work.memory.thinning, outcome.pulls)
