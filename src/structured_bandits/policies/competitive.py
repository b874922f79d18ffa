"""Competitive arms: those that are best in some model that still fits, to which a policy keeps.

UCB-C, KL-UCB-C and TS-C play a policy that is blind to the structure on these arms only (Gupta,
Chaudhari, Mukherjee, Joshi and Yağan, arXiv:1810.08164). The models that fit are those of SUCB. If none
does, a sign that the structure is wrong, this is counted, and all arms may be played.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from structured_bandits.arrays import Flags
from structured_bandits.planning.confidence import box_of
from structured_bandits.policies.base import (
    ChoicePolicy,
    ConfidenceSetPolicy,
    State,
    StructuredPolicy,
    flagged,
    fresh_state,
)
from structured_bandits.structures.questions import CompetitiveCells


class Competitive(NamedTuple):
    """The arms that may be played."""

    arms: Flags
    empty: int  # 1 if they are all arms because no model fits


class CompetitivePolicy(ConfidenceSetPolicy, StructuredPolicy, ChoicePolicy):
    """Mixin of policies with the fields `widths`, `cells` and `alpha`."""

    asks = ("choose", "empty_length", "best_arms_in", "arms_inside", "competitive_length")

    absent_parameters: ClassVar = {}

    cells: CompetitiveCells

    def active_arms(self, state: State, t: int) -> tuple[int, ...]:
        """Return the arms that are best in some model that fits; all arms if none does."""
        return flagged(self.competitive_arms(state, t).arms)

    def competitive_arms(self, state: State, t: int) -> Competitive:
        """Return the arms that are best in some model that fits; all arms if none does."""
        level: Any = self.widths_at(state, t)
        box, found = box_of(state.data, level), np.zeros(self.n_arms, np.bool_)
        if self.cells.best_arms_in(box, found, self.cells.fresh_notes()):
            return Competitive(found, 0)
        return Competitive(np.ones(self.n_arms, np.bool_), 1)

    def init(self) -> State:
        """Return a fresh state."""
        return fresh_state(self.cells.arm_count())
