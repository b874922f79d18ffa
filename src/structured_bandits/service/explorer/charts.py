"""Small charts as inline SVG, in the colours of the style sheet.

Across, places are in per cent of the width, so a chart takes whatever width there is and its letters
keep their size; downwards they are in px. So nothing is scaled, and there is no viewBox.
"""

from __future__ import annotations

import html
from typing import Any

from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import number
from structured_bandits.service.scale import Scale
from structured_bandits.structures.curves.structure import CurveStructure

with needs("The service", extra="serve"):
    from markupsafe import Markup

ROW = 26  # px, the height of a chart in a row of a table
CURVES = 240  # px, the height of the curves
COLOURS = 6  # of the style sheet
DASHES = 5


def series(place: int) -> str:
    """Return the classes of a line: colours and dashes come again after thirty."""
    return f"c{1 + place % COLOURS} dash{place % DASHES}"


def drawn(height: int, parts: list[str], words: str = "", **data: Any) -> Markup:
    """Return a chart as wide as its place; `words` say what it shows to those who do not see it."""
    said = f'role="img" aria-label="{html.escape(words)}"' if words else 'aria-hidden="true"'
    more = "".join(f' data-{name}="{html.escape(str(value))}"' for name, value in data.items())
    inner = "".join(parts)
    return Markup(f'<svg class="chart" width="100%" height="{height}" {said}{more}>{inner}</svg>')


def line(x1: str, y1: float, x2: str, y2: float, kind: str) -> str:
    """Return a straight line."""
    return f'<line x1="{x1}" y1="{y1:.1f}" x2="{x2}" y2="{y2:.1f}" class="{kind}"/>'


def dot(x: str, y: float, kind: str, radius: float = 5.0, more: str = "") -> str:
    """Return a dot."""
    return f'<circle cx="{x}" cy="{y:.1f}" r="{radius:g}" class="{kind}"{more}/>'


def bar(start: str, width: float, y: float, height: float, kind: str) -> str:
    """Return a bar whose width is a share of the chart."""
    return (
        f'<rect x="{start}" y="{y:.1f}" width="{100.0 * max(width, 0.0):.2f}%" height="{height:g}" '
        f'class="{kind}"/>'
    )


def life_bar(scale: Scale, dropped_at: float, ticks: list[int], best: bool) -> Markup:
    """Return how long an arm is played: a bar up to the pull at which it is dropped, and phases."""
    kind = "life best" if best else "life"
    parts = [line(scale.percent(tick), 2, scale.percent(tick), ROW - 2, "tick") for tick in ticks]
    parts.append(bar("0%", scale.part(dropped_at), ROW / 2 - 5, 10, kind))
    return drawn(ROW, parts)


def two_means(scale: Scale, one: float, other: float) -> Markup:
    """Return the means of an arm in two models, joined by what is between them."""
    y = ROW / 2
    here, there = scale.percent(one), scale.percent(other)
    parts = [line("0%", y, "100%", y, "track"), line(here, y, there, y, "between")]
    parts += [dot(there, y, "mark other"), dot(here, y, "mark truth")]
    return drawn(ROW, parts)


def mean_row(scale: Scale, arm: int, true: float, now: float, ends: Any) -> Markup:
    """Return an arm's mean in the truth, among those of all models, with a handle to drag."""
    y = ROW / 2
    low, high = (scale.part(float(end)) for end in ends)
    parts = [
        line("0%", y, "100%", y, "track"),
        bar(f"{100.0 * low:.2f}%", high - low, y - 4, 8, "models"),
        dot(scale.percent(true), y, "mark hollow"),
    ]
    kind = "handle moved" if now != true else "handle"
    parts.append(dot(scale.percent(now), y, kind, 8.0, f' data-arm="{arm}"'))
    return drawn(ROW, parts, low=scale.low, high=scale.high)


def curves(structure: CurveStructure, truth: Any, other: Any, hrefs: list[str]) -> Markup:
    """Return the mean of each arm over the parameter; each interval with one best arm is a link.

    `truth` and `other` are marked if they are parameters; `hrefs` are the links of the intervals.
    """
    cells = structure.cells
    across = Scale(float(cells.start.min()), float(cells.end.max()))
    up = Scale(float(cells.least.min()), float(cells.most.max()))

    def height(mean: float) -> float:
        return 14.0 + (CURVES - 34.0) * (1.0 - up.part(mean))

    parts = [
        line("0%", height(mean), "100%", height(mean), "grid")
        + f'<text x="0" y="{height(mean) - 3:.1f}" class="soft">{number(mean, 3)}</text>'
        for mean in dict.fromkeys((up.low, up.high))
    ]
    for start, end, best, href in zip(cells.start, cells.end, cells.best, hrefs, strict=True):
        left, right = across.part(float(start)), across.part(float(end))
        band = bar(f"{100.0 * left:.2f}%", max(right - left, 0.004), 0, CURVES - 16, "band")
        label = html.escape(f"parameter {number(start)} to {number(end)}: ") + html.escape(
            f"{structure.arm_labels[int(best)]} is best"
        )
        shaded = band.replace('"band"', f'"band {series(int(best))}"')
        parts.append(f'<a href="{html.escape(href)}"><title>{label}</title>{shaded}</a>')
    for arm in range(structure.n_arms):
        for piece in structure.pieces:
            start, end = across.percent(piece.start), across.percent(piece.end)
            first, last = height(piece.at_start[arm]), height(piece.at_end[arm])
            kind = f"arm {series(arm)}"
            shape = dot(start, first, kind, 4.0) if piece.is_point else None
            parts.append(shape or line(start, first, end, last, kind))
    for model, kind in ((other, "other"), (truth, "truth")):
        if isinstance(model, (int, float)):
            x = across.percent(model)
            parts.append(line(x, 0, x, CURVES - 16, f"at {kind}"))
            means = structure.means(model)
            parts += [dot(x, height(float(mean)), f"mark {kind}", 4.0) for mean in means]
    parts.append(f'<text x="0" y="{CURVES}" class="soft">{number(across.low)}</text>')
    parts.append(
        f'<text x="100%" y="{CURVES}" text-anchor="end" class="soft">{number(across.high)}</text>'
        f'<text x="50%" y="{CURVES}" text-anchor="middle" class="soft">parameter</text>'
    )
    words = "The mean of each arm over the parameter"
    return drawn(CURVES + 4, parts, words, low=across.low, high=across.high, sets="truth")


def swatch(place: int) -> Markup:
    """Return a piece of the line of an arm, for a legend."""
    return Markup(
        f'<svg class="swatch" width="28" height="10" aria-hidden="true">'
        f"{line('0', 5, '28', 5, f'arm {series(place)}')}</svg>"
    )
