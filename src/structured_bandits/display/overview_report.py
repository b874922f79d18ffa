"""The report of `structured-bandits analyse` without a truth: what each model would cost."""

from __future__ import annotations

import html
from typing import Any

from structured_bandits.base.text_tables import (
    bound_text,
    few,
    number,
    paragraph,
    plain_data,
    rewards_text,
    table_html,
    table_text,
)
from structured_bandits.structures.single_best_arm import no_choice
from structured_bandits.theory.overview import Overview

MOST_ROWS = 30  # of the table in a text
HEADER = (
    "model",
    "best arm",
    "smallest gap",
    "regret can stop",
    "C",
    "C log n",
    "rough cost",
    "decoys",
    "mistaken for",
)
MEANINGS = """\
The regret is how much less the pulls earn than as many pulls of the best arm would. For each model:
- smallest gap: how far the mean of the second best arm is below that of the best one.
- regret can stop: can the regret stop growing? "no" means that some model with another best arm has the
  same mean on this model's best arm, so a good policy must go on trying other arms. "yes" means that
  nothing of this kind rules it out.
- C log n: the regret that a policy which does well in every model cannot avoid in the long run. Here n
  is the horizon, and C is the constant of Graves and Lai.
- rough cost: a rule of thumb and not a bound: what it costs to pull each arm until the models in which
  it is best are refuted.
- decoys: arms on which a greedy policy, which always plays the arm that looks best, may settle because
  nothing that it sees there contradicts it.
- mistaken for: the model with another best arm that is hardest to tell from this one, and how far apart
  their means are on the arm that shows it best."""
VACUOUS = """\
- vacuous: the number is larger than what as many pulls of the model's worst arm cost, so it says nothing
  at this horizon."""
ORDER = "The models are sorted by C log n, the largest first; where it is equal, by the rough cost."


def overview_data(overview: Overview) -> dict[str, Any]:
    """Return everything the report says as plain data; infinity is "inf", None stands for nothing."""
    rows = [row._asdict() for row in overview.table]
    for row in rows:
        del row["model"]  # perhaps no plain data; the name is
    return {
        "structure": repr(overview.structure),
        "warning": no_choice(overview.structure) or None,
        "horizon": overview.horizon,
        "family": overview.family,
        "sigma": overview.sigma,
        "choice": overview.choice,
        "order": "worst first: by forced (C log n at the horizon), then by rough_cost",
        "hardest": overview.table[0].name,
        "models": plain_data(rows),
    }


def overview_text(data: dict[str, Any]) -> str:
    """Return the report for the terminal."""
    rows = [list(HEADER), *_rows(data)]
    table = "\n".join([table_text(rows, widest=30), *_left_out(data)])
    return f"{data['structure']}\n{_head(data)}\n\n{table}\n\n" + "\n".join(_words(data))


def overview_html(data: dict[str, Any]) -> str:
    """Return the table for a notebook."""
    words = [data["structure"], _head(data)], [*_left_out(data), *_words(data)]
    before, after = ("".join(f"<p>{html.escape(text)}</p>" for text in texts) for texts in words)
    rows = [[(cell, False) for cell in row] for row in _rows(data)]
    return f"{before}{table_html(HEADER, rows)}{after}"


def _head(data: dict[str, Any]) -> str:
    rewards = rewards_text(data["family"], data["sigma"])
    listed = f"\nListed: {data['choice']}." if data["choice"] else ""
    return (
        f"What to expect from {data['horizon']:,} pulls ({rewards}) if the model of a row is the true "
        f"one; the worst come first.{listed}"
    )


def _left_out(data: dict[str, Any]) -> list[str]:
    more = len(data["models"]) - MOST_ROWS
    return [f"… and {more:,} more models, which are less hard"] if more > 0 else []


def _rows(data: dict[str, Any]) -> list[list[str]]:
    return [_cells(row, data["horizon"]) for row in data["models"][:MOST_ROWS]]


def _cells(row: dict[str, Any], horizon: int) -> list[str]:
    constant, gap, other = row["constant"], row["smallest_gap"], row["mistaken_for"]
    lowest = "inf" if row["vacuous"] else row["forced"]
    return [
        row["name"],
        row["best_arm"],
        "no other arm" if gap is None else number(gap),
        "yes" if row["constant_regret_possible"] else "no",
        "∞" if constant == "inf" else number(constant),
        bound_text(lowest, horizon * row["largest_gap"]),
        f"{row['rough_cost']:,.1f}",
        few(row["decoys"], most=3) or "none",
        f"{other} ({number(row['difference'], 3)} apart)" if other else "none",
    ]


def _words(data: dict[str, Any]) -> list[str]:
    """Return what the columns mean, or the warning that there is nothing to choose."""
    if data["warning"]:
        return [paragraph(data["warning"])]
    vacuous = any(row["vacuous"] for row in data["models"])
    return [MEANINGS, *([VACUOUS] if vacuous else []), ORDER]
