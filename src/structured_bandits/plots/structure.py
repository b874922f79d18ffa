"""A picture of a structure and its truth.

Curves are drawn as they are, finite structures as a heat map, polytopes and boxes by the ranges of their
means. All mark the true model and, for each arm, the gap by which it is removed: on the hardest model in
which it is best, the arm that differs most from the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structured_bandits.plots.axes import fresh_axes
from structured_bandits.plots.curves import curves_size, draw_curves
from structured_bandits.plots.heat_map import draw_heat_map, heat_map_size
from structured_bandits.plots.mean_ranges import draw_mean_ranges
from structured_bandits.plots.removals import removals
from structured_bandits.structures.base import Structure
from structured_bandits.structures.boxes.structure import BoxStructure
from structured_bandits.structures.curves.structure import CurveStructure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure
from structured_bandits.theory.analysis import Analysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
