"""Advice for people: its table for the terminal, for notebooks and as a data frame, and its page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import paragraph, plus_minus, rounded, table_text
from structured_bandits.base.writing import write_whole
from structured_bandits.display.advice_figure import draw_advice, figure_size, stage_label
from structured_bandits.display.figures import inline_svg, svg_text
from structured_bandits.display.page import (
    check_page,
    facts_html,
    table_html,
    text_html,
    whole_page,
)

if TYPE_CHECKING:
    import pandas

    from structured_bandits.advice.advice import Advice

#: What became of a candidate.
ADVISED, TIED, REFERENCE = "advised", "not told apart", "reference"
UNDECIDED, DROPPED, HOPELESS, TOO_SLOW = "undecided", "dropped", "hopeless", "too slow"
MOST = 14  # rows that the terminal shows
NONE = "–"
MARKS = {ADVISED: "→", TIED: "=", REFERENCE: "0", UNDECIDED: "?"}
LEGEND = (
    "→ is the policy advised. = marks those that may be as good. 0 is the blind reference, a policy "
    "that knows nothing of the structure. ? means that it is open whether the policy survives a "
    "wrong structure. × blind: the mean regret divided by that of the blind reference. "
    "worst truth: the mean regret on the truth on which the policy does worst, found and estimated in "
    "runs of its own, so that by chance it may lie below the mean regret. 95 %: the regret is "
    "lower in 95 % of the runs. off: the mean regret if all means are off by so much. worst best: if "
    "the arm that is worst in the structure is best by a quarter. best bad: if the arm that is best in "
    "the structure is worth only three tenths of that. if wrong: does the policy survive all these? "
    "µs: microseconds per decision. draws: is it randomised? late: does it work with batches and late "
    "rewards? * means that the number comes from the runs of the race; the others come from fresh runs."
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
        *map(paragraph, [LEGEND, *(more if len(raced) > MOST else []), *notes(advice)]),
        paragraph(advice.words),
    ]
    return "\n\n".join(parts)


def heads(advice: Advice) -> tuple[str, ...]:
    """Return the names of the columns."""
    sizes = (stage_label(stage, "off ") for stage in advice.info["outside"])
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
        NONE if row["microseconds"] is None else rounded(row["microseconds"]),
        _yes(row["randomised"]),
        _yes(row["batches"]),
    ]


def needs_no_policy(chosen: dict[str, Any], only: str | None) -> bool:
    """Return whether one arm is best in every model, and the advised policy pulls no other there.

    Then its regret of 0 follows from the structure, and says nothing about the policy.
    """
    return only is not None and chosen["mean"] == 0.0


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
        said.append(
            f"Left out because they were far behind the blind reference in a few runs, with their × "
            f"blind: {', '.join(far)}."
        )
    if slow:
        said.append(f"Left out because they are too slow for the time given: {', '.join(slow)}.")
    if advice.refused:
        said.append(
            f"Left out because they cannot work with this structure: {', '.join(advice.refused)}."
        )
    if advice.info["approximate"]:
        said.append(f"Truths were {advice.info['approximate']}.")
    if not advice.info["outside"] and advice.info["wrong"]:
        said.append(
            "How policies do outside the structure was not tried: no possible means are so far from it."
        )
    return said


def _regret(row: dict[str, Any], name: str) -> str:
    return (
        NONE
        if row[name] is None
        else plus_minus(row[name], row[f"{name}_low"], row[f"{name}_high"])
    )


def _plain(value: float | None) -> str:
    return NONE if value is None else rounded(value)


def _yes(known: bool | None) -> str:
    return "?" if known is None else "yes" if known else "no"


def save_page(advice: Advice, path: str | os.PathLike[str]) -> None:
    """Write the page; a file of somebody else that stands there is left alone."""
    check_page(Path(path))
    write_whole(path, advice_page(advice))


def advice_page(advice: Advice) -> str:
    """Return the page."""
    info = advice.info
    figure = (
        f'<section><h2>Regret</h2><figure class="advice">{_figure(advice)}<figcaption>Mean regret with '
        "95 % intervals: inside the structure, and on truths outside of it.</figcaption></figure>"
        "</section>"
    )
    facts = {
        "structure": info["structure"],
        "pulls": f"{info['horizon']:,}",
        "trust": f"{info['trust']:g}",
        "rewards": f"{info['family']}, {info['rewards']} for all policies",
        "seed": str(info["seed"]),
        "time": f"{info['seconds']:g} s of playing, {info['compiling']:g} s of compiling",
        **info["versions"],
    }
    only = info["best_everywhere"]
    chosen = next(row for row in advice.table if row["policy"] == advice.name)
    title = f"Play {only}" if needs_no_policy(chosen, only) else f"Take {advice.name}"
    body = [f"<h1>{text_html(title)}</h1>", advice_html(advice), figure, facts_html(facts)]
    return whole_page(title, body)


def advice_html(advice: Advice) -> str:
    """Return words and table as a part of a page or of a notebook."""
    rows = [cells(advice, row) for row in advice.table]
    said = "".join(f"<p>{text_html(note)}</p>" for note in [LEGEND, *notes(advice)])
    return (
        f"<p>{text_html(advice.words)}</p>"
        f'<section id="table"><h2>All candidates</h2>{table_html(heads(advice), rows)}{said}</section>'
    )


def _figure(advice: Advice) -> str:
    with needs("A page", extra="report"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=figure_size(advice.table), layout="constrained")
    draw_advice(advice.table, figure.subplots())
    return inline_svg(svg_text(figure))
