"""A structure that is explored, with what was computed about it."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import Any

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.display.analysis_report import analysis_data
from structured_bandits.errors import ParameterError
from structured_bandits.inference.misfit.build import MOST_ENTRIES, misfit_test
from structured_bandits.inference.misfit.e_value import MisfitTest
from structured_bandits.service.ui.explorer.apart import Telling, family_of, telling_arms
from structured_bandits.service.ui.explorer.choice import Choice
from structured_bandits.service.ui.explorer.lives import Timeline, timeline
from structured_bandits.service.ui.explorer.models import Listed, listed, means_of
from structured_bandits.service.ui.explorer.what_if import WhatIf, what_if
from structured_bandits.structures.base import Structure
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
