"""The answer: a policy, the table behind it, and words."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structured_bandits.advice.candidate_rows import records_of
from structured_bandits.advice.candidates import BLIND
from structured_bandits.advice.race import Race
from structured_bandits.advice.sentences import words_of
from structured_bandits.display.advice_report import TIED
from structured_bandits.inference.misfit.report import Misfit
from structured_bandits.simulation.simulate import versions_of
from structured_bandits.structures.single_best_arm import only_best_arm

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Advice:
    """Which policy to take, and why.

    `policy` is the advised policy, ready for `sb.Agent`; `name` is what the table calls it; `tied` are
    the names of those that may be as good, as far as the runs can tell; `words` are a few sentences.
    `table` has a record for each candidate: regrets with 95 % intervals inside the structure (`mean`,
    `q95`, and `worst` on the truth `worst_truth`) and outside (`wrong`, by size), whether it survives
    that (`verdict`), how its mean compares with the blind reference's (`times_blind`), what became of it
    (`role`, `note`), from how many `runs` and whether these are `fresh`, `microseconds` per decision,
    whether it is `randomised` and whether it works with `batches` and late rewards. None stands for what
    was not measured.

    `refused` says which policies cannot work with the structure, and why. `info` has what the advice
    came from: seed, runs, truths, versions and seconds. `print` shows the table and the words.
    """

    policy: Any
    name: str
    tied: tuple[str, ...]
    words: str
    table: list[dict[str, Any]]
    refused: dict[str, str]
    info: dict[str, Any]

    def frame(self) -> pandas.DataFrame:
        """Return the table as a data frame; regrets outside the structure have a column each."""
        from structured_bandits.display.advice_report import frame_of

        return frame_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data, the policy by its parameters."""
        return {
            "name": self.name,
            "policy": repr(self.policy),
            "tied": list(self.tied),
            "words": self.words,
            "table": json.loads(json.dumps(self.table)),
            "refused": dict(self.refused),
            "info": json.loads(json.dumps(self.info)),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw mean regrets with their intervals, inside the structure and outside; return the axes."""
        from structured_bandits.display.advice_figure import draw_advice

        return draw_advice(self.table, ax)

    def save_page(self, path: str | os.PathLike[str]) -> None:
        """Write the words, a figure and the table as a web page, one HTML file that needs no network."""
        from structured_bandits.display.advice_report import save_page

        save_page(self, path)

    def __str__(self) -> str:
        from structured_bandits.display.advice_report import advice_text

        return advice_text(self)

    def __repr__(self) -> str:
        ties = f", tied with {', '.join(self.tied)}" if self.tied else ""
        return f"Advice({self.name}{ties})"

    def _repr_html_(self) -> str:
        from structured_bandits.display.advice_report import advice_html

        return advice_html(self)


def advice_of(race: Race, refused: dict[str, str], misfit: Misfit | None) -> Advice:
    """Return the advice that follows from what was played, and from data that were given."""
    options, budget = race.options, race.budget
    table = records_of(race)
    return Advice(
        race.candidates[race.chosen].policy,
        race.chosen,
        tuple(row["policy"] for row in table if row["role"] == TIED),
        f"{_warning(misfit)}{words_of(table, BLIND, options)}",
        table,
        refused,
        {
            "structure": repr(options.structure),
            "best_everywhere": only_best_arm(options.structure),
            "horizon": options.horizon,
            "family": options.family,
            "trust": options.trust,
            "level": options.level,
            "seed": options.seed,
            "runs": options.runs,
            "wrong": list(options.wrong),
            "outside": [size for size in race.stages if size != "inside"],
            "trials": {trial.name: trial.means.tolist() for trial in race.trials},
            "approximate": race.inside.approximate,
            "rewards": "the same tapes" if race.evaluator.taped else "the same truths and seeds",
            "seconds": round(budget.used, 1),
            "compiling": round(budget.compiling, 1),
            "versions": versions_of("compiled"),
            "e_value": None if misfit is None else min(misfit.e_value, sys.float_info.max),
        },
    )


def _warning(misfit: Misfit | None) -> str:
    """Return what must be said first if the data refute the structure."""
    if misfit is None or not misfit.refuted():
        return ""
    return (
        f"Your data refute the structure (e-value {misfit.e_value:.3g}), so only policies that do "
        "without it or doubt it were compared; mend the structure if you can. "
    )
