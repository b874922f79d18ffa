"""Figures of experiments: drawn, saved as SVG and PNG, with their numbers as CSV and Parquet."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.extras import needs
from structured_bandits.base.writing import write_whole
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
from structured_bandits.display.regret import draw_regret, regret_curves, regret_size
from structured_bandits.display.structure_figure import draw_structure, figure_size
from structured_bandits.display.styles import checked_style, set_letters
from structured_bandits.display.verdicts import Shown
from structured_bandits.simulation.result import Result, mean_interval
from structured_bandits.structures.base import Structure
from structured_bandits.theory.analysis import analyse

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


NARROW, FEW_ARMS = 6.0, 6  # inches; arms that fit into them

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def draw_figure(shown: Shown) -> Figure:
    """Return the figure."""
    with needs("A figure", extra="report"):
        from matplotlib.figure import Figure

    problem = shown.problem
    if shown.kind == "structure" and problem is not None:
        figure = Figure(figsize=_structure_size(problem.structure), layout="constrained")
        analysis = analyse(problem.structure, problem.truth)
        draw_structure(analysis, shown.horizon, shown.beta, figure.subplots())
        return figure
    assert shown.result is not None
    if shown.kind == "pulls" and problem is not None:
        figure = Figure(figsize=pulls_size(shown.result, len(problem.means)), layout="constrained")
        # among many arms the bars of the best one would dwarf all others
        best = int(problem.means.argmax()) if len(problem.means) > 3 else None
        draw_pulls(shown.result, problem.structure.arm_names, best, figure.subplots())
    else:
        figure = Figure(figsize=regret_size(shown.result.policies), layout="constrained")
        draw_regret(shown.result, figure.subplots())
    return figure


def _structure_size(structure: Structure) -> tuple[float, float]:
    """Return the size of a structure's figure: narrow if it has few arms, so that phones can show it."""
    width, height = figure_size(structure)
    return (min(width, NARROW) if structure.n_arms <= FEW_ARMS else width), height


def numbers(shown: Shown, result: Result) -> pandas.DataFrame:
    """Return what a figure shows, as a table."""
    with needs("A table of numbers", extra="report"):
        import pandas

    if shown.kind == "pulls" and shown.problem is not None:
        names = shown.problem.structure.arm_names
        rows = [
            {"policy": policy, "arm": arm, "mean": mean, "low": low, "high": high}
            for policy, counts in pull_counts(result).items()
            for arm, mean, low, high in zip(
                names, counts.mean, counts.low, counts.high, strict=True
            )
        ]
        return pandas.DataFrame(rows)
    frames = [
        pandas.DataFrame(
            {
                "policy": policy,
                "t": c.t,
                "mean": c.mean,
                "low": c.low,
                "high": c.high,
                "median": c.median,
            }
        )
        for policy, c in regret_curves(result).items()
    ]
    return pandas.concat(frames, ignore_index=True)


def figure_files(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the files of a figure, SVG and PNG."""
    return folder / "figures" / f"{name}.svg", folder / "figures" / f"{name}.png"


def numbers_files(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the files of a figure's numbers, CSV and Parquet."""
    return folder / "numbers" / f"{name}.csv", folder / "numbers" / f"{name}.parquet"


def save_figure(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure as SVG and PNG; return the SVG."""
    svg, png = figure_files(folder, name)
    text = svg_text(figure)
    write_whole(svg, text)
    figure.set_layout_engine("none")  # it is laid out now; doing so again takes a third of the time
    write_figure(figure, png)
    return text


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the file's name ends in."""
    file = io.BytesIO()
    figure.savefig(file, format=path.suffix[1:], dpi=150)
    write_whole(path, file.getvalue())


def save_numbers(frame: pandas.DataFrame, folder: Path, name: str) -> None:
    """Write a table as CSV and Parquet."""
    csv, parquet = numbers_files(folder, name)
    write_whole(csv, frame.to_csv(index=False))
    write_whole(parquet, frame.to_parquet(index=False))


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG with real text, the same text for the same figure."""
    with needs("A figure", extra="report"):
        import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "structured-bandits"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def inline_svg(text: str) -> str:
    """Return an SVG file as a part of a page: it fills its place and takes the page's colours."""
    body = text[text.index("<svg") :]
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'(<path[^>]*style="fill: )#ffffff', r"\1var(--bg)", body)
    return re.sub(r"<[^>]*>", _in_page_colours, body)  # in tags: a name may be "#000000"


def _in_page_colours(tag: re.Match[str]) -> str:
    return tag[0].replace("#000000", "currentColor").replace("#404040", "currentColor")
