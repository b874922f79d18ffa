"""The truth about a structure: a record of what follows from the true means, and questions to it.

It stands below policies and theory, and so it can be asked by either: theory makes the record of the
true means, a policy could make one of estimated means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.errors import StructureError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import NOWHERE, Confusing, Distances, Model, Nearest


@dataclass(frozen=True, eq=False)
class Truth:
    """Means, and what a structure makes of them.

    `model` is the true model if it was given as one, else None. `gaps` are the arms' distances to the
    best mean (Delta_i), `best_arm` is i*, `best_arms` are the arms that are best in some model,
    `distances` tell how far models are from the means. Means that differ by no more than `tolerance` are
    equal. `inside` says whether the means are those of a model of the structure.
    """

    structure: Structure
    model: Model | None
    means: Floats
    gaps: Floats
    best_arm: int
    best_arms: tuple[int, ...]
    distances: Distances
    tolerance: float
    inside: bool

    def hardest(
        self, arm: int, using: Iterable[int] | None = None, optimistic: bool = False
    ) -> Nearest:
        """Return the model with best arm `arm` that pulls of `using` tell least from the truth.

        `using` is all of `best_arms` by default; `optimistic` looks only at models that are better than
        the truth.
        """
        weights = indicator(self.best_arms if using is None else using, len(self.means))
        return self.distances.nearest(arm, weights, optimistic)

    @property
    def other_arms(self) -> tuple[int, ...]:
        """The arms other than the best one that are best in some model."""
        return tuple(arm for arm in self.best_arms if arm != self.best_arm)

    @property
    def costly_arms(self) -> tuple[int, ...]:
        """The arms with a positive gap that are best in some model: those that cost regret."""
        return tuple(arm for arm in self.other_arms if self.gaps[arm] > 0.0)

    @cached_property
    def rival(self) -> Nearest:
        """The model with another best arm that is nearest to the truth on the best arm."""
        weights = indicator([self.best_arm], len(self.means))
        rivals = [self.distances.nearest(arm, weights) for arm in self.other_arms]
        nearest = min(rivals, key=lambda rival: rival.gap, default=NOWHERE)
        equal = nearest.gap + 1e-11 * float(np.abs(self.means).max())  # rounding decides nothing
        attained = [rival for rival in rivals if rival.attained and rival.gap <= equal]
        return attained[0]._replace(gap=nearest.gap) if attained else nearest

    @property
    def gamma_star(self) -> float:
        """The distance Gamma_* of the rival; 0 within the tolerance, infinite if there is no rival."""
        gap = self.rival.gap
        return gap if gap > self.tolerance else 0.0

    def confusing_sets(self) -> tuple[Confusing, ...]:
        """Return, for each other arm, the models where it is best and the best arm has its true mean.

        They are made anew each time: those of a large table are large, those of polytopes are solvers.
        """
        return tuple(self.distances.confusing(arm, self.best_arm) for arm in self.other_arms)

    @cached_property
    def confusing_models(self) -> tuple[Model, ...]:
        """The models of the confusing sets; of an interval of models the two ends."""
        return tuple(
            sorted({model for models in self.confusing_sets() for model in models.models()})
        )

    @property
    def decoys(self) -> tuple[int, ...]:
        """Arms other than the best one with a model in which they are best and have their true mean."""
        return tuple(arm for arm in self.other_arms if self.distances.confusing(arm, arm).models())


def truth_of(structure: Structure, truth: Any, tolerance: float = 1e-9) -> Truth:
    """Return the record of a true model of a structure, or of a vector of means.

    >>> from structured_bandits import FiniteStructure
    >>> truth = truth_of(FiniteStructure([[0.75, 0.25], [0.75, 1.0]]), [0.75, 0.25])
    >>> truth.best_arm, truth.inside, truth.gamma_star, truth.confusing_models
    (0, True, 0.0, (1,))
    """
    model = truth if _is_model(truth) else None
    means = true_means(structure, truth)
    tolerance = tolerance + 1e-15 * float(np.abs(means).max())  # what rounding adds
    gaps = means.max() - means
    gaps = np.where(gaps <= tolerance, 0.0, gaps)
    distances = structure.distances(means, tolerance)
    best_arm, inside = _home(gaps, distances, tolerance, model is not None)
    return Truth(
        structure,
        model,
        means,
        gaps,
        best_arm,
        structure.best_arms,
        distances,
        tolerance,
        inside,
    )


def true_means(structure: Structure, truth: Any) -> Floats:
    """Return the means of the truth: those of a model, or the vector itself."""
    if _is_model(truth):
        return structure.means(truth)
    try:
        means = np.array(truth, dtype=np.float64)
    except (TypeError, ValueError):
        means = np.array([math.nan])
    if means.shape != (structure.n_arms,) or not np.isfinite(means).all():
        raise StructureError(
            f"truth={truth!r}: expected a model of the structure or {structure.n_arms} finite means "
            "(a list, tuple or array is read as means)"
        )
    return means


def _is_model(truth: Any) -> bool:
    """Return whether it names a model: a sequence is a vector of means, whatever is in it."""
    try:
        return np.ndim(truth) == 0
    except ValueError:  # rows of several lengths
        return False


def indicator(arms: Iterable[int], count: int) -> Floats:
    """Return weights that are 1 for these arms and 0 for the others."""
    weights = np.zeros(count)
    weights[list(arms)] = 1.0
    return weights


def _home(gaps: Floats, distances: Distances, tolerance: float, is_model: bool) -> tuple[int, bool]:
    """Return the best arm of the truth, and whether it is a model of the structure.

    Of several best arms, the lowest that is best in a model, or in models that come up to it.
    """
    tied = [int(arm) for arm in np.flatnonzero(gaps == 0.0)]
    near = {arm: distances.nearest(arm, np.ones(len(gaps))) for arm in tied}
    homes = [arm for arm in tied if near[arm].gap <= tolerance]
    if is_model:
        closest = min(tied, key=lambda arm: (near[arm].gap, arm))
        return (homes[0] if homes else closest), True
    attained = any(near[arm].attained for arm in homes) or len(homes) > 1
    return (homes or tied)[0], attained
