"""Plain records for pages and pictures: verdicts, what each figure shows, gaps that remove arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from structured_bandits.base.arrays import Floats
from structured_bandits.base.text_tables import paragraph, table_text
from structured_bandits.simulation.result import Result
from structured_bandits.structures.base import Structure
from structured_bandits.theory.analysis import Analysis

HOLDS, FAILS, SAME = "holds", "does not hold", "no difference"
OPEN = "open"  # more runs will decide it
CAPPED = "capped"  # no more runs were allowed


@dataclass(frozen=True)
class Verdict:
    """The verdict of runs on a claim, in a word and in numbers."""

    outcome: str
    numbers: str
    distance: float = 0.0  # in standard errors; below 0 speaks for the claim
    runs: int = 0
    asymptotic: bool = False  # does it rest on the central limit theorem?

    @property
    def text(self) -> str:
        """The verdict as a cell of a table."""
        if self.outcome in (OPEN, CAPPED):
            side = "for" if self.distance < 0.0 else "against"
            return f"{self.outcome} at {self.runs:,} runs ({abs(self.distance):.1f} s.e. {side})"
        return f"{self.outcome} ≈" if self.asymptotic else self.outcome


def tally(verdicts: Iterable[Verdict]) -> str:
    """Return how many claims hold, do not, make no difference or were capped."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    words = {
        HOLDS: "hold",
        FAILS: "do not",
        SAME: "make no difference that matters",
        CAPPED: "are capped",
        OPEN: "are open",
    }
    always = (HOLDS, FAILS)
    return ", ".join(
        f"{counts[outcome]} {said}"
        for outcome, said in words.items()
        if counts[outcome] or outcome in always
    )


@dataclass(frozen=True)
class Findings:
    """The findings on all claims together, for the head of a page and the foot of a table."""

    counts: str  # how many claims hold
    lists: dict[str, tuple[str, ...]]  # claims that deserve to be named, under a heading
    sureness: str  # how sure the verdicts are

    def text(self) -> str:
        """Return it for the terminal."""
        parts = [paragraph(self.counts)]
        for heading, statements in self.lists.items():
            if statements:
                parts.append("\n".join([f"{heading}:", *(f"- {each}" for each in statements)]))
        return "\n\n".join([*parts, paragraph(self.sureness)])


@dataclass(frozen=True)
class Statement:
    """Something that is claimed, and where."""

    id: str
    statement: str
    where: str
    experiment: str  # whose runs decide it, and whose figure shows it


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


@dataclass(frozen=True)
class ShownProblem:
    """A structure, its true model and the true means, as a figure needs them."""

    structure: Structure
    truth: Any
    means: Floats


@dataclass(frozen=True)
class Shown:
    """What a figure shows, and the words around it."""

    name: str  # of its files, and its place on the page
    title: str
    caption: str
    kind: str  # "regret", "pulls" or "structure"
    horizon: int
    rewards: str
    problem: ShownProblem | None  # None: drawn afresh in each run
    result: Result | None  # None: nothing is played, the structure is shown
    beta: float  # the margin at which the gaps of a structure remove arms
    experiment: str = ""  # figures of the same experiment stand side by side
    preset: str = ""


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
