"""The report on a misfit: how sure it is, which arms are to blame, which model is nearest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from structured_bandits.base.checks import checked_probability
from structured_bandits.base.text_tables import number
from structured_bandits.inference.misfit.e_value import (
    MisfitTest,
    Watching,
    e_value_of,
    fresh_look_memory,
    look_at,
)
from structured_bandits.inference.misfit.max_likelihood import NOBODY, Likeliest
from structured_bandits.structures.base import Structure

LEVEL = 0.01  # at which a structure is called refuted, unless somebody says otherwise
SMALLEST_LEVEL = 0.0001  # that is told; a p-value below it is as good as 0 and yet not 0


@dataclass(frozen=True)
class Misfit:
    """How much the rewards speak against a structure.

    `e_value` is the largest e-value so far. If the truth is in the structure, the probability that it
    ever reaches 1/delta is at most delta, however often you look; so you may look at `p_value`, its
    inverse, as often as you like. `arms` says which arms are to blame: each arm that was pulled has its
    share of the evidence that the structure is wrong on this one arm and right on the others, the
    largest share first. `model` is the likeliest model. Both `arms` and `model` are those of the last
    pull that counts.
    """

    log_e_value: float
    pulls: (
        int  # that count: in the order in which they were asked for, up to the oldest that is out
    )
    arms: dict[str, float]
    model: str | None

    @property
    def e_value(self) -> float:
        """The largest e-value so far, at least 1."""
        return e_value_of(self.log_e_value)

    @property
    def p_value(self) -> float:
        """The smallest level at which the structure is refuted."""
        return math.exp(-self.log_e_value)

    def refuted(self, level: float = LEVEL) -> bool:
        """Return whether the structure is refuted at this level."""
        return self.p_value <= checked_probability("level", level)

    def __str__(self) -> str:
        if not self.pulls:
            return "Nothing speaks against the structure: no reward has been counted yet."
        level = p_value_words(self.p_value)
        said = f"e-value {number(self.e_value)}, p-value {level} after {self.pulls:,} pulls"
        if not self.refuted():
            return f"The rewards do not refute the structure ({said})."
        blamed = [f"{name} ({share:.0%})" for name, share in self.arms.items() if share >= 0.1]
        whose = f" The arms to blame, with their shares: {', '.join(blamed)}." if blamed else ""
        nearest = f" The nearest model is {self.model}." if self.model is not None else ""
        return (
            f"The structure is wrong, or the rewards have changed ({said}).{whose}{nearest} Do not "
            "trust conclusions from it; the guide 'When the structure is wrong' says what to do."
        )


def p_value_words(p_value: float) -> str:
    """Return a p-value for people."""
    return number(p_value, 2) if p_value >= SMALLEST_LEVEL else f"below {SMALLEST_LEVEL}"


def misfit_of(structure: Structure, test: MisfitTest, watching: Watching) -> Misfit:
    """Return what the e-value of a structure says."""
    memory = fresh_look_memory(test)
    look = look_at(test, watching.pulls, watching.sums, memory)
    blamed = np.where(watching.pulls > 0, memory.grid.shares, 0.0)
    blamed /= max(float(blamed.sum()), 1e-300)
    shares = dict(zip(structure.arm_names, blamed.tolist(), strict=True))
    return Misfit(
        float(max(watching.largest[0], 0.0)),
        int(watching.times[0]),
        dict(sorted(shares.items(), key=lambda each: -each[1])),
        _model(structure, look.likeliest),
    )


def _model(structure: Any, likeliest: Likeliest) -> str | None:
    """Return what the likeliest model is called; of polytopes its piece, if there are several."""
    if likeliest.place == NOBODY:
        return None
    if structure.kind == "curves":
        cells = structure.cells
        start, end = cells.start[likeliest.place], cells.end[likeliest.place]
        return str(structure.model_name(start + likeliest.position * (end - start)))
    if hasattr(structure, "model_names"):
        return str(structure.model_names[likeliest.place])
    pieces = getattr(structure, "pieces", ())
    return str(pieces[likeliest.place].name) if len(pieces) > 1 else None
