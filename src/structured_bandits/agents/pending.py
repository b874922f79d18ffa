"""The decisions whose rewards are out: as columns, because there may be millions of them.

Ids rise, so a decision is found by bisection. A decision that is answered is marked, and marked ones
are removed once they are more than half: 21 bytes for each decision, 42 at worst.

In a snapshot a column is packed: there may be a million decisions whose rewards are out. Written digit
by digit they would take half a second, for which a service would have to stop; their differences mostly
fit into one byte each.
"""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints

ANSWERED = -1  # instead of an arm

#: Why an arm was given: it is the plan's next, rewards were out and so it went beyond the plan, none of
#: the arms that the plan wants was available, or it was chosen from outside. Columns and snapshots hold
#: the places in this tuple.
REASONS = ("plan", "extra", "restricted", "forced")
PLAN, EXTRA, RESTRICTED, FORCED = range(4)


class Pending(NamedTuple):
    """A decision whose reward is out."""

    id: int
    arm: int
    plan: int  # the number of its plan
    reason: int  # a place in REASONS


class PendingDecisions:
    """The columns; ids are added in rising order."""

    def __init__(self, arms: int) -> None:
        self.ids = array("q")
        self.arms = array("i")
        self.plans = array("q")
        self.reasons = array("b")
        self.counts = [0] * arms  # how many are out, by arm
        self._answered = 0
        self._front = 0  # all decisions before this place are answered
        self._removed: list[Pending] = []  # since `mark`

    def mark(self) -> None:
        """Begin a change that `undo` can undo."""
        self._removed = []

    def undo(self, next_id: int) -> list[int]:
        """Undo all since `mark`, when `next_id` was the next id; return the ids that were removed.

        Nothing is assumed of the columns but that they were changed by the methods of this class, of
        which the last one may have been interrupted.
        """
        rows = zip(self.ids, self.arms, self.plans, self.reasons, strict=False)
        out = {row[0]: Pending(*row) for row in rows if row[0] < next_id and row[1] != ANSWERED}
        out.update((each.id, each) for each in self._removed if each.id < next_id)
        columns = list(zip(*(out[each] for each in sorted(out)), strict=True)) or [()] * 4
        self._set_columns([np.array(column, np.int64) for column in columns])
        self.counts[:] = np.bincount(np.asarray(self.arms), minlength=len(self.counts)).tolist()
        return [each.id for each in self._removed]

    def add(self, pending: Pending) -> None:
        """Add a decision with a higher id than all before."""
        self.ids.append(pending.id)
        self.arms.append(pending.arm)
        self.plans.append(pending.plan)
        self.reasons.append(pending.reason)
        self.counts[pending.arm] += 1

    def find(self, decision_id: int) -> Pending | None:
        """Return a decision, None if there is none with this id or its reward is not out."""
        place = bisect_left(self.ids, decision_id)
        if place == len(self.ids) or self.ids[place] != decision_id:
            return None
        return None if self.arms[place] == ANSWERED else self._at(place)

    def remove(self, pending: Pending) -> None:
        """Remove a decision that `find` has found."""
        self._removed.append(pending)
        place = bisect_left(self.ids, pending.id)
        self.counts[self.arms[place]] -= 1
        self.arms[place] = ANSWERED
        self._answered += 1
        while self.arms and self.arms[-1] == ANSWERED:
            for column in (self.ids, self.arms, self.plans, self.reasons):
                column.pop()
            self._answered -= 1
        if self._front > len(self.ids):
            self._front = len(self.ids)
        if 2 * self._answered > len(self.ids) + 64:
            self._compact()

    def oldest(self) -> int | None:
        """Return the lowest id of a decision that is out, None if there is none."""
        if not self.ids:
            return None  # answered ones at the end are never kept
        while self.arms[self._front] == ANSWERED:
            self._front += 1
        return self.ids[self._front]

    def ids_before(self, decision_id: int) -> tuple[int, ...]:
        """Return the ids of the decisions that are out and were asked before this one."""
        end = bisect_left(self.ids, decision_id)
        return tuple(self.ids[place] for place in range(end) if self.arms[place] != ANSWERED)

    def oldest_ids(self, before: int, most: int) -> list[int]:
        """Return the lowest ids that are out and below `before`, at most `most`."""
        oldest = self.oldest()
        if oldest is None:
            return []
        end = bisect_left(self.ids, before)
        places = (place for place in range(self._front, end) if self.arms[place] != ANSWERED)
        return [self.ids[place] for place in islice(places, most)]

    def __len__(self) -> int:
        return len(self.ids) - self._answered

    def __iter__(self) -> Iterator[Pending]:
        return (self._at(place) for place, arm in enumerate(self.arms) if arm != ANSWERED)

    def columns(self) -> dict[str, array[int]]:
        """Return what is out, column by column."""
        self._compact()
        return {"id": self.ids, "arm": self.arms, "plan": self.plans, "reason": self.reasons}

    def _at(self, place: int) -> Pending:
        return Pending(self.ids[place], self.arms[place], self.plans[place], self.reasons[place])

    def _compact(self) -> None:
        if self._answered:
            out = np.asarray(self.arms) != ANSWERED
            columns = (self.ids, self.arms, self.plans, self.reasons)
            self._set_columns([np.asarray(column)[out] for column in columns])
        self._answered = self._front = 0

    def _set_columns(self, columns: Sequence[Ints]) -> None:
        """Set all columns, of which no row is answered."""
        kinds = zip("qiqb", columns, strict=True)
        new = [array(kind, column.astype(kind).tobytes()) for kind, column in kinds]
        self.ids, self.arms, self.plans, self.reasons = new
        self._answered = self._front = 0


FEW = 1_000  # numbers that are written as they are
WIDTHS = (1, 2, 4, 8)  # bytes of a difference


def packed(values: Sequence[int]) -> list[int] | dict[str, Any]:
    """Return whole numbers of 64 bits in a form that JSON takes.

    >>> packed([5, 6, 8])
    [5, 6, 8]
    >>> packed(range(5, 1006))["first"]
    5
    """
    if len(values) <= FEW:
        return list(values)
    column = np.asarray(values, np.int64)
    steps = np.diff(column)
    width = next(each for each in WIDTHS if _fits(steps, each))
    text = b64encode(steps.astype(f"<i{width}").tobytes()).decode()
    return {"first": int(column[0]), "width": width, "steps": text}


def unpacked(name: str, saved: Any) -> Ints:
    """Return what `packed` was given; raises ValueError if it cannot be that."""
    if isinstance(saved, list) and set(map(type, saved)) <= {int}:
        return np.array(saved, np.int64)
    if not isinstance(saved, dict) or type(saved["first"]) is not int:
        raise ValueError(f"decisions: {name} are no whole numbers")
    if type(saved["width"]) is not int or saved["width"] not in WIDTHS:
        raise ValueError(f"decisions: {name} have a width of {saved['width']!r} bytes")
    steps = np.frombuffer(b64decode(saved["steps"], validate=True), f"<i{saved['width']}")
    return np.concatenate(([saved["first"]], saved["first"] + np.cumsum(steps, dtype=np.int64)))


def _fits(steps: Ints, width: int) -> bool:
    most = np.iinfo(f"i{width}")
    return bool(most.min <= steps.min() and steps.max() <= most.max)
