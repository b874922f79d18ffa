"""Tapes of uniform numbers in place of a generator, for randomised policies in the Python engine.

A policy plays a tape pull by pull and planned, and must pull the same arms. Of a `UniformTape` pull t
reads number t, however far it was planned; of a `DrawTape` each draw reads the next number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri

from structured_bandits.lookahead import base as lookahead
from structured_bandits.lookahead.streaks import Streak
from structured_bandits.policies.playing import choose, update
from structured_bandits.protocols import Choice, Now, Outcome
from structured_bandits.testing.tapes import Played, play_in
from structured_bandits.worlds.tape import Tape


@dataclass
class UniformTape:
    """Stands for a generator; `t` is the pull that is being decided."""

    uniforms: np.ndarray
    t: int = 0
    bound: float = 0.0  # of the last wait
    end: int = -1  # the pull whose number ended it
    begun: int = -1  # the pull at which it was drawn

    def uniform(self, low: float, high: float) -> float:
        """Return the number of this pull; of its range the policy has to know what it was told.

        A policy that forgets it would play the same on a tape, but not with a generator.
        """
        known = (0.0, 1.0)
        if self.begun >= 0:
            known = (0.0, self.bound) if self.t == self.end else (self.bound, 1.0)
            self.begun = -1
        assert (low, high) == known, f"pull {self.t}: {low} to {high}, but {known} is known"
        u = float(self.uniforms[self.t])
        assert low <= u < high
        return u

    def geometric(self, bound: float) -> int:
        """Return 1 plus how many numbers follow before the first below `bound`."""
        below = np.flatnonzero(self.uniforms[self.t + 1 :] < bound)
        wait = int(below[0]) if len(below) else len(self.uniforms)
        self.bound, self.begun, self.end = bound, self.t, self.t + 1 + wait
        return wait + 1


@dataclass
class ReadsTape:
    """Passes all on to a policy and tells the tape which pull it is; notes the longest streak."""

    policy: Any
    longest: int = 0

    def init(self) -> Any:
        """Return a fresh state of the policy."""
        return self.policy.init()

    def choose(self, state: Any, now: Now, rng: UniformTape) -> Choice:
        """Let the policy decide by its definition."""
        rng.t = now.t
        return choose(self.policy, state, now, rng)  # type: ignore[arg-type]

    def update(self, state: Any, outcome: Outcome) -> None:
        """Hand on the results."""
        update(self.policy, state, outcome)


class WritesTape(ReadsTape):
    """Plays pull by pull and writes the tape: numbers that nearly draw another arm.

    Most are close to 1, so that long plans are possible; some lie just below the probability of the
    arms other than the likeliest, where a plan that takes it for smaller goes wrong.
    """

    def __init__(self, policy: Any, rng: np.random.Generator) -> None:
        super().__init__(policy)
        self.rng = rng

    def choose(self, state: Any, now: Now, rng: UniformTape) -> Choice:
        """Write the number of this pull first."""
        weights = state.belief.arms
        others = np.delete(weights, weights.argmax()).sum() / weights.sum()
        luck = self.rng.random()
        if luck < 0.9:
            rng.uniforms[now.t] = 1.0 - 1e-3 * self.rng.random()
        elif luck < 0.97 and others > 1e-100:
            rng.uniforms[now.t] = others * (1.0 - 0.01 * self.rng.random())
        else:
            rng.uniforms[now.t] = self.rng.random()
        return super().choose(state, now, rng)


def _quick_choose(reader: ReadsTape, state: Any, now: Now, rng: Any, work: Any) -> Any:
    rng.t = now.t
    return lookahead.quick_choose(reader.policy, state, now, rng, work)


def _stretch(reader: ReadsTape, state: Any, choice: Any, now: Now, rng: Any, work: Any) -> Streak:
    streak: Streak = lookahead.stretch(reader.policy, state, choice, now, rng, work)
    reader.longest = max(reader.longest, streak.length)
    return streak


lookahead.register(
    ReadsTape,
    lookahead.Lookahead(
        quick_choose=_quick_choose,
        stretch=_stretch,
        note=lambda reader, *told: lookahead.note(reader.policy, *told),
        memory=lambda reader, tables: lookahead.memory(reader.policy, tables),
        prepare=lambda reader: lookahead.tables_of(reader.policy),
    ),
)


def play_tape(
    policy: Any, rewards: np.ndarray, uniforms: np.ndarray, planning: bool
) -> tuple[Played, int]:
    """Play a policy in Python on rewards and uniforms; return the run and its longest streak."""
    reader = ReadsTape(policy)
    tape: Any = UniformTape(uniforms)
    played = play_in(Tape(rewards), reader, len(uniforms), False, planning, tape)
    return played, reader.longest


def hostile_uniforms(
    policy: Any, rewards: np.ndarray, horizon: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the tape that `WritesTape` writes for a policy on these rewards."""
    tape: Any = UniformTape(np.zeros(horizon))
    play_in(Tape(rewards), WritesTape(policy, rng), horizon, False, False, tape)
    uniforms: np.ndarray = tape.uniforms
    return uniforms


# ------------------------------------------------------------------ the next number for each draw


def below(u: float, probability: float) -> bool:
    """Does a wait end with this uniform, if the small uniforms end it?"""
    return u < probability


def above(u: float, probability: float) -> bool:
    """Does a wait end with this uniform, if the large uniforms end it?"""
    return u >= 1.0 - probability


@dataclass
class DrawTape:
    """Hands out the numbers of a tape, one for each uniform, quantile of a law or failure of a wait."""

    tape: Sequence[float]
    ends: Callable[[float, float], bool] = below
    place: int = 0

    def uniform(self, low: float, high: float) -> float:
        assert (low, high) == (0.0, 1.0)
        self.place += 1
        return self.tape[self.place - 1]

    def beta(self, a: float, b: float) -> float:
        return float(betaincinv(a, b, self.uniform(0.0, 1.0)))

    def normal(self, mean: float, deviation: float) -> float:
        return mean + deviation * float(ndtri(self.uniform(0.0, 1.0)))

    def geometric(self, probability: float) -> int:
        """Return how many uniforms there are up to the first that ends the wait."""
        start = self.place
        while self.place < len(self.tape):
            if self.ends(self.uniform(0.0, 1.0), probability):
                return self.place - start
        return self.place - start + 1  # the tape ends inside the wait


def play_draws(
    policy: Any,
    rewards: np.ndarray,
    horizon: int,
    tape: DrawTape,
    planning: bool,
) -> Played:
    """Play a policy in Python on rewards and on the numbers of a tape."""
    rng: Any = tape
    return play_in(Tape(rewards), policy, horizon, False, planning, rng)
