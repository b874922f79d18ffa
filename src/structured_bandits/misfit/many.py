"""The e-values of many runs at once, each a single look; to the last bit what a new `QuickLook` says.

So logarithms and exponentials of single numbers are those of `math` here as there, and numbers are
added up in the same order: NumPy's functions of arrays may round differently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.misfit.e_value import MisfitTest
from structured_bandits.misfit.grid import Grid
from structured_bandits.misfit.likeliest import Counts, TableModels
from structured_bandits.misfit.scale import ROUNDED, RewardScale

AT_ONCE = 1 << 13  # entries of the tables of some runs: they stay in a core's cache
WORTH_SORTING = 1000  # numbers: sorting fewer takes longer than it saves
KEYS = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xC2B2AE3D27D4EB4F),
)  # odd numbers that make a hash
NOTHING = (
    -746.0
)  # a logarithm below that of the smallest number; exponentials of such ones are slow
LARGEST = 700.0  # the logarithm from which on an e-value is infinite


def e_values(test: MisfitTest, pulls: Ints, sums: Floats) -> Floats:
    """Return the e-value of each run's results (a row each); infinite if no model explains them."""
    seen = _seen(test.scale, pulls, sums)
    together = max(1, AT_ONCE // test.grid.per_hit.size)
    off, highest = np.empty(len(pulls)), np.empty(len(pulls))
    for start in range(0, len(pulls), together):
        some = slice(start, start + together)
        part = Counts(seen.counts.first[some], seen.counts.second[some])
        own = log_likelihoods(test.grid, part)
        totals = own.sum(axis=1)
        off[some] = _one_arm_off(test.grid.prior, own, totals, seen.mixed[some])
        highest[some] = _highest([test] * len(totals), part, totals)
    return _compared(seen.mixed, off, highest)


def e_values_of_each(tests: Sequence[MisfitTest], pulls: Ints, sums: Floats) -> Floats:
    """Return the e-value of each run's results, each run with a test of its own.

    Tables of one size are looked at together: then most of the time is spent in operations on arrays
    that are large enough for NumPy to let go of Python's lock.
    """
    if not _alike(tests):
        rows = zip(tests, pulls[:, np.newaxis], sums[:, np.newaxis], strict=True)
        return np.concatenate([e_values(*row) for row in rows])
    scale = tests[0].scale._replace(centres=np.stack([test.scale.centres for test in tests]))
    counts, mixed = _seen(scale, pulls, sums)
    own = log_likelihoods_of_each([test.grid for test in tests], counts)
    totals = own.sum(axis=1)
    prior = np.stack([test.grid.prior for test in tests])[:, np.newaxis]
    off = _one_arm_off(prior, own, totals, mixed)
    return _compared(mixed, off, _highest(tests, counts, totals))


def _alike(tests: Sequence[MisfitTest]) -> bool:
    """Have all tests the kind of models, their number and the rewards of the first one?"""
    first, *others = (
        (type(test.models), test.grid.per_hit.shape, test.scale[:-1]) for test in tests
    )
    return all(other == first for other in others)


class _Seen(NamedTuple):
    """Results as tests count them, and how likely they are if nothing is known (runs x arms)."""

    counts: Counts
    mixed: Floats


def _seen(scale: RewardScale, pulls: Ints, sums: Floats) -> _Seen:
    counts = counts_of(scale, pulls, sums)
    mixed = log_mixtures(scale, counts)
    mixed[(pulls == 0) & (sums == 0.0)] = (
        0.0  # of what was not seen nothing is known, but for rounding
    )
    return _Seen(counts, mixed)


def _compared(mixed: Floats, off: Floats, highest: Floats) -> Floats:
    """Return the e-values: what speaks against a structure by what speaks for it."""
    against = _log_averages(mixed.sum(axis=1), off)
    return np.where(highest == -math.inf, math.inf, _e_values_of(against - highest))


def _log_averages(one: Floats, other: Floats) -> Floats:
    """Return what `log_average` does, for each run."""
    high, low = np.where(other > one, other, one), np.where(other < one, other, one)
    return high + _each(math.log1p, _each(math.exp, low - high)) - math.log(2.0)


def _e_values_of(log_e: Floats) -> Floats:
    """Return what `e_value_of` does, for each run."""
    finite = log_e < LARGEST
    return np.where(finite, _each(math.exp, np.where(finite, log_e, 0.0)), math.inf)


def counts_of(scale: RewardScale, pulls: Ints, sums: Floats) -> Counts:
    """Return hits and misses as `reward_counts` does, for whole tables."""
    if scale.gaussian:
        return Counts(sums, pulls.astype(np.float64))
    hits = (sums - scale.bottom * pulls) / scale.width
    misses = pulls - hits
    none, all_of_them = hits < ROUNDED * pulls, misses < ROUNDED * pulls
    return Counts(
        np.where(none, 0.0, np.where(all_of_them, pulls, hits)),
        np.where(none, pulls, np.where(all_of_them, 0.0, misses)),
    )


def log_mixtures(scale: RewardScale, counts: Counts) -> Floats:
    """Return what `log_mixture` does, for whole tables (runs x arms)."""
    first, second = counts
    if not scale.gaussian:
        return _beta_mixtures(first, second)
    centre, variance = scale.centres, scale.sigma * scale.sigma
    off = first - second * centre
    known = 1.0 + second
    at_centre = (first - 0.5 * second * centre) * centre / variance
    return at_centre + 0.5 * off * off / (variance * known) - 0.5 * _each(math.log, known)


def _beta_mixtures(first: Floats, second: Floats) -> Floats:
    """Return the same for hits and misses; of equal ones once, as those of many runs often are."""
    if first.size > WORTH_SORTING:
        keys = first.view(np.uint64) * KEYS[0] + second.view(np.uint64) * KEYS[1]
        distinct, places = np.unique(keys, return_inverse=True)
        owners = np.empty(len(distinct), np.int64)
        owners[places.ravel()] = np.arange(first.size)
        hits, misses = first.ravel()[owners], second.ravel()[owners]
        places = places.reshape(first.shape)
        if (hits[places] == first).all() and (
            misses[places] == second
        ).all():  # else keys are alike
            return _beta_mixtures_of(hits, misses)[places]
    return _beta_mixtures_of(first, second)


def _beta_mixtures_of(first: Floats, second: Floats) -> Floats:
    spread = _each(math.lgamma, first + 0.5) + _each(math.lgamma, second + 0.5)
    return spread - _each(math.lgamma, first + second + 1.0) - math.log(math.pi)


def log_likelihoods(grid: Grid, counts: Counts) -> Floats:
    """Return the log-likelihoods of each arm's rewards (runs x arms x models), as `write_own` does."""
    first, second = counts.first[:, :, np.newaxis], counts.second[:, :, np.newaxis]
    with np.errstate(invalid="ignore"):  # nothing of what is impossible; mended at once
        return _added(grid.per_hit * first, grid.per_miss * second, counts)


def log_likelihoods_of_each(grids: Sequence[Grid], counts: Counts) -> Floats:
    """Return the same where each run has a grid of its own."""
    first, second = counts.first[:, :, np.newaxis], counts.second[:, :, np.newaxis]
    own, misses = np.empty((2, len(grids), *grids[0].per_hit.shape))
    with np.errstate(invalid="ignore"):
        for run, grid in enumerate(grids):
            np.multiply(grid.per_hit, first[run], out=own[run])
            np.multiply(grid.per_miss, second[run], out=misses[run])
    return _added(own, misses, counts)


def _added(own: Floats, misses: Floats, counts: Counts) -> Floats:
    """Return log-likelihoods of hits and of misses together, 0 for those of none."""
    for table, numbers in ((own, counts.first), (misses, counts.second)):
        none = numbers == 0.0
        if none.any():
            table[none] = 0.0
    own += misses
    return own


def _one_arm_off(prior: Floats, own: Floats, totals: Floats, mixed: Floats) -> Floats:
    """Return the logarithm of the mixture of "model i is right but for arm k", of each run."""
    runs, arms, _ = own.shape
    terms = _others(own, totals)
    terms += mixed[:, :, np.newaxis]
    terms += prior
    flat = terms.reshape(runs, -1)
    peaks = flat.max(axis=1)
    explained = peaks > -math.inf
    flat -= np.where(explained, peaks, 0.0)[:, np.newaxis]
    shares = np.exp(flat, where=flat > NOTHING, out=np.zeros_like(flat))
    sums = np.where(explained, shares.sum(axis=1), arms)
    return peaks + _each(math.log, sums / arms)


def _others(own: Floats, totals: Floats) -> Floats:
    """Return the log-likelihoods of all arms but each one; without differences of infinities."""
    finite = np.isfinite(totals.sum(axis=1))
    if finite.all():
        return totals[:, np.newaxis] - own
    if not finite.any():
        return _before_and_after(own)
    others = np.empty_like(own)
    others[finite] = totals[finite, np.newaxis] - own[finite]
    others[~finite] = _before_and_after(own[~finite])
    return others


def _before_and_after(own: Floats) -> Floats:
    """Return the sum over the arms before each one, and over those after it."""
    others = np.zeros_like(own)
    np.cumsum(own[:, :-1], axis=1, out=others[:, 1:])
    others[:, :-1] += np.cumsum(own[:, :0:-1], axis=1)[:, ::-1]
    return others


def _highest(tests: Sequence[MisfitTest], counts: Counts, totals: Floats) -> Floats:
    """Return the log-likelihood of the likeliest model, of each run; the tests have one kind of them."""
    if isinstance(tests[0].models, TableModels):
        return totals.max(axis=1)
    likeliest = [
        test.models.likeliest(test.scale, Counts(*seen), row).log_likelihood
        for test, *seen, row in zip(tests, *counts, totals, strict=True)
    ]
    return np.array(likeliest)


def _each(function: Callable[[float], float], table: Floats) -> Floats:
    """Return a function of `math` of each number."""
    values = np.fromiter(map(function, table.ravel().tolist()), np.float64, table.size)
    return values.reshape(table.shape)
