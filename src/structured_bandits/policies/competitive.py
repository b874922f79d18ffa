"""Competitive arms: those that are best in some model that still fits, to which a policy keeps.

UCB-C, KL-UCB-C and TS-C play a policy that is blind to the structure on these arms only (Gupta,
Chaudhari, Mukherjee, Joshi and Yağan, arXiv:1810.08164). The models that fit are those of SUCB: with
means in the intervals of all arms, or, with confidence="likelihood", those that the likelihood does not
refute. If none does, a sign that the structure is wrong, this is counted, and all arms may be played.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags
from structured_bandits.base.confidence import box_of
from structured_bandits.base.intervals import Intervals
from structured_bandits.inference.likelihood_sets import LikelihoodSets, budget_at, by_sets
from structured_bandits.policies.base import (
    ChoicePolicy,
    ConfidenceSetPolicy,
    ConfidenceSets,
    State,
    StructuredPolicy,
    checked_sets,
    flagged,
    fresh_state,
)
from structured_bandits.structures.questions import Cells


class Competitive(NamedTuple):
    """The arms that may be played."""

    arms: Flags
    empty: int  # 1 if they are all arms because no model fits


class CompetitivePolicy(ConfidenceSetPolicy, StructuredPolicy, ChoicePolicy):
    """Mixin of policies with the fields `widths`, `cells` and `alpha`."""

    asks = ("best_arms_in",)

    cells: Cells

    def active_arms(self, state: State, t: int) -> tuple[int, ...]:
        """Return the arms that are best in some model that fits; all arms if none does."""
        return flagged(self.competitive_arms(state, t).arms)

    def competitive_arms(self, state: State, t: int) -> Competitive:
        """Return the arms that are best in some model that fits; all arms if none does."""
        found = np.zeros(self.n_arms, np.bool_)
        if mark_fitting(self.widths, self, state, t, found):
            return Competitive(found, 0)
        return Competitive(np.ones(self.n_arms, np.bool_), 1)

    def init(self) -> State:
        """Return a fresh state."""
        return fresh_state(self.cells.arm_count())


def mark_in_set(widths: LikelihoodSets, policy: Any, state: State, t: int, found: Flags) -> bool:
    """Mark the best arms of the models that the likelihood does not refute."""
    return widths.arms_in_set(state.data, budget_at(policy.alpha, t), widths.fresh_logs(), found)


def mark_in_box(widths: Intervals, policy: Any, state: State, t: int, found: Flags) -> bool:
    """Mark the best arms of the models in the intervals of all arms."""
    cells, box = policy.cells, box_of(state.data, policy.widths_at(state, t))
    return bool(cells.best_arms_in(box, found, cells.fresh_notes()))


#: `mark_fitting(widths, policy, state, t, found)`: mark the best arms of models that fit; is there one?
mark_fitting = by_sets(mark_in_set, mark_in_box)
COMPETITIVE_ALPHA = 2.0  # with intervals around the means
COMPETITIVE_LIKELIHOOD_ALPHA = 0.5  # with likelihood sets


def competitive_sets(
    structure: Any, alpha: float | None, reward_range: Any, sigma: float | None, confidence: str
) -> ConfidenceSets:
    """Return the confidence sets that a competitive policy is given; None stands for the usual alpha."""
    if alpha is None and confidence != "likelihood":
        alpha = COMPETITIVE_ALPHA
    usual = COMPETITIVE_LIKELIHOOD_ALPHA
    return checked_sets(structure, alpha, reward_range, sigma, confidence, usual)
