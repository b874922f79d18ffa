"""Axes of their own for figures that are not given any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structured_bandits.extras import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def fresh_axes(size: tuple[float, float] = (6.4, 4.2)) -> Axes:
    """Return the axes of a new figure of pyplot, `size` in inches."""
    with needs("A figure", extra="report"):
        import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax
