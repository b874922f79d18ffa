"""Theory for each model of a structure as the true one: a row for each, the worst first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from structured_bandits.base.checks import (
    checked_above,
    checked_at_least,
    checked_count,
    checked_range,
)
from structured_bandits.base.confidence import width_budget
from structured_bandits.base.extras import needs
from structured_bandits.base.families import divergence_of
from structured_bandits.base.progress import progress_bar
from structured_bandits.errors import ParameterError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import NOWHERE, Confusing, Nearest
from structured_bandits.theory.divergence import Information
from structured_bandits.theory.graves_lai import cheapest_refutation
from structured_bandits.theory.lower_bounds import largest_regret
from structured_bandits.theory.truth import Truth, truth_of

if TYPE_CHECKING:
    import pandas

MOST_MODELS = 2_000  # listed unasked: the time grows with the square of their number


class ModelRow(NamedTuple):
    """What to expect if one model is the true one.

    - `model`, as `analyse` takes a truth, and its `name`;
    - `smallest_gap`: how far the second best mean is below the best (nan with a single arm);
    - `largest_gap`, `gamma_star`, `constant_regret_possible`, `decoys`: as `Analysis` has them;
    - `constant`: the constant C of the Graves-Lai bound, as `Analysis.lower_bound` has it;
    - `forced`: C log n at the horizon, or horizon × largest gap, which no regret exceeds, if that is
      less: then the bound is `vacuous`;
    - `mistaken_for`: the model with another best arm that is hardest to tell from this one, None if
      there is none; `difference`: how far apart they are on the arm that tells them best;
    - `rough_cost`: a rule of thumb and not a bound: what it costs to pull each arm until a confidence
      radius sqrt(4 sigma² log n / pulls) is as small as the difference of its hardest model.
    """

    model: Any
    name: str
    best_arm: str
    smallest_gap: float
    largest_gap: float
    gamma_star: float
    constant_regret_possible: bool
    constant: float
    forced: float
    vacuous: bool
    decoys: tuple[str, ...]
    mistaken_for: str | None
    difference: float
    rough_cost: float


class _Setting(NamedTuple):
    """The horizon at which models are compared, and the rewards."""

    horizon: int
    family: str
    sigma: float
    reward_range: tuple[float, float]


def overview(
    structure: Structure,
    models: Iterable[Any] | None = None,
    horizon: int = 10_000,
    family: str = "bernoulli",
    sigma: float | None = None,
    tolerance: float = 1e-9,
    progress: bool | None = None,
    reward_range: tuple[float, float] | None = None,
) -> Overview:
    """Return what theory says about each model as the truth, the worst model first.

    - `models`: those to list, given as `analyse` takes a truth. By default all models of a table (up to
      2,000), and the middle of each cell of a curve structure, a cell being an interval of the parameter
      on which one arm is best: nearer to its ends a truth can be harder. Polytopes have infinitely many
      models, so they must be given.
    - `horizon`: the number of pulls at which models are compared.
    - `family`, `sigma`, `reward_range`: the rewards of the Graves-Lai constant, as in
      `Analysis.lower_bound`: by default in the range that the structure declares, sigma half its width.
    - `tolerance`: means that differ by no more than this count as equal.
    - `progress`: whether to show a bar on standard error. None shows one if that is a terminal and it
      takes a while.

    >>> from structured_bandits import FiniteStructure, overview
    >>> types = FiniteStructure([[0.8, 0.9], [0.8, 0.5]], models=["coffee drinkers", "others"])
    >>> overview(types).hardest
    1
    """
    if not isinstance(structure, Structure):
        raise ParameterError(f"structure={structure!r}: expected a structure")
    divergence_of(family)  # raises if it is not known
    ends = structure.range_of_rewards
    if reward_range is not None:
        ends = checked_range("reward_range", reward_range)
    scale = 0.5 * (ends[1] - ends[0]) if sigma is None else checked_above("sigma", sigma, 0.0)
    setting = _Setting(checked_count("horizon", horizon, least=2), family, scale, ends)
    tolerance = checked_at_least("tolerance", tolerance, 0.0)
    chosen, choice = _chosen(structure, models)
    rows = []
    with progress_bar("sb.overview", progress, total=len(chosen), unit="model") as bar:
        bar.set_description("analysing", refresh=False)
        for number, model in enumerate(chosen, start=1):
            truth = truth_of(structure, model, tolerance)
            rows.append(_row(truth, _name(truth, number), model, setting))
            bar.update(1)
    return Overview(structure, *setting, choice, tuple(sorted(rows, key=_worst_first)))


class Overview:
    """The rows of all models, the worst first.

    The worst model is the one where the Graves-Lai bound says that most regret is `forced` at the
    horizon. Where this is equal, for example 0, the `rough_cost` decides. `choice` says how the models
    were chosen ("" if they are all models).

    >>> from structured_bandits import FiniteStructure, analyse
    >>> types = FiniteStructure([[0.8, 0.9], [0.8, 0.5]], models=["coffee drinkers", "others"])
    >>> everything = analyse(types)
    >>> everything
    Overview(2 models of FiniteStructure(2 models × 2 arms, 2 arms best in some model), hardest 'others')
    >>> row = everything.table[0]
    >>> row.best_arm, row.mistaken_for, row.constant_regret_possible, round(row.constant, 3)
    ('0', 'coffee drinkers', False, 0.587)
    """

    def __init__(
        self,
        structure: Structure,
        horizon: int,
        family: str,
        sigma: float,
        reward_range: tuple[float, float],
        choice: str,
        table: tuple[ModelRow, ...],
    ) -> None:
        self.structure = structure
        self.horizon = horizon
        self.family = family
        self.sigma = sigma
        self.reward_range = reward_range
        self.choice = choice
        self.table = table

    @property
    def hardest(self) -> Any:
        """The worst model, as `analyse` takes a truth."""
        return self.table[0].model

    def frame(self) -> pandas.DataFrame:
        """Return the table as a data frame, by the names of the models."""
        with needs("Overview.frame", extra="report"):
            import pandas

        return pandas.DataFrame(self.table, columns=ModelRow._fields).set_index("name")

    def __repr__(self) -> str:
        count = f"{len(self.table)} model{'s' if len(self.table) > 1 else ''}"
        return f"Overview({count} of {self.structure!r}, hardest {self.table[0].name!r})"

    def __str__(self) -> str:
        from structured_bandits.display.overview_report import overview_data, overview_text

        return overview_text(overview_data(self))

    def _repr_html_(self) -> str:
        from structured_bandits.display.overview_report import overview_data, overview_html

        return overview_html(overview_data(self))


def _chosen(structure: Structure, models: Iterable[Any] | None) -> tuple[list[Any], str]:
    """Return the models to list and how they were chosen."""
    if models is None:
        sample, choice = structure.listed_models()
        if len(sample) > MOST_MODELS:
            raise ParameterError(
                f"{structure!r} has {len(sample):,} models to list; unasked an overview lists up to "
                f"{MOST_MODELS:,}, since its time grows with the square of their number. Say which one "
                "is true (truth=…, or --truth on the command line), or which models to list: "
                "sb.overview(structure, models=range(0, 10_000, 10))"
            )
        return list(sample), choice
    if isinstance(models, str) or not isinstance(models, Iterable):
        raise ParameterError(f"models={models!r}: expected a list of models")
    chosen = list(models)
    if not chosen:
        raise ParameterError("models: none given; expected a list of models")
    return chosen, "the models given"


def _name(truth: Truth, number: int) -> str:
    if truth.model is None:
        return f"means {number}"
    return truth.model if isinstance(truth.model, str) else truth.structure.model_name(truth.model)


def _row(truth: Truth, name: str, model: Any, setting: _Setting) -> ModelRow:
    structure = truth.structure
    others = [arm for arm in range(structure.n_arms) if arm != truth.best_arm]
    confusing = [models for models in truth.confusing_sets() if models.models()]
    hardest = {arm: truth.hardest(arm) for arm in truth.other_arms}
    mistake = min(hardest.values(), key=lambda near: near.gap, default=NOWHERE)
    constant = _constant(truth, name, confusing, setting)
    forced = constant * math.log(setting.horizon)
    most = largest_regret(truth, setting.horizon)
    return ModelRow(
        model=model,
        name=name,
        best_arm=structure.arm_names[truth.best_arm],
        smallest_gap=float(truth.gaps[others].min()) if others else math.nan,
        largest_gap=float(truth.gaps.max()),
        gamma_star=truth.gamma_star,
        constant_regret_possible=not confusing,
        constant=constant,
        forced=min(forced, most),
        vacuous=forced > most,
        decoys=tuple(structure.arm_names[arm] for arm in truth.decoys),
        mistaken_for=None if mistake.model is None else structure.model_name(mistake.model),
        difference=mistake.gap,
        rough_cost=_rough_cost(truth, hardest, setting),
    )


def _constant(truth: Truth, name: str, confusing: list[Confusing], setting: _Setting) -> float:
    """Return the Graves-Lai constant; raise if the means cannot be those of the family."""
    try:
        information = Information(
            truth.means, truth.best_arm, setting.family, setting.sigma, setting.reward_range
        )
        return cheapest_refutation(information, truth.gaps, confusing).constant
    except ParameterError as error:
        raise ParameterError(
            f"model {name!r}: {error}, as in sb.overview(structure, family='gaussian', sigma=…) or, on "
            "the command line, --family gaussian --rewards LOW HIGH"
        ) from None


def _rough_cost(truth: Truth, hardest: dict[int, Nearest], setting: _Setting) -> float:
    """Return what it costs to pull each arm until its hardest model is refuted, a rule of thumb.

    Policies do better or worse, and which model is the dearer one depends on the policy. But a gap that
    is too small to cost anything before the horizon counts for nothing, as in no bound by gaps.
    """
    budget = width_budget(1.0, setting.sigma, math.log(setting.horizon))
    cost = 0.0
    for arm in truth.costly_arms:
        squared = hardest[arm].gap ** 2
        pulls = budget / squared if squared > 0.0 else math.inf
        cost += float(truth.gaps[arm]) * min(pulls, setting.horizon)
    return min(cost, largest_regret(truth, setting.horizon))


def _worst_first(row: ModelRow) -> tuple[float, float]:
    """Return the key to sort by; six digits of it, so that rounding does not decide."""
    return -float(f"{row.forced:.6g}"), -float(f"{row.rough_cost:.6g}")
