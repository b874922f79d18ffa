"""Names as people gave them, shown as they are: in labels and ticks.

Lines have their labels at their ends, where they fit: nobody has to look from a legend to a line and
back.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.text_tables import printable
from structured_bandits.display.axes import lay_out, make_room
from structured_bandits.display.styles import Style
from structured_bandits.structures.base import labels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


UNSEEN = "\u200b"  # before a "_", with which Matplotlib begins what a legend leaves out
SLANT = 45
SLOPE = 0.75  # of a step along the axis that lies between the lines of two slanted names
DEEPEST = 0.4  # of the figure's height, for the length of a slanted name
SMALLEST = 5.0  # points, of slanted names
NUMBERS = "{x:,.10g}"  # of ticks: 2.5, 10,000, and never rounded to another number


def plain(name: str, most: int = 24) -> str:
    """Return a name as a label: not too long, and every character stands for itself.

    A dollar would begin a formula, a control character would break an SVG file.
    """
    short = name if len(name) <= most else name[: most - 1] + "…"
    return printable(short).replace("$", r"\$")


def plain_all(names: Sequence[str], most: int = 24) -> list[str]:
    """Return names as labels; if two that are cut look the same, all long ones are cut in the middle."""
    short = [plain(name, most) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    tail = most // 2
    return [
        plain(name if len(name) <= most else f"{name[: most - tail - 1]}…{name[-tail:]}", most)
        for name in names
    ]


def all_named(names: Sequence[str], kind: str = "arm", most: int = 24) -> list[str]:
    """Return what a figure calls the arms or models: their names, "arm 0" where these are numbers."""
    return plain_all(labels_of(names, kind), most)


def named(names: Sequence[str], index: int, kind: str = "arm", most: int = 24) -> str:
    """Return what a figure calls one arm or model."""
    return all_named(names, kind, most)[index]


def legend_label(label: str) -> str:
    """Return the label to give to a line or bar, so that a legend shows it whatever it begins with."""
    return UNSEEN + label if label.startswith("_") or not label else label


def text_size(ax: Axes, text: str, font: float) -> tuple[float, float]:
    """Return width and height of a text in the figure of the axes, in pixels."""
    probe = ax.figure.text(0.0, 0.0, text or " ", fontsize=font)
    box = probe.get_window_extent()
    probe.remove()
    return box.width, box.height


def name_ticks(ax: Axes, places: Sequence[int], names: list[str], font: float) -> None:
    """Name places on the horizontal axis: side by side, or slanted, or only every so many of them.

    Slanted names that would take much of the figure's height are written smaller.
    """
    sizes = [text_size(ax, name, font) for name in names]
    widest = max(width for width, _ in sizes)
    line = 1.1 * max(height for _, height in sizes)
    step = ax.bbox.width / len(names)
    slanted = widest + 0.5 * line > step
    if slanted:
        smaller = min(1.0, DEEPEST * ax.figure.bbox.height / widest)
        font, line = max(SMALLEST, smaller * font), smaller * line
    every = ceil(line / (SLOPE * step)) if slanted else 1
    ax.set_xticks(places[::every], names[::every], fontsize=font)
    style: dict[str, Any] = {"rotation": SLANT, "ha": "right"} if slanted else {"ha": "center"}
    for label in ax.get_xticklabels():
        label.set(rotation_mode="anchor", **style)


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
