"""The e-values of many runs at once, each a single look.

They are what `e_value.look_at` says of each run, but for rounding: log-likelihoods are off by some
1e-15 of their size and of the number of pulls. Beyond that no e-value is too large: what speaks for a
structure is never too low (`batch_max_likelihood.py`), and of what speaks against it only terms are
left out, less than OMITTED of it in all.

An e-value depends on its own run alone, to the last bit, and so neither on the runs beside it nor on
who computes it: everything is computed number by number, and what is added up within a run is added in
the same order. (Products of matrices would not do: their rounding depends on the size of the matrices.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.inference.misfit.alternatives import HITS, MISSES, Grid
from structured_bandits.inference.misfit.batch_max_likelihood import max_log_likelihoods
from structured_bandits.inference.misfit.e_value import MisfitTest
from structured_bandits.inference.misfit.max_likelihood import LineModels
from structured_bandits.inference.misfit.reward_likelihood import (
    MOST_ROUNDED,
    ROUNDED,
    Counts,
    RewardScale,
    log_mixtures,
)

AT_ONCE = 1 << 17  # entries of the tables of some runs: they stay in a core's cache
OMITTED = 1e-17  # less than rounding does to the sum
LARGEST = 700.0  # the logarithm from which on an e-value is infinite


def e_values(test: MisfitTest, pulls: Ints, sums: Floats) -> Floats:
    """Return the e-value of each run's results (a row each); infinite if no model explains them."""
    return _e_values_of(log_e_values([test], test.scale, pulls, sums))


def e_values_of_each(tests: Sequence[MisfitTest], pulls: Ints, sums: Floats) -> Floats:
    """Return the e-value of each run's results, each run with a test of its own.

    Tables of one size are looked at together: then most of the time is spent in operations on arrays
    that are large enough for NumPy to let go of Python's lock.
    """
    if not _alike(tests):
        rows = zip(tests, pulls[:, np.newaxis], sums[:, np.newaxis], strict=True)
        return np.concatenate([e_values(*row) for row in rows])
    scale = tests[0].scale._replace(centres=np.stack([test.scale.centres for test in tests]))
    return _e_values_of(log_e_values(tests, scale, pulls, sums))


def _alike(tests: Sequence[MisfitTest]) -> bool:
    """Return whether all tests share the kind of models, their number and the rewards."""
    first, *others = (
        (type(test.models), test.grid.per_hit.shape, test.scale[:-1]) for test in tests
    )
    return all(other == first for other in others)


def _e_values_of(log_e: Floats) -> Floats:
    """Return what `e_value_of` does, for each run."""
    finite = log_e < LARGEST
    return np.where(finite, np.exp(np.where(finite, log_e, 0.0)), math.inf)


