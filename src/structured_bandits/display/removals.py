"""The gaps that remove arms, as data for pictures of structures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from structured_bandits.theory.analysis import Analysis


@dataclass(frozen=True)
class Removal:
    """How an arm is removed: on `model`, its hardest one, arm `told_by` differs by `gap`."""

    arm: int
    model: Any
    told_by: int
    gap: float


def removals(
    analysis: Analysis, horizon: int, beta: float = 1.0, largest_gap: float | None = None
) -> list[Removal]:
    """Return the gap that removes each arm, using the arms that SAE is sure to play until then."""
    found = []
    for arm, helpers in sorted(analysis.elimination(horizon, beta, largest_gap).helpers.items()):
        hardest = analysis.hardest(arm, helpers)
        if hardest.told_by is not None:
            found.append(Removal(arm, hardest.model, hardest.told_by, hardest.gap))
    return found
