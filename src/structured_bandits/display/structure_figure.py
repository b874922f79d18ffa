"""A picture of a structure and its truth.

Curves are drawn as they are, finite structures as a heat map, polytopes and boxes by the ranges of their
means. All mark the true model and, for each arm, the gap by which it is removed: on the hardest model in
which it is best, the arm that differs most from the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.display import styles
from structured_bandits.display.axes import fresh_axes, lay_out
from structured_bandits.display.curve_figure import curves_size, draw_curves
from structured_bandits.display.heat_map import draw_heat_map, heat_map_size
from structured_bandits.display.labels import all_named, legend_label, name_ticks, named
from structured_bandits.display.legends import legend_below
from structured_bandits.display.removals import Removal, removals
from structured_bandits.display.styles import SCREEN
from structured_bandits.structures.base import Structure
from structured_bandits.structures.boxes.structure import BoxStructure
from structured_bandits.structures.curves.structure import CurveStructure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure
from structured_bandits.theory.analysis import Analysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    legend_below(ax, _note(len(gaps)))


def _note(others: int) -> str:
    """Explain the lines of the hardest models."""
    if not others:
        return ""
    few = f" (the {MOST_MODELS} nearest)" if others > MOST_MODELS else ""
    return (
        f"Broken lines: for each other arm the model nearest to the truth in which it is best{few}; "
        "pulls must show by how much it is off before the arm is dropped."
    )