def log_e_values(
    tests: Sequence[MisfitTest], scale: RewardScale, pulls: Ints, sums: Floats
) -> Floats:
    """Return the logarithms of e-values; there is one test for all runs, or one for each of them."""
    counts = counts_of(scale, pulls, sums)
    mixed = log_mixtures(scale, counts)
    together = max(1, min(len(pulls), AT_ONCE // max(map(_size, tests))))
    memory = np.empty((2, together, *tests[0].grid.per_hit.shape))
    log_e = np.empty(len(pulls))
    for start in range(0, len(pulls), together):
        some = slice(start, start + together)
        seen = _Seen(Counts(counts.first[some], counts.second[some]), mixed[some])
        log_e[some] = _looked_at(tests if len(tests) == 1 else tests[some], seen, memory)
    return log_e


def _size(test: MisfitTest) -> int:
    """Return how many numbers a look at one run takes at a time."""
    cells = test.models.at_start.size if isinstance(test.models, LineModels) else 0
    return max(test.grid.per_hit.size, cells)


class _Seen(NamedTuple):
    """Results as tests count them, and how likely they are if nothing is known (runs x arms)."""

    counts: Counts
    mixed: Floats


def counts_of(scale: RewardScale, pulls: Ints, sums: Floats) -> Counts:
    """Return hits and misses as `reward_counts` does, for whole tables."""
    if scale.gaussian:
        return Counts(sums, pulls.astype(np.float64))
    hits = (sums - scale.bottom * pulls) / scale.width
    misses = pulls - hits
    rounding = np.minimum(ROUNDED * pulls, MOST_ROUNDED)
    none, all_of_them = hits < rounding, misses < rounding
    return Counts(
        np.where(none, 0.0, np.where(all_of_them, pulls, hits)),
        np.where(none, pulls, np.where(all_of_them, 0.0, misses)),
    )


def _looked_at(tests: Sequence[MisfitTest], seen: _Seen, memory: Floats) -> Floats:
    """Return the logarithms of what speaks against structures, by what speaks for them.

    A model that excludes what was seen of one arm is left with the term in which this arm is set free.
    One that excludes what was seen of several arms has no term at all.
    """
    counts, mixed = seen
    each = [*tests] * len(mixed) if len(tests) == 1 else tests  # run by run
    walls = _walls([test.grid for test in each])
    own, spare = memory[:, : len(mixed)]
    _write_own([test.grid for test in tests], counts, own, spare)
    own[walls.run, walls.arm, walls.model] = 0.0
    totals = own.sum(axis=1)
    weighted = totals + [test.grid.prior for test in tests]
    freed = np.subtract(
        mixed[:, :, np.newaxis], own, out=own
    )  # what a model gains by an arm set free
    hit = _hit(walls, counts)
    once = _hit_once(hit)
    others = weighted[once.run, once.model] + mixed[once.run, once.arm]
    for table in (totals, weighted):
        table[hit.run, hit.model] = -math.inf
    off = _log_sums(weighted, freed, once.run, others)
    against = np.logaddexp(mixed.sum(axis=1), off - math.log(mixed.shape[1])) - math.log(2.0)
    highest = max_log_likelihoods(each, counts, totals)
    return np.where(highest == -math.inf, math.inf, against - highest)


def _write_own(grids: Sequence[Grid], counts: Counts, own: Floats, spare: Floats) -> None:
    """Write the log-likelihoods of each arm's rewards (runs x arms x models).

    This is `alternatives.write_own` of all of them; at walls anything may be written.
    """
    first, second = counts.first[:, :, np.newaxis], counts.second[:, :, np.newaxis]
    with np.errstate(invalid="ignore"):
        if len(grids) == 1:
            np.multiply(grids[0].per_hit, first, out=own)
            np.multiply(grids[0].per_miss, second, out=spare)
            np.add(own, spare, out=own)
            return
        for run, grid in enumerate(grids):
            np.multiply(grid.per_hit, first[run], out=own[run])
            np.multiply(grid.per_miss, second[run], out=spare[0])
            np.add(own[run], spare[0], out=own[run])


class _Walls(NamedTuple):
    """Means that exclude hits, misses or both, of all runs one after the other."""

    run: Ints
    arm: Ints
    model: Ints
    excluded: Ints

    def some(self, chosen: Flags) -> _Walls:
        """Return these of them."""
        return _Walls(*(part[chosen] for part in self))


def _walls(grids: Sequence[Grid]) -> _Walls:
    """Return the walls of the runs' grids."""
    run = np.repeat(np.arange(len(grids)), [len(grid.walls) for grid in grids])
    return _Walls(run, *np.concatenate([grid.walls for grid in grids]).T)


def _hit(walls: _Walls, counts: Counts) -> _Walls:
    """Return the walls that exclude what was seen."""
    hits = (walls.excluded & HITS > 0) & (counts.first[walls.run, walls.arm] > 0.0)
    misses = (walls.excluded & MISSES > 0) & (counts.second[walls.run, walls.arm] > 0.0)
    return walls.some(hits | misses)


def _hit_once(hit: _Walls) -> _Walls:
    """Return those whose model hits no other one in this run."""
    key = hit.run * (hit.model.max(initial=0) + 1) + hit.model
    return hit.some(np.bincount(key)[key] == 1)


def _log_sums(weighted: Floats, freed: Floats, runs: Ints, others: Floats) -> Floats:
    """Return the logarithm of the sum of each run's terms, which are given by theirs.

    They are weighted + freed for each model and arm; and there are `others` of some runs. Models whose
    terms are all far below the highest one of the run are left out.
    """
    count, arms, models = freed.shape
    highest = weighted + freed.max(axis=1)  # term of each model
    peaks = highest.max(axis=1)
    np.maximum.at(peaks, runs, others)
    explained = peaks > -math.inf
    peaks[~explained] = 0.0
    depth = math.log(arms * models / OMITTED)
    enough = np.where(explained, peaks - depth, math.inf)
    chosen = np.flatnonzero(highest > enough[:, np.newaxis])
    run, model = np.divmod(chosen, models)
    places = np.arange(arms)[:, np.newaxis] * models + (run * (arms * models) + model)
    shares = np.exp(freed.ravel()[places] + (weighted.ravel()[chosen] - peaks[run]))
    sums = np.bincount(run, shares.sum(axis=0), count)
    sums = sums + np.bincount(runs, np.exp(others - peaks[runs]), count)
    return np.where(explained, peaks + np.log(np.where(explained, sums, 1.0)), -math.inf)
