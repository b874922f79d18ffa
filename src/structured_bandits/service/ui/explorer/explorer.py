"""A structure that is explored: what was computed about it, and what is said of it beforehand."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.display.analysis_report import analysis_data
from structured_bandits.errors import ParameterError
from structured_bandits.inference.misfit.build import MOST_ENTRIES, misfit_test
from structured_bandits.inference.misfit.e_value import MisfitTest
from structured_bandits.service.ui.explorer.apart import Telling, family_of, telling_arms
from structured_bandits.service.ui.explorer.choice import Choice
from structured_bandits.service.ui.explorer.lives import Timeline, timeline
from structured_bandits.service.ui.explorer.models import Listed, has_rows, listed, means_of
from structured_bandits.service.ui.explorer.what_if import WhatIf, what_if
from structured_bandits.structures.base import Structure
from structured_bandits.structures.single_best_arm import no_choice
from structured_bandits.theory.analysis import Analysis, analyse

KEPT = 16  # analyses: a slider moves on one truth for a while


class Explorer:
    """Answers what the panels ask about a structure."""

    def __init__(self, structure: Structure) -> None:
        table = getattr(structure.cells, "table", np.empty(0))
        if table.size > MOST_ENTRIES:
            raise ParameterError(
                f"{structure!r} has {table.size:,} means; up to {MOST_ENTRIES:,} can be explored. Take "
                "a part of its models"
            )
        self.structure = structure
        self._analyses: OrderedDict[Any, Analysis] = OrderedDict()

    @cached_property
    def listed(self) -> Listed:
        """The models to choose from."""
        return listed(self.structure)

    @cached_property
    def test(self) -> MisfitTest | None:
        """The e-value of the structure, None if it has none."""
        low, high = self.structure.range_of_rewards
        return misfit_test(self.structure, low, high, 0.5 * (high - low))

    def analysis(self, truth: Any) -> Analysis:
        """Return the analysis of a truth; the last few are kept."""
        known = self._analyses.pop(truth, None)
        analysis = analyse(self.structure, truth) if known is None else known
        self._analyses[truth] = analysis
        while len(self._analyses) > KEPT:
            self._analyses.popitem(last=False)
        return analysis

    def timeline(self, choice: Choice) -> Timeline:
        """Return how long SAE plays each arm."""
        return timeline(self.analysis(choice.truth), choice.horizon, float(choice.beta))

    def apart(self, choice: Choice) -> list[Telling]:
        """Return what each arm tells between the truth and the other model."""
        means = (means_of(self.structure, model) for model in (choice.truth, choice.other))
        return telling_arms(self.structure, *means)

    def theory(self, choice: Choice) -> dict[str, Any]:
        """Return what `structured-bandits analyse` says, as plain data."""
        analysis = self.analysis(choice.truth)
        family = family_of(self.structure, analysis.means)
        return analysis_data(analysis, choice.horizon, float(choice.beta), family)

    def moved(self, choice: Choice) -> WhatIf:
        """Return what follows if an arm has another mean than in the truth."""
        return what_if(self.structure, self.test, self.moved_means(choice), choice.moved)

    def moved_means(self, choice: Choice) -> Floats:
        """Return the means of the truth with the one that was moved."""
        means = means_of(self.structure, choice.truth).copy()
        if choice.mean is not None:
            means[choice.moved] = choice.mean
        return means


def about_text(structure: Any) -> str:
    """Return what the structure is, in a sentence."""
    arms, best = structure.n_arms, len(structure.best_arms)
    if has_rows(structure):
        what = f"A table of {len(structure.model_names):,} models and {arms} arms"
    elif structure.kind == "curves":
        what = f"{arms} arms whose means depend on one parameter"
    else:
        what = f"{arms} arms and infinitely many models"
    return f"{what}; {best} of the arms {'are' if best > 1 else 'is'} best in some model."


def notices(structure: Structure) -> list[str]:
    """Return what must be known before anything is chosen."""
    return [text for text in (no_choice(structure), _outside_text(structure)) if text]


def _outside_text(structure: Structure) -> str:
    """Return what to say if the structure has means that its rewards cannot have."""
    if family_of(structure) == "bernoulli":
        return ""
    low, high = structure.range_of_rewards
    return (
        f"Some means lie outside the range of the rewards, {low:g} to {high:g}. If the rewards have "
        "another range, declare it (reward_range); here they are taken as Gaussian."
    )
