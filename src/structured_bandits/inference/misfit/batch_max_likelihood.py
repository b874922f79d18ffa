"""The log-likelihood of the likeliest model, of many runs at once (`max_likelihood.py` has it of one).

Too high a number is safe here, as it makes the e-value smaller; too low a one is not. But for rounding,
the number of a table or of boxes is that of `likeliest`. The number of a curve or a product is never
below the maximum, and at the end of a search above it by at most CLOSE * (1 + |maximum|) on each cell.

All cells of all runs are searched at once, and each takes the steps that it would take alone: a number
does not depend on the runs beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.inference.misfit.e_value import MisfitTest
from structured_bandits.inference.misfit.max_likelihood import (
    SLACK,
    BoxModels,
    GroupModels,
    LineModels,
    TableModels,
)
from structured_bandits.inference.misfit.reward_likelihood import Counts, RewardScale

CLOSE = 1e-14  # relatively: what a better model on a cell may add before the search ends
STEPS = 120  # at most: if every other one halves, a cell gets as narrow as numbers allow


def max_log_likelihoods(tests: Sequence[MisfitTest], counts: Counts, totals: Floats) -> Floats:
    """Return the highest log-likelihood of each run, whose test it is.

    `totals` are those of the grids' models (runs x models). All tests have the scale of the first one
    and its kind of models.
    """
    scale, models = tests[0].scale, [test.models for test in tests]
    if isinstance(models[0], TableModels):
        return totals.max(axis=1)
    if isinstance(models[0], LineModels):
        lines = [(each.at_start, each.at_end) for each in models]
        return max_likelihood_on_lines(scale, lines, counts, totals.max(axis=1))
    if isinstance(models[0], BoxModels):
        runs = zip(models, *counts, strict=True)
        return np.array([_highest_in_boxes(scale, boxes, Counts(*seen)) for boxes, *seen in runs])
    if isinstance(models[0], GroupModels):
        return _highest_of_groups(scale, models, counts)
    rows = zip(models, *counts, totals, strict=True)
    return np.array(
        [each.likeliest(scale, Counts(*seen), row).log_likelihood for each, *seen, row in rows]
    )


def _highest_in_boxes(scale: RewardScale, boxes: BoxModels, counts: Counts) -> float:
    """Return that of one run: in each box the mean of an arm is as near to its average as it can be."""
    first, second = counts
    pulls = second if scale.gaussian else first + second
    paid = first if scale.gaussian else scale.bottom * pulls + scale.width * first
    average = np.divide(paid, pulls, where=pulls > 0.0, out=np.zeros_like(paid))
    means = np.clip(average, boxes.low, boxes.high)
    if scale.gaussian:
        likely = _gaussian(scale, means, counts)
    else:
        shares = (means - scale.bottom) / scale.width
        outside = ((shares < 0.0) | (shares > 1.0)) & (pulls > 0.0)
        likely = _of_shares(np.clip(shares, 0.0, 1.0), counts)
        likely[outside] = -math.inf
    return float(likely.sum(axis=1).max())


def _highest_of_groups(scale: RewardScale, models: Sequence[GroupModels], counts: Counts) -> Floats:
    """Return that of products: the sum over the groups, which know nothing of each other."""
    total, start = np.zeros(len(models)), 0
    for groups in zip(*(each.groups for each in models), strict=True):
        arms = slice(start, start + groups[0].first.shape[1])
        part = Counts(counts.first[:, arms], counts.second[:, arms])
        lines = [(group.first, group.last) for group in groups]
        total += max_likelihood_on_lines(scale, lines, part, np.full(len(models), -math.inf))
        start = arms.stop
    return total


class _Cells(NamedTuple):
    """Cells that are searched, each for a run (cells x arms)."""

    start: Floats  # the means at position 0
    step: Floats  # what they gain up to position 1
    counts: Counts

    def some(self, chosen: Ints) -> _Cells:
        """Return these of them."""
        first, second = self.counts
        return _Cells(self.start[chosen], self.step[chosen], Counts(first[chosen], second[chosen]))


class _Slopes(NamedTuple):
    """Log-likelihoods at positions on cells, and their first and second derivatives."""

    value: Floats
    rise: Floats
    bend: Floats


class _Search(NamedTuple):
    """Where the maximum on each cell is looked for, and what is known of it."""

    begin: Floats  # the positions between which models are possible
    end: Floats
    left: Floats  # those between which the maximum is
    right: Floats
    best: Floats  # the highest value seen
    above: Floats  # what the maximum is at most

    def some(self, chosen: Ints) -> _Search:
        """Return these of them."""
        return _Search(*(part[chosen] for part in self))

    def bound(self) -> Floats:
        """Return what the maximum is at most; the highest value seen if there was no tangent."""
        return np.where(self.above < math.inf, np.maximum(self.best, self.above), self.best)


def max_likelihood_on_lines(
    scale: RewardScale, lines: Sequence[tuple[Floats, Floats]], counts: Counts, known: Floats
) -> Floats:
    """Return the highest log-likelihood on the cells of each run; each has means at start and end.

    `known` are log-likelihoods that some models have: cells that are surely below are not searched.
    """
    sizes = np.array([len(start) for start, _ in lines])
    runs = np.repeat(np.arange(len(lines)), sizes)
    start = np.concatenate([start for start, _ in lines])
    step = np.concatenate([end for _, end in lines]) - start
    cells = _Cells(start, step, Counts(counts.first[runs], counts.second[runs]))
    floor = known - SLACK * (1.0 + np.abs(known))
    found = _highest_on_each(scale, cells, floor[runs])
    return np.maximum.reduceat(found, np.cumsum(sizes) - sizes)


def _highest_on_each(scale: RewardScale, cells: _Cells, floor: Floats) -> Floats:
    """Return the maximum on each cell, its ends included, or a number below `floor` if it is below.

    The log-likelihood is concave in the position: its tangents lie above it, and their least height
    over what is left of the cell is the number returned. It is never too low, wherever the search ends.
    """
    found = np.full(len(floor), -math.inf)
    begin, end = _possible_parts(scale, cells)
    searched = np.flatnonzero(begin <= end)
    begin, end, cells = begin[searched], end[searched], cells.some(searched)
    unknown = np.full(len(searched), math.inf)
    search = _Search(begin, end, begin, end, -unknown, unknown)
    search = _narrowed(search, begin, _slopes_at(scale, cells, begin))
    position, last, before = end, end - begin, end - begin
    for _ in range(STEPS):
        here = _slopes_at(scale, cells, position)
        search = _narrowed(search, position, here)
        found[searched] = search.bound()
        on = np.flatnonzero(_is_worth_more(search) & (search.above >= floor[searched]))
        if not len(on):
            break
        searched, cells, search = searched[on], cells.some(on), search.some(on)
        here = _Slopes(*(part[on] for part in here))
        following = _next(search, position[on], here, before[on])
        before, last = last[on], np.abs(following - position[on])
        position = following
    return found


def _narrowed(search: _Search, position: Floats, here: _Slopes) -> _Search:
    """Return what is known after a look at these positions."""
    seen = here.value > -math.inf
    inwards = position - search.begin < search.end - position  # if rounding leads out of the range
    rising = np.where(seen, here.rise > 0.0, inwards)
    far = np.where(rising, search.right, search.left)
    with np.errstate(invalid="ignore"):
        tangent = np.where(seen, here.value + here.rise * (far - position), math.inf)
    return search._replace(
        left=np.where(rising, position, search.left),
        right=np.where(rising, search.right, position),
        best=np.maximum(search.best, here.value),
        above=np.fmin(search.above, tangent),
    )


def _is_worth_more(search: _Search) -> Flags:
    """Return whether what is left could hold a better model than those that were seen."""
    with np.errstate(invalid="ignore"):  # inf - inf: no model was possible yet
        more = search.above - search.best > CLOSE * (1.0 + np.abs(search.best))
    return (more | (search.best == -math.inf)) & (search.left < search.right)


def _next(search: _Search, position: Floats, here: _Slopes, before: Floats) -> Floats:
    """Return where to look next.

    That is where Newton's step leads, unless this is out of what is left or the step is more than half
    of the one `before` the last: then what is left is halved.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        newton = position - here.rise / here.bend
        good = (newton > search.left) & (newton < search.right)
        good &= np.abs(newton - position) < 0.5 * before
    return np.where(good, newton, 0.5 * (search.left + search.right))


