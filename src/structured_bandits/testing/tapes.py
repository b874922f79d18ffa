"""Reward tapes on which policies are hard to get right, and playing a policy on a tape by either engine.

Tapes have ties, runs of luck, nothing but the worst. All rewards are multiples of a power of two, so
that sums are exact in any order: a policy that plays differently when rewards come in blocks has no
excuse in rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.agents.agent import agent_generator
from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.lookahead.base import NO_WORK, Work, fresh_work, note_each, quick_plan
from structured_bandits.policies.playing import observe
from structured_bandits.policies.validation import check_plan
from structured_bandits.protocols import Now, Seen
from structured_bandits.simulation.batches import engine_of
from structured_bandits.simulation.delayed import comes_late
from structured_bandits.simulation.engine import game_of
from structured_bandits.simulation.generator import Memory, RunStarts
from structured_bandits.simulation.run_spec import Runs
from structured_bandits.testing.requirements import require
from structured_bandits.worlds.tape import Tape

STYLES = 8
UNWRITTEN = -(2**40)  # what a plan finds in its quota and has to overwrite


def reward_tape(
    number: int,
    arms: int,
    pulls: int,
    reward_range: tuple[float, float] = (0.0, 1.0),
    coins: bool = False,
) -> Floats:
    """Return the tape with this number, rewards of arms × pulls; a number always gives the same tape.

    With `coins` all rewards are 0 or 1. Tapes 0 and 1 pay the least and the most all the time, on tape 2
    all arms pay alike, on tape 3 rewards come in runs, on 4 the bad ones come first and on 5 the good
    ones; 6 and 7 are random. Tape 8 is of the same kind as tape 0, tape 9 as tape 1, and so on.
    """
    rng = np.random.default_rng([number, arms, pulls])
    levels = np.array([0.0, 1.0]) if coins else reward_levels(reward_range)
    style = number % STYLES
    if style < 2:
        return np.full((arms, pulls), levels[-1 if style else 0])
    rewards = _random(rng, arms, pulls, levels, ends_only=number % 2 == 1)
    if style == 2:
        return np.repeat(rewards[:1], arms, axis=0)
    if style == 3:
        return np.ascontiguousarray(np.repeat(rewards, 7, axis=1)[:, :pulls])
    if style in (4, 5):
        rising = np.sort(rewards, axis=1)
        return rising if style == 4 else np.ascontiguousarray(rising[:, ::-1])
    return rewards


def reward_levels(reward_range: tuple[float, float]) -> Floats:
    """Return some 9 to 17 multiples of a power of two in a range, rising."""
    low, high = reward_range
    step = 2.0 ** math.floor(math.log2((high - low) / 8.0))
    return step * np.arange(math.ceil(low / step), math.floor(high / step) + 1.0)


def _random(
    rng: np.random.Generator, arms: int, pulls: int, levels: Floats, ends_only: bool
) -> Floats:
    """Return random rewards, of each arm around a mean of its own: any level, or the ends only."""
    shares = rng.random((arms, 1))
    if ends_only:
        return np.where(rng.random((arms, pulls)) < shares, levels[-1], levels[0])
    steps = rng.binomial(len(levels) - 1, np.broadcast_to(shares, (arms, pulls)))
    return levels[steps]


class Played(NamedTuple):
    """A run: the arm of each pull, the number of plans and that of empty confidence sets."""

    arms: list[int]
    plans: int
    empty: int


@dataclass
class Spy:
    """Passes everything on to a policy, in plain Python; looks at its plans and notes them.

    Plans of a policy that chooses before each pull are what its lookahead finds certain.
    """

    policy: Any
    work: Work = NO_WORK
    longest: int = 0  # pulls of the longest plan
    cut: bool = False  # did the horizon end the last plan?

    def init(self) -> Any:
        """Return a fresh state of the policy."""
        self.work = fresh_work(self.policy)
        return self.policy.init()

    def plan(self, state: Any, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Let the policy plan; raise unless that is a plan."""
        quota[:] = UNWRITTEN
        empty: int = quick_plan(self.policy, state, now, quota, rng, self.work)
        name = type(self.policy).__name__
        unwritten = np.flatnonzero(quota <= UNWRITTEN // 2)
        require(
            not len(unwritten),
            f"plan of {name} must write a number of pulls for every arm into quota, 0 for the others.",
            f"After {now.t} pulls it left what was there before for the arms {unwritten.tolist()}; "
            "begin it with quota[:] = 0.",
        )
        check_plan(name, empty, quota)
        self.longest = max(self.longest, int(quota.sum()))
        self.cut = bool(quota.sum() > now.limit or quota.sum() == now.limit > 1)
        return empty

    def observe(self, state: Any, seen: Seen) -> None:
        """Hand on the results."""
        observe(self.policy, state, seen)
        note_each(self.policy, state, seen, self.work)


def play(
    policy: Any, rewards: Any, horizon: int, compiled: bool, planning: bool, seed: int = 0
) -> Played:
    """Play `policy` for `horizon` pulls on a tape of rewards (arms × pulls).

    A randomised policy draws what it draws in an `Agent` with this seed.
    """
    rng = agent_generator(seed)
    return play_in(Tape(rewards), policy, horizon, compiled, planning, rng)


def play_in(
    world: Any,
    policy: Any,
    horizon: int,
    compiled: bool,
    planning: bool,
    rng: np.random.Generator,
) -> Played:
    """Play `policy` in `world` with the generator as it stands."""
    runs = Runs(
        checkpoints=np.array([horizon]),
        regret=np.zeros((1, 1)),
        pulls=np.zeros((1, len(world.means)), np.int64),
        sums=np.zeros((1, len(world.means))),
        arms=np.zeros((1, horizon), np.int64),
        plans=np.zeros(1, np.int64),
        empty=np.zeros(1, np.int64),
        alarms=np.zeros(1, np.int64),
        out=np.zeros((1, int(comes_late(type(world)))), np.int64),
    )
    stop = np.zeros(1, np.int64)
    game = game_of(policy, world, horizon, planning, rng, stop)
    # The engine sets a generator at the start of each run; here it sets memory that nobody reads.
    nowhere = Memory(np.zeros(4, np.uint64), np.zeros(2, np.uint32))
    starts = RunStarts(nowhere, np.zeros((1, 4), np.uint64))
    engine_of("compiled" if compiled else "python", policy, world)(policy, game, starts, runs)
    return Played(runs.arms[0].tolist(), int(runs.plans[0]), int(runs.empty[0]))
