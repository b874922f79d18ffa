"""Axes: new ones for figures that are not given any, and room around those that are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structured_bandits.base.extras import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

LEAST = 0.15  # of their width or height that axes keep, whatever stands beside them
BEYOND = 0.3  # of their width that may stand out, at both sides together, and make them narrower
MARGIN = 2.0  # pixels
NEIGHBOUR = 0.2  # inches that are left for the words of axes at the right, which may still come


def fresh_axes(size: tuple[float, float] = (6.4, 4.2)) -> Axes:
    """Return the axes of a new figure of pyplot, `size` in inches."""
    with needs("A figure", extra="report"):
        import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def lay_out(ax: Axes) -> None:
    """Let the figure's layout engine, if it has one, find the place of the axes."""
    engine, whole = ax.figure.get_layout_engine(), ax.get_figure(root=True)
    if engine is not None and whole is not None:
        engine.execute(whole)


def room(ax: Axes) -> tuple[float, float]:
    """Return width and height, in pixels, of what the figure has for the axes and their legend."""
    spec, whole = ax.get_subplotspec(), ax.figure.bbox
    rows, columns = (1, 1) if spec is None else spec.get_gridspec().get_geometry()
    down, across = (1, 1) if spec is None else (len(spec.rowspan), len(spec.colspan))
    height = whole.height * down / rows
    if ax.figure.get_layout_engine() is not None:
        return min((1.0 + BEYOND) * ax.bbox.width, 0.97 * whole.width * across / columns), height
    if columns > across:
        return ax.bbox.width, height
    middle = 0.5 * (ax.bbox.x0 + ax.bbox.x1)
    return 2.0 * (min(middle - whole.x0, whole.x1 - middle) - MARGIN), height


def make_room(ax: Axes, box: Bbox) -> None:
    """Move the edges of the axes until `box`, which goes with them, and the vertical axis are seen.

    Only where no layout engine does that: the box then ends where the figure ends, or the axes below or
    at the right begin.
    """
    if ax.figure.get_layout_engine() is not None:
        return
    bottom, right = _free(ax)
    old, whole = ax.bbox, ax.figure.bbox
    words = [axis.get_tightbbox() for axis in (ax.xaxis, ax.yaxis)]
    leftmost = min((each.x0 for each in words if each is not None), default=old.x0)
    x0 = old.x0 + max(0.0, whole.x0 + MARGIN - leftmost)
    width = max(LEAST * old.width, old.x1 - x0 - max(0.0, box.x1 - right))
    height = max(LEAST * old.height, old.height - max(0.0, bottom - box.y0))
    ax.set_position(
        (
            (x0 - whole.x0) / whole.width,
            (old.y1 - height - whole.y0) / whole.height,
            width / whole.width,
            height / whole.height,
        )
    )


def _free(ax: Axes) -> tuple[float, float]:
    """Return down to where, and to the right up to where, nothing else is drawn, in pixels."""
    mine, whole = ax.bbox, ax.figure.bbox
    bottom, right = whole.y0, whole.x1
    for other in ax.figure.axes:
        box = other.get_tightbbox()
        if other is ax or box is None:
            continue
        if other.bbox.y1 <= mine.y0 and box.x0 < mine.x1 and mine.x0 < box.x1:
            bottom = max(bottom, box.y1)
        if other.bbox.x0 >= mine.x1 and box.y0 < mine.y1 and mine.y0 < box.y1:
            right = min(right, box.x0 - NEIGHBOUR * ax.figure.dpi)
    return bottom + MARGIN, right - MARGIN