def _possible_parts(scale: RewardScale, cells: _Cells) -> tuple[Floats, Floats]:
    """Return the positions on each cell between which every mean of a pulled arm is in the range.

    There are none (they begin after the end) if a mean that is the same on all of the cell is outside,
    or at an end of the range and excludes what was seen.
    """
    if scale.gaussian:
        return np.zeros(len(cells.start)), np.ones(len(cells.start))
    first, second = cells.counts
    low, high = scale.bottom - cells.start, scale.bottom + scale.width - cells.start
    flat = cells.step == 0.0
    step = np.where(flat, 1.0, cells.step)
    with np.errstate(over="ignore"):  # by a tiny step
        at_low, at_high = low / step, high / step
    begin, end = np.minimum(at_low, at_high), np.maximum(at_low, at_high)
    begin[flat], end[flat] = 0.0, 1.0
    excluded = (low > 0.0) | (high < 0.0) | ((low == 0.0) & (first > 0.0))
    begin[flat & (excluded | ((high == 0.0) & (second > 0.0)))] = math.inf
    unseen = (first == 0.0) & (second == 0.0)
    begin[unseen], end[unseen] = 0.0, 1.0
    return begin.max(axis=1, initial=0.0), end.min(axis=1, initial=1.0)


def _slopes_at(scale: RewardScale, cells: _Cells, position: Floats) -> _Slopes:
    """Return the log-likelihood at a position on each cell, and how it rises and bends there."""
    means = cells.start + position[:, np.newaxis] * cells.step
    first, second = cells.counts
    if scale.gaussian:
        likely = _gaussian(scale, means, cells.counts)
        speed = cells.step / (scale.sigma * scale.sigma)
        rise, bend = speed * (first - second * means), -speed * cells.step * second
    else:
        shares = np.clip((means - scale.bottom) / scale.width, 0.0, 1.0)  # rounding leads outside
        likely = _of_shares(shares, cells.counts)
        speed = cells.step / scale.width
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # of impossible models
            to_none = speed / np.where(first > 0.0, shares, 1.0)
            to_all = speed / np.where(second > 0.0, 1.0 - shares, 1.0)
            up, down = first * to_none, second * to_all
            rise, bend = up - down, -(up * to_none + down * to_all)
    with np.errstate(invalid="ignore"):
        return _Slopes(likely.sum(axis=1), rise.sum(axis=1), bend.sum(axis=1))


def _gaussian(scale: RewardScale, means: Floats, counts: Counts) -> Floats:
    """Return the log-likelihoods of means of Gaussian rewards."""
    first, second = counts
    return (first - 0.5 * second * means) * means / (scale.sigma * scale.sigma)


def _of_shares(shares: Floats, counts: Counts) -> Floats:
    """Return the log-likelihoods of means from 0 to 1; -inf if they exclude what was seen."""
    first, second = counts
    with np.errstate(divide="ignore"):
        hits = first * np.log(np.where(first > 0.0, shares, 1.0))
        return hits + second * np.log1p(np.where(second > 0.0, -shares, 0.0))
