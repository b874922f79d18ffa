"""The classes of structures for which the paper proves more."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from structured_bandits.theory.elimination import Elimination
from structured_bandits.theory.truth import Truth, indicator


@dataclass(frozen=True)
class Classes:
    """To which of the paper's classes the structure belongs; `failing` has the arms that keep it out.

    `worst_case` (Omega^wc, Section 2): the hardest optimistic models differ from the truth on one arm
    only, and SUCB's regret has the best possible order. `optimistic` (Omega^opt, Section 3.3): the
    hardest models are optimistic, and SAE's bound is no worse than SUCB's, up to constants.
    `constant_regret` (Omega^cr, Section 5): Theorem 6 applies. `assumption1`: Gamma_* > 0. `unconfused`:
    no model with another best arm agrees with the truth on the best arm, which is the necessary
    condition for constant regret (I-14).
    """

    worst_case: bool
    optimistic: bool
    constant_regret: bool
    assumption1: bool
    unconfused: bool
    failing: dict[str, tuple[int, ...]]


def classify(truth: Truth, elimination: Elimination, factor: float, pair: bool) -> Classes:
    """Return the classes of a structure; equalities hold up to a relative 1e-9."""
    failing = {
        "worst_case": outside_worst_case(truth),
        "optimistic": outside_optimistic(truth, elimination, factor, pair),
        "constant_regret": outside_constant_regret(truth),
    }
    return Classes(
        not failing["worst_case"],
        not failing["optimistic"],
        not failing["constant_regret"],
        truth.gamma_star > 0.0,
        not truth.confusing_models,
        failing,
    )


def outside_worst_case(truth: Truth) -> tuple[int, ...]:
    """Return the arms without Psi(Theta+_i, {i}) = Psi(Theta-bar+_i, {i})."""
    failing = []
    for arm in truth.other_arms:
        alone = indicator([arm], truth.structure.n_arms)
        nearest = truth.distances.nearest(arm, alone, optimistic=True)
        only = truth.distances.nearest(arm, alone, optimistic=True, equal=alone == 0.0)
        if not _close(nearest.gap, only.gap):
            failing.append(arm)
    return tuple(failing)


def outside_optimistic(
    truth: Truth, elimination: Elimination, factor: float, pair: bool
) -> tuple[int, ...]:
    """Return the arms without Psi(Theta+_i, A*_i) <= factor Psi(Theta*_i, A*_i).

    With `pair`, A*_i is {i, i*}. An arm that ties with the best one may have no A*_i and passes.
    """
    failing = []
    for arm in truth.other_arms:
        using = (arm, truth.best_arm) if pair else elimination.helpers.get(arm)
        if using is None:
            continue
        optimistic = truth.hardest(arm, using, optimistic=True).gap
        least = math.sqrt(factor) * truth.hardest(arm, using).gap
        if optimistic > least and not _close(optimistic, least):
            failing.append(arm)
    return tuple(failing)


def outside_constant_regret(truth: Truth) -> tuple[int, ...]:
    """Return the arms without Gamma_i* = Gamma_* and Gamma_j = 0 (j not i, i*) on all their models."""
    failing = []
    gamma = truth.gamma_star
    best = indicator([truth.best_arm], truth.structure.n_arms)
    for arm in truth.other_arms:
        rest = np.ones(truth.structure.n_arms)
        rest[[arm, truth.best_arm]] = 0.0
        farthest = truth.distances.farthest(arm, best)
        if (
            farthest > gamma + truth.tolerance and not _close(farthest, gamma)
        ) or truth.distances.farthest(arm, rest) > truth.tolerance:
            failing.append(arm)
    return tuple(failing)


def _close(one: float, two: float) -> bool:
    return one == two or math.isclose(one, two, rel_tol=1e-9)
