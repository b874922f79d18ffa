"""Tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from structured_bandits.report.records import Statement, Verdict, tally
from structured_bandits.simulation.regret_table import regret_table
from structured_bandits.simulation.result import Result
from structured_bandits.text_tables import table_text


def few(names: Sequence[str], most: int = 8) -> str:
    """Return names as a list in words, cut after `most`."""
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


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


def claims_text(claims: Iterable[Statement], verdicts: dict[str, dict[str, Verdict]]) -> str:
    """Return the claims and their verdicts, one column for each preset."""
    rows = [["claim", *verdicts]]
    for claim in claims:
        if any(claim.id in each for each in verdicts.values()):
            rows.append([claim.id, *(_outcome(each.get(claim.id)) for each in verdicts.values())])
    if len(rows) == 1:
        return "no claim is decided by these experiments"
    totals = [f"{preset}: {tally(each.values())}" for preset, each in verdicts.items()]
    return "\n".join([table_text(rows), "", *totals])


def _outcome(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not run"
    return verdict.text


def regret_text(result: Result) -> str:
    """Return the regret of each policy, and what must be said with it."""
    return regret_table(result).text()
