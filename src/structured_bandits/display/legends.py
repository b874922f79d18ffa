"""Legends under the axes: whole, whatever axes they are given."""

from __future__ import annotations

import textwrap
from math import ceil
from typing import TYPE_CHECKING, Any

from structured_bandits.base.extras import needs
from structured_bandits.display.axes import lay_out, make_room, room
from structured_bandits.display.labels import UNSEEN, text_size
from structured_bandits.display.styles import SCREEN, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

SMALLEST = 4.0  # points, of letters in a legend
SMALLER = 0.85  # a step down from one size of letters to the next
LARGEST_SHARE = 0.5  # of the height that there is, for a legend
LARGEST_BELOW = 0.75  # the same, for ticks, their names and the legend together
HANDLE = (
    4.8  # letters' sizes that a label takes beside its text: the line before it, the space behind
)
CHARACTERS_PER_INCH = 12  # of text in the usual size
ROW = 0.21  # inches of a row in the usual size


def legend_height(names: list[str], width: float = SCREEN.width) -> float:
    """Return about how many inches of a new figure, this wide, a legend of names takes."""
    longest = max(map(len, names), default=0) + 6
    columns = max(1, int(CHARACTERS_PER_INCH * width) // longest)
    return ROW * ceil(len(names) / columns)


def legend_below(
    ax: Axes,
    note: str,
    style: Style = SCREEN,
    entries: tuple[list[Any], list[str]] | None = None,
) -> None:
    """Put a note and a legend under the axes and their ticks, in columns that fit.

    `entries` are handles and labels, by default all that the axes have. If the legend would take more
    than half the height, it is made wider than the axes, and then its letters become smaller.
    """
    handles, labels = ax.get_legend_handles_labels() if entries is None else entries
    lay_out(ax)
    width, height = room(ax)
    axis = ax.xaxis.get_tightbbox()
    depth = 0.0 if axis is None else max(0.0, ax.bbox.y0 - axis.y0)
    highest = min(LARGEST_SHARE * height, LARGEST_BELOW * height - depth)
    for font, across in [(style.font, min(width, ax.bbox.width)), *_smaller(style.font, width)]:
        legend = _legend(ax, handles, labels, note, (across, depth), font)
        box = legend.get_window_extent()
        if box.width <= across and box.height <= highest:
            break
    make_room(ax, legend.get_window_extent())


def _smaller(font: float, width: float) -> list[tuple[float, float]]:
    """Return ever smaller sizes of letters with the width of all that is there for the legend."""
    sizes = [(font, width)]
    while sizes[-1][0] * SMALLER >= SMALLEST:
        sizes.append((sizes[-1][0] * SMALLER, width))
    return sizes


def _legend(
    ax: Axes,
    handles: list[Any],
    labels: list[str],
    note: str,
    place: tuple[float, float],
    font: float,
) -> Legend:
    """Return a legend of letters of this size.

    Its place is a width in pixels, which it keeps to if it can, and how far below the axes it is.
    """
    with needs("A figure", extra="report"):
        from matplotlib.transforms import ScaledTranslation

    dpi, (width, depth) = ax.figure.dpi, place
    widths = [text_size(ax, label, font)[0] + HANDLE * font * dpi / 72 for label in labels]
    columns = len(labels) if sum(widths) <= width else int(width / max(widths))
    down = ScaledTranslation(0.0, -depth / dpi, ax.figure.dpi_scale_trans)
    legend = ax.legend(
        handles,
        labels,
        title=wrapped(ax, note, width, font),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + down,
        ncols=max(1, min(columns, len(labels))),
        frameon=False,
        fontsize=font,
        title_fontsize=font,
        handlelength=2.8,  # long enough to tell kinds of lines apart
        columnspacing=1.2,
        labelspacing=0.35,
        borderaxespad=0.3,
    )
    for text in legend.get_texts():
        text.set_text(text.get_text().removeprefix(UNSEEN))
    return legend


def wrapped(ax: Axes, text: str, width: float, font: float) -> str:
    """Return a text in lines of at most `width` pixels."""
    whole = text_size(ax, text, font)[0]
    if whole <= 0.95 * width:
        return text
    return textwrap.fill(text, max(12, int(0.9 * len(text) * width / whole)))
