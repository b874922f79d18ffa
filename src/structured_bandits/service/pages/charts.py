"""Charts of the pages: SVG that the server draws, in the colours of the style sheet.

Places along the width are percentages and only lines are stretched, so a chart fills whatever width it
is given and its texts keep their size. Nothing is said in style attributes, which the security policy
of the pages forbids.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import number
from structured_bandits.service.scale import Scale

with needs("The service", extra="serve"):
    from markupsafe import Markup

HEIGHT = 176  # px of a chart
TOP, BOTTOM = 10, 24  # px above and below its lines
AXIS = 46  # px for the numbers at its left
STRETCH = 1000  # units of the stretched lines: SVG scales them to the chart
BAR = 18  # px: the height of a bar in a table


class Line(NamedTuple):
    """A curve through `points`; `css` is its class in the style sheet, a step stays until it changes."""

    label: str
    css: str
    points: Sequence[tuple[float, float]]
    steps: bool = False


def round_steps(low: float, high: float, most: int = 4) -> list[float]:
    """Return round numbers that cover a range, at most `most` steps of 1, 2 or 5 times a power of 10.

    >>> round_steps(0.0, 0.83), round_steps(3.0, 3.0)
    ([0.0, 0.5, 1.0], [3.0, 3.5, 4.0])
    """
    high = high if high > low else low + 1.0
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(size * by for by in (1, 2, 5, 10, 20) if covering(low, high, size * by) <= most)
    first = math.floor(low / step + 1e-9)
    return [(first + i) * step for i in range(covering(low, high, step) + 1)]


def covering(low: float, high: float, step: float) -> int:
    """Return how many steps from one multiple of `step` to another cover a range."""
    return math.ceil(high / step - 1e-9) - math.floor(low / step + 1e-9)


def line_chart(
    what: str,
    lines: Sequence[Line],
    across: tuple[float, float],
    label_of: Callable[[float], str],
    whole: bool = False,
    threshold: float | None = None,
) -> Markup:
    """Return curves over time from `across[0]` to `across[1]`.

    `what` says it to those who do not see it, `label_of` names a place across, `whole` numbers have
    no fractions between them, and a `threshold` is a line of its own.
    """
    values = [value for line in lines for _, value in line.points]
    values += [threshold] if threshold is not None else []
    steps = round_steps(min([0.0, *values]), max(values, default=1.0))
    if whole:
        steps = [step for step in steps if step == round(step)]
    across_scale, up = Scale(*across), Scale(steps[0], steps[-1])
    return Markup(
        '<div class="chart"><svg class="axis" width="{axis}" height="{height}" aria-hidden="true">'
        '{numbers}</svg><svg class="plot" width="100%" height="{height}" role="img" '
        'aria-label="{what}">{grid}<svg x="0" y="{top}" width="100%" height="{inner}" '
        'viewBox="0 0 {stretch} {stretch}" preserveAspectRatio="none">{curves}</svg>{names}</svg></div>'
    ).format(
        axis=AXIS,
        height=HEIGHT,
        top=TOP,
        inner=HEIGHT - TOP - BOTTOM,
        stretch=STRETCH,
        what=what,
        numbers=Markup("").join(_number_at(up, step) for step in steps),
        grid=Markup("").join(_grid_line(up, step) for step in steps)
        + ("" if threshold is None else _grid_line(up, threshold, "threshold")),
        curves=Markup("").join(_curve(line, across_scale, up) for line in lines),
        names=_names_across(across, label_of),
    )


def _down(up: Scale, value: float) -> float:
    """Return how far from the top of a chart a value is, in px."""
    return TOP + (1.0 - up.part(value)) * (HEIGHT - TOP - BOTTOM)


def _number_at(up: Scale, step: float) -> Markup:
    return Markup('<text class="soft" x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(
        AXIS - 8, _down(up, step) + 4, short(step)
    )


def _grid_line(up: Scale, value: float, css: str = "grid") -> Markup:
    return Markup('<line class="{0}" x1="0" x2="100%" y1="{1:.1f}" y2="{1:.1f}"/>').format(
        css, _down(up, value)
    )


def _names_across(across: tuple[float, float], label_of: Callable[[float], str]) -> Markup:
    """Return what stands at the ends and in the middle; what stood before is not said again."""
    low, high = across
    places = [(low, "0", "start"), (high, "100%", "end"), ((low + high) / 2, "50%", "middle")]
    said: dict[str, Markup] = {}
    for place, x, anchor in places:
        text = Markup('<text class="soft" x="{}" y="{}" text-anchor="{}">{}</text>')
        said.setdefault(label_of(place), text.format(x, HEIGHT - 6, anchor, label_of(place)))
    return Markup("").join(said.values())


def _curve(line: Line, across: Scale, up: Scale) -> Markup:
    """Return the path of a line; a single point is a short dash, since a path of one is not seen."""
    at = [(across.part(x) * STRETCH, (1.0 - up.part(value)) * STRETCH) for x, value in line.points]
    if not at:
        return Markup("")
    path = [f"M{at[0][0]:.1f} {at[0][1]:.1f}"]
    for x, y in at[1:]:
        path.append(f"H{x:.1f}V{y:.1f}" if line.steps else f"L{x:.1f} {y:.1f}")
    if len(at) == 1:
        path.append("h8")
    return Markup('<path class="line {}" vector-effect="non-scaling-stroke" d="{}"/>').format(
        line.css, "".join(path)
    )


def short(value: float) -> str:
    """Return a number for an axis, where there is little room.

    >>> short(0.25), short(12000.0), short(2.5e6), short(-3.0), short(1e12)
    ('0.25', '12k', '2.5M', '-3', '1e+12')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if size <= abs(value) < 1000 * size and abs(value) >= 10_000:
            return f"{number(value / size, 3)}{letter}"
    return number(value, 4)


