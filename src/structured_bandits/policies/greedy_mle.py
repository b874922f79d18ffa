"""Greedy play of the best-fitting model."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from structured_bandits.errors import ParameterError
from structured_bandits.planning.confidence import Data, fresh_data
from structured_bandits.planning.fits import Fits, FitWork, ModelFit, RewardRange, fresh_fit_work
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    GivenRange,
    Rewards,
    StreakPolicy,
    StructuredPolicy,
    checked_cells,
    checked_rewards,
    registered,
)
from structured_bandits.policies.evidence import evidence_of
from structured_bandits.protocol import Now
from structured_bandits.records import Record
from structured_bandits.structures.base import Structure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.questions import FittingCells, compiles

FITS = ("squares", "likelihood")


class _CellFit(NamedTuple):
    cells: FittingCells


class CellFit(Record, _CellFit):
    """Cells that say which arm fits best and no more: a plan holds one pull."""

    @property
    def compiles(self) -> bool:
        """Can compiled code ask the cells?"""
        return compiles(self.cells)

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.cells.arm_count()

    def fit_work(self) -> FitWork:
        """Return nothing: no model is looked at one by one."""
        return fresh_fit_work(0)

    def fitted_streak(self, data: Data, work: FitWork, now: Now, rewards: RewardRange) -> Streak:
        """Return one pull of the fitting model's best arm."""
        return certain_streak(self.cells.fitting_arm(data), 1, 0)


class GreedyState(NamedTuple):
    """What was seen of each arm; the rest is scratch."""

    data: Data
    work: FitWork


class _GreedyMLE(NamedTuple):
    cells: Fits
    sigma: float
    bottom: float
    top: float


@registered
class GreedyMLE(StructuredPolicy, StreakPolicy, _GreedyMLE):
    """Play the best arm of the model that fits best.

    With `fit="squares"` this is the model with the least sum_i T_i (mean_i - mu_i(theta))^2, the most
    likely one for Gaussian rewards of equal variance. With `fit="likelihood"`, which is for finite
    structures only, it is the most likely one for rewards of 0 and 1; the same formula is used for other
    rewards in a range, and without a range the two fits are the same. The policy never explores. With
    finitely many models its regret is logarithmic if the truth has no decoy, and otherwise linear with
    positive probability (Slivkins, Xu, Zuo). A decoy is a model in which another arm is best and has its
    true mean, so that playing this arm never contradicts the model. The first model wins a tie, also
    before the first pull. On curves, boxes and polytopes it decides before every pull.
    """

    asks = ("fitting_arm",)
    absent_parameters: ClassVar[dict[str, Any]] = {"fit": "squares"}
    fit: str

    def __new__(
        cls,
        structure: Structure,
        fit: str = "squares",
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> GreedyMLE:
        """Check the parameters."""
        if not isinstance(fit, str) or fit not in FITS:
            raise ParameterError(f"fit={fit!r}: accepted are 'squares' and 'likelihood'")
        rewards = checked_rewards(reward_range, sigma, structure)
        if fit == "likelihood":
            cells: Fits = likelihood_of(structure, rewards)
        else:
            fitting = checked_cells(cls, structure, "fitting_cells")
            cells = fitting if isinstance(fitting, ModelFit) else CellFit(fitting)
        policy = super().__new__(cls, cells, *rewards)
        policy.structure = structure
        policy.fit = fit
        return policy

    def init(self) -> GreedyState:
        """Return a fresh state."""
        return GreedyState(fresh_data(self.cells.arm_count()), self.cells.fit_work())

    def streak(self, state: GreedyState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the fitting model's best arm for as long as it is sure to stay the choice."""
        rewards = RewardRange(self.bottom, self.top)
        return self.cells.fitted_streak(state.data, state.work, now, rewards)


def likelihood_of(structure: Structure, rewards: Rewards) -> ModelFit:
    """Return the models of a finite structure with their negative log-likelihoods."""
    if not isinstance(structure, FiniteStructure):
        raise ParameterError(
            f"fit='likelihood': needs a finite structure, not structure={structure!r}; "
            "take fit='squares'"
        )
    evidence = evidence_of(structure.cells.table, rewards)
    return ModelFit(-evidence.per_pull, -evidence.per_reward, structure.cells.best)
