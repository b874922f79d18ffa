"""How an experiment went: its curves over time, as a function of its history."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import number
from structured_bandits.service.ui.pages.charts import Line, line_chart
from structured_bandits.service.ui.pages.words import figure, of_total, place_in_time
from structured_bandits.service.wire import HistoryPoint, State

with needs("The service", extra="serve"):
    from markupsafe import Markup

LATELY = 0.1  # of all rewards: those whose mean is called the latest
FEWEST = 30  # rewards of which a mean is drawn: that of fewer is noise


class Chart(NamedTuple):
    """A figure: its curves, the classes and names of them, and a sentence on how to read it."""

    id: str
    title: str
    svg: Markup
    legend: list[tuple[str, str]]
    note: str


def curves(state: State) -> list[Chart]:
    """Return the curves over time; none before the first reward."""
    history = last_at_each_time([point for point in state.history if point.rewards])
    if not history:
        return []
    across = (float(history[0].at), float(history[-1].at))
    label_of = partial(place_in_time, span_seconds=(across[1] - across[0]) / 1000)
    draw = partial(line_chart, across=across, label_of=label_of)
    shown = [_mean_chart(history, draw)]
    if state.models is not None and any(point.fitting is not None for point in history):
        shown.append(_models_chart(state.models.total, history, draw))
    shown.append(_arms_chart(len(state.arms), history, draw))
    if state.misfit is not None and any(point.log10_e is not None for point in history):
        shown.append(_evidence_chart(state.misfit.level, history, draw))
    return shown


def _mean_chart(history: list[HistoryPoint], draw: partial[Markup]) -> Chart:
    fewest = min(FEWEST, history[-1].rewards)
    so_far = [(float(p.at), p.total / p.rewards) for p in history if p.rewards >= fewest]
    lines = [Line("since the start", "c1", so_far), Line("lately", "c2 dashed", lately(history))]
    said = f"Mean reward: {number(so_far[-1][1])} since the start"
    note = f"Lately: the mean of the last {LATELY:.0%} of the rewards".replace("%", " %")
    return Chart(
        "means", "Mean reward", draw(said, lines), _legend(lines), f"{note}. Times are UTC."
    )


def last_at_each_time(history: Sequence[HistoryPoint]) -> list[HistoryPoint]:
    """Return the points without those that others followed within the same millisecond."""
    return list({point.at: point for point in history}.values())


def lately(history: Sequence[HistoryPoint]) -> list[tuple[float, float]]:
    """Return the mean of the latest rewards at each time, as well as the points allow."""
    means, first = [], 0
    for point in history:
        until = point.rewards - max(LATELY * point.rewards, FEWEST)
        while first + 1 < len(history) and history[first + 1].rewards <= until:
            first += 1
        before = history[first]
        if before.rewards <= until:
            rewards, total = point.rewards - before.rewards, point.total - before.total
            means.append((float(point.at), total / rewards))
    return means


def _models_chart(total: int | None, history: list[HistoryPoint], draw: partial[Markup]) -> Chart:
    points = [(float(p.at), float(p.fitting)) for p in history if p.fitting is not None]
    lines = [Line("models that fit", "c1", points, steps=True)]
    said = f"Models that fit: {of_total(int(points[-1][1]), total)}"
    note = "A model fits while its means are within the intervals of all arms."
    return Chart("models", "Models that fit", draw(said, lines, whole=True), [], note)


def _arms_chart(arms: int, history: list[HistoryPoint], draw: partial[Markup]) -> Chart:
    points = [(float(point.at), float(point.active)) for point in history]
    lines = [Line("arms in the race", "c3", points, steps=True)]
    said = f"Arms in the race: {of_total(history[-1].active, arms)}"
    note = "An arm leaves the race when it cannot be the best any more."
    return Chart("race", "Arms in the race", draw(said, lines, whole=True), [], note)


def _evidence_chart(level: float, history: list[HistoryPoint], draw: partial[Markup]) -> Chart:
    rings = -math.log10(level)
    points = [(float(p.at), p.log10_e) for p in history if p.log10_e is not None]
    lines = [Line("evidence", "c4", points)]
    said = f"Evidence against the structure: 10 to the power of {figure(points[-1][1])}"
    note = f"As a power of ten; at {number(rings)}, the dashed line, the alarm rings."
    svg = draw(said, lines, threshold=rings)
    return Chart("evidence-over-time", "Evidence against the structure", svg, [], note)


def _legend(lines: Sequence[Line]) -> list[tuple[str, str]]:
    return [(line.css, line.label) for line in lines]
