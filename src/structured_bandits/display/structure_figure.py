"""A picture of a structure and its truth.

Curves are drawn as they are, finite structures as a heat map, polytopes and boxes by the ranges of
their means. All mark the true model and, for each arm, the gap by which it is removed: on the hardest
model in which it is best, the arm that differs most from the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.base.extras import needs
from structured_bandits.display import styles
from structured_bandits.display.axes import fresh_axes, lay_out
from structured_bandits.display.heat_map import draw_heat_map, heat_map_size
from structured_bandits.display.labels import (
    all_named,
    apart,
    label_line_ends,
    legend_label,
    name_ticks,
    named,
    text_size,
)
from structured_bandits.display.legends import legend_below, legend_height
from structured_bandits.display.styles import SCREEN
from structured_bandits.display.verdicts import Removal, removals
from structured_bandits.structures.base import Structure
from structured_bandits.structures.boxes.structure import BoxStructure
from structured_bandits.structures.curves.structure import CurveStructure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure
from structured_bandits.theory.analysis import Analysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


MOST_MODELS = 6  # hardest models that are drawn: those of the smallest gaps
MARKS = "osD^vP"


def figure_size(structure: Structure) -> tuple[float, float]:
    """Return width and height of a figure of the structure, in inches."""
    if isinstance(structure, FiniteStructure):
        return heat_map_size(structure)
    return curves_size(structure) if isinstance(structure, CurveStructure) else (8.0, 4.8)


def draw_structure(
    analysis: Analysis,
    horizon: int,
    beta: float = 1.0,
    ax: Axes | None = None,
    largest_gap: float | None = None,
) -> Axes:
    """Draw the structure, its truth and, for each other arm, what rules it out.

    `horizon`, `beta` and `largest_gap` are those of SAE, whose pulls decide which arms can tell models
    apart until an arm is dropped (`Analysis.elimination`).
    """
    structure = analysis.structure
    if ax is None:
        ax = fresh_axes(figure_size(structure))
    gaps = removals(analysis, horizon, beta, largest_gap)
    if isinstance(structure, CurveStructure):
        draw_curves(structure, analysis, gaps, ax)
    elif isinstance(structure, FiniteStructure):
        draw_heat_map(structure, analysis, gaps, ax)
    elif isinstance(structure, (PolyhedralStructure, BoxStructure)):
        draw_mean_ranges(structure, analysis, gaps, ax)
    else:
        raise TypeError(f"no picture of {structure!r}")
    return ax


def draw_mean_ranges(
    structure: PolyhedralStructure | BoxStructure,
    analysis: Analysis,
    gaps: list[Removal],
    ax: Axes,
) -> None:
    """Draw a bar for what each mean can be, the truth, and for other arms their hardest models."""
    arms = np.arange(structure.n_arms)
    low, high = structure.mean_ranges.T
    spread = max(float(np.ptp(analysis.means)), 0.1)  # by which bars without an end go on
    low = np.where(np.isfinite(low), low, analysis.means.min() - spread)
    high = np.where(np.isfinite(high), high, analysis.means.max() + spread)
    ax.bar(arms, high - low, bottom=low, width=0.7, color="0.5", alpha=0.25, label="possible means")
    ink = styles.ink()
    ms = 4 if structure.n_arms <= 30 else 0
    ax.plot(arms, analysis.means, color=ink, lw=2.0, marker="o", ms=1.2 * ms, label="truth")
    for number, removal in enumerate(sorted(gaps, key=lambda gap: gap.gap)[:MOST_MODELS]):
        ax.plot(
            arms,
            structure.means(removal.model),
            lw=1.3,
            marker=MARKS[number],
            ms=ms,
            label=legend_label(
                f"{named(structure.arm_names, removal.arm)} best: {removal.gap:.3g} off"
            ),
            color=styles.colour(number),
            ls=styles.LINES[1:][number % 4],
        )
    ax.set_xlabel("arm")
    ax.set_ylabel("mean reward")
    lay_out(ax)
    name_ticks(ax, range(len(arms)), all_named(structure.arm_names, most=18), SCREEN.font)
    legend_below(ax, _table_note(len(gaps)))


def _table_note(others: int) -> str:
    """Explain the lines of the hardest models."""
    if not others:
        return ""
    few = f" (the {MOST_MODELS} nearest)" if others > MOST_MODELS else ""
    return (
        f"Broken lines: for each other arm the model nearest to the truth in which it is best{few}; "
        "pulls must show by how much it is off before the arm is dropped."
    )


MOST_GAPS = 6  # that are drawn: the smallest, which take longest to show
SHADE = 0.12
WORDS = 8.0  # points, of what stands at arrows
WIDEST = 0.45  # of the axes, for these words


def curves_size(structure: CurveStructure) -> tuple[float, float]:
    """Return width and height of the figure, in inches."""
    return 8.0, 4.8 + max(0.0, legend_height(all_named(structure.arm_names), 8.0) - 0.5)


def draw_curves(
    structure: CurveStructure, analysis: Analysis, gaps: list[Removal], ax: Axes
) -> None:
    """Draw the arms' means, the truth, and for other arms by how much their hardest model is off."""
    cells = structure.cells
    for cell, arm in enumerate(cells.best):
        shade = styles.colour(int(arm))
        ax.axvspan(cells.start[cell], cells.end[cell], color=shade, alpha=SHADE, lw=0)
    lines = [_draw_arm(structure, arm, ax) for arm in range(structure.n_arms)]
    truth = analysis.truth if isinstance(analysis.truth, (int, float)) else None
    if truth is not None:
        ax.axvline(truth, color=styles.ink(), lw=1.0)
        ax.plot([truth] * structure.n_arms, analysis.means, "o", color=styles.ink(), ms=4)
    drawn = sorted(gaps, key=lambda gap: gap.gap)[:MOST_GAPS]
    arrows = [_draw_gap(structure, analysis, removal, ax) for removal in drawn]
    ax.set_xlabel("parameter")
    ax.set_ylabel("mean reward")
    ax.margins(x=0.0)
    labels = all_named(structure.arm_names)
    note = _curve_note(structure, truth is not None, drawn, len(gaps))
    legend_below(ax, note, SCREEN, ([], []))
    if not label_line_ends(ax, lines, labels, SCREEN):
        legend_below(ax, note, SCREEN, (lines, list(map(legend_label, labels))))
    _write_gaps(structure, drawn, arrows, ax)


