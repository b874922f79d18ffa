"""Candidates are played on the same truths with the same rewards.

Runs come in blocks. Block b of a stage has its own generator, which draws a truth for each run and,
where that fits into memory, all rewards of all arms: a tape. Every candidate plays the same worlds, so
that differences between candidates are those of paired runs. Longer games share truths and seeds only.

The seconds that `advise` may play are counted here; compiling is shown and not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any
from zlib import crc32

import numpy as np

from structured_bandits.advice.candidates import Candidate
from structured_bandits.advice.options import Options
from structured_bandits.base.arrays import Floats
from structured_bandits.base.progress import progress_bar
from structured_bandits.protocols import WorldLike
from structured_bandits.simulation import engine as python_engine
from structured_bandits.simulation.batches import needs_python, play_block
from structured_bandits.simulation.generator import start_of_run
from structured_bandits.simulation.run_spec import Listed, RunRecord, Setting
from structured_bandits.simulation.workers import core_count, run_blocks
from structured_bandits.worlds.bernoulli import Bernoulli
from structured_bandits.worlds.gaussian import Gaussian
from structured_bandits.worlds.tape import Tape


class TimeBudget:
    """Seconds used so far out of those allowed, with a bar that shows them."""

    def __init__(self, seconds: float, progress: bool | None) -> None:
        self.seconds = seconds
        self.compiling = 0.0  # seconds that were not counted
        self._begin = time.perf_counter()
        self._bar: Any = progress_bar(
            "sb.advise",
            progress,
            total=round(seconds),
            delay=0.0,
            desc="preparing: ",  # as set_description writes it
            bar_format="{desc}{percentage:3.0f} % of {total} s |{bar}|",
        )
        self._shown = 0.0

    @property
    def used(self) -> float:
        """The seconds of playing so far."""
        return time.perf_counter() - self._begin - self.compiling

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until this share of them is used."""
        return share * self.seconds - self.used

    def say(self, text: str) -> None:
        """Show what is being done."""
        reached = min(self.used, self.seconds)
        self._bar.set_description(text, refresh=False)
        self._bar.update(reached - self._shown)
        self._bar.refresh()
        self._shown = reached

    @contextmanager
    def compiled(self, name: str) -> Iterator[None]:
        """Do not count what happens inside."""
        self.say(f"compiling {name}")
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.compiling += time.perf_counter() - begin

    def __enter__(self) -> TimeBudget:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)


LARGEST_BLOCK = 32  # runs
SMALLEST_BLOCK = 4
TAPES = 2**28  # bytes that the tapes of a block may take
REWARD = 16  # bytes of a reward on a tape: sums, and sums of squares
THREADS_PAY = 0.02  # seconds: less work than this is done sooner by one thread

DrawTruth = Callable[[np.random.Generator], Floats]


class StopAfter:
    """Ends a run after so many plans or seconds: stands for its flag, which is looked at once a plan."""

    def __init__(self, plans: float, seconds: float) -> None:
        self.plans = plans
        self.deadline = time.perf_counter() + seconds
        self.lost = False

    def __getitem__(self, place: int) -> int:
        self.plans -= 1
        self.lost = self.plans < 0 or time.perf_counter() > self.deadline
        return int(self.lost)


