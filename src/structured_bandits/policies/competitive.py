"""Competitive arms: those that are best in some model that still fits, to which a policy keeps.

UCB-C, KL-UCB-C and TS-C play a policy that is blind to the structure on these arms only (Gupta,
Chaudhari, Mukherjee, Joshi and Yağan, 2021). The models that fit are those of SUCB. If none does, a sign
that the structure is wrong, this is counted, and all arms may be played.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import (
    Box,
    Data,
    Prospect,
    fresh_box,
    width_budget,
    write_box,
)
from structured_bandits.planning.intervals import Intervals
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.planning.watches import NO_ARM, SEVERAL
from structured_bandits.policies.base import (
    StreakPolicy,
    StructuredPolicy,
    flagged,
    width_in_words,
)
from structured_bandits.protocol import Now, Outcome
from structured_bandits.structures.questions import CompetitiveCells, forget_history


class Competition(NamedTuple):
    """Scratch memory: which arms may be played, and what the cells note of the models."""

    found: Flags  # the arms that may be played now
    members: Ints  # the same arms, rising, in the first places
    box: Box
    work: Any  # what the cells note of the models
    changed: Ints  # one number: the arm with data that the cells have not seen, NO_ARM or SEVERAL


class Contest(NamedTuple):
    """A decision among the arms that may be played."""

    size: int  # how many they are
    empty: int  # 1 if they are all arms because no model fits
    optimistic: (
        int  # SUCB's arm: the best one of the most optimistic model that fits, -1 if none does
    )
    prospect: Prospect


class CompetitiveState(NamedTuple):
    """What was seen of each arm; the rest is scratch."""

    data: Data
    competition: Competition


class CompetitivePolicy(StructuredPolicy, StreakPolicy):
    """Mixin: a state with `data` and `competition`, fields `widths`, `cells` and `alpha`."""

    asks = (
        "choose",
        "certain_length",
        "empty_length",
        "best_arms_in",
        "arms_inside",
        "newcomer_length",
    )

    widths: Intervals  # of a budget of 0
    cells: CompetitiveCells
    alpha: float

    def width(self) -> str:
        """Return the confidence interval of the models in words."""
        return width_in_words(self, "t")

    def active_arms(self, state: Any, t: int) -> tuple[int, ...]:
        """Return the arms that are best in some model that fits; all arms if none does."""
        box, found = fresh_box(self.n_arms), np.zeros(self.n_arms, np.bool_)
        budget = width_budget(self.alpha, self.sigma, math.log(t + 1))
        write_box(state.data, self.widths.at(budget), box)
        alive = self.cells.best_arms_in(box, found, self.cells.fresh_notes())
        return flagged(found) if alive else tuple(range(self.n_arms))

    def restore(self, state: Any) -> None:
        """Let the cells look at all data."""
        state.competition.changed[0] = SEVERAL

    def forget(self, state: Any) -> None:
        """Clear what the cells noted for earlier plans."""
        forget_history(self.cells, state.competition.work)

    def end_streak(self, state: Any, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards."""
        state.data.pulls[outcome.arm] += outcome.pulls
        state.data.sums[outcome.arm] += outcome.total
        note_change(state.competition, outcome.arm)


@compilable
def fresh_competition(cells: CompetitiveCells) -> Competition:
    """Return the memory before the first pull."""
    arms = cells.arm_count()
    return Competition(
        np.zeros(arms, np.bool_),
        np.zeros(arms, np.int64),
        fresh_box(arms),
        cells.workspace(),
        np.full(1, NO_ARM, np.int64),
    )


@compilable
def note_change(competition: Competition, arm: int) -> None:
    """Note that the cells have not seen the last rewards of an arm."""
    changed = competition.changed
    changed[0] = arm if changed[0] in (NO_ARM, arm) else SEVERAL


@compilable
def open_contest(policy: Any, data: Data, competition: Competition, now: Now) -> Contest:
    """Find the arms that may be played now, and write them into `competition`."""
    factor = width_budget(policy.alpha, policy.sigma, 1.0)
    level = policy.widths.at(factor * math.log(now.t + 1))
    prospect = Prospect(now.t, now.limit, factor, level, policy.bottom, policy.top)
    found, members, box, work, changed = competition
    optimistic = policy.cells.choose(changed[0], data, level, box, work)
    changed[0] = NO_ARM
    empty = 0 if policy.cells.arms_inside(box, found, work) else 1
    size = 0
    for arm in range(len(found)):
        if found[arm] or empty > 0:
            found[arm] = True
            members[size] = arm
            size += 1
    return Contest(size, empty, optimistic, prospect)


@compilable
def looks_ahead(prospect: Prospect) -> bool:
    """Is more than one pull wanted? Without bounds on rewards no more is certain."""
    return prospect.limit > 1 and math.isfinite(prospect.bottom)


@compilable
def while_competitive(
    policy: Any, data: Data, competition: Competition, contest: Contest, streak: Streak
) -> Streak:
    """Cut a streak to what is certain; it is right if no other arms may be played than now.

    If a model fits, the arm has to stay SUCB's, so that it may be played, and no arm may join in
    (docs/planning.md 23.1); if none does, none may come to fit. Empty sets are counted for whole
    streaks, so one that begins with an empty set never stops early.
    """
    cells, work = policy.cells, competition.work
    arm = streak.arm
    t, _, factor, level, bottom, top = contest.prospect
    if contest.empty > 0:
        prospect = Prospect(t, streak.surely, factor, level, bottom, top)
        more = cells.empty_length(arm, prospect, data, work) if streak.surely > 1 else 0.0
        length = 1 + int(min(more, streak.surely - 1.0))
        return certain_streak(arm, length, length)
    if arm != contest.optimistic or streak.length == 1:
        return certain_streak(arm, 1, 0)
    prospect = Prospect(t, streak.length, factor, level, bottom, top)
    length = cells.certain_length(arm, prospect, data, work)
    if length > 1:
        prospect = Prospect(t, length, factor, level, bottom, top)
        alone = cells.newcomer_length(arm, competition.found, prospect, data, work)
        length = 1 + int(min(alone, length - 1.0))
    return Streak(arm, min(streak.surely, length), length, streak.misses, 0, streak.hit)