def _draw_arm(structure: CurveStructure, arm: int, ax: Axes) -> Line2D:
    """Draw the pieces of an arm's mean; return the line of the last one."""
    for piece in structure.pieces:
        (line,) = ax.plot(
            [piece.start, piece.end],
            [piece.at_start[arm], piece.at_end[arm]],
            marker="o" if piece.is_point else None,
            lw=SCREEN.line,
            **styles.line(arm),
        )
    return line


def _curve_note(structure: CurveStructure, known: bool, drawn: list[Removal], gaps: int) -> str:
    """Explain shades, truth and arrows."""
    words = ["Shaded in the colour of the arm that is best there."]
    if known:
        words.append("Vertical line: the true model.")
    if drawn:
        first = min(drawn, key=lambda gap: gap.arm)
        name, told_by = (named(structure.arm_names, arm) for arm in (first.arm, first.told_by))
        few = f" (the {MOST_GAPS} shortest of {gaps})" if gaps > len(drawn) else ""
        words.append(
            f"Arrows{few}: by how much the nearest model with another best arm is off. Once pulls of "
            f"{told_by} have shown a difference of {first.gap:.3g}, {name} is dropped."
        )
    return " ".join(words)


def _draw_gap(structure: CurveStructure, analysis: Analysis, removal: Removal, ax: Axes) -> float:
    """Draw an arrow from the true mean, carried over to the hardest model; return its middle."""
    truth, colour = analysis.means[removal.told_by], styles.colour(removal.told_by)
    reached = truth + _signed(structure, removal, truth)
    style = {"arrowstyle": "<->", "color": colour, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (removal.model, reached), (removal.model, truth), arrowprops=style)
    if isinstance(analysis.truth, (int, float)):
        ax.plot(
            [analysis.truth, removal.model], [truth, truth], color=colour, lw=0.7, ls=(0, (1, 3))
        )
    return float(0.5 * (truth + reached))


def _write_gaps(
    structure: CurveStructure, drawn: list[Removal], middles: list[float], ax: Axes
) -> None:
    """Write at each arrow how long it is and which arm it drops, without one text over another."""
    if not drawn:
        return
    with needs("A figure", extra="report"):
        import matplotlib

    lay_out(ax)
    texts = [f"{gap.gap:.3g} off, drops {named(structure.arm_names, gap.arm)}" for gap in drawn]
    sizes = [text_size(ax, text, WORDS) for text in texts]
    if max(width for width, _ in sizes) > WIDEST * ax.bbox.width:
        texts = [f"{gap.gap:.3g}" for gap in drawn]
    height = 1.3 * max(height for _, height in sizes)
    ends = [(gap.model, middle) for gap, middle in zip(drawn, middles, strict=True)]
    places = ax.transData.transform(ends)
    moved = apart(places[:, 1], height, ax.bbox.y0 + height, ax.bbox.y1 - height)
    ups = places[:, 1] if moved is None else moved
    for text, end, place, up in zip(texts, ends, places, ups, strict=True):
        beyond = place[0] > 0.5 * (ax.bbox.x0 + ax.bbox.x1)  # on the side with more space
        ax.annotate(
            text,
            end,
            xytext=(-4 if beyond else 4, (up - place[1]) * 72 / ax.figure.dpi),
            textcoords="offset points",
            ha="right" if beyond else "left",
            va="center",
            fontsize=WORDS,
            bbox={
                "boxstyle": "round,pad=0.15",
                "fc": matplotlib.rcParams["axes.facecolor"],
                "ec": "none",
                "alpha": 0.8,
            },
        )


def _signed(structure: CurveStructure, removal: Removal, truth: float) -> float:
    """Return the gap with its sign; at an open end the model itself may not exist, but its side does."""
    for piece in structure.pieces:
        if piece.start <= removal.model <= piece.end:
            width = piece.end - piece.start
            x = (removal.model - piece.start) / width if width > 0.0 else 0.0
            first, last = piece.at_start[removal.told_by], piece.at_end[removal.told_by]
            difference = first + x * (last - first) - truth
            if np.isclose(abs(difference), removal.gap):
                return float(difference)
    return removal.gap
