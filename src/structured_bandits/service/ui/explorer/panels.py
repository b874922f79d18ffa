"""The panels of the page: what each shows, as a record for its template.

A panel that the library cannot fill (a package is missing, or the truth is no model) says why instead;
the others are not touched by that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import bound_text, few, number
from structured_bandits.display.analysis_report import lower_text, regret_text
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service.experiment.spec import LEVEL
from structured_bandits.service.ui.explorer import charts
from structured_bandits.service.ui.explorer.apart import ODDS
from structured_bandits.service.ui.explorer.choice import mean_span
from structured_bandits.service.ui.explorer.model_map import map_panel
from structured_bandits.service.ui.explorer.models import means_of
from structured_bandits.service.ui.explorer.view import View, filled
from structured_bandits.service.ui.explorer.what_if import MOST_PULLS
from structured_bandits.service.ui.scale import Scale
from structured_bandits.structures.base import labels_of

with needs("The service", extra="serve"):
    from markupsafe import Markup

MOST_TELLING = 40  # arms that are listed by what they tell
PHASES = 12  # that are named
VACUOUS = "vacuous"  # as `bound_text` says it


# --- the truth: what follows from it ---------------------------------------------------------------


def truth_panel(view: View) -> dict[str, Any]:
    """Return what follows if this model is true."""
    analysis = view.explorer.analysis(view.choice.truth)
    rivals = [analysis.hardest(arm) for arm in analysis.other_arms]
    nearest = min(rivals, key=lambda near: near.gap, default=None)
    others = np.delete(analysis.gaps, analysis.best_arm)
    model = None if nearest is None else nearest.model
    return {
        "name": view.name(view.choice.truth),
        "inside": analysis.inside,
        "best": view.labels[analysis.best_arm],
        "mean": number(float(analysis.means[analysis.best_arm])),
        "lead": number(float(others.min())) if len(others) else None,
        "rival": None if model is None else view.name(model),
        "rival_href": None if model is None else view.links.other(model),
        "rival_gap": None if nearest is None else number(nearest.gap),
        "told_by": None if model is None else view.labels[nearest.told_by],  # type: ignore
        "can_stop": analysis.constant_regret_possible,
        "decoys": few([view.labels[arm] for arm in analysis.decoys], 5),
    }


# --- the timeline: how long SAE plays each arm -----------------------------------------------------


def timeline_panel(view: View) -> dict[str, Any]:
    """Return how long SAE plays each arm, and who helps to drop it."""
    found = view.explorer.timeline(view.choice)
    ticks = [phase.ends_at for phase in found.phases]
    scale = Scale(1.0, float(found.horizon), logarithmic=True)
    best = view.explorer.analysis(view.choice.truth).best_arm
    lives = []
    for life in found.lives:
        hard = life.hardest
        model = None if hard is None else hard.model
        lives.append(
            {
                "label": view.labels[life.arm],
                "bar": charts.life_bar(scale, life.dropped_at, ticks, life.arm == best),
                "dropped": life.dropped_at <= found.horizon,
                "never": math.isinf(life.dropped_at),
                "at": f"{life.dropped_at:,}",
                "phase": life.last_phase,
                "pulls": f"{life.own_pulls:,}",
                "best": life.arm == best,
                "helpers": few([view.labels[arm] for arm in life.helpers if arm != life.arm], 3),
                "model": None if model is None else view.name(model),
                "href": None if model is None else view.links.other(model),
                "gap": None if hard is None else number(hard.gap),
                "told_by": None if model is None else view.labels[hard.told_by],  # type: ignore
            }
        )
    return {
        "horizon": f"{found.horizon:,}",
        "lives": lives,
        "phases": [
            (phase.number, number(phase.detects, 3), f"{phase.each:,}", f"{phase.ends_at:,}")
            for phase in found.phases[:PHASES]
        ],
        "never_played": few([view.labels[arm] for arm in found.never_played]),
    }


# --- two models apart ------------------------------------------------------------------------------


def apart_panel(view: View) -> dict[str, Any]:
    """Return which arm tells the truth from another model."""
    found = view.explorer.apart(view.choice)
    scale = Scale(*mean_span(view.structure))
    arms = [
        {
            "label": view.labels[each.arm],
            "chart": charts.two_means(scale, each.one, each.other),
            "one": number(each.one),
            "other": number(each.other),
            "gap": number(each.gap),
            "information": "∞" if math.isinf(each.information) else number(each.information, 3),
            "pulls": pulls_text(each.pulls),
            "certain": math.isinf(each.information),
        }
        for each in found[:MOST_TELLING]
    ]
    return {
        "one": view.name(view.choice.truth),
        "other": view.name(view.choice.other),
        "same": all(each.gap == 0.0 for each in found),
        "arms": arms,
        "more": len(found) - len(arms),
        "odds": f"{ODDS:g}",
        "ends": (number(scale.low, 3), number(scale.high, 3)),
    }


def pulls_text(pulls: float) -> str:
    """Return a number of pulls that is told roughly: two digits, and no pulls are one."""
    if math.isinf(pulls):
        return "never"
    whole = max(1, math.ceil(pulls))
    return f"{round(whole, 2 - len(str(whole))):,}"


# --- a mean is moved -------------------------------------------------------------------------------


def moved_panel(view: View) -> dict[str, Any]:
    """Return what follows if an arm has another mean than the truth says."""
    found = view.explorer.moved(view.choice)
    truth = means_of(view.structure, view.choice.truth)
    scale = Scale(*mean_span(view.structure, found.means[view.choice.moved]))
    ranges = getattr(view.structure, "mean_ranges", np.stack([truth, truth], axis=1))
    rows = [
        {
            "label": view.labels[arm],
            "chart": charts.mean_row(
                scale, arm, float(truth[arm]), float(found.means[arm]), ranges[arm]
            ),
            "mean": number(float(found.means[arm]), 3),
            "moved": bool(found.means[arm] != truth[arm]),
        }
        for arm in range(min(view.structure.n_arms, MOST_TELLING))
    ]
    nearest = found.nearest
    return {
        "rows": rows,
        "more": view.structure.n_arms - len(rows),
        "arm": view.labels[view.choice.moved],
        "changed": bool((found.means != truth).any()),
        "mean": number(float(found.means[view.choice.moved])),
        "was": number(float(truth[view.choice.moved])),
        "model": None if nearest.model is None else view.name(nearest.model),
        "gap": number(nearest.gap),
        "fits": number(nearest.gap) == "0",
        "told_by": None if nearest.told_by is None else view.labels[nearest.told_by],
        "believed": view.labels[found.believed],
        "best": view.labels[found.best],
        "loss": number(found.loss, 3),
        "deceived": found.loss > 0.0,
        "alarm": found.alarm,
        "in_turn": alarm_text(None if found.alarm is None else found.alarm.in_turn),
        "alone": alarm_text(None if found.alarm is None else found.alarm.alone),
        "why_not": found.why_not,
        "level": f"{LEVEL:g}",
        "most": f"{MOST_PULLS:,}",
    }


def alarm_text(pulls: int | None) -> str | None:
    """Return the pulls until the alarm, None if it does not ring."""
    return None if pulls is None else pulls_text(pulls)


# --- bounds ----------------------------------------------------------------------------------------


def bounds_panel(view: View) -> dict[str, Any]:
    """Return the bounds on the regret; where one does not hold, why not."""
    data = view.explorer.theory(view.choice)
    most = data["largest_regret"]
    rows = [
        {
            "sign": "≤" if bound["side"] == "upper" else "≥",
            "bound": bound["bound"],
            "policy": bound["policy"],
            "value": bound_text(bound["value"], most),
            "holds": bound["valid"],
            "why_not": _sentences(bound["why_not"]),
            "note": bound["note"],
        }
        for bound in data["bounds"]
    ]
    return {
        "horizon": f"{view.choice.horizon:,}",
        "regret": regret_text(data),
        "lower": lower_text(data),
        "telling": [row for row in rows if row["holds"] and row["value"] != VACUOUS],
        "silent": [row for row in rows if not row["holds"] or row["value"] == VACUOUS],
        "most": f"{most:,.1f}",
        "random": f"{data['random_regret']:,.1f}",
        "best": labels_of([data["best_arm"]])[0],
    }


def _sentences(why_not: str) -> list[str]:
    """Return the conditions that fail, each as a sentence."""
    parts = [why for why in why_not.split("; ") if why]
    return [f"{why if '=' in why.split()[0] else why[0].upper() + why[1:]}." for why in parts]


# --- drawing ---------------------------------------------------------------------------------------

PANELS: dict[str, Callable[[View], dict[str, Any]]] = {
    "map": map_panel,
    "truth": truth_panel,
    "timeline": timeline_panel,
    "apart": apart_panel,
    "moved": moved_panel,
    "bounds": bounds_panel,
}


def draw(name: str, view: View) -> Markup:
    """Return a panel as HTML; a panel that cannot be filled says why."""
    try:
        context = PANELS[name](view)
    except StructuredBanditsError as error:
        return filled("why_not.html", why_not=str(error))
    return filled(f"{name}.html", **context)
