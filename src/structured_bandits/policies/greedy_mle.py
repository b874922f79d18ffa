"""Greedy play of the best-fitting model."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from structured_bandits.base.checks import checked_word
from structured_bandits.errors import ParameterError
from structured_bandits.inference.likelihood import evidence_of
from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    State,
    StructuredPolicy,
    checked_cells,
    checked_rewards,
    fresh_state,
    registered,
)
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.model_fit import ModelFit
from structured_bandits.structures.questions import FittingCells
from structured_bandits.structures.reward_ranges import Rewards

FITS = ("squares", "likelihood")


class _GreedyMLE(NamedTuple):
    cells: FittingCells
    sigma: float
    bottom: float
    top: float


@registered
class GreedyMLE(StructuredPolicy, ChoicePolicy, _GreedyMLE):
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
        checked_word("fit", fit, FITS)
        rewards = checked_rewards(reward_range, sigma, structure)
        if fit == "likelihood":
            cells: FittingCells = likelihood_of(structure, rewards)
        else:
            cells = checked_cells(cls, structure, "fitting_cells")
        policy = super().__new__(cls, cells, *rewards)
        policy.structure = structure
        policy.fit = fit
        return policy

    def init(self) -> State:
        """Return a fresh state."""
        return fresh_state(self.cells.arm_count())

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the best arm of the model that fits best."""
        return Choice(self.cells.fitting_arm(state.data), 0)


def likelihood_of(structure: Structure, rewards: Rewards) -> ModelFit:
    """Return the models of a finite structure with their negative log-likelihoods."""
    if not isinstance(structure, FiniteStructure):
        raise ParameterError(
            f"fit='likelihood': needs a finite structure, not structure={structure!r}; "
            "take fit='squares'"
        )
    evidence = evidence_of(structure.cells.table, rewards)
    return ModelFit(-evidence.per_pull, -evidence.per_reward, structure.cells.best)
