"""Regret curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.extras import needs
from structured_bandits.display import styles
from structured_bandits.display.axes import fresh_axes
from structured_bandits.display.labels import (
    NUMBERS,
    label_line_ends,
    legend_label,
    plain_all,
    points,
    remove_line_ends,
    text_size,
)
from structured_bandits.display.legends import legend_below, legend_height
from structured_bandits.display.styles import Style, checked_style, set_letters
from structured_bandits.errors import ParameterError
from structured_bandits.simulation.result import Result, mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D

LOG = {None: "", "x": "x", "y": "y", "both": "xy"}
BANDS = {
    "mean": "mean of {runs}; shaded: 95 % interval of the mean",
    "quantiles": "median of {runs}; shaded: nine runs in ten (5 % to 95 % quantile)",
    None: "mean of {runs}",
}
USUAL = 8  # names up to which a figure has its usual height


@dataclass(frozen=True)
class RegretCurve:
    """Mean, its 95 % interval, median, 5 % and 95 % quantile of a policy's regret over time."""

    t: Ints
    mean: Floats
    low: Floats
    high: Floats
    median: Floats
    q05: Floats
    q95: Floats


def regret_curves(result: Result) -> dict[str, RegretCurve]:
    """Return the curve of each policy at 0 pulls and at the checkpoints."""
    curves = {}
    for name, checked in result.regret.items():
        regret = np.pad(checked, ((0, 0), (1, 0)))
        t = np.append(0, result.checkpoints)
        low, median, high = np.quantile(regret, (0.05, 0.5, 0.95), axis=0)
        curves[name] = RegretCurve(t, *mean_interval(regret), median, low, high)
    return curves


def regret_size(policies: Sequence[str], style: str = "screen") -> tuple[float, float]:
    """Return width and height of the figure, in inches; many names make it higher."""
    look = checked_style(style)
    more = legend_height(plain_all(policies), look.width) if len(policies) > USUAL else 0.0
    return look.width, look.height + more


def draw_regret(
    result: Result,
    ax: Axes | None = None,
    *,
    policies: Sequence[str] | None = None,
    log: str | None = None,
    bands: str | None = "mean",
    style: str = "screen",
    legend: bool = False,
) -> Axes:
    """Draw the regret of each policy with a band around it; `Result.plot` says what the options do.

    If rewards came late, thin lines on an axis of their own show how many were out.
    """
    chosen = _checked(result, policies, log, bands)
    look = checked_style(style)
    every = regret_curves(result)
    curves = {name: every[name] for name in chosen}
    if ax is None:
        ax = fresh_axes(regret_size(chosen, style))
    before = len(ax.get_legend_handles_labels()[1])
    lines = _draw_curves(ax, curves, before, bands, look)
    _set_axes(ax, list(lines.values()), LOG[log], look)
    note = "one run" if result.runs == 1 else BANDS[bands].format(runs=f"{result.runs:,} runs")
    if result.out:
        _draw_out(result, ax, lines, look)
        note += "; thin, right axis: rewards that are still out"
    unseen = [name for name, line in lines.items() if "y" in LOG[log] and not _positive(line).any()]
    if unseen:
        note += f"; not on a log axis, regret 0: {', '.join(plain_all(unseen))}"
    crowded = before or legend or result.out or unseen
    legend_below(ax, note, look, ([], []))
    if remove_line_ends(ax) or crowded or not _label(ax, lines, look):
        legend_below(ax, note, look)
    return ax


def _checked(
    result: Result, policies: Sequence[str] | None, log: str | None, bands: str | None
) -> tuple[str, ...]:
    """Return the names of the policies to draw; complain of options that are none."""
    for key, value, known in (("log", log, [*LOG]), ("bands", bands, [*BANDS])):
        if value not in known:
            raise ParameterError(f"{key}={value!r}: expected one of {', '.join(map(repr, known))}")
    if policies is None:
        return result.policies
    chosen = (policies,) if isinstance(policies, str) else tuple(dict.fromkeys(policies))
    accepted = ", ".join(map(repr, result.policies))
    if not chosen:
        raise ParameterError(f"policies={policies!r}: expected at least one of {accepted}")
    for name in chosen:
        if name not in result.policies:
            raise ParameterError(f"policies: {name!r} is not in this result; expected {accepted}")
    return chosen


def _draw_curves(
    ax: Axes, curves: dict[str, RegretCurve], before: int, bands: str | None, look: Style
) -> dict[str, Line2D]:
    """Draw lines and bands; return the lines by policy."""
    lines = {}
    labels = plain_all(list(curves))
    for number, (name, curve) in enumerate(curves.items()):
        middle, low, high = curve.mean, curve.low, curve.high
        if bands == "quantiles":
            middle, low, high = curve.median, curve.q05, curve.q95
        (lines[name],) = ax.plot(
            curve.t,
            middle,
            lw=look.line,
            label=legend_label(labels[number]),
            **styles.line(before + number),
        )
        if bands is not None:
            shade = styles.colour(before + number)
            ax.fill_between(curve.t, low, high, color=shade, alpha=0.18, lw=0)
    return lines


def _set_axes(ax: Axes, lines: list[Line2D], log: str, look: Style) -> None:
    """Set scales, limits and words of the axes; a log scale begins after 0 pulls and above 0."""
    ax.set_xlabel("pulls")
    ax.set_ylabel("regret")
    ax.margins(x=0)
    set_letters(ax, look)
    first = np.concatenate([points(line)[1:2, 0] for line in lines])
    if "x" in log:
        ax.set_xscale("log")
        ax.set_xlim(left=first.min())
    if "y" in log:
        ax.set_yscale("log")
        ax.set_ylim(bottom=_lowest(ax, lines))
    else:
        ax.set_ylim(bottom=0)
    if "x" not in log:
        longest = text_size(ax, f"{ax.get_xlim()[1]:,.0f}", look.font)[0]
        ax.locator_params(axis="x", nbins=max(1, min(9, int(ax.bbox.width / (1.4 * longest)))))
    for axis in (ax.xaxis, ax.yaxis):
        _number_ticks(axis, axis.axis_name in log)


def _lowest(ax: Axes, lines: list[Line2D]) -> float:
    """Return where a log axis of regrets begins: at the lowest line, or a bit of a band below it."""
    positive = np.concatenate([points(line)[_positive(line), 1] for line in lines])
    if not len(positive):
        return 0.1
    return float(0.7 * max(positive.min() / 5, ax.dataLim.minposy))


def _number_ticks(axis: Axis, log: bool) -> None:
    with needs("A figure", extra="report"):
        from matplotlib.ticker import LogLocator, NullFormatter

    if log:
        low, high = axis.get_view_interval()
        short = high < 100 * low  # too short for powers of ten alone
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if short else (1.0,)))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(NUMBERS)


def _positive(line: Line2D) -> Flags:
    return points(line)[:, 1] > 0.0


def _label(ax: Axes, lines: dict[str, Line2D], look: Style) -> bool:
    return label_line_ends(ax, list(lines.values()), plain_all(list(lines)), look)


def _draw_out(result: Result, ax: Axes, lines: dict[str, Line2D], look: Style) -> None:
    """Draw how many rewards were out on average, on an axis at the right."""
    right = ax.twinx()
    for name, line in lines.items():
        out = result.out[name].mean(axis=0)
        right.plot(result.checkpoints, out, color=line.get_color(), lw=0.6)
    right.yaxis.set_major_formatter(NUMBERS)
    right.set_ylabel("rewards out")
    right.margins(x=0)
    right.set_ylim(bottom=0)
    set_letters(right, look)
