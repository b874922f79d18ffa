"""Bars of mean pulls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.display import styles
from structured_bandits.display.axes import fresh_axes, lay_out
from structured_bandits.display.labels import (
    NUMBERS,
    all_named,
    legend_label,
    name_ticks,
    named,
    plain_all,
)
from structured_bandits.display.legends import legend_below, legend_height
from structured_bandits.display.styles import checked_style, set_letters
from structured_bandits.simulation.result import Result, mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST, MOST_BARS = 40, 240  # arms that are shown, and their bars
BARS_PER_INCH = 16
WIDEST = 12.0  # inches


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


def pulls_size(result: Result, arms: int, style: str = "screen") -> tuple[float, float]:
    """Return width and height of the figure, in inches."""
    look = checked_style(style)
    wanted = min(arms, MOST) * len(result.policies) / BARS_PER_INCH
    width = max(look.width, min(WIDEST, wanted)) if style == "screen" else look.width
    return width, look.height + max(0.0, legend_height(plain_all(result.policies), width) - 0.4)


def draw_pulls(
    result: Result,
    arm_names: tuple[str, ...],
    skip: int | None = None,
    ax: Axes | None = None,
    *,
    style: str = "screen",
) -> Axes:
    """Draw mean pulls of each arm as bars with 95 % intervals.

    `skip` leaves an arm out: the bars of the best one may dwarf all others. Of many arms those with the
    most pulls are shown. `style` is "screen", "print" or "print-wide", as for `Result.plot`.
    """
    look = checked_style(style)
    counts = pull_counts(result)
    arms = _shown_arms(counts, len(arm_names), skip)
    if ax is None:
        ax = fresh_axes(pulls_size(result, len(arms), style))
    width, labels = 0.8 / len(counts), plain_all(result.policies)
    for number, count in enumerate(counts.values()):
        places = np.arange(len(arms)) + (number - 0.5 * (len(counts) - 1)) * width
        bars = count.mean[arms]
        ax.bar(
            places,
            bars,
            width,
            yerr=np.nan_to_num([bars - count.low[arms], count.high[arms] - bars]),
            label=legend_label(labels[number]),
            color=styles.colour(number),
            hatch=styles.hatch(number),
            ec="white",  # strokes of the hatch
            lw=0.0,
            error_kw={"lw": 0.8, "ecolor": styles.ink()},
        )
    left_out = len(arm_names) - len(arms) - (skip is not None)
    if left_out:
        ax.set_xlabel(f"{left_out} arms with fewer pulls are not shown")
    ax.yaxis.set_major_formatter(NUMBERS)
    ax.set_ylabel("mean pulls")
    ax.margins(x=0.01)
    set_letters(ax, look)
    lay_out(ax)
    names = all_named(arm_names, most=18)
    name_ticks(ax, range(len(arms)), [names[arm] for arm in arms], look.font)
    note = f"mean of {result.runs:,} runs, lines: 95 % interval" if result.runs > 1 else "one run"
    without = f"; without {named(arm_names, skip)}" if skip is not None else ""
    legend_below(ax, note + without, look)
    return ax


def _shown_arms(counts: dict[str, PullCounts], arms: int, skip: int | None) -> list[int]:
    """Return the arms to show, in their order: those that any policy pulls most."""
    largest = np.array([count.mean for count in counts.values()]).max(axis=0)
    ranked = np.argsort(-largest, kind="stable").tolist()
    most = max(1, min(MOST, MOST_BARS // len(counts)))
    return sorted([arm for arm in ranked if arm != skip and arm < arms][:most])
