"""The models in which means of arms in a row rise to a peak and then fall: how likely they are.

All in one pass. Unimodal means rise up to some place and fall from the next one on. The likeliest
rising means of the first arms, for each number of these, come from one run of pool adjacent violators;
the falling ones of the last arms likewise. So the likeliest model with a peak on one side of an arm is
a maximum over places (Barlow, Bartholomew, Bremner and Brunk, 1972).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.inference.misfit.reward_likelihood import Counts
from structured_bandits.inference.shares import InShares
from structured_bandits.structures.polyhedral.differences import differences
from structured_bandits.structures.reward_ranges import Rewards


class Row(NamedTuple):
    """Arms in a row whose means are unimodal, from `low` to `high` (shares)."""

    arms: int
    low: float
    high: float


def row_of(structure: Any, bottom: float, width: float) -> Row | None:
    """Return the row that a structure of pieces is; None if it is something else."""
    pieces = structure.pieces
    arms = pieces[0].n_arms
    if arms < 2 or len(pieces) != arms:
        return None
    peaks = set()
    for piece in pieces:
        known = differences(piece)
        if known is None or np.ptp(known.low) != 0.0 or np.ptp(known.high) != 0.0:
            return None
        low, high = float(known.low[0]), float(known.high[0])
        before = known.most_lead <= 0.0  # which arms are at most which other ones
        peak = int(before.all(axis=0).argmax())
        places = np.arange(arms)
        rising = (places[:, None] <= places) & (places <= peak)
        falling = (places[:, None] >= places) & (places >= peak)
        if not np.array_equal(before, rising | falling):
            return None
        if not np.allclose(known.most_lead[~before], high - low, rtol=1e-12):
            return None
        peaks.add(peak)
    if len(peaks) < arms:
        return None
    return Row(arms, (low - bottom) / width, (high - bottom) / width)


class Fits(NamedTuple):
    """The log-likelihoods of the likeliest rising means of first arms, and falling ones of the rest."""

    row: Row
    counts: Counts
    variance: float
    rising: Floats  # of the first 0, 1, 2, … arms
    falling: Floats  # of the arms after so many


class Block(NamedTuple):
    """Arms in a row with one mean: sum and number of their rewards, and the log-likelihood so far."""

    total: float
    pulls: float
    size: int
    log_likelihood: float  # of these arms and all before


def fits_of(row: Row, counts: Counts, variance: float) -> Fits:
    """Fit all beginnings and all ends of a row."""
    mirrored = Counts(counts.first[::-1], counts.second[::-1])
    rising, falling = (
        [0.0, *(blocks[-1].log_likelihood for blocks in pooled(row, each, variance))]
        for each in (counts, mirrored)
    )
    return Fits(row, counts, variance, np.array(rising), np.array(falling[::-1]))


def pooled(row: Row, counts: Counts, variance: float) -> Iterator[list[Block]]:
    """Yield the blocks of the likeliest rising means of the first 1, 2, … arms: one list that changes.

    Adjacent violators are pooled. Bounds that are the same for all arms only cut the means. Arms without
    pulls go with those before them.
    """
    blocks: list[Block] = []
    for first, second in zip(counts.first.tolist(), counts.second.tolist(), strict=True):
        pulls = second if variance > 0.0 else first + second
        total, size = first, 1
        while blocks and (pulls == 0.0 or mean_of(blocks[-1], row) >= total / pulls):
            last = blocks.pop()
            total, pulls, size = last.total + total, last.pulls + pulls, last.size + size
        before = blocks[-1].log_likelihood if blocks else 0.0
        own = _log_of_block(total, pulls, row, variance)
        blocks.append(Block(total, pulls, size, before + own))
        yield blocks


def mean_of(block: Block, row: Row) -> float:
    """Return the mean of a block."""
    if block.pulls == 0.0:
        return row.low
    return min(max(block.total / block.pulls, row.low), row.high)


def _log_of_block(total: float, pulls: float, row: Row, variance: float) -> float:
    if pulls == 0.0:
        return 0.0
    mean = min(max(total / pulls, row.low), row.high)
    if variance > 0.0:
        return (total - 0.5 * pulls * mean) * mean / variance
    if (total > 0.0 and mean == 0.0) or (total < pulls and mean == 1.0):
        return -math.inf
    hits = total * math.log(mean) if total > 0.0 else 0.0
    return hits + ((pulls - total) * math.log1p(-mean) if total < pulls else 0.0)


def likeliest_in_row(fits: Fits) -> Floats:
    """Return the likeliest unimodal means."""
    return means_split_at(fits, int((fits.rising + fits.falling).argmax()))


def means_split_at(fits: Fits, place: int) -> Floats:
    """Return the likeliest means that rise in the first arms, so many, and fall in the others."""
    row, (first, second), variance = fits[:3]
    parts = Counts(first[:place], second[:place]), Counts(first[place:][::-1], second[place:][::-1])
    rising, falling = (_means(row, each, variance) for each in parts)
    return np.concatenate([rising, falling[::-1]])


def _means(row: Row, counts: Counts, variance: float) -> Floats:
    blocks: list[Block] = []
    for found in pooled(row, counts, variance):
        blocks = found
    means = [mean_of(block, row) for block in blocks]
    return np.repeat(means, [block.size for block in blocks]) if blocks else np.zeros(0)


class Side(NamedTuple):
    """The likeliest model with a peak on one side of an arm."""

    log_likelihood: float
    means: Floats
    neighbour: int  # the arm next to it on that side, which is at least as good in all such models


def sides_of(fits: Fits, arm: int) -> list[Side]:
    """Return the likeliest models with a peak after an arm, and before it.

    A peak after it: the arms up to the next one rise. Before it: those from the one before it fall.
    """
    arms = fits.row.arms
    whole = fits.rising + fits.falling
    found = []
    if arm + 1 < arms:
        place = arm + 2 + int(whole[arm + 2 :].argmax())
        found.append(Side(float(whole[place]), means_split_at(fits, place), arm + 1))
    if arm > 0:
        place = int(whole[:arm].argmax())
        found.append(Side(float(whole[place]), means_split_at(fits, place), arm - 1))
    return found


class RowModels(InShares):
    """The models of a row and rewards of one kind."""

    def __init__(self, row: Row, rewards: Rewards) -> None:
        self.row = row
        self.arms = row.arms
        self.set_rewards(rewards)

    def likeliest(self, counts: Counts) -> Floats:
        """Return the likeliest model, as shares."""
        return likeliest_in_row(fits_of(self.row, counts, self.variance))

    def sides(self, counts: Counts, arm: int) -> list[Side]:
        """Return the likeliest models with a peak on either side of an arm."""
        return sides_of(fits_of(self.row, counts, self.variance), arm)
