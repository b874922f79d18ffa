"""Elimination of candidates by paired differences; looks are few and share one probability of error.

Candidates play the same runs. At each look a candidate is dropped whose regret exceeds the leader's, by
a one-sided test of the paired differences at level / 2 / (looks x (candidates - 1)). The leader is the
candidate with the lowest mean regret; where the structure may be wrong, of those that *survive*: whose
regret on truths outside the structure is below twice the blind reference's. Verdicts are tests at
level / 2 / looks, shared among the sizes of error. So each verdict is wrong with a probability of at
most level / 2, and if the verdicts are right, the best candidate is ever dropped with at most that. The
tests are Student's with a correction for skewness (`estimates`): an approximation, which is why the race
looks at 64 runs first, and the pilot, which has fewer, drops only who is far behind besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from structured_bandits.advice.candidates import BLIND
from structured_bandits.advice.estimates import end_of_mean
from structured_bandits.base.arrays import Floats

LOOKS = 8  # two of the pilot, six of the race: 64, 128, …, 2,048 runs
TOLERATED = 2.0  # times the blind reference's regret: what is more than that fails
FAR = 1.5  # times the blind reference's regret, inside the structure: hopeless
SURVIVES, FAILS, UNCLEAR = "survives", "fails", "unclear"
Regrets = dict[str, Floats]  # by stage: "inside", or how wrong the structure is


def above_zero(samples: Floats, level: float) -> bool:
    """Return whether the mean is above 0, by a one-sided test."""
    return len(samples) > 1 and end_of_mean(samples, 1.0 - level) > 0.0


@dataclass
class Standings:
    """The regrets of each candidate so far, and those that were dropped."""

    regrets: dict[str, Regrets]  # of those that race, run by run the same worlds
    sizes: tuple[str, ...]  # the stages outside the structure
    level: float  # of one comparison with the leader
    verdict_level: float  # of one verdict
    careful: bool  # must the choice survive a structure that is wrong?
    alive: list[str] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)  # and why

    def mean(self, name: str, stage: str = "inside") -> float:
        """Return the mean regret so far."""
        return float(self.regrets[name][stage].mean())

    def verdict(self, name: str) -> str:
        """Return whether a candidate survives a structure that is wrong."""
        if name == BLIND or not self.sizes:
            return SURVIVES
        level = self.verdict_level / len(self.sizes)
        excess = [
            self.regrets[name][size] - TOLERATED * self.regrets[BLIND][size][: self._runs(name)]
            for size in self.sizes
        ]
        if any(above_zero(each, level) for each in excess):
            return FAILS
        return SURVIVES if all(above_zero(-each, level) for each in excess) else UNCLEAR

    def look(self) -> None:
        """Drop who is worse than the leader, or fails."""
        verdicts = {name: self.verdict(name) for name in self.alive}
        leader = min(self.eligible(verdicts) or [BLIND], key=self.mean)
        for name in list(self.alive):
            if self.careful and verdicts[name] == FAILS:
                self._drop_failing(name)
            elif above_zero(self._behind(name, leader), self.level):
                self.drop(name, f"worse than {leader} ({self._runs(name)} runs)")

    def drop_hopeless(self) -> None:
        """Drop who is so far above what is tolerated that no more runs are needed."""
        if not self.careful:
            return
        for name in [each for each in self.alive if each != BLIND]:
            mine, blind = self.regrets[name], self.regrets[BLIND]
            if any(is_hopeless(mine[s], TOLERATED * blind[s], self.level) for s in self.sizes):
                self._drop_failing(name)

    def eligible(self, verdicts: Mapping[str, str] | None = None) -> list[str]:
        """Return who may be advised: all that are alive, or those of them that survive."""
        if not self.careful:
            return self.alive
        known = verdicts or {name: self.verdict(name) for name in self.alive}
        return [name for name in self.alive if known[name] == SURVIVES]

    def is_open(self) -> bool:
        """Return whether somebody seems better than all that survive, and may survive, too."""
        leader = min(self.eligible() or [BLIND], key=self.mean)
        better = [name for name in self.alive if self.mean(name) < self.mean(leader)]
        return self.careful and any(self.verdict(name) == UNCLEAR for name in better)

    def drop(self, name: str, why: str) -> None:
        """Take a candidate out of the race."""
        self.alive.remove(name)
        self.dropped[name] = why

    def _drop_failing(self, name: str) -> None:
        self.drop(name, f"fails if the structure is wrong ({self._runs(name)} runs)")

    @property
    def decided(self) -> bool:
        """Whether a single candidate is left."""
        return len(self.alive) == 1

    def _runs(self, name: str) -> int:
        return len(self.regrets[name]["inside"])

    def _behind(self, name: str, leader: str) -> Floats:
        runs = self._runs(name)
        return self.regrets[name]["inside"] - self.regrets[leader]["inside"][:runs]


def level_of_one_test(level: float, candidates: int) -> float:
    """Return the level of one test, so that all of them together keep to half of `level`."""
    return 0.5 * level / (LOOKS * max(1, candidates - 1))


def is_hopeless(regret: Floats, blind: Floats, level: float) -> bool:
    """Return whether a candidate is so far behind the blind reference that no more runs are needed.

    The pilot has few runs, so that a t-test alone is not trusted: the mean must be half as high again.
    """
    behind = regret - blind[: len(regret)]
    return bool(regret.mean() >= FAR * np.mean(blind)) and above_zero(behind, level)
