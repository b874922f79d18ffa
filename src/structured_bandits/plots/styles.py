"""For the screen or for print: the sizes of a figure, its letters and its lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from structured_bandits.errors import ParameterError
from structured_bandits.extras import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Style:
    """Width and height of a new figure in inches, letters and lines in points."""

    width: float
    height: float
    line: float
    letters: float | None = None  # None: those of Matplotlib's settings

    @property
    def font(self) -> float:
        """The size of letters, in points."""
        with needs("A figure", extra="report"):
            import matplotlib

        return float(matplotlib.rcParams["font.size"]) if self.letters is None else self.letters


SCREEN = Style(6.4, 4.2, 1.8)
#: By name; a paper's column is 3.3 inches wide, its page of two columns 6.9.
STYLES = {
    "screen": SCREEN,
    "print": Style(3.3, 2.5, 1.1, 8.0),
    "print-wide": Style(6.9, 3.0, 1.1, 8.0),
}


def checked_style(name: str) -> Style:
    """Return the style of this name."""
    if name not in STYLES:
        raise ParameterError(f"style={name!r}: expected one of {', '.join(map(repr, STYLES))}")
    return STYLES[name]


def set_letters(ax: Axes, style: Style) -> None:
    """Give the axes the letters of a style; what the screen shows is left to Matplotlib's settings."""
    if style.letters is None:
        return
    ax.tick_params(labelsize=style.letters, width=0.6, length=2.5)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_fontsize(style.letters)
    for spine in ax.spines.values():
        spine.set_linewidth(0.6)
