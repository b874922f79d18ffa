"""A policy played by its lookahead, stretch by stretch, in plain Python: as the engine does it."""

from __future__ import annotations

from typing import Any

from structured_bandits.lookahead.base import fresh_work, note, quick_choose, stretch
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.playing import update
from structured_bandits.protocols import Now, Outcome


class Player:
    """A policy with what it has learned and what its lookahead keeps."""

    def __init__(self, policy: Any, pulls: Any = (), sums: Any = ()) -> None:
        self.policy = policy
        self.state, self.work = policy.init(), fresh_work(policy)
        for arm, (count, total) in enumerate(zip(pulls, sums, strict=True)):
            if count:
                self.end(Outcome(arm, int(count), float(total), float("nan")))

    @property
    def memory(self) -> Any:
        """What the lookahead keeps."""
        return self.work.memory

    def streak(self, now: Now, rng: Any) -> Streak:
        """Choose, and say for how long."""
        choice = quick_choose(self.policy, self.state, now, rng, self.work)
        if now.limit == 1:
            return certain_streak(int(choice.arm), 1, choice.empty)
        return stretch(self.policy, self.state, choice, now, rng, self.work)

    def end(self, outcome: Outcome) -> None:
        """Take in results."""
        update(self.policy, self.state, outcome)
        note(self.policy, self.state, outcome, self.work)
