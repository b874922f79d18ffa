"""A version of an experiment without a store, for tests that need hundreds of lives.

Its uid is that of the test, so hashes and seeds, and with them all decisions, are always the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from structured_bandits.service.experiment.choosing import Choice, Wanted, choices_of
from structured_bandits.service.experiment.experiment_state import ExperimentState
from structured_bandits.service.experiment.judging import judge
from structured_bandits.service.experiment.spec import Spec, build_spec
from structured_bandits.service.rows import Event


class NoPast:
    """Nothing is told twice here, so nothing is looked up."""

    def outcome(self, decision: int) -> Event | None:
        """Return what became of a decision."""
        return None

    def late(self, decision: int) -> Event | None:
        """Return the late reward of a cancelled decision."""
        return None

    def by_key(self, key: str) -> Event | None:
        """Return the row with a key."""
        return None


class BareLife:
    """A life with a clock that the test moves, in seconds."""

    def __init__(self, spec: dict[str, Any] | Spec, number: int) -> None:
        spec = spec if isinstance(spec, Spec) else build_spec(spec)
        self.state = ExperimentState(spec, f"{number:012x}")
        self.now = 0.0

    def ask(self, n: int = 1) -> list[tuple[int, Choice]]:
        """Return the numbers of decisions with their choices."""
        event = self.state.ask(Wanted(n, None, None, defer=False), int(1000 * self.now))
        self.state.take_fresh()
        return list(enumerate(choices_of(event), start=event.decision or 0))

    def tell(self, rewards: Sequence[tuple[int, float]]) -> None:
        """Tell rewards together."""
        if rewards:
            judged = judge(self.state, rewards, NoPast())
            self.state.tell(judged, int(1000 * self.now))
            self.state.take_fresh()

    def settle(self) -> None:
        """Close the windows whose time has come."""
        while self.state.settle(int(1000 * self.now)):
            self.state.take_fresh()

    def play(self, means: Iterable[float], rewards: int, at_once: int, seed: int) -> None:
        """Ask and tell rewards of 0 and 1 with these means."""
        rng, truth = np.random.default_rng(seed), list(means)
        for _ in range(rewards // at_once):
            asked = self.ask(at_once)
            drawn = rng.random(len(asked))
            self.tell(
                [
                    (number, float(x < truth[choice.arm]))
                    for (number, choice), x in zip(asked, drawn, strict=True)
                ]
            )
