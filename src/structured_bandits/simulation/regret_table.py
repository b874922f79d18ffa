"""A result as people see it: a table of regrets and what must be said with it, as text and as HTML.

One function makes the rows for the prompt, for notebooks and for the command `compare`. It needs NumPy
alone: without SciPy there are no intervals, and the column is left out.
"""

from __future__ import annotations

import html
import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.text_tables import printable, table_html, table_text
from structured_bandits.errors import MissingExtraError
from structured_bandits.simulation.result import REFUTING, Result, mean_interval

INTERVAL = "95 % interval"


class RegretTable(NamedTuple):
    """A title, the head and rows of a table, and the sentences below it."""

    title: str
    head: list[str]
    rows: list[list[str]]
    lowest: list[bool]  # of each row: has no policy a lower mean?
    notes: list[str]

    def text(self) -> str:
        """Return the table and the sentences for the terminal."""
        return "\n".join(
            [*([table_text([self.head, *self.rows])] if self.rows else []), *self.notes]
        )

    def html(self) -> str:
        """Return all of it for a notebook; the lowest mean is bold."""
        rows = [
            [
                (printable(cell), lowest and title == "mean regret")
                for title, cell in zip(self.head, row, strict=True)
            ]
            for row, lowest in zip(self.rows, self.lowest, strict=True)
        ]
        said = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.notes)
        return f"<p>{html.escape(self.title)}</p>{table_html(self.head, rows)}{said}"


def regret_table(result: Result) -> RegretTable:
    """Return the regret of each policy at the last checkpoint."""
    at_end = {name: regret[:, -1] for name, regret in result.regret.items()}
    means = {name: float(regret.mean()) for name, regret in at_end.items()}
    places = _places(max(means.values(), default=0.0))
    intervals = _intervals(at_end, places)
    about = result.info.get("policies", {})
    return RegretTable(
        _title(result),
        [
            "policy",
            "mean regret",
            *([INTERVAL] if intervals else []),
            "median",
            "empty sets",
            "width",
        ],
        [
            [
                name,
                f"{means[name]:,.{places}f}",
                *([intervals[name]] if intervals else []),
                f"{np.median(regret):,.{places}f}",
                f"{result.empty[name].mean():,.1f}",
                str(about.get(name, {}).get("width", "?")),
            ]
            for name, regret in at_end.items()
        ],
        [means[name] == min(means.values()) for name in at_end],
        notes_on(result),
    )


def notes_on(result: Result) -> list[str]:
    """Return what must be said with the regrets, in sentences."""
    beyond = result._beyond_horizons(len(result.checkpoints) - 1) if result.regret else []
    return [*_misfit_lines(result), *map(printable, beyond)]


def _misfit_lines(result: Result) -> list[str]:
    """Return a sentence for each policy whose structure is refuted by the rewards of some runs."""
    lines = []
    for name, values in result.e_values.items():
        refuting = int((values >= REFUTING).sum())
        if refuting:
            lines.append(
                f"{printable(name)}: in {refuting} of {len(values)} runs the rewards refute its "
                "structure at level 0.01 (e-value of 100 or more): no model in it explains them."
            )
    return lines


def _title(result: Result) -> str:
    if not result.regret:
        return "A result without policies."
    runs = f"{result.runs:,} run{'' if result.runs == 1 else 's'}"
    return f"Regret after {result.checkpoints[-1]:,} pulls, {runs} of each policy"


def _places(largest: float) -> int:
    """Return how many decimals show three digits of the largest regret, one at the least.

    >>> _places(1234.5), _places(3.14), _places(0.0314), _places(0.0)
    (1, 2, 4, 1)
    """
    if not 0.0 < largest < 10.0:  # also of what is not a number
        return 1
    return min(2 - math.floor(math.log10(largest)), 12)


def _intervals(regrets: dict[str, Floats], places: int) -> dict[str, str]:
    """Return the interval of each mean as text, an empty one of a single run; nothing without SciPy."""
    intervals = {}
    for name, regret in regrets.items():
        try:
            _, low, high = mean_interval(regret[:, np.newaxis])
        except MissingExtraError:
            return {}
        known = not math.isnan(low[0])
        intervals[name] = f"{low[0]:,.{places}f} to {high[0]:,.{places}f}" if known else ""
    return intervals
