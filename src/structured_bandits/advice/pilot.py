"""The pilot: a few runs of everybody, to drop those that are far behind before they cost time.

Compiling a policy takes seconds, which a user waits for, and plans make Python fast enough for most
policies: who turns out hopeless there is never compiled. Whoever takes too many decisions for that is
compiled first and plays the same runs, with the same outcome.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from structured_bandits.advice.candidates import BLIND, Candidate
from structured_bandits.advice.evaluation import Evaluator, StopAfter
from structured_bandits.advice.options import FEWEST_RUNS
from structured_bandits.advice.standings import is_hopeless
from structured_bandits.advice.truths import Truths
from structured_bandits.arrays import Floats
from structured_bandits.simulation.blocks import needs_python

BLOCKS = (4, 16)  # runs after which there is a look
MOST_PLANS = 4000  # of a run in Python
SHARE = 0.2  # of the time that Python may take
SLOWEST = 0.2  # of the time that the first round may take of a candidate that cannot be compiled


class Pilot:
    """The first runs: `regrets` of all who played, who is `hopeless`, and who `too_slow`."""

    def __init__(self, evaluator: Evaluator, truths: Truths, level: float, stages: int) -> None:
        self.evaluator = evaluator
        self.level = level
        self.patience = SLOWEST * evaluator.options.seconds / (FEWEST_RUNS * stages)
        self.worlds = evaluator.worlds("pilot", 0, truths.draw, BLOCKS[-1])
        self.regrets: dict[str, Floats] = {}
        self.hopeless: list[str] = []
        self.too_slow: dict[str, str] = {}

    def fly(self, candidates: Sequence[Candidate]) -> list[str]:
        """Let all play, the blind reference first; return the names of those that may race."""
        for candidate in sorted(candidates, key=lambda each: each.name != BLIND):
            self.evaluator.budget.say(f"trying {candidate.name}")
            if self._tries(candidate):
                self.regrets[candidate.name] = self.evaluator.prepare(candidate, self.worlds)
                self._look(candidate.name)
        out = {*self.hopeless, *self.too_slow}
        return [each.name for each in candidates if each.name not in out]

    def _tries(self, candidate: Candidate) -> bool:
        """Let a candidate play in Python; return whether it is worth more than that."""
        if candidate.name == BLIND:
            return True
        if needs_python(candidate.played):
            return self._is_fast(candidate)
        played: list[float] = []
        for run, world in enumerate(self.worlds):
            patience = StopAfter(MOST_PLANS, self.evaluator.budget.left(SHARE))
            regret = self.evaluator.try_out(candidate, run, world, patience)
            if regret is None:
                return True
            played.append(regret)
            if len(played) in BLOCKS:
                self.regrets[candidate.name] = np.array(played)
                self._look(candidate.name)
            if candidate.name in self.hopeless:
                return False
        return True

    def _is_fast(self, candidate: Candidate) -> bool:
        """Return whether a candidate that cannot be compiled can play often enough."""
        patience = StopAfter(math.inf, self.patience)
        begin = time.perf_counter()
        if self.evaluator.try_out(candidate, 0, self.worlds[0], patience) is None:
            self.too_slow[candidate.name] = f"a run takes more than {self.patience:.2g} s"
            return False
        self.evaluator.run_seconds[candidate.name] = time.perf_counter() - begin
        return True

    def _look(self, name: str) -> None:
        """Note whether a candidate is far behind the blind reference, of which all runs are known."""
        if name != BLIND and is_hopeless(self.regrets[name], self.regrets[BLIND], self.level):
            self.hopeless.append(name)
