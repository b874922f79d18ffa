"""Names as people gave them, shown as they are: in labels, ticks and legends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from structured_bandits.extras import needs
from structured_bandits.text_tables import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

UNSEEN = "\u200b"  # before a "_", with which Matplotlib begins what a legend leaves out
CHARACTERS_PER_INCH = 12  # of text in the usual size
AXIS_HEIGHT = 0.45  # inches that the ticks and the label of the horizontal axis take
SLANT = 45
NUMBERS = "{x:,.10g}"  # of ticks: 2.5, 10,000, and never rounded to another number


def plain(name: str, most: int = 24) -> str:
    """Return a name as a label: not too long, and every character stands for itself.

    A dollar would begin a formula, a control character would break an SVG file.
    """
    short = name if len(name) <= most else name[: most - 1] + "…"
    return printable(short).replace("$", r"\$")


def legend_label(label: str) -> str:
    """Return the label to give to a line or bar, so that a legend shows it whatever it begins with."""
    return UNSEEN + label if label.startswith("_") or not label else label


def add_legend(ax: Axes, **options: Any) -> None:
    """Add a legend in which every label reads as it was given."""
    for text in ax.legend(**options).get_texts():
        text.set_text(text.get_text().removeprefix(UNSEEN))


def legend_below(ax: Axes, title: str) -> None:
    """Put the legend under the axes and their ticks, where it hides nothing, in columns that fit."""
    with needs("A figure", extra="report"):
        from matplotlib.transforms import ScaledTranslation

    labels = ax.get_legend_handles_labels()[1]
    columns = int(CHARACTERS_PER_INCH * _width(ax)) // (max(map(len, labels), default=0) + 6)
    ticks = max(map(_slanted_height, ax.get_xticklabels()), default=0.0)
    down = ScaledTranslation(0.0, -(AXIS_HEIGHT + ticks), ax.figure.dpi_scale_trans)
    add_legend(
        ax,
        title=title,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + down,
        ncols=max(1, min(4, len(labels), columns)),
        frameon=False,
    )


def name_ticks(ax: Axes, places: Any, names: list[str]) -> None:
    """Name places on the horizontal axis; names that are too long to stand side by side are slanted."""
    long = sum(len(name) + 2 for name in names) > CHARACTERS_PER_INCH * _width(ax)
    ax.set_xticks(places, names)
    for label in ax.get_xticklabels():
        label.set(rotation=SLANT * long, ha="right" if long else "center", rotation_mode="anchor")


def _width(ax: Axes) -> float:
    """Return the width of the figure around the axes, in inches."""
    return float(ax.figure.bbox.width / ax.figure.dpi)


def _slanted_height(label: Text) -> float:
    """Return about how many inches a slanted label takes downwards."""
    slope = math.sin(math.radians(label.get_rotation()))
    return len(label.get_text()) * slope / CHARACTERS_PER_INCH
