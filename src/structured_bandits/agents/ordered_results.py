"""Results in the order in which their decisions were asked: what is told early waits for its turn.

Rewards that come late may say something by when they come (clicks at once, their absence never), so
whoever tests the rewards must take them in the order of asking. A result is *settled* as soon as no
earlier decision is out any more; cancelled decisions are passed over.

Results that were told together, as sums, count together in the place of the last of their decisions:
none of them was known to whoever chose the arms up to there. Parts of a batch count in the place of the
last decision of the whole batch: which part came first may say something about the rewards, too.

Rewards that wait are kept by the number of their decision, 12 bytes for each decision since the oldest
one that is out: a reward that never comes makes all later ones wait until it is cancelled or expires.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from structured_bandits.protocols import Seen

NOTHING = -1  # instead of an arm: the decision is out, was cancelled, or told with later ones
TOGETHER = -2  # the decision is the last of several that were told together


class WaitingResults:
    """Rewards that were told while an earlier decision was out."""

    def __init__(self) -> None:
        self._arms = array("i")
        self._rewards = array("d")
        self._first = 0  # the decision of row 0
        self._start = 0  # rows before this one are settled
        self._waiting = 0  # results in all
        self._together: dict[int, Seen] = {}  # by the last of their decisions
        # Since `mark`: single ones in whose place parts wait now, with their arms and rewards.
        self._replaced: list[tuple[int, int, float]] = []

    def mark(self) -> tuple[int, int, int, int, dict[int, Seen]]:
        """Begin a change; return what `undo` needs. Rows that are settled are dropped only here."""
        self._replaced = []
        if not self._waiting:
            self._together = {}
            del self._arms[:], self._rewards[:]
            self._start = 0
        elif 2 * self._start > len(self._arms) + 64:
            self._together = self.together
            del self._arms[: self._start], self._rewards[: self._start]
            self._first += self._start
            self._start = 0
        return self._first, self._start, self._waiting, len(self._arms), dict(self._together)

    def undo(self, marked: tuple[int, int, int, int, dict[int, Seen]], told: Iterable[int]) -> None:
        """Undo all since `mark`; `told` are the decisions whose rewards came since."""
        added = self._together.keys() - marked[4].keys()
        self._first, self._start, self._waiting, rows, self._together = marked
        del self._arms[rows:], self._rewards[rows:]
        for decision_id in (*told, *added):
            if 0 <= decision_id - self._first < rows and decision_id not in self._together:
                self._arms[decision_id - self._first] = NOTHING
        for decision_id, arm, reward in self._replaced:
            row = decision_id - self._first
            self._arms[row], self._rewards[row] = arm, reward
        self._replaced = []

    def add(self, decision_id: int, arm: int, reward: float, oldest: int) -> None:
        """Keep a reward; `oldest` is the first decision that is out, an earlier one."""
        if decision_id in self._together:  # parts of its batch wait in its place
            arms = len(self._together[decision_id].pulls)
            self.add_together(decision_id, _single(arm, reward, arms), oldest)
            return
        self._put(decision_id, arm, reward, oldest)
        self._waiting += 1

    def add_together(self, last: int, seen: Seen, oldest: int) -> None:
        """Keep results that were told together, or parts of them, in the place of decision `last`."""
        before, row = self._together.get(last), last - self._first
        if 0 <= row < len(self._arms) and self._arms[row] >= 0:  # that decision was told by itself
            self._replaced.append((last, self._arms[row], self._rewards[row]))
            before = _single(self._arms[row], self._rewards[row], len(seen.pulls))
        self._put(last, TOGETHER, 0.0, oldest)
        self._together[last] = seen if before is None else Seen(*map(np.add, before, seen))
        self._waiting += int(seen.pulls.sum())

    def _put(self, decision_id: int, arm: int, reward: float, oldest: int) -> None:
        if not self._arms:
            self._first = oldest
        missing = decision_id - self._first - len(self._arms) + 1
        if missing > 0:
            self._arms.extend([NOTHING] * missing)
            self._rewards.extend([0.0] * missing)
        row = decision_id - self._first
        self._arms[row], self._rewards[row] = arm, reward

    def settled_before(self, oldest: int | None) -> Iterator[tuple[int, float] | Seen]:
        """Yield those that need not wait longer, in asked order, once.

        A single one is an arm and a reward. `oldest` is the first decision that is out, None if there is
        none.
        """
        end = len(self._arms) if oldest is None else min(oldest - self._first, len(self._arms))
        while self._waiting and self._start < end:
            row = self._start
            self._start += 1
            if self._arms[row] == TOGETHER:
                seen = self._together[self._first + row]
                self._waiting -= int(seen.pulls.sum())
                yield seen
            elif self._arms[row] != NOTHING:
                self._waiting -= 1
                yield self._arms[row], self._rewards[row]

    def __len__(self) -> int:
        return self._waiting

    def columns(self) -> tuple[list[int], list[int], list[float]]:
        """Return what waits and was told by itself: ids, arms and rewards."""
        rows = [row for row in range(self._start, len(self._arms)) if self._arms[row] >= 0]
        return (
            [self._first + row for row in rows],
            [self._arms[row] for row in rows],
            [self._rewards[row] for row in rows],
        )

    @property
    def together(self) -> dict[int, Seen]:
        """What waits and was told together, by the last of its decisions."""
        settled = self._first + self._start
        return {last: seen for last, seen in sorted(self._together.items()) if last >= settled}


def _single(arm: int, reward: float, arms: int) -> Seen:
    """Return a single result as results of all arms."""
    one = Seen(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms))
    one.pulls[arm], one.sums[arm], one.squares[arm] = 1, reward, reward * reward
    return one
