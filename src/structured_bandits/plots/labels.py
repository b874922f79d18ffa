"""Names as people gave them, shown as they are: in labels, ticks and legends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNSEEN = "\u200b"  # before a "_", with which Matplotlib begins what a legend leaves out
NOT_PRINTABLE = "\ufffd"
MOST_CHARACTERS = 40  # of a policy's name in a legend


def plain(name: str, most: int = 24) -> str:
    """Return a name as a label: not too long, and every character stands for itself.

    A dollar would begin a formula, a control character would break an SVG file.
    """
    short = name if len(name) <= most else name[: most - 1] + "…"
    return printable(short).replace("$", r"\$")


def printable(text: str) -> str:
    """Return a text with a mark for each character that moves the cursor or cannot be seen."""
    return "".join(each if each.isprintable() else NOT_PRINTABLE for each in text)


def legend_label(label: str) -> str:
    """Return the label to give to a line or bar, so that a legend shows it whatever it begins with."""
    return UNSEEN + label if label.startswith("_") or not label else label


def add_legend(ax: Axes, **options: Any) -> None:
    """Add a legend in which every label reads as it was given."""
    for text in ax.legend(**options).get_texts():
        text.set_text(text.get_text().removeprefix(UNSEEN))


def legend_below(ax: Axes, title: str) -> None:
    """Put the legend under the axes, where it hides nothing."""
    add_legend(
        ax,
        title=title,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        ncols=min(4, len(ax.get_legend_handles_labels()[0])),
        frameon=False,
    )
