"""The models that fit, kept by rank from plan to plan, are those that the definition lets in."""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.base.confidence import Data, fresh_box, write_box
from structured_bandits.base.intervals import Hoeffding
from structured_bandits.lookahead.cells.base import choose, workspace
from structured_bandits.lookahead.cells.ranked import RankedCells
from structured_bandits.lookahead.cells.ranks import FIRST, KNOWN, NOBODY
from structured_bandits.lookahead.witnesses import NO_ARM, SEVERAL
from structured_bandits.structures.finite.cells import FiniteCells


def hostile_table(rng: np.random.Generator) -> np.ndarray:
    """Means on a coarse or a fine lattice, so that models tie with each other and with the box."""
    models, arms = int(rng.integers(1, 90)), int(rng.integers(1, 6))
    steps = int(rng.choice([4, 16, 1 << 20]))
    return rng.integers(0, steps + 1, (models, arms)) / steps


def test_the_set_is_that_of_the_definition_however_the_data_grew() -> None:
    met = {"empty": 0, "unknown": 0, "several": 0, "returned": 0}
    for seed in range(45):
        rng = np.random.default_rng([seed, 1])
        plain = FiniteCells(hostile_table(rng))
        cells = RankedCells(plain)
        arms = plain.arm_count()
        data, box = Data(np.zeros(arms, np.int64), np.zeros(arms)), fresh_box(arms)
        work, changed, t, before = workspace(cells), NO_ARM, 0, np.zeros(len(plain.best), bool)
        alpha, truth = float(rng.choice([0.02, 0.25, 2.0])), rng.integers(0, 9, arms) / 8
        if seed % 3:  # otherwise no model is true, and the set empties
            truth = plain.table[rng.integers(len(plain.table))]
        for _ in range(80):
            level = Hoeffding(alpha * math.log(t + 1))
            choice = choose(cells, changed, data, level, box, work)
            write_box(data, level, box)
            table = plain.table[plain.ranking]
            fits = ((box.low < table) & (table < box.high)).all(axis=1)
            known = int(work.counts[KNOWN])
            assert (work.excess[:known] < 0.0).tolist() == fits[:known].tolist()
            first = int(np.argmax(fits)) if fits.any() else NOBODY
            assert work.counts[FIRST] == first
            assert choice == (plain.best[plain.ranking[first]] if fits.any() else -1)
            met["empty"] += not fits.any()
            met["unknown"] += known < len(fits)
            met["returned"] += bool((fits & ~before).any())
            before = fits
            arm = int(choice) if choice >= 0 and rng.random() < 0.7 else int(rng.integers(arms))
            changed = arm
            if rng.random() < 0.1:
                changed, data.pulls[0], data.sums[0] = SEVERAL, data.pulls[0] + 1, data.sums[0] + 1
                met["several"], t = met["several"] + 1, t + 1
            made = int(rng.integers(1, 30))
            data.pulls[arm] += made
            data.sums[arm] += rng.binomial(made, truth[arm])
            t += made
    assert min(met.values()) > 150, met
