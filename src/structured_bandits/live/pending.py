"""The decisions whose rewards are out: as columns, because there may be millions of them.

Ids rise, so a decision is found by bisection. A decision that is answered is marked, and marked ones are
removed once they are more than half: 21 bytes for each decision, 42 at worst.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

ANSWERED = -1  # instead of an arm


class Pending(NamedTuple):
    """A decision whose reward is out."""

    id: int
    arm: int
    plan: int  # the number of its plan
    extra: bool


class PendingDecisions:
    """The columns; ids are added in rising order."""

    def __init__(self) -> None:
        self.ids = array("q")
        self.arms = array("i")
        self.plans = array("q")
        self.extra = array("b")
        self._answered = 0

    def add(self, pending: Pending) -> None:
        """Add a decision with a higher id than all before."""
        self.ids.append(pending.id)
        self.arms.append(pending.arm)
        self.plans.append(pending.plan)
        self.extra.append(pending.extra)

    def find(self, decision_id: int) -> Pending | None:
        """Return a decision, None if there is none with this id or its reward is not out."""
        place = bisect_left(self.ids, decision_id)
        if place == len(self.ids) or self.ids[place] != decision_id:
            return None
        return None if self.arms[place] == ANSWERED else self._at(place)

    def remove(self, decision_id: int) -> None:
        """Remove a decision that `find` has found."""
        self.arms[bisect_left(self.ids, decision_id)] = ANSWERED
        self._answered += 1
        while self.arms and self.arms[-1] == ANSWERED:
            for column in (self.ids, self.arms, self.plans, self.extra):
                column.pop()
            self._answered -= 1
        if 2 * self._answered > len(self.ids) + 64:
            self._compact()

    def __len__(self) -> int:
        return len(self.ids) - self._answered

    def __iter__(self) -> Iterator[Pending]:
        return (self._at(place) for place, arm in enumerate(self.arms) if arm != ANSWERED)

    def columns(self) -> dict[str, list[int]]:
        """Return what is out, column by column."""
        self._compact()
        return {
            "id": self.ids.tolist(),
            "arm": self.arms.tolist(),
            "plan": self.plans.tolist(),
            "extra": self.extra.tolist(),
        }

    def _at(self, place: int) -> Pending:
        return Pending(
            self.ids[place], self.arms[place], self.plans[place], bool(self.extra[place])
        )

    def _compact(self) -> None:
        kept = [place for place, arm in enumerate(self.arms) if arm != ANSWERED]
        if len(kept) < len(self.arms):
            for name in ("ids", "arms", "plans", "extra"):
                column = getattr(self, name)
                setattr(self, name, array(column.typecode, (column[place] for place in kept)))
        self._answered = 0
