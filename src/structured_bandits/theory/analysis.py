"""The analysis of a structure for one true model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import (
    checked_above,
    checked_at_least,
    checked_count,
    checked_range,
    checked_word,
)
from structured_bandits.base.text_tables import number
from structured_bandits.errors import ParameterError, StructureError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import Model, Nearest
from structured_bandits.theory.classes import Classes, classify
from structured_bandits.theory.elimination import Elimination, eliminate
from structured_bandits.theory.graves_lai import LowerBound, cheapest_allocation
from structured_bandits.theory.identification import CharacteristicTime, characteristic_time
from structured_bandits.theory.linear_arms import cone_allocation
from structured_bandits.theory.overview import Overview, overview
from structured_bandits.theory.truth import truth_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from structured_bandits.protocols import PolicyLike


@overload
def analyse(structure: Structure, truth: None = None, tolerance: float = 1e-9) -> Overview: ...


@overload
def analyse(structure: Structure, truth: Any, tolerance: float = 1e-9) -> Analysis: ...


def analyse(
    structure: Structure, truth: Any = None, tolerance: float = 1e-9
) -> Analysis | Overview:
    """Return what theory says if `truth` is the true model; without one, for each model as the truth.

    `truth` is a model of a finite structure (index or name), a parameter of a curve structure, a place
    of a polyhedral one (`structure.at(parameter)`), or a vector of means. Means that differ by no more
    than `tolerance` count as equal. Without a truth the answer is that of `overview`, which has more
    options: a row for each model, the worst first.

    >>> from structured_bandits import FiniteStructure, analyse
    >>> types = FiniteStructure([[0.75, 0.25], [0.75, 1.0]], arms=["tea", "coffee"])
    >>> analyse(types, truth=0).hardest("coffee")
    Nearest(gap=0.75, model=1, attained=True, told_by=1)
    """
    if truth is None:
        return overview(structure, tolerance=tolerance)
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
        record = truth_of(structure, truth, tolerance)
        self._record = record  # what theory works with: no module below is handed the analysis
        self.structure = structure
        self.truth = record.model
        self.means = record.means
        self.gaps = record.gaps
        self.best_arm = record.best_arm
        self.best_arms = record.best_arms
        self.distances = record.distances
        self.tolerance = record.tolerance
        self.inside = record.inside

    def model_gaps(self, model: Any) -> Floats:
        """Return how far a model's mean is from the true one on each arm (Gamma_i)."""
        return np.abs(self.structure.means(model) - self.means)

    def optimistic_models(self, arm: int | str) -> tuple[Any, ...]:
        """Return the models in which `arm` is best and better than the truth's best arm (Theta+_i).

        For a finite structure these are indices, for a curve structure intervals of the parameter.
        """
        return self.distances.optimistic(self.structure.arm_index(arm))

    def hardest(
        self,
        arm: int | str,
        using: Iterable[int | str] | None = None,
        optimistic: bool = False,
    ) -> Nearest:
        """Return the model in which `arm` is best that is hardest to tell from the truth.

        `using` are the arms that may be pulled to tell them apart (by default all of `best_arms`); with
        `optimistic` only models with a higher best mean than the truth count. The squared `gap` is the
        paper's Psi(Theta*_i, A'), or Psi(Theta+_i, A') with `optimistic`; `model` is its psi.
        """
        if isinstance(using, str):
            raise StructureError(f"using={using!r}: expected a list of arms")
        index = self.structure.arm_index(arm)
        arms = None if using is None else [self.structure.arm_index(other) for other in using]
        return self._record.hardest(index, arms, optimistic)

    @property
    def rival(self) -> Nearest:
        """The model with another best arm that is nearest to the truth on the best arm."""
        return self._record.rival

    @property
    def gamma_star(self) -> float:
        """The distance Gamma_* of the rival, infinite if there is none. If positive, Assumption 1 holds.

        Then constant regret is possible, and ASAE reaches it (Theorem 5).
        """
        return self._record.gamma_star

    @property
    def confusing_models(self) -> tuple[Model, ...]:
        """Models with another best arm that pulls of the best arm can never refute.

        They are the models that the Graves-Lai bound is about. For an interval of such models its two
        ends are given.
        """
        return self._record.confusing_models

    @property
    def constant_regret_possible(self) -> bool:
        """Whether there is no confusing model: one rules out constant regret (errata, I-14).

        With `gamma_star` > 0 ASAE reaches constant regret. With `gamma_star` = 0 and no confusing model,
        the paper neither rules it out nor shows it; a known best mean is such a case. A confusing model
        that excludes an outcome, such as one with a Bernoulli mean of 0 or 1, can be refuted at no cost.
        This property does not know the family of rewards and counts such models; `lower_bound` does not.
        """
        return not self.confusing_models

    @property
    def decoys(self) -> tuple[int, ...]:
        """Arms with a model in which they are best and have their true mean.

        A greedy policy can settle on such an arm, because nothing that it sees there contradicts the
        model.
        """
        return self._record.decoys

    @property
    def self_identifiable(self) -> bool:
        """Whether there is no decoy.

        If so, and if there are finitely many models, a greedy policy finds the best arm in the end. On a
        curve there can still be models that come close to making an arm a decoy.
        """
        return not self.decoys

    @property
    def other_arms(self) -> tuple[int, ...]:
        """The arms other than the best one that are best in some model."""
        return self._record.other_arms

    @property
    def costly_arms(self) -> tuple[int, ...]:
        """The arms with a positive gap that are best in some model; the bounds are sums over these."""
        return self._record.costly_arms

    def elimination(
        self, horizon: int, beta: float = 1.0, largest_gap: float | None = None
    ) -> Elimination:
        """Return in which phase SAE drops each arm, and which arms help (Section 3.2 of the paper).

        `largest_gap` is the first threshold of elimination. By default it is the width of the range of
        rewards that the structure declares.
        """
        horizon = checked_count("horizon", horizon, least=2)
        beta = checked_at_least("beta", beta, 1.0)
        start = self._width if largest_gap is None else largest_gap
        start = checked_above("largest_gap", start, 0.0)
        self._need_inside("elimination")
        return eliminate(self._record, horizon, beta, start)

    def classes(
        self,
        horizon: int,
        beta: float = 1.0,
        factor: float = 1.0,
        arms: str = "helpers",
        largest_gap: float | None = None,
    ) -> Classes:
        """Return to which of the paper's classes of structures this one belongs.

        `factor` and `arms` concern the optimistic class. `factor` is by how much Psi over all models may
        be smaller than over optimistic models only; 4 gives the class up to constants (I-9). `arms` says
        whether Psi is taken over the "helpers" A*_i or over the "pair" {i, i*}, which is what ASAE needs
        (I-10). `largest_gap` is that of `elimination`.
        """
        factor = checked_at_least("factor", factor, 1.0)
        checked_word("arms", arms, ("helpers", "pair"))
        sets = self.elimination(horizon, beta, largest_gap)
        return classify(self._record, sets, factor, arms == "pair")

    def lower_bound(
        self,
        family: str = "bernoulli",
        sigma: float | None = None,
        method: str = "planes",
        reward_range: tuple[float, float] | None = None,
    ) -> LowerBound:
        """Return the Graves-Lai bound on the growth of regret.

        In the long run, the regret of every policy that does well in all models grows at least so fast.
        `family` is "bernoulli" or "gaussian". Bernoulli rewards are the ends of the `reward_range`, by
        default of the one that the structure declares; `sigma` is the standard deviation of Gaussian
        rewards, by default half the width of that range. The `method` is "planes" (cutting planes, for
        every structure) or "cone", one cone program for linear arms without bounds and Gaussian rewards
        (needs the extra `cones`).
        """
        ends = None if reward_range is None else checked_range("reward_range", reward_range)
        if checked_word("method", method, ("planes", "cone")) == "planes":
            return cheapest_allocation(self._record, family, sigma, ends)
        if family != "gaussian":
            raise ParameterError(f"method='cone': it is for 'gaussian', not for {family!r}")
        low, high = ends or self.structure.range_of_rewards
        return cone_allocation(self._record, 0.5 * (high - low) if sigma is None else sigma)

    def identification(
        self,
        family: str = "bernoulli",
        sigma: float | None = None,
        reward_range: tuple[float, float] | None = None,
    ) -> CharacteristicTime:
        """Return how many pulls it takes to be certain of the best arm, for a true model of a table.

        `time` is the characteristic time T* (Garivier and Kaufmann), `proportions` are the shares w* of
        the pulls that tell most; `least_pulls(level)` is the lower bound for policies that are wrong
        with at most this probability. The arguments are those of `lower_bound`.

        >>> from structured_bandits import FiniteStructure, analyse
        >>> found = analyse(FiniteStructure([[0.8, 0.3], [0.2, 0.7]]), 0).identification()
        >>> round(found.time, 3), found.proportions.tolist(), round(found.least_pulls(0.05), 2)
        (1.202, [1.0, 0.0], 3.19)
        """
        self._need_inside("the characteristic time")
        ends = None if reward_range is None else checked_range("reward_range", reward_range)
        return characteristic_time(self._record, family, sigma, ends)

    def bounds(
        self,
        horizon: int,
        policies: Mapping[str, PolicyLike] | Iterable[PolicyLike] | PolicyLike | None = None,
        convergence: float | None = None,
    ) -> pandas.DataFrame:
        """Return the upper bounds of these policies and the lower bounds at `horizon`, as a table.

        `policies` is one of them, several, or several by name; by default they have the parameters of
        the theorems. A row names the bound and has its `value` with corrected constants, whether its
        conditions hold (`valid`) and if not, `why_not`, the value with the constants `printed` in the
        paper, and the `erratum` that explains the difference. No regret exceeds horizon × largest gap; a
        bound above that is `vacuous`, and `capped` has that number instead. `convergence` is the
        constant c of Theorem 6, which concerns policies that play arm i at most c log(t) / Delta_i^2
        times in t pulls, in every model; by default the squared width of the range of rewards that the
        structure declares, 1 for rewards in [0, 1].
        """
        from structured_bandits.theory.upper_bounds import bounds_table

        return bounds_table(self._record, *self._checked_bounds(horizon, policies, convergence))

    def bound_rows(
        self,
        horizon: int,
        policies: Mapping[str, PolicyLike] | Iterable[PolicyLike] | PolicyLike | None = None,
        convergence: float | None = None,
    ) -> list[dict[str, Any]]:
        """Return the rows of `bounds`, each by the names of its columns; this takes no pandas."""
        from structured_bandits.theory.upper_bounds import bound_rows

        return bound_rows(self._record, *self._checked_bounds(horizon, policies, convergence))

    def plot(self, horizon: int, beta: float = 1.0, ax: Axes | None = None) -> Axes:
        """Draw the structure, the truth and the gaps that remove the other arms."""
        from structured_bandits.display.structure_figure import draw_structure

        return draw_structure(self, horizon, beta, ax)

    def __repr__(self) -> str:
        best = repr(self.structure.arm_names[self.best_arm])
        everywhere = " in every model" if self.best_arms == (self.best_arm,) else ""
        gamma = number(self.gamma_star)
        return f"Analysis({self.structure!r}, best arm {best}{everywhere}, gamma_star={gamma})"

    def _checked_bounds(
        self, horizon: int, policies: Any, convergence: float | None
    ) -> tuple[int, Any, float]:
        """Return the arguments of `bounds`, checked."""
        speed = self._width**2 if convergence is None else convergence
        speed = checked_above("convergence", speed, 0.0)
        return checked_count("horizon", horizon, least=2), policies, speed

    @property
    def _width(self) -> float:
        """The width of the range of rewards that the structure declares."""
        low, high = self.structure.range_of_rewards
        return high - low

    def _need_inside(self, what: str) -> None:
        if not self.inside:
            raise ParameterError(
                f"truth: no model of the structure has these means; {what} is defined for a true "
                "model of the structure"
            )
