"""Lines of models where a mean is so close to an end of the range that a reward would exclude it.

Posteriors take a model that calls an outcome impossible to give it a small probability, the floor.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.inference.likelihood import FLOOR
from structured_bandits.structures.questions import ModelLines
from structured_bandits.structures.reward_ranges import Rewards


def cut_at_floor(lines: ModelLines, weights: Floats, rewards: Rewards) -> tuple[ModelLines, Floats]:
    """Cut lines where a mean is as likely as the floor allows; beyond it counts as constant."""
    parts = floor_parts(lines, rewards)
    cells = parts.cell
    left, right = parts.left[:, None], parts.right[:, None]
    first, rise = lines.first[cells], lines.last[cells] - lines.first[cells]
    width = parts.right - parts.left
    cut = ModelLines(
        first + left * rise,
        np.where(right == 1.0, lines.last[cells], first + right * rise),
        lines.best[cells],
        lines.piece[cells],
        lines.length[cells] * width,
    )
    return cut, weights[cells] + np.log(width)


class FloorParts(NamedTuple):
    """Parts of lines, from one position to another, on which no mean crosses the floor."""

    cell: Ints  # the line
    left: Floats
    right: Floats


def floor_parts(lines: ModelLines, rewards: Rewards) -> FloorParts:
    """Return the parts between the places where a mean is at the floor, or at 1 less the floor."""
    ends = scaled_to_range(lines.first, rewards), scaled_to_range(lines.last, rewards)
    rows = []
    for cell, (first, last) in enumerate(zip(*ends, strict=True)):
        with np.errstate(divide="ignore", invalid="ignore"):
            places = np.concatenate(
                [(level - first) / (last - first) for level in (FLOOR, 1.0 - FLOOR)]
            )
        inner = np.unique(places[(places > 0.0) & (places < 1.0)])
        cuts = [0.0, *inner.tolist(), 1.0]
        rows += [(cell, left, right) for left, right in pairwise(cuts)]
    return FloorParts(*(np.array(column) for column in zip(*rows, strict=True)))


def whole_parts(count: int) -> FloorParts:
    """Return lines that are not cut."""
    return FloorParts(np.arange(count), np.zeros(count), np.ones(count))


def scaled_to_range(means: Floats, rewards: Rewards) -> Floats:
    """Return means as shares of the range of rewards."""
    return (means - rewards.bottom) / (rewards.top - rewards.bottom)


def shares_of(means: Floats, rewards: Rewards) -> Floats:
    """Return means as shares of the range, none closer to its ends than the floor."""
    return np.clip(scaled_to_range(means, rewards), FLOOR, 1.0 - FLOOR)
