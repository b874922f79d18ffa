"""The table of advice for the terminal and as a data frame."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from structured_bandits.advice.records import (
    ADVISED,
    HOPELESS,
    REFERENCE,
    TIED,
    TOO_SLOW,
    UNDECIDED,
)
from structured_bandits.advice.rounding import number, plus_minus
from structured_bandits.extras import needs
from structured_bandits.text_tables import table_text

if TYPE_CHECKING:
    import pandas

    from structured_bandits.advice.advice import Advice

WIDTH = 110
MOST = 14  # rows that the terminal shows
NONE = "–"
MARKS = {ADVISED: "→", TIED: "=", REFERENCE: "0", UNDECIDED: "?"}
LEGEND = (
    "→ advised, = not told apart, 0 blind reference, ? open whether it survives; × blind: mean as a "
    "multiple of the blind reference's; µs: per decision; draws: is randomised; late: works with "
    "batches and late rewards; *: from the runs of the race, the others from fresh ones."
)


def frame_of(advice: Advice) -> pandas.DataFrame:
    """Return the table as a data frame."""
    with needs("Advice.frame", extra="simulate"):
        import pandas

    rows = []
    for row in advice.table:
        plain = {key: value for key, value in row.items() if key != "wrong"}
        for size, each in row["wrong"].items():
            plain |= {f"wrong_{size}{key.removeprefix('mean')}": each[key] for key in each}
        rows.append(plain)
    return pandas.DataFrame(rows).set_index("policy")


def advice_text(advice: Advice) -> str:
    """Return the table and the words, for the terminal."""
    raced = [row for row in advice.table if row["role"] not in (HOPELESS, TOO_SLOW)]
    more = [f"Worse still: {', '.join(row['policy'] for row in raced[MOST:])}."]
    parts = [
        f"{advice.info['structure']}, {advice.info['horizon']:,} pulls, trust {advice.info['trust']:g}",
        table_text([list(heads(advice)), *(cells(advice, row) for row in raced[:MOST])]),
        *map(_paragraph, [LEGEND, *(more if len(raced) > MOST else []), *notes(advice)]),
        _paragraph(advice.words),
    ]
    return "\n\n".join(parts)


def heads(advice: Advice) -> tuple[str, ...]:
    """Return the names of the columns."""
    sizes = (f"off {size}" for size in advice.info["outside"])
    columns = ("  policy", "mean regret", "× blind", "worst truth", "95 %", *sizes, "if wrong")
    return (*columns, "µs", "draws", "late")


def cells(advice: Advice, row: dict[str, Any]) -> list[str]:
    """Return a row of the table as texts."""
    worst = _regret(row, "worst")
    return [
        f"{MARKS.get(row['role'], ' ')} {row['policy']}",
        _regret(row, "mean") + ("" if row["fresh"] or row["mean"] is None else " *"),
        NONE if row["times_blind"] is None else f"{row['times_blind']:.2f}",
        worst if row["worst_truth"] is None else f"{worst} ({row['worst_truth']})",
        _plain(row["q95"]),
        *(_plain(row["wrong"][size]["mean"]) for size in advice.info["outside"]),
        row["verdict"] or NONE,
        NONE if row["microseconds"] is None else number(row["microseconds"]),
        _yes(row["randomised"]),
        _yes(row["batches"]),
    ]


def notes(advice: Advice) -> list[str]:
    """Return what the table leaves out, in sentences."""
    said = []
    far = [
        f"{row['policy']} ({row['times_blind']:.1f})"
        for row in advice.table
        if row["role"] == HOPELESS
    ]
    slow = [f"{row['policy']} ({row['note']})" for row in advice.table if row["role"] == TOO_SLOW]
    if far:
        said.append(f"Far behind the blind reference in a few runs (× blind): {', '.join(far)}.")
    if slow:
        said.append(f"Too slow for this time: {', '.join(slow)}.")
    if advice.refused:
        said.append(f"Cannot serve this structure: {', '.join(advice.refused)}.")
    if advice.info["approximate"]:
        said.append(f"Truths were {advice.info['approximate']}.")
    if not advice.info["outside"] and advice.info["wrong"]:
        said.append("No possible means were found that are so far outside this structure.")
    return said


def _regret(row: dict[str, Any], name: str) -> str:
    return (
        NONE
        if row[name] is None
        else plus_minus(row[name], row[f"{name}_low"], row[f"{name}_high"])
    )


def _plain(value: float | None) -> str:
    return NONE if value is None else number(value)


def _yes(known: bool | None) -> str:
    return "?" if known is None else "yes" if known else "no"


def _paragraph(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)
