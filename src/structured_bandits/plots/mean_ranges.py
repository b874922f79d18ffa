"""Polytopes or boxes as the range of each arm's mean, the truth and the hardest models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.plots.labels import legend_below, legend_label, name_ticks, plain
from structured_bandits.plots.removals import Removal
from structured_bandits.structures.boxes.structure import BoxStructure
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure
from structured_bandits.theory.analysis import Analysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_MODELS = 6  # hardest models that are drawn: those of the smallest gaps


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
    ax.bar(arms, high - low, bottom=low, width=0.7, color="0.5", alpha=0.15, label="possible means")
    for removal in sorted(gaps, key=lambda gap: gap.gap)[:MOST_MODELS]:
        name = plain(structure.arm_names[removal.arm])
        ax.plot(
            arms,
            structure.means(removal.model),
            color=f"C{removal.arm % 10}",
            lw=1.2,
            ls="--",
            marker="o",
            ms=3,
            label=legend_label(f"{name}: gap {removal.gap:.3g}"),
        )
    ax.plot(arms, analysis.means, color="0.1", lw=1.8, marker="o", ms=5, label="truth", zorder=3)
    shown = arms if structure.n_arms <= 30 else arms[:: -(-structure.n_arms // 20)]
    name_ticks(ax, shown, [plain(structure.arm_names[arm], 12) for arm in shown])
    ax.set_xlabel("arm")
    ax.set_ylabel("mean reward")
    legend_below(ax, "dashed: the hardest model in which an arm is best")
