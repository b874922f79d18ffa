"""The page of a sweep: which parameters were best, a small panel for each setting, every point."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from structured_bandits.base.text_tables import number
from structured_bandits.base.writing import make_folder, write_whole
from structured_bandits.display.figures import inline_svg, save_figure, svg_text
from structured_bandits.display.page import facts_html, table_html, text_html, whole_page
from structured_bandits.display.small_multiples import (
    MOST_PANELS,
    across,
    draw_sweep,
    panels_of,
    short,
)

if TYPE_CHECKING:
    import pandas

MOST_ROWS = 2_000  # of the table of all points; the files have the rest


def write_sweep_page(
    path: Path,
    title: str,
    summary: pandas.DataFrame,
    best: pandas.DataFrame,
    axes: tuple[tuple[str, ...], tuple[str, ...]],
    runs: int,
    facts: dict[str, str],
) -> None:
    """Write the page beside the figure's own files; `axes` are those of policies, and the others."""
    parameters, settings = axes
    make_folder(path.parent / "figures")
    wide = save_figure(draw_sweep(summary, parameters, settings, runs), path.parent, "sweep")
    narrow = svg_text(draw_sweep(summary, parameters, settings, runs, most_columns=2))  # for phones
    svg = "".join(
        f'<div class="{kind}">{inline_svg(text)}</div>'
        for kind, text in (("wide", wide), ("narrow", narrow))
    )
    body = [
        f"<h1>{text_html(title)}</h1>",
        f"<p>{len(summary):,} points, {runs:,} runs of each. A point is a policy with a value of every "
        "axis that concerns it. Regret is what was lost because the best arm was not pulled from the "
        "start.</p>",
        _best_html(best, parameters),
        _figure_html(svg, summary, parameters, settings),
        _points_html(summary, (*settings, *parameters)),
        facts_html(facts),
    ]
    write_whole(path, whole_page(title, body))


def _best_html(best: pandas.DataFrame, parameters: tuple[str, ...]) -> str:
    heads = ("policy", *map(short, parameters), "mean regret", "best in")
    rows = [
        [
            str(row["policy"]),
            *(_value(row[axis]) for axis in parameters),
            number(row["mean"]),
            f"{row['first']} of {row['settings']}",
        ]
        for _, row in best.iterrows()
    ]
    return (
        '<section id="best"><h2>The best parameters</h2><p>For each policy the values with the lowest '
        "regret, as a mean over all settings. The last column says in how many settings these values "
        "are the policy's best, or so close that the 95 % intervals meet.</p>"
        f"{table_html(heads, rows)}</section>"
    )


def _figure_html(
    svg: str, summary: pandas.DataFrame, parameters: tuple[str, ...], settings: tuple[str, ...]
) -> str:
    x = across(summary, parameters, settings)
    count = len(panels_of(summary, settings, x))
    left_out = (
        f" The first {MOST_PANELS} of {count} settings are drawn." if count > MOST_PANELS else ""
    )
    shaded = " Shaded: the 95 % interval of the mean." if x is not None else ""
    return (
        '<section id="settings"><h2>Each setting</h2>'
        f'<figure class="panels" id="sweep">{svg}<figcaption>Mean regret at the end.{shaded} Where '
        "other parameters vary too, the lowest mean is drawn; a level line is a policy that the axis "
        f"does not concern.{left_out}</figcaption></figure></section>"
    )


def _points_html(summary: pandas.DataFrame, axes: tuple[str, ...]) -> str:
    heads = (
        "point",
        "policy",
        *map(short, axes),
        "mean regret",
        "95 % interval",
        "median",
        "95 % quantile",
    )
    rows = [
        [
            str(point),
            str(row["policy"]),
            *(_value(row[axis]) for axis in axes),
            number(row["mean"]),
            f"{number(row['low'])} to {number(row['high'])}",
            number(row["median"]),
            number(row["q95"]),
        ]
        for point, row in summary.head(MOST_ROWS).iterrows()
    ]
    more = len(summary) - len(rows)
    note = f"<p>{more:,} more points are in summary.csv.</p>" if more > 0 else ""
    return (
        '<section id="points"><h2>Every point</h2><details><summary>Show the table</summary>'
        f"{table_html(heads, rows)}{note}</details></section>"
    )


def _value(value: Any) -> str:
    """Return the value of an axis; a dash where it does not concern the policy."""
    if value is None or value != value:
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value)
