"""The figure of advice: mean regrets inside a structure and just outside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structured_bandits.display import styles
from structured_bandits.display.axes import fresh_axes
from structured_bandits.display.labels import NUMBERS, plain
from structured_bandits.display.legends import legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 12  # candidates that are shown
MARKS = "osD^v<>"
SPREAD = 0.5  # of a row, over which its dots stand

Row = dict[str, Any]


def shown_rows(table: list[Row]) -> list[Row]:
    """Return the candidates of the figure: those that raced, the advised one first."""
    raced = [row for row in table if row["role"] not in ("hopeless", "too slow")]
    return [row for row in raced if row["mean_high"] is not None][:MOST]


def stage_label(stage: str, before: str) -> str:
    """Return what a kind of truths outside the structure is called; sizes have a word before them."""
    return before + stage if stage[0].isdigit() else stage


def figure_size(table: list[Row]) -> tuple[float, float]:
    """Return width and height of the figure, in inches."""
    return 6.4, 1.9 + 0.42 * len(shown_rows(table))


def draw_advice(table: list[Row], ax: Axes | None = None) -> Axes:
    """Draw a dot with its 95 % interval for each candidate and kind of truths, on a log scale."""
    if ax is None:
        ax = fresh_axes(figure_size(table))
    rows = shown_rows(table)
    sizes = list(rows[0]["wrong"])
    kinds = {"the structure is right": lambda row: row} | {
        stage_label(size, "means off by "): lambda row, size=size: row["wrong"][size]
        for size in sizes
    }
    for number, (label, estimate) in enumerate(kinds.items()):
        shift = SPREAD * (number / max(1, len(kinds) - 1) - 0.5) if len(kinds) > 1 else 0.0
        _draw_dots(ax, [estimate(row) for row in rows], shift, label, number)
    ax.set_yticks(range(len(rows)), [plain(row["policy"]) for row in rows])
    ax.get_yticklabels()[0].set_fontweight("bold")
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(NUMBERS)
    ax.grid(axis="x", alpha=0.3)
    ax.set_xlabel("mean regret")
    legend_below(ax, "bold: advised; lines: 95 % intervals")
    return ax


def _draw_dots(ax: Axes, estimates: list[Row], shift: float, label: str, number: int) -> None:
    """Draw the dots of one kind of truths; a log scale has no place for 0."""
    known = [
        (place, each)
        for place, each in enumerate(estimates)
        if each["mean"] is not None and each["mean"] > 0.0
    ]
    means = [each["mean"] for _, each in known]
    low = [each["mean"] - max(each["mean_low"], 0.05 * each["mean"]) for _, each in known]
    high = [each["mean_high"] - each["mean"] for _, each in known]
    ax.errorbar(
        means,
        [place + shift for place, _ in known],
        xerr=[low, high],
        fmt=MARKS[number % len(MARKS)],
        ms=5,
        capsize=2,
        color=styles.colour(number),
        label=label,
    )
