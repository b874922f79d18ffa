"""What if one arm's mean is another than the truth says: the nearest model, and when the alarm rings.

The alarm rings when the e-value of the structure reaches 1 / LEVEL, as that of an experiment does.
After how many pulls depends on the rewards. Here every arm is taken to pay exactly its mean at each
pull; that gives about the number of pulls at which the e-value gets there, and real rewards ring
earlier or later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.inference.misfit.batch import e_values
from structured_bandits.inference.misfit.e_value import MisfitTest
from structured_bandits.service.experiment.spec import LEVEL
from structured_bandits.service.ui.explorer.apart import family_of
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import NOWHERE, Nearest
from structured_bandits.theory.truth import Truth, truth_of

MOST_PULLS = 10**9  # of each arm that are looked at
CLOSE = 50  # the number of pulls is found up to one part in so many


class Alarm(NamedTuple):
    """After how many pulls the alarm rings, about; None if not within MOST_PULLS of each arm.

    `in_turn` counts the pulls of all arms, each in its turn; `alone` those of the arm that was moved, if
    it is the only one that is pulled.
    """

    in_turn: int | None
    alone: int | None


class WhatIf(NamedTuple):
    """What follows if an arm has another mean.

    `nearest` is the model nearest to the new means, by the arm on which they differ most; `believed` is
    its best arm and `best` the one that is best in fact. Each pull of the believed arm then costs
    `loss`. `alarm` is None, and `why_not` says why, if there is no e-value.
    """

    means: Floats
    best: int
    nearest: Nearest
    believed: int
    loss: float
    alarm: Alarm | None
    why_not: str


def what_if(structure: Structure, test: MisfitTest | None, means: Floats, arm: int) -> WhatIf:
    """Return what follows if these are the means, of which that of `arm` was moved."""
    truth = truth_of(structure, means)
    nearest, believed = nearest_model(truth)
    best = int(means.argmax()) if truth.gaps[believed] > 0.0 else believed
    alarm, why_not = None, _untestable(structure, test, means)
    if test is not None and not why_not:
        fits = nearest.gap <= truth.tolerance
        alarm = Alarm(
            None if fits else pulls_until_alarm(test, means, np.ones(len(means), np.int64)),
            None if fits else pulls_until_alarm(test, means, _only(arm, len(means))),
        )
    return WhatIf(means, best, nearest, believed, float(truth.gaps[believed]), alarm, why_not)


def nearest_model(truth: Truth) -> tuple[Nearest, int]:
    """Return the model nearest to the means, by the largest difference, and its best arm."""
    weights = np.ones(len(truth.means))
    found = [(truth.distances.nearest(arm, weights), arm) for arm in truth.best_arms]
    return min(found, key=lambda each: each[0].gap, default=(NOWHERE, truth.best_arm))


def pulls_until_alarm(test: MisfitTest, means: Floats, shares: Any) -> int | None:
    """Return the number of pulls at which the alarm rings if each arm pays exactly its mean.

    Arms are pulled in these shares (whole numbers). The e-value is not quite monotone in the first
    pulls, so the number found by halving is one at which it has just risen above the limit.
    """

    def rings(rounds: int) -> bool:
        pulls = rounds * shares[np.newaxis]
        return bool(e_values(test, pulls, pulls * means) >= 1.0 / LEVEL)

    rounds = _first(rings, MOST_PULLS)
    return None if rounds is None else int(rounds * shares.sum())


def _first(rings: Callable[[int], bool], most: int) -> int | None:
    """Return the least number that rings, up to one part in CLOSE; None if `most` does not."""
    if not rings(most):
        return None
    high = 1
    while high < most and not rings(high):
        high = min(2 * high, most)
    low = high // 2
    while high - low > max(1, high // CLOSE):
        middle = (low + high) // 2
        low, high = (low, middle) if rings(middle) else (middle, high)
    return high


def _only(arm: int, arms: int) -> Any:
    shares = np.zeros(arms, np.int64)
    shares[arm] = 1
    return shares


def _untestable(structure: Structure, test: MisfitTest | None, means: Floats) -> str:
    if test is None:
        return "There is no e-value for this structure: it is too large, or of a kind without one."
    if family_of(structure, means) != "bernoulli":
        low, high = structure.range_of_rewards
        return (
            f"There are means outside the range of the rewards, {low:g} to {high:g}; no number of "
            "pulls is told for such a structure. Declare its range (reward_range)."
        )
    return ""
