"""A finite structure as a heat map of models and arms, the longer of the two downwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.extras import needs
from structured_bandits.plots.labels import name_ticks, plain
from structured_bandits.plots.removals import Removal
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.theory.analysis import Analysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 40  # models, or arms, that are shown
MOST_WITH_NUMBERS = 8  # columns of a map that is wide enough to print its means


def heat_map_size(structure: FiniteStructure) -> tuple[float, float]:
    """Return width and height of the figure, in inches."""
    rows = min(MOST, max(structure.n_models, structure.n_arms))
    return 8.0, 2.4 + 0.3 * max(rows, 6)


def draw_heat_map(
    structure: FiniteStructure, analysis: Analysis, gaps: list[Removal], ax: Axes
) -> None:
    """Draw the models and arms that matter: truth, hardest models, then others as space allows."""
    table = structure.cells.table
    same = np.abs(table - analysis.means).max(axis=1) <= analysis.tolerance
    truth = np.flatnonzero(same).tolist()
    models = _shown([*truth, *(gap.model for gap in gaps)], len(table))
    involved = [analysis.best_arm, *(arm for gap in gaps for arm in (gap.told_by, gap.arm))]
    arms = _shown(involved, structure.n_arms)
    shown = table[np.ix_(models, arms)]
    sideways = len(arms) > len(models)  # arms downwards, models across
    across = len(models) if sideways else len(arms)
    bottom, top = structure.range_of_rewards
    low, high = min(bottom, float(shown.min())), max(top, float(shown.max()))
    picture = ax.imshow(
        shown.T if sideways else shown, aspect="auto", cmap="Blues", vmin=low, vmax=high
    )
    ax.figure.colorbar(picture, ax=ax, label="mean reward")
    words = _words(structure, models, arms, shown, across <= MOST_WITH_NUMBERS)
    for true in np.flatnonzero(np.isin(models, truth)).tolist():
        _frame(ax, true - 0.5, -0.5, 1.0, len(arms), "C3", sideways)
    for gap in gaps:
        model, arm = _place(models, gap.model), _place(arms, gap.told_by)
        if model is not None and arm is not None:
            _frame(ax, model - 0.46, arm - 0.46, 0.92, 0.92, "C1", sideways)
            if across <= MOST_WITH_NUMBERS:
                name = "" if gap.arm == gap.told_by else plain(structure.arm_names[gap.arm], 9)
                words[model][arm] += f"\ngap {gap.gap:.3g} {name and 'for ' + name}".rstrip()
    for model, texts in enumerate(words):
        for arm, text in enumerate(texts):
            colour = "white" if shown[model, arm] > 0.5 * (low + high) else "#111111"
            x, y = (model, arm) if sideways else (arm, model)
            ax.text(x, y, text, ha="center", va="center", fontsize=7, color=colour)
    _label(structure, models, arms, sideways, ax)


def _shown(first: list[int], count: int) -> Ints:
    """Return which of `count` models or arms to show, in order: the important ones, then others."""
    chosen = list(dict.fromkeys([*first, *range(min(count, MOST))]))[:MOST]
    return np.array(sorted(chosen), dtype=np.int64)


def _place(shown: Ints, wanted: int) -> int | None:
    place = int(np.searchsorted(shown, wanted))
    return place if place < len(shown) and shown[place] == wanted else None


def _words(
    structure: FiniteStructure, models: Ints, arms: Ints, shown: Floats, numbers: bool
) -> list[list[str]]:
    """Return the text of each cell: its mean, if there is space, and a star for the best arm."""
    best = structure.cells.best[models]
    return [
        [
            (f"{mean:.3g}" if numbers else "") + ("★" if arm == best[row] else "")
            for arm, mean in zip(arms, shown[row], strict=True)
        ]
        for row in range(len(models))
    ]


def _frame(
    ax: Axes, model: float, arm: float, models: float, arms: float, colour: str, sideways: bool
) -> None:
    with needs("A figure", extra="report"):
        from matplotlib.patches import Rectangle

    corner = (model, arm) if sideways else (arm, model)
    width, height = (models, arms) if sideways else (arms, models)
    ax.add_patch(Rectangle(corner, width, height, fill=False, ec=colour, lw=2.0, zorder=3))


def _label(structure: FiniteStructure, models: Ints, arms: Ints, sideways: bool, ax: Axes) -> None:
    of_arms = [plain(structure.arm_names[arm]) for arm in arms]
    of_models = [plain(structure.model_names[model]) for model in models]
    across, down = (of_models, of_arms) if sideways else (of_arms, of_models)
    name_ticks(ax, range(len(across)), across)
    ax.set_yticks(range(len(down)), down)
    left_out = structure.n_models - len(models), structure.n_arms - len(arms)
    more = f" ({left_out[0]} models and {left_out[1]} arms not shown)" if any(left_out) else ""
    ax.set_xlabel(("model" if sideways else "arm") + more)
    ax.set_ylabel("arm" if sideways else "model")
    ax.set_title(
        "★ best arm · red: true model · orange: the gap that removes an arm (this one, if not named)",
        fontsize=9,
    )
