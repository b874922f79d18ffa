"""The map: all models at a glance, as a heat map or as curves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.text_tables import number
from structured_bandits.service.explorer import charts
from structured_bandits.service.explorer.choice import Choice
from structured_bandits.service.explorer.models import means_of, spelt
from structured_bandits.service.explorer.view import View
from structured_bandits.service.scale import Scale
from structured_bandits.structures.curves.structure import CurveStructure

MOST_ROWS = 200  # models of a page of the map
MOST_ARMS = 60  # columns of the map
SHADES = 10


class Cell(NamedTuple):
    """A mean of the map."""

    text: str
    shade: int
    best: bool


class Row(NamedTuple):
    """A model of the map."""

    key: str
    name: str
    href: str | None
    role: str  # "truth", "other" or ""
    cells: list[Cell]


def map_panel(view: View) -> dict[str, Any]:
    """Return the heat map of the models, or the curves."""
    context: dict[str, Any] = {"labels": view.labels, "choice": view.explorer.listed.choice}
    if isinstance(view.structure, CurveStructure):
        hrefs = [view.links.truth(model) or "#" for model in view.explorer.listed.models]
        drawing = charts.curves(view.structure, view.choice.truth, view.choice.other, hrefs)
        swatches = [charts.swatch(arm) for arm in range(view.structure.n_arms)]
        return {**context, "curves": drawing, "legend": [*zip(swatches, view.labels, strict=True)]}
    models = view.explorer.listed.models
    first = _first_row(view.choice, models)
    shown = [*models[first : first + MOST_ROWS]]
    arms = min(view.structure.n_arms, MOST_ARMS)
    table = np.array([means_of(view.structure, model)[:arms] for model in shown])
    low, high = _spread(view.structure, table)
    rows = [_row(view, model, means, low, high) for model, means in zip(shown, table, strict=True)]
    return {
        **context,
        "curves": None,
        "labels": view.labels[:arms],
        "more_arms": view.structure.n_arms - arms,
        "rows": rows,
        "first": first,
        "last": first + len(shown) - 1,
        "count": len(models),
        "before": view.links.rows(max(0, first - MOST_ROWS)) if first else None,
        "after": view.links.rows(first + MOST_ROWS) if first + MOST_ROWS < len(models) else None,
    }


def _first_row(choice: Choice, models: Any) -> int:
    """Return the first model to show: as asked, or that of the page on which the truth is."""
    wanted = choice.first
    if wanted is None:
        wanted = choice.truth if isinstance(choice.truth, int) else 0
        wanted -= wanted % MOST_ROWS
    return min(wanted, max(0, len(models) - 1))


def _spread(structure: Any, table: Any) -> tuple[float, float]:
    """Return the means of the lightest and the darkest cell: the same on all pages of a table."""
    means = structure.cells.table if structure.kind == "finite" else table
    return float(means.min()), float(means.max())


def _row(view: View, model: Any, means: Any, low: float, high: float) -> Row:
    best = means_of(view.structure, model).argmax()
    shades = (Scale(low, high).part(float(mean)) for mean in means)
    cells = [
        Cell(number(float(mean), 3), min(SHADES - 1, int(SHADES * shade)), arm == best)
        for arm, (mean, shade) in enumerate(zip(means, shades, strict=True))
    ]
    roles = {view.choice.other: "other", view.choice.truth: "truth"}
    return Row(
        spelt(view.structure, model),
        view.name(model),
        view.links.truth(model),
        roles.get(model, ""),
        cells,
    )
