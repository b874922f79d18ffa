"""A bound on the regret: its value, and whether what it assumes is true."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from structured_bandits.information.truth import Truth

Check = tuple[bool, str]  # a condition, and what to say if it fails


@dataclass(frozen=True)
class Bound:
    """One row of the table of bounds."""

    bound: str
    policy: str
    side: str  # "upper" or "lower"
    value: float
    checks: list[Check] = field(default_factory=list)
    printed: float = math.nan
    erratum: str = ""
    note: str = ""

    def row(self, most: float) -> dict[str, Any]:
        """Return the columns of the table, `most` being what no regret exceeds.

        A bound above it says nothing: it is vacuous, and `capped` has `most` in its place.
        """
        failed = [why for holds, why in self.checks if not holds]
        return {
            "bound": self.bound,
            "policy": self.policy,
            "side": self.side,
            "value": self.value,
            "capped": most if self.value > most else self.value,
            "vacuous": self.value > most,
            "valid": not failed,
            "why_not": "; ".join(failed),
            "printed": self.printed,
            "erratum": self.erratum,
            "note": self.note,
        }


def largest_regret(truth: Truth, horizon: int) -> float:
    """Return what no regret exceeds: each pull costs the largest gap."""
    return horizon * float(truth.gaps.max())


def hardness(
    truth: Truth, using: Callable[[int], Iterable[int]], optimistic: bool = False
) -> dict[int, float]:
    """Return, for each arm that costs regret, the gap of its hardest model by the arms `using(arm)`."""
    return {arm: truth.hardest(arm, using(arm), optimistic).gap for arm in truth.costly_arms}


def cost_over_hardness(truth: Truth, hard: dict[int, float]) -> float:
    """Return the sum of Delta_i / Psi_i, which all bounds have in common."""
    return sum(
        float(truth.gaps[arm]) / gap / gap if gap > 0.0 else math.inf for arm, gap in hard.items()
    )
