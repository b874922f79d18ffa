"""The confidence set that is kept from plan to plan, against the set computed anew each time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.cases import draw_case

from structured_bandits.base.confidence import Data, fresh_box, write_box
from structured_bandits.base.intervals import Hoeffding, KLIntervals
from structured_bandits.lookahead.cells.base import choose, workspace
from structured_bandits.lookahead.witnesses import INSIDE, NO_ARM, SEVERAL

CASES, STEPS = 100, 60
WIDTHS = [Hoeffding(0.0), KLIntervals(0.0, 0.0, 1.0)]


class Kept:
    """A structure's cells with data that grow; some steps bring data of several arms, or none."""

    def __init__(self, cells: Any, rng: np.random.Generator, widths: Any) -> None:
        self.cells, self.rng, self.widths = cells, rng, widths
        self.arms = cells.arm_count()
        self.pulls, self.sums = np.zeros(self.arms, np.int64), np.zeros(self.arms)
        self.work = workspace(cells)
        self.factor = float(10 ** rng.uniform(-1.0, 0.7))
        self.models = cells.table if hasattr(cells, "table") else cells.at_start
        self.mean = self.somewhere()
        self.choices: list[int] = []

    def somewhere(self) -> Any:
        """Return means near a model."""
        model = self.models[self.rng.integers(len(self.models))]
        return np.clip(model + self.rng.normal(0.0, 0.05, self.arms), 0.0, 1.0)

    def step(self) -> tuple[Any, Any]:
        """Take in new data; compare the choice with that in the whole box; return the box."""
        if self.rng.random() < 0.1:  # the world moves, so that models leave and come back
            self.mean = self.somewhere()
        kind = self.rng.integers(8)
        arms = [] if kind == 0 else self.rng.integers(self.arms, size=3 if kind == 1 else 1)
        for arm in arms:
            count = int(2 ** self.rng.uniform(0.0, 5.0))
            self.pulls[arm] += count
            self.sums[arm] += self.rng.binomial(count, self.mean[arm])
        changed = NO_ARM if not len(arms) else arms[0] if len(arms) == 1 else SEVERAL
        level = self.widths.at(self.factor * math.log(max(2, int(self.pulls.sum())) + 1))
        data, box = Data(self.pulls, self.sums), fresh_box(self.arms)
        choice = choose(self.cells, int(changed), data, level, fresh_box(self.arms), self.work)
        write_box(data, level, box)
        assert choice == self.cells.optimistic_arm(box, self.cells.fresh_notes())
        self.choices.append(choice)
        return box


@pytest.mark.parametrize("widths", WIDTHS, ids=["hoeffding", "kl"])
@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_the_choice_is_that_of_the_whole_set(kind: str, widths: Any) -> None:
    empty = changes = 0
    for index in range(CASES):
        rng = np.random.default_rng([3, index])
        case = draw_case(31, index, kind, full_size=index % 10 == 0)
        kept = Kept(case.structure.cells, rng, widths)
        for _ in range(STEPS):
            kept.step()
        empty += kept.choices.count(-1)
        changes += int((np.diff(kept.choices) != 0).sum())
    assert empty > 100
    assert changes > 100


@pytest.mark.parametrize("widths", WIDTHS, ids=["hoeffding", "kl"])
def test_the_models_inside_are_those_that_fit(widths: Any) -> None:
    """And each model outside is outside on the arm that watches it, beyond that arm's gap."""
    left = returned = 0
    for index in range(CASES):
        cells = draw_case(32, index, "finite", full_size=index % 10 == 0).structure.cells
        kept = Kept(cells, np.random.default_rng([4, index]), widths)
        before = np.ones(len(cells.best), bool)
        for _ in range(STEPS):
            low, high = kept.step()
            table = cells.table[cells.ranking]
            fits = np.all((low < table) & (table < high), axis=1)
            work = kept.work
            assert np.array_equal(work.watch == INSIDE, fits)
            assert work.inside[: work.size[0]].tolist() == np.flatnonzero(fits).tolist()
            for rank in np.flatnonzero(~fits):
                arm = work.watch[rank]
                mean = table[rank, arm]
                assert not low[arm] < mean < high[arm]
                assert mean <= work.gap_low[arm] or mean >= work.gap_high[arm]
            left += int((before & ~fits).sum())
            returned += int((fits & ~before).sum())
            before = fits
    assert left > 500
    assert returned > 100
