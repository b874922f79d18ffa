"""A picture of a structure and its truth.

Curves are drawn as they are, finite structures as a heat map, polytopes and boxes by the ranges of their
means. All mark the true model and, for each arm, the gap by which it is removed: on the hardest model in
which it is best, the arm that differs most from the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.plots.axes import fresh_axes
from structured_bandits.plots.heat_map import draw_heat_map, heat_map_size
from structured_bandits.plots.labels import plain
from structured_bandits.plots.mean_ranges import draw_mean_ranges
from structured_bandits.plots.removals import Removal, removals
from structured_bandits.structures.base import Structure
from structured_bandits.structures.boxes.structure import BoxStructure
from structured_bandits.structures.curves.structure import CurveStructure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure
from structured_bandits.theory.analysis import Analysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("-", "--", ":", "-.")


def figure_size(structure: Structure) -> tuple[float, float]:
    """Return width and height of a figure of the structure, in inches."""
    return heat_map_size(structure) if isinstance(structure, FiniteStructure) else (8.0, 4.8)


def draw_structure(
    analysis: Analysis,
    horizon: int,
    beta: float = 1.0,
    ax: Axes | None = None,
    largest_gap: float | None = None,
) -> Axes:
    """Draw the structure, its truth and the gaps that remove the arms."""
    structure = analysis.structure
    if ax is None:
        ax = fresh_axes(figure_size(structure))
    gaps = removals(analysis, horizon, beta, largest_gap)
    if isinstance(structure, CurveStructure):
        _draw_curves(structure, analysis, gaps, ax)
    elif isinstance(structure, FiniteStructure):
        draw_heat_map(structure, analysis, gaps, ax)
    elif isinstance(structure, (PolyhedralStructure, BoxStructure)):
        draw_mean_ranges(structure, analysis, gaps, ax)
    else:
        raise TypeError(f"no picture of {structure!r}")
    return ax


def _draw_curves(
    structure: CurveStructure, analysis: Analysis, gaps: list[Removal], ax: Axes
) -> None:
    cells = structure.cells
    for cell, arm in enumerate(cells.best):
        ax.axvspan(cells.start[cell], cells.end[cell], color=f"C{arm % 10}", alpha=0.08, lw=0)
    for arm, name in enumerate(structure.arm_labels):
        style = {"color": f"C{arm % 10}", "ls": STYLES[arm % len(STYLES)], "lw": 1.8}
        for number, piece in enumerate(structure.pieces):
            label = plain(name) if number == 0 else None
            marker = "o" if piece.is_point else None
            ends = [piece.at_start[arm], piece.at_end[arm]]
            ax.plot([piece.start, piece.end], ends, label=label, marker=marker, **style)  # type: ignore[arg-type]
    if isinstance(analysis.truth, (int, float)):
        ax.axvline(float(analysis.truth), color="0.25", lw=1.0, label="true model")
        ax.plot([analysis.truth] * structure.n_arms, analysis.means, "o", color="0.25", ms=4)
    for removal in gaps:
        _draw_gap(structure, analysis, removal, ax)
    ax.set_xlabel("parameter")
    ax.set_ylabel("mean reward")
    ax.margins(x=0.01)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, title="shaded: best arm")


def _draw_gap(structure: CurveStructure, analysis: Analysis, removal: Removal, ax: Axes) -> None:
    """Draw an arrow from the true mean, carried over to the hardest model, to the mean there."""
    truth, colour = analysis.means[removal.told_by], f"C{removal.told_by % 10}"
    reached = truth + _signed(structure, removal, truth)
    style = {"arrowstyle": "<->", "color": colour, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (removal.model, reached), (removal.model, truth), arrowprops=style)
    if isinstance(analysis.truth, (int, float)):
        ax.plot(
            [analysis.truth, removal.model], [truth, truth], color=colour, lw=0.7, ls=(0, (1, 3))
        )
    ax.annotate(
        f"{removal.gap:.3g} removes {plain(structure.arm_names[removal.arm])}",
        (removal.model, 0.5 * (truth + reached)),
        xytext=(4, 0),
        textcoords="offset points",
        fontsize=8,
        bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8},
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
