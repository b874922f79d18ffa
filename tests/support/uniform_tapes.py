"""Tapes of uniform numbers: randomised policies play them pull by pull and planned, and must agree.

Pull t of a run reads number t of the tape, whoever reads it and however far it was planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structured_bandits.environments.tape import Tape
from structured_bandits.planning.streaks import Streak
from structured_bandits.protocol import Now, Outcome
from structured_bandits.testing.play import Played, play_in


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

    def streak(self, state: Any, now: Now, rng: UniformTape) -> Streak:
        """Let the policy decide."""
        rng.t = now.t
        streak: Streak = self.policy.streak(state, now, rng)
        self.longest = max(self.longest, streak.length)
        return streak

    def end_streak(self, state: Any, outcome: Outcome) -> None:
        """Hand on the results."""
        self.policy.end_streak(state, outcome)


class WritesTape(ReadsTape):
    """Plays pull by pull and writes the tape: numbers that nearly draw another arm.

    Most are close to 1, so that long plans are possible; some lie just below the probability of the
    arms other than the likeliest, where a plan that takes it for smaller goes wrong.
    """

    def __init__(self, policy: Any, rng: np.random.Generator) -> None:
        super().__init__(policy)
        self.rng = rng

    def streak(self, state: Any, now: Now, rng: UniformTape) -> Streak:
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
        return super().streak(state, now, rng)


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
