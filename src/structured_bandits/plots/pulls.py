"""Bars of mean pulls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.plots.axes import fresh_axes
from structured_bandits.plots.labels import (
    NUMBERS,
    legend_below,
    legend_label,
    name_ticks,
    plain,
)
from structured_bandits.simulation.result import Result, mean_interval
from structured_bandits.structures.base import labels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PullCounts:
    """Mean pulls of each arm by a policy, and their 95 % intervals."""

    mean: Floats
    low: Floats
    high: Floats


def pull_counts(result: Result) -> dict[str, PullCounts]:
    """Return the mean pulls of each policy."""
    return {
        name: PullCounts(*mean_interval(pulls.astype(np.float64)))
        for name, pulls in result.pulls.items()
    }


def draw_pulls(
    result: Result, arm_names: tuple[str, ...], skip: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw mean pulls of each arm as bars with 95 % intervals; `skip` leaves an arm out."""
    if ax is None:
        ax = fresh_axes()
    arms = [arm for arm in range(len(arm_names)) if arm != skip]
    width = 0.8 / len(result.policies)
    for number, (name, counts) in enumerate(pull_counts(result).items()):
        places = np.arange(len(arms)) + (number - 0.5 * (len(result.policies) - 1)) * width
        bars = counts.mean[arms]
        errors = np.nan_to_num([bars - counts.low[arms], counts.high[arms] - bars])
        ax.bar(
            places,
            bars,
            width,
            yerr=errors,
            label=legend_label(plain(name)),
            error_kw={"lw": 0.8, "ecolor": "0.4"},
        )
    name_ticks(ax, range(len(arms)), [plain(labels_of(arm_names)[arm], 12) for arm in arms])
    ax.yaxis.set_major_formatter(NUMBERS)
    ax.set_ylabel("mean pulls")
    legend_below(ax, f"mean of {result.runs} runs, 95 % interval")
    return ax
