"""The explorer as one file: the panels of all truths, no server and no script.

A click on a model leads to its section, and only the section that was led to is shown (`:target`).
Without a server nothing new is computed, so there is one horizon, and means are moved by fixed steps.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, NamedTuple

from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import number
from structured_bandits.display.page import GENERATOR
from structured_bandits.errors import ParameterError
from structured_bandits.service.ui.explorer.choice import Choice, mean_limits, mean_span
from structured_bandits.service.ui.explorer.explorer import Explorer, about_text, notices
from structured_bandits.service.ui.explorer.models import means_of, spelt
from structured_bandits.service.ui.explorer.panels import alarm_text, draw
from structured_bandits.service.ui.explorer.view import View, filled
from structured_bandits.service.ui.explorer.what_if import what_if
from structured_bandits.service.ui.rendering import PACKAGE
from structured_bandits.structures.base import Structure

with needs("The service", extra="serve"):
    from markupsafe import Markup

MOST_TRUTHS = 200
MOST_RIVALS = 12  # models that a truth is compared with
COMPARED = 2_000  # rows of all comparisons, about: they are the largest part of the file
MOST_SHIFTS = 500  # means of all truths that are moved; beyond that it takes too long
SHIFT = 0.1  # of what is drawn of the means: how far one is moved


class FileLinks:
    """Links inside the file: to the section of a model that has one."""

    def __init__(self, anchors: dict[Any, str]) -> None:
        self._anchors = anchors

    def truth(self, model: Any) -> str | None:
        """Return the place of a model's section."""
        anchor = self._anchors.get(model)
        return None if anchor is None else f"#{anchor}"

    def other(self, model: Any) -> str | None:
        """Return the place of a model's section: the comparison is in the file already."""
        return self.truth(model)

    def rows(self, first: int) -> None:
        """Return nothing: all models are on one page."""


class Shift(NamedTuple):
    """A mean that was moved, and what follows."""

    label: str
    mean: str
    nearest: str
    off: str
    believed: str
    deceived: bool
    in_turn: str | None


def whole_file(structure: Structure, title: str, horizon: int) -> str:
    """Return the file for all models of a table, or for those that are listed of other structures."""
    explorer = Explorer(structure)
    models = explorer.listed.models
    if len(models) > MOST_TRUTHS:
        raise ParameterError(
            f"--html: the table has {len(models):,} models; a file holds at most {MOST_TRUTHS}. "
            "Without --html the page is served, and has no such limit"
        )
    anchors = {model: f"model-{place}" for place, model in enumerate(models)}
    links = FileLinks(anchors)
    views = [View(explorer, Choice(m, _another(models, m), horizon), links) for m in models]
    per_truth = structure.kind == "curves"  # its chart shows where the truth is
    rivals = max(1, min(MOST_RIVALS, COMPARED // (len(models) * structure.n_arms)))
    few = len(models) * structure.n_arms <= MOST_SHIFTS
    return filled(
        "file.html",
        generator=Markup(GENERATOR),
        title=title,
        style=Markup("\n".join(map(_static, ("style.css", "explorer.css")))),
        marks=Markup(_marks([spelt(structure, model) for model in models])),
        about=about_text(structure),
        notices=notices(structure),
        horizon=f"{horizon:,}",
        map=None if per_truth else draw("map", _nothing_chosen(views[0])),
        choice=explorer.listed.choice,
        sections=[
            {
                "anchor": anchors[view.choice.truth],
                "name": view.name(view.choice.truth),
                "map": draw("map", view) if per_truth else None,
                "panels": {name: draw(name, view) for name in ("truth", "timeline", "bounds")},
                "apart": _comparisons(view, rivals),
                "shifts": _shifts(view) if few else None,
            }
            for view in views
        ],
    )


def _another(models: Any, model: Any) -> Any:
    return next((other for other in models if other != model), model)


def _nothing_chosen(view: View) -> View:
    """Return a view whose map marks no model: the style sheet marks the one that is shown."""
    return view._replace(choice=view.choice._replace(truth=None, other=None, first=0))


def _comparisons(view: View, most: int) -> list[tuple[str, Markup]]:
    """Return the truth beside the models that are hardest to tell from it, the hardest first."""
    analysis = view.explorer.analysis(view.choice.truth)
    hardest = sorted(
        (analysis.hardest(arm) for arm in analysis.other_arms), key=lambda near: near.gap
    )
    found = [near.model for near in hardest if near.model is not None]
    found += view.explorer.listed.models[: most + 1]
    others = [model for model in dict.fromkeys(found) if model != view.choice.truth][:most]
    return [
        (view.name(other), draw("apart", view._replace(choice=view.choice._replace(other=other))))
        for other in others
    ]


def _shifts(view: View) -> list[Shift]:
    """Return what follows if each mean in turn is lower or higher by a step."""
    low, high = mean_limits(view.structure)
    span = mean_span(view.structure)
    step = SHIFT * (span[1] - span[0])
    truth = means_of(view.structure, view.choice.truth)
    rows = []
    for arm in range(view.structure.n_arms):
        for mean in (float(truth[arm]) - step, float(truth[arm]) + step):
            if low <= mean <= high:
                rows.append(_shift(view, arm, mean, truth))
    return rows


def _shift(view: View, arm: int, mean: float, truth: Any) -> Shift:
    means = truth.copy()
    means[arm] = mean
    found = what_if(view.structure, view.explorer.test, means, arm)
    model = found.nearest.model
    return Shift(
        view.labels[arm],
        number(mean, 3),
        "none" if model is None else view.name(model),
        number(found.nearest.gap, 3),
        view.labels[found.believed],
        found.loss > 0.0,
        alarm_text(None if found.alarm is None else found.alarm.in_turn),
    )


def _marks(keys: list[str]) -> str:
    """Return the rules that mark the model that is shown in the map, the first one to begin with."""
    look = "{ border-left-color: var(--c2); font-weight: 650; }"
    rules = [f'main:not(:has(.case:target)) [data-model="{keys[0]}"] > th {look}']
    rules += [
        f'main:has(#model-{place}:target) [data-model="{key}"] > th {look}'
        for place, key in enumerate(keys)
    ]
    return "\n".join(rules)


def _static(name: str) -> str:
    return files(PACKAGE).joinpath("static", name).read_text(encoding="utf-8")
