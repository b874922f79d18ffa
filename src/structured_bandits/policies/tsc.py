"""TS-C: Thompson sampling on the arms that are best in some model that still fits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.policies.base import (
    GivenRange,
    State,
    checked_cells,
    registered,
)
from structured_bandits.policies.beliefs import Belief, checked_belief, highest_draw
from structured_bandits.policies.competitive import CompetitivePolicy, competitive_sets
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import Cells


class _TSC(NamedTuple):
    widths: Any  # intervals of a budget of 0, or likelihood sets
    cells: Cells
    belief: Belief
    alpha: float
    sigma: float
    bottom: float
    top: float


@registered
class TSC(CompetitivePolicy, _TSC):
    """Thompson sampling among the arms that are best in some model that fits; among all if none fits.

    Draws and `prior` are those of `ThompsonSampling`; the models that fit are those of `SUCB` with the
    same `confidence` and alpha (default 2; 1/2 with "likelihood"). If a single arm may be played,
    nothing is drawn. For Gaussian rewards without a prior each arm is pulled once first, whatever fits.
    """

    randomised = True

    prior: tuple[float, float] | None

    def __new__(
        cls,
        structure: Structure,
        alpha: float | None = None,
        prior: Any = None,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str = "hoeffding",
    ) -> TSC:
        """Check the parameters."""
        cells = checked_cells(cls, structure)
        sets = competitive_sets(structure, alpha, reward_range, sigma, confidence)
        belief, pair = checked_belief(prior, sets.rewards)
        policy = super().__new__(cls, sets.widths, cells, belief, sets.alpha, *sets.rewards)
        policy.structure, policy.confidence = structure, sets.confidence
        policy.prior = pair
        return policy

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the arm of the highest draw among the competitive ones."""
        flags, empty = self.competitive_arms(state, now.t)
        if self.belief.b == 0.0 and not state.data.pulls.all():
            return Choice(int(state.data.pulls.argmin()), empty)  # nothing is known of this arm
        arms = np.flatnonzero(flags)
        if len(arms) == 1:
            return Choice(int(arms[0]), empty)
        return Choice(highest_draw(self.belief, state.data, arms, rng), empty)