def interval_bar(
    scale: Scale, low: float | None, high: float | None, mean: float | None, css: str = "c1"
) -> Markup:
    """Return an interval as a bar with its mean as a dot; an open end runs to the edge."""
    left = scale.part(scale.low if low is None else low)
    right = scale.part(scale.high if high is None else high)
    dot = Markup("")
    if mean is not None:
        dot = Markup('<circle class="{}" cx="{}" cy="{}" r="4.5"/>').format(
            css, scale.percent(mean), BAR / 2
        )
    return Markup(
        '<svg class="interval" width="100%" height="{0}" aria-hidden="true">'
        '<line class="grid" x1="0" x2="100%" y1="{1}" y2="{1}"/>'
        '<rect class="{2} band" x="{3:.2f}%" y="{4}" width="{5:.2f}%" height="8" rx="4"/>{6}</svg>'
    ).format(BAR, BAR / 2, css, 100 * left, BAR / 2 - 4, max(100 * (right - left), 0.5), dot)


def stacked_bar(parts: Sequence[tuple[float, str]], what: str) -> Markup:
    """Return parts of a whole side by side, each with its class; `what` says it in words."""
    whole = sum(size for size, _ in parts)
    left, drawn = 0.0, []
    for size, css in parts:
        width = 100.0 * size / whole if whole else 0.0
        drawn.append(
            Markup('<rect class="{}" x="{:.2f}%" y="0" width="{:.2f}%" height="12"/>').format(
                css, left, width
            )
        )
        left += width
    return Markup(
        '<svg class="stack" width="100%" height="12" role="img" aria-label="{}">{}</svg>'
    ).format(what, Markup("").join(drawn))


def scale_of(
    intervals: Sequence[tuple[float | None, float | None, float | None]],
) -> tuple[Scale, list[float]]:
    """Return a scale on which intervals (low, high, mean) have room, and the round numbers on it.

    The scale fits what was pulled, as long as that is known to be narrow: an arm without any pull has
    the whole range for its interval, and a range of 0 to 1 would hide means of 0.02 and 0.03.
    """
    known = [each for each in intervals if each[2] is not None] or list(intervals)
    ends = [end for low, high, mean in known for end in (low, high, mean) if end is not None]
    ends = [end for end in ends if math.isfinite(end)]
    steps = round_steps(min(ends, default=0.0), max(ends, default=1.0))
    return Scale(steps[0], steps[-1]), steps
