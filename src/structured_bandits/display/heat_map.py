"""A finite structure as a heat map of models and arms, the longer of the two downwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.extras import needs
from structured_bandits.display import styles
from structured_bandits.display.axes import lay_out
from structured_bandits.display.labels import all_named, name_ticks, named, text_size
from structured_bandits.display.legends import legend_below
from structured_bandits.display.styles import SCREEN
from structured_bandits.display.verdicts import Removal
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.theory.analysis import Analysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

MOST = 40  # models, or arms, that are shown
LARGEST, SMALLEST = 9.0, 5.5  # points, of letters in cells: below, they are left out
FILLED = 0.76  # of a cell, by its text at most
MEASURED = 8  # texts, the longest of one and of two lines: the others are narrower
STAR = "★"
Place = tuple[int, int]  # of a cell: model and arm among those that are shown
TRUTH: dict[str, Any] = {"ec": styles.COLOURS[1], "lw": 2.2}
TOLD: dict[str, Any] = {"ec": styles.COLOURS[2], "lw": 1.8, "ls": (0, (4, 1.5))}


def heat_map_size(structure: FiniteStructure) -> tuple[float, float]:
    """Return width and height of the figure, in inches."""
    rows = min(MOST, max(structure.n_models, structure.n_arms))
    return 8.0, 2.6 + 0.3 * max(rows, 6)


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
    picture = _draw_cells(ax, shown.T if sideways else shown)
    _name_axes(structure, models, arms, sideways, ax)
    for true in np.flatnonzero(np.isin(models, truth)).tolist():
        _frame(ax, true - 0.5, -0.5, 1.0, len(arms), sideways, TRUTH)
    told: dict[Place, list[Removal]] = {}
    for gap in gaps:
        model, arm = _place(models, gap.model), _place(arms, gap.told_by)
        if model is not None and arm is not None:
            told.setdefault((model, arm), []).append(gap)
    for model, arm in told:
        _frame(ax, model - 0.44, arm - 0.44, 0.88, 0.88, sideways, TOLD)
    _add_legend(ax, structure, gaps, bool(truth))
    drops = {place: _drops(structure, several) for place, several in told.items()}
    _write(ax, picture, shown, structure.cells.best[models], arms, drops, sideways)


def _shown(first: list[int], count: int) -> Ints:
    """Return which of `count` models or arms to show, in order: the important ones, then others."""
    chosen = list(dict.fromkeys([*first, *range(min(count, MOST))]))[:MOST]
    return np.array(sorted(chosen), dtype=np.int64)


def _place(shown: Ints, wanted: int) -> int | None:
    place = int(np.searchsorted(shown, wanted))
    return place if place < len(shown) and shown[place] == wanted else None


def _draw_cells(ax: Axes, shown: Floats) -> AxesImage:
    """Draw the colours, from the lowest mean that is shown to the highest."""
    low, high = float(shown.min()), float(shown.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    picture = ax.imshow(shown, aspect="auto", cmap="Blues", vmin=low, vmax=high)
    ax.figure.colorbar(picture, ax=ax, label="mean reward")
    return picture


def _frame(
    ax: Axes, model: float, arm: float, models: float, arms: float, sideways: bool, look: Any
) -> None:
    with needs("A figure", extra="report"):
        from matplotlib.patches import Rectangle

    corner = (model, arm) if sideways else (arm, model)
    width, height = (models, arms) if sideways else (arms, models)
    halo = {"ec": "white", "lw": look["lw"] + 1.4}  # so that it is seen on every blue
    for each in (halo, look):
        ax.add_patch(Rectangle(corner, width, height, fill=False, zorder=3, **each))


def _drops(structure: FiniteStructure, gaps: list[Removal]) -> tuple[str, str]:
    """Return what stands in the cell that rules arms out, and the same in short."""
    names = ", ".join(named(structure.arm_names, gap.arm, most=12) for gap in gaps)
    short = f"{gaps[0].gap:.3g} off"
    return f"{short}, drops {names}", short


def _write(
    ax: Axes,
    picture: AxesImage,
    shown: Floats,
    best: Ints,
    arms: Ints,
    drops: dict[Place, tuple[str, str]],
    sideways: bool,
) -> None:
    """Write into each cell what fits there: its mean, a star for the best arm, whom it drops."""
    _fit_scale(ax, picture)
    places = [(model, arm) for model in range(len(shown)) for arm in range(len(arms))]
    stars = {place: STAR * bool(arms[place[1]] == best[place[0]]) for place in places}
    means = {place: f"{shown[place]:.3g}{stars[place]}" for place in places}
    with_drops = (
        means | {place: f"{means[place]}\n{words[length]}" for place, words in drops.items()}
        for length in (0, 1)
    )
    for texts in (*with_drops, means, stars):
        font = _font(ax, [*texts.values()], shown.shape, sideways)
        if font:
            break
    else:
        return
    for place, text in texts.items():
        model, arm = place
        if not text:
            continue
        ax.text(
            model if sideways else arm,
            arm if sideways else model,
            text,
            ha="center",
            va="center",
            fontsize=font,
            color=styles.text_on(tuple(picture.to_rgba(shown[place]))),
        )


def _fit_scale(ax: Axes, picture: AxesImage) -> None:
    """Let the scale of colours be as high as the map, also where the legend took a part of it."""
    lay_out(ax)
    assert picture.colorbar is not None
    scale, own = picture.colorbar.ax, ax.get_position()
    if ax.figure.get_layout_engine() is None:
        place = scale.get_position()
        scale.set_aspect("auto")
        scale.set_position((place.x0, own.y0, place.width, own.height))


def _font(ax: Axes, texts: list[str], shape: tuple[int, ...], sideways: bool) -> float:
    """Return the size of letters with which all texts fit into their cells, 0 if it is too small."""
    across, down = shape if sideways else shape[::-1]
    by_length = sorted(set(texts), key=lambda text: (text.count("\n"), len(text)))
    single = [text for text in by_length if "\n" not in text]
    longest = dict.fromkeys([*by_length[-MEASURED:], *single[-MEASURED:]])
    sizes = np.array([text_size(ax, text, LARGEST) for text in longest])
    space = np.array([ax.bbox.width / across, ax.bbox.height / down])
    font = LARGEST * min(1.0, float((FILLED * space / sizes.max(axis=0)).min()))
    return font if font >= SMALLEST else 0.0


def _name_axes(
    structure: FiniteStructure, models: Ints, arms: Ints, sideways: bool, ax: Axes
) -> None:
    of_arms = [all_named(structure.arm_names)[arm] for arm in arms]
    of_models = [all_named(structure.model_names, "model")[model] for model in models]
    across, down = (of_models, of_arms) if sideways else (of_arms, of_models)
    font = SCREEN.font if max(shape := (len(across), len(down))) <= 20 else 0.8 * SCREEN.font
    ax.set_yticks(range(shape[1]), down, fontsize=font)
    left_out = structure.n_models - len(models), structure.n_arms - len(arms)
    few = [
        f"{count} {kind}" for count, kind in zip(left_out, ("models", "arms"), strict=True) if count
    ]
    more = f" ({' and '.join(few)} not shown)" if few else ""
    ax.set_xlabel(("model" if sideways else "arm") + more)
    ax.set_ylabel("arm" if sideways else "model")
    lay_out(ax)
    name_ticks(ax, range(shape[0]), across, font)


def _add_legend(ax: Axes, structure: FiniteStructure, gaps: list[Removal], truth: bool) -> None:
    """Explain star and frames."""
    with needs("A figure", extra="report"):
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

    star = Line2D([], [], ls="", marker="*", color=styles.ink())
    entries: list[tuple[Any, str]] = [(star, "best arm of the model")]
    if truth:
        entries.append((Patch(fill=False, **TRUTH), "true model"))
    if gaps:
        entries.append((Patch(fill=False, **TOLD), "mean that rules an arm out"))
    legend_below(
        ax, _note(structure, gaps), SCREEN, ([e[0] for e in entries], [e[1] for e in entries])
    )


def _note(structure: FiniteStructure, gaps: list[Removal]) -> str:
    """Explain the frames of means that rule an arm out, by the first of them."""
    if not gaps:
        return ""
    gap = gaps[0]
    told_by = named(structure.arm_names, gap.told_by)
    model = named(structure.model_names, gap.model, "model")
    return (
        f"For example: once pulls of {told_by} rule out {model}, which is off by {gap.gap:.3g} there, "
        f"{'this arm' if gap.arm == gap.told_by else named(structure.arm_names, gap.arm)} is dropped."
    )
