"""One call of `advise`: pilot, race, choice and fresh runs.

The pilot plays a few runs of everybody, to drop those that are far behind before they cost time.
Compiling a policy takes seconds, which a user waits for, and plans make Python fast enough for most
policies: who turns out hopeless there is never compiled. Whoever takes too many decisions for that is
compiled first and plays the same runs, with the same outcome.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from structured_bandits.advice.candidates import BLIND, Candidate
from structured_bandits.advice.estimates import (
    Estimates,
    end_of_mean,
    mean_of,
    quantile_of,
    worst_of,
)
from structured_bandits.advice.evaluation import DrawTruth, Evaluator, StopAfter, TimeBudget
from structured_bandits.advice.hard_instances import trials
from structured_bandits.advice.options import FEWEST_RUNS, Options
from structured_bandits.advice.standings import (
    LOOKS,
    Regrets,
    Standings,
    above_zero,
    is_hopeless,
    level_of_one_test,
)
from structured_bandits.advice.truths import NamedTruth, Truths, outsides
from structured_bandits.base.arrays import Floats
from structured_bandits.simulation.batches import needs_python

MOST_RUNS = 2048  # of a race: with more, differences of a few per cent are found that nobody feels
RACING = 0.6  # of the time; the rest is for fresh runs
UNTIL_CLEAR = 0.85  # of the time, if it is open whether one that seems better may be advised
FIRST_ROUND = 0.4  # of the time it gets at least, even if the pilot took more than its part
FINALISTS = 5  # that get fresh runs, beside the blind reference
THEORY = 0.05  # of the time
FRESH_RUNS = 512  # if there is time
TRIAL_RUNS = 64  # on each truth among which the worst is looked for


class Race:
    """One call of `advise`: who plays, what was played, and what follows from it."""

    def __init__(
        self, options: Options, several: list[Candidate], inside: Truths, budget: TimeBudget
    ) -> None:
        self.options = options
        self.candidates = {each.name: each for each in several}
        self.budget = budget
        self.evaluator = Evaluator(options, budget)
        self.inside = inside
        self.stages: dict[str, Truths] = {"inside": inside}
        budget.say("looking outside")
        several_outside = outsides(options, inside).items()
        self.stages |= {name: each for name, each in several_outside if each.exist(options.seed)}
        self.level = level_of_one_test(options.level, len(several))
        self.pilot = Pilot(self.evaluator, inside, self.level, len(self.stages))
        self.too_slow: dict[str, str] = {}
        self.trials: list[NamedTruth] = []
        self.fresh: dict[str, Estimates] = {}

    def run(self, given: list[NamedTruth]) -> None:
        """Play the pilot, the race and fresh runs."""
        deadline = self.budget.used + THEORY * self.options.seconds
        self.budget.say("asking theory for hard truths")
        self.trials = trials(self.options, self.inside, given, lambda: self.budget.used > deadline)
        racing = self.pilot.fly(list(self.candidates.values()))
        self.too_slow |= self.pilot.too_slow
        self.standings = self._race(racing)
        self.chosen, self.tied = self._choice()
        self._play_afresh()

    def _leave_out_slow(self, names: list[str], runs: int) -> list[str]:
        """Return those that can play so many runs in time; the slowest are left out."""
        costs = {name: runs * len(self.stages) * self.evaluator.run_seconds[name] for name in names}
        left = max(self.budget.left(RACING), FIRST_ROUND * self.options.seconds)
        for name in sorted(names, key=lambda each: -costs[each]):
            if name != BLIND and math.fsum(costs.values()) > left:
                seconds = FEWEST_RUNS * len(self.stages) * self.evaluator.run_seconds[name]
                self.too_slow[name] = f"{FEWEST_RUNS} runs would take {seconds:.1f} s"
                del costs[name]
        return [name for name in names if name in costs]

    def _race(self, racing: list[str]) -> Standings:
        """Play round by round until one is left, or the time or the number of runs is over."""
        regrets = self._no_regrets(racing)
        sizes = tuple(stage for stage in self.stages if stage != "inside")
        fast = self._leave_out_slow(racing, FEWEST_RUNS)
        careful = self.options.trust < 1.0
        standings = Standings(
            regrets, sizes, self.level, 0.5 * self.options.level / LOOKS, careful, fast
        )
        self._first_round(standings)
        standings.look()
        done, most = FEWEST_RUNS, self.options.runs or MOST_RUNS
        for _ in range(LOOKS - len(PILOT_LOOKS) - 1):
            aim = min(2 * done, most, done + self._affordable(standings))
            if aim <= done or standings.decided:
                break
            for block in range(self._blocks(done), self._blocks(aim)):
                self._play_block("race", block, {*standings.alive, BLIND}, regrets)
            done = self._blocks(aim) * self.evaluator.block_size
            standings.look()
        return standings

    def _first_round(self, standings: Standings) -> None:
        """Play the fewest runs with those that keep up with the time and do not fail by far."""
        regrets = standings.regrets
        for block in range(self._blocks(FEWEST_RUNS)):
            if block:
                standings.drop_hopeless()
                standings.alive = self._leave_out_slow(
                    standings.alive, FEWEST_RUNS - block * self.evaluator.block_size
                )
            self._play_block("race", block, {*standings.alive, BLIND}, regrets)
        for name in set(regrets) - {*standings.alive, *standings.dropped, BLIND}:
            del regrets[name]

    def _no_regrets(self, names: list[str]) -> dict[str, Regrets]:
        return {name: {stage: np.zeros(0) for stage in self.stages} for name in names}

    def _affordable(self, standings: Standings) -> int:
        """Return how many more runs fit into the time."""
        seconds = math.fsum(self.evaluator.run_seconds[name] for name in {*standings.alive, BLIND})
        size = self.evaluator.block_size
        share = UNTIL_CLEAR if standings.is_open() else RACING
        return size * int(self.budget.left(share) / (seconds * len(self.stages) * size))

    def _blocks(self, runs: int) -> int:
        return -(-runs // self.evaluator.block_size)

    def _play_block(
        self, part: str, block: int, names: set[str], regrets: dict[str, Regrets]
    ) -> None:
        """Let these candidates play a block of each kind of truths, all in the same worlds."""
        for stage, truths in self.stages.items():
            label = f"{part} {stage}"
            worlds = self.evaluator.worlds(label, block, truths.draw)
            for name in sorted(names):
                self.budget.say(f"{part}, run {(block + 1) * len(worlds)}: {name}")
                more = self.evaluator.play(self.candidates[name], label, block, worlds)
                regrets[name][stage] = np.append(regrets[name][stage], more)

    def _choice(self) -> tuple[str, list[str]]:
        """Return who is advised, and who cannot be told from it."""
        standings = self.standings
        eligible = standings.eligible() or [BLIND]
        order = sorted(eligible, key=self._rank)
        return order[0], order[1:]

    def _rank(self, name: str) -> tuple[float, ...]:
        """The lowest mean comes first; if means are equal, the lowest upper end, then time."""
        regret = self.standings.regrets[name]["inside"]
        upper = end_of_mean(regret, 0.025)
        return float(regret.mean()), upper, self.evaluator.decision_seconds[name]

    def _play_afresh(self) -> None:
        """Play the finalists and the blind reference anew, with runs that did not choose them."""
        finalists = list(dict.fromkeys([self.chosen, *self.tied[: FINALISTS - 1], BLIND]))
        regrets = self._no_regrets(finalists)
        for block in range(self._fresh_blocks(finalists)):
            self._play_block("fresh", block, set(finalists), regrets)
        self._separate(regrets)
        worst = self._trial_regrets(finalists)
        for name in finalists:
            inside = regrets[name].pop("inside")
            self.fresh[name] = Estimates(
                len(inside),
                mean_of(inside),
                quantile_of(inside),
                worst_of(self.trials, worst[name]),
                {stage: mean_of(each) for stage, each in regrets[name].items()},
            )

    def _separate(self, fresh: dict[str, Regrets]) -> None:
        """Drop those of the tied that fresh runs show to be worse; these runs chose nobody."""
        played = [name for name in self.tied if name in fresh]
        best = fresh[self.chosen]["inside"]
        for name in played:
            if above_zero(fresh[name]["inside"] - best, self.options.level / len(played)):
                self.tied.remove(name)
                self.standings.drop(name, f"worse than {self.chosen} in fresh runs")

    def _fresh_blocks(self, finalists: list[str]) -> int:
        """Return how many blocks of fresh runs to play: what fits beside the trials, but not few."""
        seconds = math.fsum(self.evaluator.run_seconds[name] for name in finalists)
        runs = self.budget.left() / seconds - TRIAL_RUNS * len(self.trials)
        fitting = int(runs / len(self.stages))
        wanted = self.options.runs or FRESH_RUNS
        return self._blocks(max(FEWEST_RUNS, min(wanted, fitting)))

    def _trial_regrets(self, finalists: list[str]) -> dict[str, list[Any]]:
        """Return the regrets on each of the truths among which the worst is looked for."""
        found: dict[str, list[Any]] = {name: [] for name in finalists}
        for number, trial in enumerate(self.trials):
            label = f"trial {number}"
            parts: dict[str, list[Any]] = {name: [] for name in finalists}
            for block in range(self._blocks(TRIAL_RUNS)):
                worlds = self.evaluator.worlds(label, block, _always(trial))
                for name in finalists:
                    self.budget.say(f"{label} of {len(self.trials)}: {name}")
                    parts[name].append(
                        self.evaluator.play(self.candidates[name], label, block, worlds)
                    )
            for name in finalists:
                found[name].append(np.concatenate(parts[name]))
        return found


def _always(trial: NamedTruth) -> DrawTruth:
    """Return what draws this truth every time."""
    return lambda rng: trial.means


PILOT_LOOKS = (4, 16)  # runs after which there is a look
MOST_PLANS = 4000  # of a run in Python
SHARE = 0.2  # of the time that Python may take
SLOWEST = 0.2  # of the time that the first round may take of a candidate that cannot be compiled


class Pilot:
    """The first runs: `regrets` of all who played, who is `hopeless`, and who `too_slow`."""

    def __init__(self, evaluator: Evaluator, truths: Truths, level: float, stages: int) -> None:
        self.evaluator = evaluator
        self.level = level
        self.patience = SLOWEST * evaluator.options.seconds / (FEWEST_RUNS * stages)
        self.worlds = evaluator.worlds("pilot", 0, truths.draw, PILOT_LOOKS[-1])
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
            if len(played) in PILOT_LOOKS:
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
