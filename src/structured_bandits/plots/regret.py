"""Regret curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.plots.axes import fresh_axes
from structured_bandits.plots.labels import NUMBERS, legend_below, legend_label, plain
from structured_bandits.simulation.result import Result, mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = 10  # that lines have in turn
LINES = ("-", "--", "-.")


@dataclass(frozen=True)
class RegretCurve:
    """Mean, 95 % interval and median of a policy's regret over time."""

    t: Ints
    mean: Floats
    low: Floats
    high: Floats
    median: Floats


def regret_curves(result: Result) -> dict[str, RegretCurve]:
    """Return the curve of each policy at 0 pulls and at the checkpoints."""
    curves = {}
    for name, checked in result.regret.items():
        regret = np.pad(checked, ((0, 0), (1, 0)))
        t = np.append(0, result.checkpoints)
        curves[name] = RegretCurve(t, *mean_interval(regret), np.median(regret, axis=0))
    return curves


def draw_regret(result: Result, ax: Axes | None = None) -> Axes:
    """Draw mean regret with its 95 % band and the median (dotted) of each policy.

    Where colours come again, another kind of line tells the policies apart. If rewards came late, thin
    lines on an axis of their own show how many were out.
    """
    if ax is None:
        ax = fresh_axes()
    colours = {}
    for place, (name, curve) in enumerate(regret_curves(result).items()):
        style = LINES[place // COLOURS % len(LINES)]
        (line,) = ax.plot(curve.t, curve.mean, ls=style, label=legend_label(plain(name)))
        colours[name] = line.get_color()
        ax.fill_between(curve.t, curve.low, curve.high, color=colours[name], alpha=0.2, lw=0)
        ax.plot(curve.t, curve.median, color=colours[name], lw=0.9, ls=":")
    ax.xaxis.set_major_formatter(NUMBERS)
    ax.yaxis.set_major_formatter(NUMBERS)
    ax.set_xlabel("pulls")
    ax.set_ylabel("regret")
    ax.margins(x=0)
    ax.set_ylim(bottom=0)
    legend = f"mean of {result.runs} runs, 95 % band; dotted: median"
    if result.out:
        _draw_out(result, ax, colours)
        legend += "; thin: rewards out"
    legend_below(ax, legend)
    return ax


def _draw_out(result: Result, ax: Axes, colours: dict[str, Any]) -> None:
    """Draw how many rewards were out on average, on an axis at the right."""
    right = ax.twinx()
    for name, out in result.out.items():
        right.plot(result.checkpoints, out.mean(axis=0), color=colours[name], lw=0.6)
    right.yaxis.set_major_formatter(NUMBERS)
    right.set_ylabel("rewards out")
    right.margins(x=0)
    right.set_ylim(bottom=0)
