"""Values of reports: as cells of a table, and as plain data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def bound_text(value: float | str | None, most: float) -> str:
    """Return a bound as the cell of a table; above `most`, which no regret exceeds, it is vacuous."""
    if value is None:
        return ""
    if isinstance(value, str) or value > most:  # "inf"
        return "vacuous"
    return f"{value:,.1f}"


def rewards_text(family: str, sigma: float) -> str:
    """Return in words what the rewards are."""
    return "rewards of 0 or 1" if family == "bernoulli" else f"Gaussian rewards (sigma {sigma:g})"


def plain_data(value: Any) -> Any:
    """Return nested data as JSON holds them: infinity as "inf", None for what is no number."""
    if isinstance(value, dict):
        return {key: plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf"
    return value
