"""What a page is told: claims with their verdicts, and what each figure shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from structured_bandits.arrays import Floats
from structured_bandits.simulation.result import Result
from structured_bandits.structures.base import Structure

HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"


@dataclass(frozen=True)
class Verdict:
    """What the runs say of a claim, in a word and in numbers."""

    outcome: str
    numbers: str
    distance: float = 0.0  # in standard errors; below 0 speaks for the claim

    @property
    def leaning(self) -> str:
        """Of an undecided claim: how many standard errors for or against it."""
        if self.outcome != OPEN:
            return ""
        return f"{abs(self.distance):.1f} s.e. {'for' if self.distance < 0.0 else 'against'}"


def tally(verdicts: dict[str, Verdict]) -> str:
    """Return how many claims hold, do not and are undecided."""
    counts = Counter(verdict.outcome for verdict in verdicts.values())
    return f"{counts[HOLDS]} hold, {counts[FAILS]} do not, {counts[OPEN]} undecided"


@dataclass(frozen=True)
class Statement:
    """Something that is claimed, and where."""

    id: str
    statement: str
    where: str


@dataclass(frozen=True)
class Problem:
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
    problem: Problem | None  # None: drawn afresh in each run
    result: Result | None  # None: nothing is played, the structure is shown
    beta: float  # the margin at which the gaps of a structure remove arms
