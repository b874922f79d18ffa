"""How often OSSB wants each arm pulled: the allocations of Graves and Lai, one for each model.

In units of log t, the cheapest pulls that refute every model which the best arm alone cannot tell from
this one (docs/mathematics.md 5.1, 2.20). Solved once, when the policy is made.
"""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.errors import ParameterError
from structured_bandits.inference.likelihood import FLOOR
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.questions import Confusing
from structured_bandits.structures.reward_ranges import Rewards
from structured_bandits.theory.divergence import Information
from structured_bandits.theory.graves_lai import cheapest_refutation

TOLERANCE = 1e-9  # means that differ by no more, in units of the range, are equal
NEGLIGIBLE = 1e-9  # beside the largest of an allocation: what a solver makes of 0
UNTOLD = 1e-12  # divergences of at most that tell nothing: the models differ by less than 1e-6


def model_allocations(structure: FiniteStructure, rewards: Rewards) -> Floats:
    """Return the wanted pulls (models x arms), 0 for the best arm of each model.

    Rewards in a range are scaled to [0, 1] and taken for coins: of all rewards with the same means those
    are the hardest to tell apart. A coin that never shows one side is taken to show it with probability
    `FLOOR`: a model that one outcome would refute is not refuted before the outcome is looked for.
    """
    table, best = _shares(structure, rewards), structure.cells.best
    family = "bernoulli" if math.isfinite(rewards.bottom) else "gaussian"
    known = np.clip(table, FLOOR, 1.0 - FLOOR) if family == "bernoulli" else table
    wanted = np.zeros(table.shape)
    tolerance = TOLERANCE if family == "bernoulli" else TOLERANCE * (1.0 + np.abs(table).max())
    for model, own in enumerate(best):
        same = np.abs(table[:, own] - table[model, own]) <= tolerance
        others = np.flatnonzero(same & (best != own))
        information = Information(known[model], int(own), family, rewards.sigma)
        others = others[information.of(known[others]).max(axis=1, initial=0.0) > UNTOLD]
        if len(others):
            gaps = table[model, own] - table[model]
            confusing = Confusing(known[others], known[others], others, others)
            pulls = cheapest_refutation(information, gaps, [confusing]).allocation
            wanted[model] = np.where(pulls > NEGLIGIBLE * pulls.max(), pulls, 0.0)
    return wanted


def _shares(structure: FiniteStructure, rewards: Rewards) -> Floats:
    """Return the means, those of rewards in a range scaled to [0, 1]."""
    table = structure.cells.table
    if not math.isfinite(rewards.bottom):
        return table
    outside = np.argwhere((table < rewards.bottom) | (table > rewards.top))
    if len(outside):
        model, arm = outside[0]
        raise ParameterError(
            f"reward_range=({rewards.bottom:g}, {rewards.top:g}): model "
            f"{structure.model_names[model]!r} has a mean of {table[model, arm]:g}, which such rewards "
            "cannot have; give a range that holds all means, or reward_range=None and a sigma"
        )
    shares: Floats = (table - rewards.bottom) / (rewards.top - rewards.bottom)
    return shares
