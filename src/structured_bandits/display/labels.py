"""Names as people gave them, shown as they are: in labels and ticks."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from structured_bandits.base.text_tables import printable
from structured_bandits.structures.base import labels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