class Evaluator:
    """Plays candidates in the worlds of the options, and measures how long they take."""

    def __init__(self, options: Options, budget: TimeBudget) -> None:
        self.options = options
        self.budget = budget
        self.run_seconds: dict[str, float] = {}  # of a run, on all cores if nobody else needs them
        self.decision_seconds: dict[str, float] = {}  # of a decision, on one
        size = LARGEST_BLOCK
        cells = options.structure.n_arms * options.horizon
        while size > SMALLEST_BLOCK and size * cells * REWARD > TAPES:
            size //= 2
        self.taped = size * cells * REWARD <= TAPES
        self.block_size = size if self.taped else LARGEST_BLOCK

    def worlds(
        self, stage: str, block: int, draw: DrawTruth, count: int | None = None
    ) -> list[WorldLike]:
        """Return the worlds of a block: a truth for each run, and the rewards that it pays."""
        rng = np.random.default_rng([self.options.seed, crc32(stage.encode()), block])
        return [self.world(draw(rng), rng) for _ in range(count or self.block_size)]

    def world(self, means: Floats, rng: np.random.Generator) -> WorldLike:
        """Return a world with these means, on a tape if that fits."""
        if self.taped:
            return self._tape(means, rng)
        if self.options.reward_range is None:
            return Gaussian(means, self.options.sigma)
        return Bernoulli(means, self.options.reward_range)

    def _tape(self, means: Floats, rng: np.random.Generator) -> Tape:
        shape = len(means), self.options.horizon
        if self.options.reward_range is None:
            noise = self.options.sigma * rng.standard_normal(shape)
            return Tape(means[:, None] + noise, means)
        low, high = self.options.reward_range
        ones = rng.random(shape) < ((means - low) / (high - low))[:, None]
        return Tape(np.where(ones, high, low), means)

    def play(self, candidate: Candidate, stage: str, block: int, worlds: list[WorldLike]) -> Floats:
        """Return the regrets of a candidate in the worlds of a block."""
        seed = crc32(f"{self.options.seed} {stage} {block}".encode())
        begin = time.perf_counter()
        setting = self._setting(candidate, seed, self.options.horizon)
        case = Listed({candidate.name: candidate.played}, worlds)
        workers = self._workers(candidate) if self._takes_long(candidate, len(worlds)) else 1
        blocks = run_blocks(setting, case, range(len(worlds)), workers, False)
        taken = (time.perf_counter() - begin) / len(worlds)
        self.run_seconds[candidate.name] = min(taken, self.run_seconds.get(candidate.name, taken))
        return np.concatenate([block[candidate.name]["regret"][:, -1] for block in blocks])

    def prepare(self, candidate: Candidate, worlds: list[WorldLike]) -> Floats:
        """Compile what a candidate needs, by a single pull, and take the time of first runs."""
        if not needs_python(candidate.played):
            with self.budget.compiled(candidate.name):
                case = Listed({candidate.name: candidate.played}, worlds[:1])
                run_blocks(self._setting(candidate, 0, horizon=1), case, range(1), 1, False)
        seconds, shares, regrets = [], [], []
        for run, world in enumerate(worlds):
            setting = self._setting(candidate, self._pilot_seed(run), self.options.horizon)
            case = Listed({candidate.name: candidate.played}, [world])
            begin = time.perf_counter()
            block = play_block(setting, case, range(1), np.zeros(1, np.int64))[candidate.name]
            seconds.append(time.perf_counter() - begin)
            shares.append(seconds[-1] / block["plans"][0])
            regrets.append(block["regret"][0, -1])
        self.run_seconds[candidate.name] = min(seconds) / self._workers(candidate)
        self.decision_seconds[candidate.name] = median(shares)
        return np.array(regrets)

    def try_out(
        self, candidate: Candidate, run: int, world: WorldLike, patience: StopAfter
    ) -> float | None:
        """Return the regret of a first run without compiling anything, None if it takes too long."""
        horizon, arms = self.options.horizon, len(world.means)
        record = RunRecord(
            np.array([horizon]),
            np.zeros(1),
            np.zeros(arms, np.int64),
            np.zeros(arms),
            np.zeros(0, np.int64),
        )
        rng = np.random.Generator(start_of_run(self._pilot_seed(run), 0, candidate.name))
        flag: Any = patience
        game = python_engine.game_of(candidate.played, world, horizon, True, rng, flag)
        python_engine.run(candidate.played, game, record)
        return None if patience.lost else float(record.regret[0])

    def _pilot_seed(self, run: int) -> int:
        return crc32(f"{self.options.seed} pilot {run}".encode())

    def _workers(self, candidate: Candidate) -> int:
        """Python runs would need processes, and with them a form of the user's script."""
        return 1 if needs_python(candidate.played) else core_count()

    def _takes_long(self, candidate: Candidate, runs: int) -> bool:
        """Return whether so many runs take longer than threads need to begin and to end."""
        return self.run_seconds.get(candidate.name, THREADS_PAY) * runs >= THREADS_PAY

    def _setting(self, candidate: Candidate, seed: int, horizon: int) -> Setting:
        return Setting(
            names=(candidate.name,),
            horizon=horizon,
            seed=seed,
            checkpoints=np.array([horizon]),
            engine="compiled",
            processes=needs_python(candidate.played),
            planning=True,
            record_arms=False,
            misfit=False,
        )
