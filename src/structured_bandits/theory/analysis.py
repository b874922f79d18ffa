"""The analysis of a structure for one true model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.checks import checked_above, checked_at_least, checked_count
from structured_bandits.errors import ParameterError, StructureError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import NOWHERE, Model, Nearest
from structured_bandits.theory.classes import Classes, classify
from structured_bandits.theory.cone import cone_bound, linear_features
from structured_bandits.theory.elimination import Elimination, eliminate, indicator
from structured_bandits.theory.graves_lai import LowerBound, graves_lai

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from structured_bandits.policies.base import PolicyLike


def analyse(structure: Structure, truth: Any, tolerance: float = 1e-9) -> Analysis:
    """Return what the structure promises if `truth` is the true model.

    `truth` is a model of a finite structure (index or name), a parameter of a curve structure, a place
    of a polyhedral one (`structure.at(parameter)`), or a vector of means. Means that
    differ by no more than `tolerance` count as equal.

    >>> from structured_bandits import FiniteStructure, analyse
    >>> types = FiniteStructure([[0.75, 0.25], [0.75, 1.0]], arms=["tea", "coffee"])
    >>> analyse(types, truth=0).hardest("coffee")
    Nearest(gap=0.75, model=1, attained=True, told_by=1)
    """
    if not isinstance(structure, Structure):
        raise ParameterError(f"structure={structure!r}: expected a structure")
    return Analysis(structure, truth, checked_at_least("tolerance", tolerance, 0.0))


class Analysis:
    """Gaps, hardness, elimination, classes and bounds of a structure for one true model.

    `means` are the true means, `gaps` the arms' distances to the best of them (Delta_i), `best_arm` is
    i* (the lowest index, if the truth is a tie), `best_arms` are the arms that are best in some model,
    and `inside` says whether the truth is a model of the structure, as all theorems assume.
    """

    def __init__(self, structure: Structure, truth: Any, tolerance: float) -> None:
        self.structure = structure
        self.truth = truth if np.ndim(truth) == 0 else None
        self.means = true_means(structure, truth)
        self.tolerance = tolerance + 1e-15 * float(np.abs(self.means).max())  # what rounding adds
        gaps = self.means.max() - self.means
        self.gaps: Floats = np.where(gaps <= self.tolerance, 0.0, gaps)
        self.best_arms = structure.best_arms
        self.distances = structure.distances(self.means, self.tolerance)
        self.best_arm, self.inside = self._home()

    def _home(self) -> tuple[int, bool]:
        """Return the best arm of the truth, and whether it is a model of the structure.

        Of several best arms, the lowest that is best in a model, or in models that come up to it.
        """
        tied = [int(arm) for arm in np.flatnonzero(self.gaps == 0.0)]
        near = {arm: self.distances.nearest(arm, np.ones(len(self.gaps))) for arm in tied}
        homes = [arm for arm in tied if near[arm].gap <= self.tolerance]
        if self.truth is not None:
            closest = min(tied, key=lambda arm: (near[arm].gap, arm))
            return (homes[0] if homes else closest), True
        attained = any(near[arm].attained for arm in homes) or len(homes) > 1
        return (homes or tied)[0], attained

    def model_gaps(self, model: Any) -> Floats:
        """Return how far a model's mean is from the true one on each arm (Gamma_i)."""
        return np.abs(self.structure.means(model) - self.means)

    def optimistic_models(self, arm: int | str) -> tuple[Any, ...]:
        """Return the models in which `arm` is best and better than the truth's best arm (Theta+_i).

        Indices of a finite structure; intervals of the parameter of a curve structure.
        """
        return self.distances.optimistic(self.structure.arm_index(arm))

    def hardest(
        self,
        arm: int | str,
        using: Iterable[int | str] | None = None,
        optimistic: bool = False,
    ) -> Nearest:
        """Return the model with best arm `arm` that is hardest to tell from the truth.

        `using` are the arms that may be pulled to tell them apart (default: all of `best_arms`);
        `optimistic` looks only at models better than the truth. The squared `gap` is the paper's
        Psi(Theta*_i, A'), resp. Psi(Theta+_i, A'); `model` is its psi.
        """
        index = self.structure.arm_index(arm)
        return self.distances.nearest(index, self._weights(using), optimistic)

    @cached_property
    def rival(self) -> Nearest:
        """The model with another best arm that is nearest to the truth on the best arm."""
        weights = indicator([self.best_arm], self.structure.n_arms)
        rivals = [self.distances.nearest(arm, weights) for arm in self.other_arms]
        nearest = min(rivals, key=lambda rival: rival.gap, default=NOWHERE)
        equal = nearest.gap + 1e-11 * float(np.abs(self.means).max())  # rounding decides nothing
        attained = [rival for rival in rivals if rival.attained and rival.gap <= equal]
        return attained[0]._replace(gap=nearest.gap) if attained else nearest

    @property
    def gamma_star(self) -> float:
        """The distance Gamma_* of the rival; positive: Assumption 1 holds, infinite: no rival.

        If it is positive, constant regret is possible: ASAE has it (Theorem 5).
        """
        gap = self.rival.gap
        return gap if gap > self.tolerance else 0.0

    @cached_property
    def confusing_models(self) -> tuple[Model, ...]:
        """Models with another best arm that pulls of the best arm can never refute.

        Those of the Graves-Lai set; of an interval of such models the two ends are given.
        """
        found: set[Model] = set()
        for arm in self.other_arms:
            found |= self.distances.confusing(arm, self.best_arm).models()
        return tuple(sorted(found))

    @property
    def constant_regret_possible(self) -> bool:
        """Is there no confusing model? One would rule constant regret out (errata, I-14).

        With `gamma_star` > 0 it is attained by ASAE; with `gamma_star` = 0 and no confusing model it
        is neither ruled out nor shown by the paper (known best means are such a case). A confusing
        model that excludes an outcome, such as a Bernoulli mean of 0 or 1, can be refuted at no cost;
        this answer does not know the family of rewards, `lower_bound` does.
        """
        return not self.confusing_models

    @property
    def decoys(self) -> tuple[int, ...]:
        """Arms with a model in which they are best and have their true mean.

        A greedy policy can settle on such an arm: nothing it sees contradicts that model.
        """
        return tuple(arm for arm in self.other_arms if self.distances.confusing(arm, arm).models())

    @property
    def self_identifiable(self) -> bool:
        """Is there no decoy?

        If so, and if there are finitely many models, a greedy policy finds the best arm in the end. On
        a curve models can still come close to a decoy.
        """
        return not self.decoys

    @property
    def other_arms(self) -> tuple[int, ...]:
        """The arms other than the best one that are best in some model."""
        return tuple(arm for arm in self.best_arms if arm != self.best_arm)

    @property
    def costly_arms(self) -> tuple[int, ...]:
        """The arms with a positive gap that are best in some model: those that cost regret."""
        return tuple(arm for arm in self.other_arms if self.gaps[arm] > 0.0)

    def elimination(self, horizon: int, beta: float = 1.0, largest_gap: float = 1.0) -> Elimination:
        """Return when SAE drops which arm, and with whose help (Section 3.2).

        `largest_gap` is where elimination starts: the width of the range of rewards.
        """
        horizon = checked_count("horizon", horizon, least=2)
        beta = checked_at_least("beta", beta, 1.0)
        largest_gap = checked_above("largest_gap", largest_gap, 0.0)
        self._need_inside("elimination")
        return eliminate(horizon, beta, self.best_arms, self.gaps, self._hardness, largest_gap)

    def classes(
        self,
        horizon: int,
        beta: float = 1.0,
        factor: float = 1.0,
        arms: str = "helpers",
        largest_gap: float = 1.0,
    ) -> Classes:
        """Return to which of the paper's classes of structures this one belongs.

        `factor` and `arms` concern the optimistic class: by which factor Psi may be smaller than with
        optimistic models only (4 gives the class up to order, I-9), and whether it is taken over the
        "helpers" A*_i or over the "pair" {i, i*}, which is what ASAE needs (I-10). `largest_gap` is that
        of `elimination`.
        """
        factor = checked_at_least("factor", factor, 1.0)
        if arms not in ("helpers", "pair"):
            raise ParameterError(f"arms={arms!r}: accepted are 'helpers' and 'pair'")
        sets = self.elimination(horizon, beta, largest_gap)
        return classify(self, sets, factor, arms == "pair")

    def lower_bound(
        self, family: str = "bernoulli", sigma: float = 0.5, method: str = "planes"
    ) -> LowerBound:
        """Return the Graves-Lai bound: no consistent policy's regret grows slower than this.

        `family` is "bernoulli" or "gaussian"; `sigma` is the standard deviation of the latter. The
        `method` is "planes" (cutting planes, for every structure) or "cone", one cone program for
        linear arms without bounds and Gaussian rewards (needs the extra `cones`).
        """
        sigma = checked_above("sigma", sigma, 0.0)
        if method == "cone":
            if family != "gaussian":
                raise ParameterError(f"method='cone': it is for 'gaussian', not for {family!r}")
            features = linear_features(self.structure)
            allocation = cone_bound(features, self.gaps, self.best_arm, sigma)
            tied = not np.isfinite(allocation).all()
            constant = math.inf if tied else float(self.gaps @ allocation)
            return LowerBound(family, constant, allocation, ())
        if method != "planes":
            raise ParameterError(f"method={method!r}: accepted are 'planes' and 'cone'")
        segments = [self.distances.confusing(arm, self.best_arm) for arm in self.other_arms]
        return graves_lai(
            segments,
            self.means,
            self.gaps,
            self.best_arm,
            family,
            sigma,
        )

    def bounds(
        self,
        horizon: int,
        policies: Mapping[str, PolicyLike] | Iterable[PolicyLike] | PolicyLike | None = None,
        convergence: float = 1.0,
    ) -> pandas.DataFrame:
        """Return the upper bounds of these policies and the lower bounds at `horizon`, as a table.

        `policies` is one of them, several, or several by name; by default they have the parameters of
        the theorems. A row says what the bound is, its value with corrected constants, whether its
        conditions hold and if not, why, the value with the constants `printed` in the paper and the
        erratum that explains the difference.
        `convergence` is the constant c of Theorem 6, which concerns policies that play arm i at most
        c log(t) / Delta_i^2 times in t pulls, in every model.
        """
        from structured_bandits.theory.bounds import bounds_table

        convergence = checked_above("convergence", convergence, 0.0)
        return bounds_table(self, checked_count("horizon", horizon, least=2), policies, convergence)

    def plot(self, horizon: int, beta: float = 1.0, ax: Axes | None = None) -> Axes:
        """Draw the structure, the truth and the gaps that remove the other arms."""
        from structured_bandits.plots.structure import draw_structure

        return draw_structure(self, horizon, beta, ax)

    def __repr__(self) -> str:
        best = self.structure.arm_names[self.best_arm]
        return f"Analysis({self.structure!r}, best arm {best!r}, gamma_star={self.gamma_star:.4g})"

    def _hardness(self, arm: int, weights: Floats) -> float:
        gap = self.distances.nearest(arm, weights).gap
        tied = self.gaps[arm] == 0.0  # a costly arm's gap is small, but never 0
        return 0.0 if tied and gap <= self.tolerance else gap

    def _weights(self, using: Iterable[int | str] | None) -> Floats:
        if isinstance(using, str):
            raise StructureError(f"using={using!r}: expected a list of arms")
        arms = self.best_arms if using is None else [self.structure.arm_index(arm) for arm in using]
        return indicator(arms, self.structure.n_arms)

    def _need_inside(self, what: str) -> None:
        if not self.inside:
            raise ParameterError(
                f"truth: no model of the structure has these means; {what} is defined for a true "
                "model of the structure"
            )


def true_means(structure: Structure, truth: Any) -> Floats:
    """Return the means of the truth: those of a model, or the vector itself."""
    if np.ndim(truth) == 0:
        return structure.means(truth)
    try:
        means = np.array(truth, dtype=np.float64)
    except (TypeError, ValueError):
        means = np.array([math.nan])
    if means.shape != (structure.n_arms,) or not np.isfinite(means).all():
        raise StructureError(
            f"truth={truth!r}: expected a model of the structure or {structure.n_arms} finite means"
        )
    return means
