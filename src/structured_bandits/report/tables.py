"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from structured_bandits.report.records import Statement, Verdict, tally
from structured_bandits.simulation.result import Result
from structured_bandits.text_tables import table_text


def claims_text(claims: Iterable[Statement], verdicts: dict[str, dict[str, Verdict]]) -> str:
    """Return the claims and their verdicts, one column for each preset."""
    rows = [["claim", *verdicts]]
    for claim in claims:
        if any(claim.id in each for each in verdicts.values()):
            rows.append([claim.id, *(_outcome(each.get(claim.id)) for each in verdicts.values())])
    if len(rows) == 1:
        return "no claim is decided by these experiments"
    totals = [f"{preset}: {tally(each)}" for preset, each in verdicts.items()]
    return "\n".join([table_text(rows), "", *totals])


def _outcome(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not run"
    return f"{verdict.outcome} ({verdict.leaning})" if verdict.leaning else verdict.outcome


def regret_text(result: Result) -> str:
    """Return the regret of each policy."""
    rows = [["policy", "mean regret", "95 % interval", "median", "empty sets", "width"]]
    for name, row in result.summary().iterrows():
        rows.append(
            [
                str(name),
                f"{row['mean']:.1f}",
                f"{row['low']:.1f} to {row['high']:.1f}",
                f"{row['median']:.1f}",
                f"{row['empty']:.1f}",
                str(row["width"]),
            ]
        )
    return table_text(rows)
