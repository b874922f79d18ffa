"""How figures look: sizes for the screen and for print; colours, kinds of lines and hatches.

The colours are told apart by people with deuteranopia and protanopia too, and are seen on white and on
nearly black; kinds of lines change beside them, so that nothing hangs on colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structured_bandits.base.extras import needs
from structured_bandits.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
#: Blue, orange, green, wine, teal, violet; the first two are Okabe and Ito's.
COLOURS = ("#0072b2", "#d55e00", "#18ba6a", "#9e4863", "#19b1b5", "#5e59fc")
#: One fewer than the colours: in turn with them they make thirty different lines.
LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (9, 3)))
HATCHES = ("", "////", "....", "xxxx", "----")
DARK = "#050505"  # not #000000, for which pages put the colour of their text


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


def colour(number: int) -> str:
    """Return the colour of the policy or arm with this number; after six they come again."""
    return COLOURS[number % len(COLOURS)]


def line(number: int) -> dict[str, Any]:
    """Return the options of the line with this number: thirty are different."""
    return {"color": colour(number), "ls": LINES[number % len(LINES)]}


def hatch(number: int) -> str:
    """Return the hatch of the bar with this number: none until the colours come again."""
    return HATCHES[number // len(COLOURS) % len(HATCHES)]


def ink() -> str:
    """Return the colour of texts: black, unless the style sheet of the reader is dark."""
    with needs("A figure", extra="report"):
        import matplotlib

    return str(matplotlib.rcParams["text.color"])


def text_on(background: tuple[float, ...]) -> str:
    """Return white or nearly black, whichever stands out more from a background (red, green, blue)."""
    shine = luminance(background) + 0.05
    return "#ffffff" if 1.05 / shine > shine / 0.0515 else DARK


def luminance(rgb: tuple[float, ...]) -> float:
    """Return the relative luminance (WCAG) of a colour of sRGB, from 0 for black to 1 for white."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb[:3]
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
