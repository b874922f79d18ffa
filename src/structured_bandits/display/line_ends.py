"""Labels at the ends of lines, where they fit: nobody has to look from a legend to a line and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.display.axes import lay_out, make_room
from structured_bandits.display.labels import text_size
from structured_bandits.display.styles import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

MARK = "label of a line's end"
STUB = 14.0  # points from the end of a line to its label
FARTHEST = 2.5  # heights of a label that it may stand away from its line
WIDEST = 0.4  # of the axes
APART = 1.05  # heights of a label from one to the next
FAR_APART = 1.6  # the same where other axes may still take a part of the height


def label_line_ends(ax: Axes, lines: list[Line2D], labels: list[str], style: Style) -> bool:
    """Write each label at the right end of its line; return whether there was space to do so.

    Labels that would overlap are moved apart, a stub of the line leads to each. Where they would have to
    move far, or are long, nothing is written.
    """
    lay_out(ax)
    sizes = [text_size(ax, label, style.font) for label in labels]
    height = APART * max(size[1] for size in sizes)
    scale = ax.figure.dpi / 72
    if max(size[0] for size in sizes) + STUB * scale > WIDEST * ax.bbox.width:
        return False
    ends = np.array([points(line)[-1] for line in lines])
    places = ax.transData.transform(ends)[:, 1]
    moved = apart(places, height, ax.bbox.y0, ax.bbox.y1)
    if moved is None or np.abs(moved - places).max() > FARTHEST * height:
        return False
    if (
        len(ax.figure.axes) > 1
        and np.diff(np.sort(places)).min(initial=np.inf) < FAR_APART * height
    ):
        return False
    texts = [
        ax.annotate(
            label,
            end,
            xytext=(STUB, (to - place) / scale),
            textcoords="offset points",
            va="center",
            fontsize=style.font,
            gid=MARK,
            arrowprops={
                "arrowstyle": "-",
                "color": line.get_color(),
                "ls": line.get_linestyle(),
                "lw": 0.6 * style.line,
                "relpos": (0.0, 0.5),
                "shrinkA": 2.0,
                "shrinkB": 0.0,
            },
        )
        for line, label, end, place, to in zip(lines, labels, ends, places, moved, strict=True)
    ]
    make_room(ax, max((text.get_window_extent() for text in texts), key=lambda box: box.x1))
    return True


def points(line: Line2D) -> Floats:
    """Return the points of a line: a row for each, of its two coordinates."""
    return np.asarray(line.get_xydata(), np.float64)


def remove_line_ends(ax: Axes) -> bool:
    """Take the labels at the ends of lines away; return whether there were any."""
    found = [text for text in ax.texts if text.get_gid() == MARK]
    for text in found:
        text.remove()
    return bool(found)


def apart(places: Floats, height: float, bottom: float, top: float) -> Floats | None:
    """Return the places nearest to `places`, in their order, that are `height` apart; None if none are.

    All stand between `bottom` and `top`. In the order of places, what is wanted less `height` for each
    label below it must not fall: neighbours that would are pooled at their mean (isotonic regression).
    """
    order = np.argsort(places, kind="stable")
    steps = height * np.arange(len(places))
    if steps[-1] > top - bottom:
        return None
    pools: list[list[float]] = []  # mean and count
    for value in places[order] - steps:
        pools.append([float(value), 1.0])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, count = pools.pop()
            last = pools[-1]
            last[0] = (last[0] * last[1] + mean * count) / (last[1] + count)
            last[1] += count
    found = np.concatenate([np.full(int(count), mean) for mean, count in pools])
    moved = np.empty(len(places))
    moved[order] = np.clip(found, bottom, top - steps[-1]) + steps
    return moved
