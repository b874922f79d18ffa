"""Elimination by SAE: the phase that drops each arm, by the deterministic sets of Section 3.2.

On the good event E of Lemma 1 (every empirical mean stays within 1/beta of its radius) the arms that
SAE plays in phase h lie between `guaranteed[h]` and `active[h]` (Theorem 7, for alpha >= beta^2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.theory.truth import Truth, indicator

Arms = tuple[int, ...]
JUST_REACHED = 1.0 - 1e-12  # of a threshold: 0.7 - 0.2 is a half, whatever its last bit says


@dataclass(frozen=True)
class Elimination:
    """The sets of each phase h = 0, 1, …, and what follows for each arm.

    `active[h]` (the paper's A_h) holds the arms that may be played in phase h, `removed[h]` those that
    are surely dropped at its end, `guaranteed[h]` those that are surely played in it. `last_phase[arm]`
    is the last phase in which an arm may be played, infinite for arms that are never dropped.
    `helpers[arm]` (the paper's A*_i) are the arms that are surely played until an arm is dropped, so
    that their pulls help to drop it; the arm itself is among them.
    """

    horizon: int
    beta: float
    active: tuple[Arms, ...]
    removed: tuple[Arms, ...]
    guaranteed: tuple[Arms, ...]
    last_phase: dict[int, float]
    helpers: dict[int, Arms]


def margin_factor(horizon: int, beta: float) -> float:
    """Return k_beta = sqrt((beta + 1)^2 + 1 / log n) / (beta - 1), infinite for beta = 1 (I-5)."""
    if beta == 1.0:
        return math.inf
    return math.sqrt((beta + 1.0) ** 2 + 1.0 / math.log(horizon)) / (beta - 1.0)


def eliminate(truth: Truth, horizon: int, beta: float, largest_gap: float = 1.0) -> Elimination:
    """Follow the definitions of Section 3.2 until every arm with a positive gap is removed.

    Removal in phase h needs a model gap of `largest_gap` 2^-h. The loop ends: the true model keeps the
    best arm in every `guaranteed` set, and max(Gamma_i, Gamma_i*) >= Delta_i / 2 on the models of i.
    """
    factor = margin_factor(horizon, beta)
    last_phase = dict.fromkeys(truth.best_arms, math.inf)
    helpers: dict[int, Arms] = {}
    active: list[Arms] = []
    removed: list[Arms] = []
    guaranteed: list[Arms] = []
    left = truth.best_arms
    threshold = largest_gap
    while not removed or any(truth.gaps[arm] > 0.0 for arm in left):
        phase = len(removed)
        stays = (
            left if phase == 0 else _guaranteed(truth, left, threshold, factor, phase, last_phase)
        )
        with_arm = {arm: tuple(sorted({*stays, arm})) for arm in left}
        gone = tuple(
            arm
            for arm in left
            if threshold * JUST_REACHED
            <= _hardness(truth, arm, indicator(with_arm[arm], len(truth.gaps)))
        )
        for arm in gone:
            last_phase[arm] = phase
            helpers[arm] = with_arm[arm]
        active.append(left)
        removed.append(gone)
        guaranteed.append(stays)
        left = tuple(arm for arm in left if arm not in gone)
        threshold /= 2.0
    return Elimination(
        horizon, beta, tuple(active), tuple(removed), tuple(guaranteed), last_phase, helpers
    )


def _guaranteed(
    truth: Truth,
    left: Arms,
    threshold: float,
    factor: float,
    phase: int,
    last_phase: dict[int, float],
) -> Arms:
    """Return the arms of `left` that are surely played in this phase."""
    weights = np.zeros(len(truth.gaps))
    for arm, last in last_phase.items():
        weights[arm] = 2.0 ** -max(phase - last - 1.0, 0.0)
    hard = {arm: _hardness(truth, arm, weights) for arm in left}
    return tuple(  # infinity times 0 is 0 (I-5)
        arm for arm in left if hard[arm] == 0.0 or 2.0 * threshold > factor * hard[arm]
    )


def _hardness(truth: Truth, arm: int, weights: Floats) -> float:
    """Return the infimum over the models of `arm` of the largest weighted model gap."""
    gap = truth.distances.nearest(arm, weights).gap
    tied = truth.gaps[arm] == 0.0  # a costly arm's gap is small, but never 0
    return 0.0 if tied and gap <= truth.tolerance else gap
