"""Competitive arms: those that are best in some model that still fits, to which a policy keeps.

UCB-C, KL-UCB-C and TS-C play a policy that is blind to the structure on these arms only (Gupta,
Chaudhari, Mukherjee, Joshi and Yağan, arXiv:1810.08164). The models that fit are those of SUCB. If none
does, a sign that the structure is wrong, this is counted, and all arms may be played.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import (
    Box,
    Data,
    Prospect,
    fresh_box,
    fresh_data,
    radius_growth,
    width_budget,
    write_box,
)
from structured_bandits.planning.intervals import Intervals
from structured_bandits.planning.kl_leads import Growth, budget_at, kl_front, kl_streak
from structured_bandits.planning.leads import (
    Lead,
    Leader,
    Rivals,
    highest_index,
    lead_streak,
    lost_at_once,
    near_future,
)
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.planning.watches import NO_ARM, SEVERAL
from structured_bandits.policies.base import (
    StreakPolicy,
    StructuredPolicy,
    flagged,
    width_in_words,
    widths_of,
)
from structured_bandits.policies.index_policy import note_mean, take_in
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
    prospect: Prospect


class CompetitiveState(NamedTuple):
    """What was seen of each arm, and its mean; the rest is scratch."""

    data: Data
    means: Floats  # scaled to [0, 1] if rewards have a range; of arms with pulls
    competition: Competition


class CompetitivePolicy(StructuredPolicy, StreakPolicy):
    """Mixin of policies with the fields `widths`, `cells` and `alpha`."""

    asks = ("choose", "empty_length", "best_arms_in", "arms_inside", "competitive_length")

    widths: Intervals  # of a budget of 0
    cells: CompetitiveCells
    alpha: float

    def width(self) -> str:
        """Return the confidence interval of the models in words."""
        return width_in_words(self, "t")

    def widths_at(self, state: CompetitiveState, t: int) -> Intervals:
        """Return the intervals in which models must be to fit at the next pull."""
        return widths_of(self, math.log(t + 1))

    def active_arms(self, state: CompetitiveState, t: int) -> tuple[int, ...]:
        """Return the arms that are best in some model that fits; all arms if none does."""
        box, found = fresh_box(self.n_arms), np.zeros(self.n_arms, np.bool_)
        write_box(state.data, self.widths_at(state, t), box)
        alive = self.cells.best_arms_in(box, found, self.cells.fresh_notes())
        return flagged(found) if alive else tuple(range(self.n_arms))

    def init(self) -> CompetitiveState:
        """Return a fresh state."""
        arms = self.cells.arm_count()
        return CompetitiveState(fresh_data(arms), np.zeros(arms), fresh_competition(self.cells))

    def restore(self, state: CompetitiveState) -> None:
        """Compute the means, and let the cells look at all data."""
        for arm in np.flatnonzero(state.data.pulls):
            note_mean(state, int(arm), self.bottom, self.top)
        state.competition.changed[0] = SEVERAL

    def forget(self, state: CompetitiveState) -> None:
        """Clear what the cells noted for earlier plans."""
        forget_history(self.cells, state.competition.work)

    def end_streak(self, state: CompetitiveState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards."""
        take_in(state, outcome, self.bottom, self.top)
        changed = state.competition.changed
        changed[0] = outcome.arm if changed[0] in (NO_ARM, outcome.arm) else SEVERAL


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
def open_contest(policy: Any, state: CompetitiveState, now: Now) -> Contest:
    """Find the arms that may be played now, and write them into the state."""
    factor = width_budget(policy.alpha, policy.sigma, 1.0)
    level = policy.widths.at(factor * math.log(now.t + 1))
    prospect = Prospect(now.t, now.limit, factor, level, policy.bottom, policy.top)
    found, members, box, work, changed = state.competition
    policy.cells.choose(changed[0], state.data, level, box, work)
    changed[0] = NO_ARM
    empty = 0 if policy.cells.arms_inside(box, found, work) else 1
    size = 0
    for arm in range(len(found)):
        if found[arm] or empty > 0:
            found[arm] = True
            members[size] = arm
            size += 1
    return Contest(size, empty, prospect)


@compilable
def looks_ahead(prospect: Prospect) -> bool:
    """Is more than one pull wanted? Without bounds on rewards no more is certain."""
    return prospect.limit > 1 and math.isfinite(prospect.bottom)


@compilable
def highest_by_radius(
    policy: Any, state: CompetitiveState, contest: Contest, level: Intervals
) -> Streak:
    """Pull the arm with the highest mean + radius, of those that may be played, while that is sure."""
    leader = highest_index(state.data, level, state.competition.found)
    if not looks_ahead(contest.prospect) or state.data.pulls[leader.arm] == 0:
        return certain_streak(leader.arm, 1, contest.empty)
    if contest.size == 1:
        streak = certain_streak(leader.arm, contest.prospect.limit, 0)
    else:
        streak = leader_streak(leader, state.data, contest.prospect)
    return while_competitive(policy, state, contest, streak)


@compilable
def leader_streak(leader: Leader, data: Data, prospect: Prospect) -> Streak:
    """Pull the leader while it surely leads."""
    t, limit, factor, level, bottom, top = prospect
    root, pulls = math.sqrt(level.budget), data.pulls[leader.arm]
    mean = data.sums[leader.arm] / pulls
    fall = 0.5 * root / math.sqrt(pulls)
    lead = Lead(leader.arm, pulls, leader.lead * pulls, mean - bottom, top - mean, fall)
    if lost_at_once(lead):
        return certain_streak(leader.arm, 1, 0)
    growth = root * radius_growth(t + 1.0, level.budget / factor)
    always = Rivals(growth * leader.widest * pulls, limit - 1.0)
    near = Rivals(always.rise, near_future(pulls, math.inf, limit))
    return lead_streak(lead, always, near, top)


@compilable
def highest_by_divergence(
    policy: Any, state: CompetitiveState, contest: Contest, growth: Growth, now: Now
) -> Streak:
    """Pull the arm with the highest KL index, of those that may be played, while that is sure."""
    members = state.competition.members[: contest.size]
    budget = budget_at(growth, math.log(now.t + 1))
    front = kl_front(state.data, state.means, members, budget)
    if not looks_ahead(contest.prospect) or front.highest == math.inf:
        return certain_streak(front.arm, 1, contest.empty)
    streak = kl_streak(state, members, front, growth, now, policy.top)
    return while_competitive(policy, state, contest, streak)


@compilable
def while_competitive(
    policy: Any, state: CompetitiveState, contest: Contest, streak: Streak
) -> Streak:
    """Cut a streak to what is certain; it is right if no other arms may be played than now.

    If a model fits, the arm has to stay competitive and no arm may join in (docs/planning.md 23.1);
    if none does, none may come to fit. Empty sets are counted for whole streaks, so one that begins
    with an empty set never stops early.
    """
    cells, data, work = policy.cells, state.data, state.competition.work
    t, _, factor, level, bottom, top = contest.prospect
    arm = streak.arm
    if contest.empty > 0:
        prospect = Prospect(t, streak.surely, factor, level, bottom, top)
        more = cells.empty_length(arm, prospect, data, work) if streak.surely > 1 else 0.0
        length = 1 + int(min(more, streak.surely - 1.0))
        return certain_streak(arm, length, length)
    if streak.length == 1:
        return streak
    prospect = Prospect(t, streak.length, factor, level, bottom, top)
    length = cells.competitive_length(arm, state.competition.found, prospect, data, work)
    _, surely, _, misses, _, hit, gains, spare, earned = streak
    return Streak(arm, min(surely, length), length, misses, 0, hit, gains, spare, earned)
