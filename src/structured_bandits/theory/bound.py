"""A bound on the regret: its value, and whether what it assumes is true."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

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

    def row(self) -> dict[str, Any]:
        """Return the columns of the table."""
        failed = [why for holds, why in self.checks if not holds]
        return {
            "bound": self.bound,
            "policy": self.policy,
            "side": self.side,
            "value": self.value,
            "valid": not failed,
            "why_not": "; ".join(failed),
            "printed": self.printed,
            "erratum": self.erratum,
            "note": self.note,
        }


def over_gap(cost: float, gap: float) -> float:
    """Return cost / gap^2, with 0 / 0 = 0: an arm that costs nothing adds nothing."""
    if cost == 0.0:
        return 0.0
    return math.inf if gap == 0.0 else cost / gap**2
