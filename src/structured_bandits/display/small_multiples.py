"""The figure of a sweep: a small panel for each setting, all with the same axes of policies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from structured_bandits.base.extras import needs
from structured_bandits.display import styles
from structured_bandits.display.labels import plain

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 40
COLUMNS = 4
WIDTH, HEIGHT = 2.3, 1.9  # inches of a panel
LETTERS = 8  # points


def across(
    summary: pandas.DataFrame, parameters: Sequence[str], settings: Sequence[str]
) -> str | None:
    """Return the axis that goes from left to right: the first with several numbers, None for none."""
    for axis in (*parameters, *settings):
        values = summary[axis].dropna().unique()
        if len(values) > 1 and all(isinstance(value, (int, float)) for value in values.tolist()):
            return axis
    return None


def panels_of(
    summary: pandas.DataFrame, settings: Sequence[str], x: str | None
) -> list[tuple[str, pandas.DataFrame]]:
    """Return the points of each setting, with its name."""
    outer = [axis for axis in settings if axis != x]
    if not outer:
        return [("", summary)]
    groups = summary.groupby(outer, sort=False, dropna=False)
    return [(", ".join(map(str, key)), group) for key, group in groups]


def short(axis: str) -> str:
    """Return the name of an axis as a figure shows it.

    >>> short("policies.*.alpha"), short("policies.SAE.beta"), short("horizon")
    ('alpha', 'beta of SAE', 'horizon')
    """
    place, _, rest = axis.partition(".")
    if place != "policies":
        return axis
    policy, _, parameter = rest.partition(".")
    return parameter if policy == "*" else f"{parameter} of {policy}"


def draw_sweep(
    summary: pandas.DataFrame,
    parameters: Sequence[str],
    settings: Sequence[str],
    runs: int,
    most_columns: int = COLUMNS,
) -> Figure:
    """Return the figure of a sweep, from its summary.

    Where a policy has several points at one place, because other parameters vary too, the lowest
    is drawn.
    """
    with needs("A figure", extra="report"):
        from matplotlib.figure import Figure

    x = across(summary, parameters, settings)
    panels = panels_of(summary, settings, x)[:MOST_PANELS]
    columns = min(most_columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    width, height = (WIDTH, HEIGHT) if len(panels) > 1 else (5.0, 3.4)
    figure = Figure(figsize=(width * columns, height * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=x is not None)
    policies = list(dict.fromkeys(summary["policy"]))
    for ax in grid.flat[len(panels) :]:
        ax.remove()
    for ax, (name, points) in zip(grid.flat, panels, strict=False):
        _draw_panel(ax, points, x, policies)
        ax.set_title(plain(name), fontsize=LETTERS)
        ax.tick_params(labelsize=LETTERS - 1)
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    if x is not None:
        figure.legend(
            handles,
            labels,
            loc="outside upper center",
            ncols=min(2 * columns, len(labels)),
            fontsize=LETTERS,
            frameon=False,
        )
        figure.supxlabel(plain(short(x)), fontsize=LETTERS)
    figure.supylabel(f"regret at the end, mean of {runs:,} runs", fontsize=LETTERS)
    return figure


def _draw_panel(ax: Axes, points: pandas.DataFrame, x: str | None, policies: list[str]) -> None:
    for number, policy in enumerate(policies):
        own = points[points["policy"] == policy]
        look: Any = styles.line(number)
        if x is None:
            lowest = own.loc[own["mean"].idxmin()]
            ax.errorbar(
                [number], [lowest["mean"]], yerr=_half(lowest), fmt="o", color=look["color"]
            )
        elif own[x].isna().all():  # it does not concern this policy: the same everywhere
            lowest = own.loc[own["mean"].idxmin()]
            ax.axhline(lowest["mean"], label=plain(policy), lw=1.2, **look)
        else:
            lowest = own.loc[own.groupby(x)["mean"].idxmin()].sort_values(x)
            ax.fill_between(
                lowest[x].astype(float),
                lowest["low"],
                lowest["high"],
                alpha=0.2,
                lw=0,
                color=look["color"],
            )
            ax.plot(
                lowest[x].astype(float),
                lowest["mean"],
                marker="o",
                ms=2.5,
                lw=1.2,
                label=plain(policy),
                **look,
            )
    if x is None:
        ax.set_xticks(range(len(policies)), list(map(plain, policies)), rotation=30, ha="right")
        ax.set_xlim(-0.5, len(policies) - 0.5)
    ax.set_ylim(bottom=0)


def _half(row: Any) -> list[list[float]]:
    return [[max(0.0, row["mean"] - row["low"])], [max(0.0, row["high"] - row["mean"])]]
