"""The bookkeeping of an experiment, as a clerk would do it with paper and pencil.

A slow, plain model of what the service promises about decisions and rewards: who was asked what, what is
out, held, expired, cancelled or late, which keys were used for what, and what every request is answered.
It knows nothing of policies: which arm is given it is told. It shares no code with the service.

Times are milliseconds. Rewards are meant to be multiples of 1/8, so that sums are exact in any order.
Several things may be wrong with one request; then any of their statuses is a right answer.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

OK, UNKNOWN, CONFLICT, REFUSED = 200, 404, 409, 422
Faults = frozenset[int]
NONE: Faults = frozenset()


class Results(NamedTuple):
    """Pulls, sums and, if they are known, squares of rewards by arm."""

    pulls: list[int]
    sums: list[float]
    squares: list[float] | None


@dataclass(frozen=True)
class Terms:
    """What the specification of a version says about rewards."""

    arms: tuple[str, ...]
    low: float = 0.0
    high: float = 1.0
    window: int | None = None
    missing: float | None = None  # None: cancelled
    late: bool = False  # are rewards learned after all that come after a window has cancelled?
    default_arm: int | None = None
    start: Results | None = None  # with which it begins if nothing is carried over


@dataclass
class Given:
    """A decision that was handed out; nothing is learned from those of a pause."""

    arm: int
    asked_at: int
    shown: bool = True
    in_pause: bool = False
    fate: str = "out"  # out, held, counted, cancelled (by request), lapsed (by its window), expired
    reward: float | None = None  # as it was told
    told_on: int = 0  # the page
    late: bool = False  # was it told after its window had cancelled it?


class Judged(NamedTuple):
    """What a request is answered: any of the statuses."""

    faults: Faults = NONE
    changed: bool = False  # is there anything new to record?
    said: Any = None

    @property
    def statuses(self) -> Faults:
        """All statuses that are right."""
        return self.faults or frozenset({OK})


class Entry(NamedTuple):
    """Rewards that count, on the page where they were told."""

    page: int
    results: Results


def added(parts: Iterable[Results], arms: int) -> Results:
    """Add results up; the squares of an arm are not a number once some are not known."""
    pulls, sums, squares = [0] * arms, [0.0] * arms, [0.0] * arms
    for part in parts:
        for arm in range(arms):
            if part.pulls[arm]:
                pulls[arm] += part.pulls[arm]
                sums[arm] += part.sums[arm]
                squares[arm] += math.nan if part.squares is None else part.squares[arm]
    return Results(pulls, sums, squares)


def renamed(results: Results, names: Sequence[str], wanted: Sequence[str]) -> Results:
    """Return results for other arms: those of the same name, and nothing for the others."""
    found: tuple[list[int], list[float], list[float]] = ([], [], [])
    columns = (results.pulls, results.sums, results.squares or [0.0] * len(names))
    for name in wanted:
        for column, picked in zip(columns, found, strict=True):
            picked.append(column[names.index(name)] if name in names else 0)  # type: ignore[arg-type]
    return Results(found[0], found[1], None if results.squares is None else found[2])


@dataclass
class Book:
    """One version of an experiment."""

    terms: Terms
    uid: str
    given: dict[int, Given] = field(default_factory=dict)
    bundles: dict[int, list[int]] = field(default_factory=dict)  # pulls by arm that are out
    keys: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # what was asked, what it got
    parked: set[int] = field(default_factory=set)
    paused: bool = False
    entries: list[Entry] = field(default_factory=list)
    page: int = 0  # on which the clerk writes
    retired: bool = False
    forwards_to: Book | None = None

    # --- what is where

    @property
    def out(self) -> int:
        """How many pulls wait for their reward, or with it for the end of their window."""
        singles = sum(
            each.fate in ("out", "held") and not each.in_pause for each in self.given.values()
        )
        return singles + sum(sum(left) for left in self.bundles.values())

    @property
    def held(self) -> int:
        """How many rewards wait for the end of their window."""
        return sum(each.fate == "held" for each in self.given.values())

    @property
    def closed(self) -> bool:
        """Was it replaced, and is nothing out any more?"""
        return self.retired and not self.out

    def totals(
        self, up_to: int | None = None, without: Collection[tuple[int, int]] = ()
    ) -> Results:
        """Add up what counts: up to a page, without ranges of pages (both ends included)."""
        return added(
            (
                results
                for page, results in self.entries
                if (up_to is None or page <= up_to)
                and not any(first <= page <= last for first, last in without)
            ),
            len(self.terms.arms),
        )

    def _count_one(self, arm: int, reward: float, page: int) -> None:
        arms = range(len(self.terms.arms))
        columns = ([value * (each == arm) for each in arms] for value in (1, reward, reward**2))
        self._count(Results(*columns), page)

    def _count(self, results: Results, page: int) -> None:
        """Let rewards count here, and in the version that has taken over."""
        self.entries.append(Entry(page, results))
        heir = self.forwards_to
        if heir is not None:
            named = renamed(results, self.terms.arms, heir.terms.arms)
            heir.entries.append(Entry(heir.page, named))

    # --- asking

    def places(self, available: Sequence[int | str] | None) -> set[int] | None:
        """Return the arms that a request names; None if one does not exist."""
        arms = self.terms.arms
        if available is None:
            return set(range(len(arms)))
        places = {arms.index(each) if each in arms else each for each in available}
        return places if places <= set(range(len(arms))) else None  # type: ignore[return-value]

    def judge_ask(
        self, n: int, available: Sequence[int | str] | None, key: str | None, defer: bool
    ) -> Judged:
        """Say what an ask is answered; a new one is then written down with `give`."""
        named = self.places(available)
        if named is None:
            return Judged(frozenset({REFUSED}))
        if key in self.keys:
            asked, got = self.keys[key]
            if asked != ("ask", n, defer):
                return Judged(frozenset({REFUSED}))
            gone = any(self.given[number].arm not in named for number in got)
            return Judged(frozenset({CONFLICT}) if gone else NONE, said=got)
        allowed = named - self.parked
        faults = set() if allowed else {REFUSED}
        if self.paused and self.terms.default_arm not in allowed:
            faults.add(CONFLICT)
        default = {self.terms.default_arm} if self.paused else allowed
        return Judged(frozenset(faults), True, default)

    def give(
        self, numbers: list[int], arms: list[int], key: str | None, defer: bool, now: int
    ) -> None:
        """Write down the decisions of an ask."""
        for number, arm in zip(numbers, arms, strict=True):
            assert number not in self.given, "a decision was given twice"
            assert (number < 0) == self.paused, "decisions of a pause are numbered downwards"
            self.given[number] = Given(arm, now, not defer or self.paused, self.paused)
        if key is not None:
            self.keys[key] = (("ask", len(numbers), defer), numbers)

    # --- rewards

    def fits(self, reward: float) -> bool:
        """Is it a reward that this experiment can have?"""
        return math.isfinite(reward) and self.terms.low <= reward <= self.terms.high

    def judge_reward(self, number: int, reward: float) -> Judged:
        """Say what a reward is answered; a new one is then written down with `take_reward`."""
        faults = set() if self.fits(reward) else {REFUSED}
        given = self.given.get(number)
        if given is None:
            faults.add(UNKNOWN)
        elif given.reward is not None:
            if given.reward != reward:
                faults.add(CONFLICT)
            return Judged(frozenset(faults), False, "duplicate")
        elif self.closed or not (
            given.fate == "out" or (given.fate == "lapsed" and self.terms.late)
        ):
            faults.add(CONFLICT)
        waits = given is not None and given.fate == "out" and not given.in_pause
        return Judged(
            frozenset(faults), True, "held" if self.terms.window and waits else "recorded"
        )

    def take_reward(self, number: int, reward: float) -> None:
        """Write down a reward that was found right."""
        given = self.given[number]
        given.reward, given.shown, given.told_on = reward, True, self.page
        if given.in_pause:
            given.fate = "counted"
        elif self.terms.window is None or given.fate == "lapsed":
            given.late, given.fate = given.fate == "lapsed", "counted"
            self._count_one(given.arm, reward, self.page)
        else:
            given.fate = "held"

    def cancel(self, number: int) -> Judged:
        """Take a decision back."""
        given = self.given.get(number)
        if given is None:
            return Judged(frozenset({UNKNOWN}))
        if given.fate == "cancelled":
            return Judged()
        if given.fate != "out" or self.closed:
            return Judged(frozenset({CONFLICT}))
        given.fate = "cancelled"
        return Judged(changed=True)

    def activate(self, number: int) -> Judged:
        """Write down that a deferred decision was shown."""
        given = self.given.get(number)
        if given is None:
            return Judged(frozenset({UNKNOWN}))
        over = given.fate in ("cancelled", "lapsed", "expired") or given.late
        if over or (self.closed and given.fate == "out"):
            return Judged(frozenset({CONFLICT}))
        changed = not given.shown
        given.shown = True
        return Judged(changed=changed)

    def settle(self, now: int) -> None:
        """Close the windows whose time has come."""
        window = self.terms.window
        if window is None:
            return
        for number in sorted(self.given):
            given = self.given[number]
            due = given.fate in ("out", "held") and not given.in_pause
            if not due or given.asked_at + window > now:
                continue
            if given.fate == "held":
                assert given.reward is not None
                given.fate = "counted"
                self._count_one(given.arm, given.reward, given.told_on)
            elif self.terms.missing is None or not given.shown:
                given.fate = "lapsed"
            else:
                given.fate = "expired"
                self._count_one(given.arm, self.terms.missing, self.page)

    # --- many at once

    def can_be(self, results: Results) -> bool:
        """Can these be results at all?"""
        arms = len(self.terms.arms)
        if any(len(column) != arms for column in results if column is not None):
            return False
        low, high = self.terms.low, self.terms.high
        return all(
            low * count <= total <= high * count
            for count, total in zip(results.pulls, results.sums, strict=True)
        )

    def learn(self, results: Results, key: str) -> Judged:
        """Take in results from elsewhere; that the key is new was seen before."""
        if not self.can_be(results):
            return Judged(frozenset({REFUSED}))
        self.keys[key] = (("learn", results), None)
        self._count(results, self.page)
        return Judged(changed=True)

    def judge_hand_out(self, limit: int, key: str | None, refuted: bool) -> Judged:
        """Say what a request for a batch is answered; `refuted`: only the control arm is played."""
        if key in self.keys:
            asked, got = self.keys[key]
            same = asked == ("batch", limit)
            return Judged(NONE if same else frozenset({REFUSED}), said=got)
        if self.paused or self.terms.window is not None or refuted:
            return Judged(frozenset({CONFLICT}))
        return Judged(changed=True)

    def give_batch(self, number: int, pulls: list[int], limit: int, key: str | None) -> None:
        """Write down a batch."""
        assert 1 <= sum(pulls) <= limit
        self.bundles[number] = list(pulls)
        if key is not None:
            self.keys[key] = (("batch", limit), (number, list(pulls)))

    def results(self, number: int, results: Results, key: str) -> Judged:
        """Take in results of a part of a batch."""
        asked = ("results", number, results)
        if key in self.keys:
            return Judged(NONE if self.keys[key][0] == asked else frozenset({REFUSED}))
        left = self.bundles.get(number, [])
        faults = set() if self.can_be(results) else {REFUSED}
        if not sum(left):
            faults.add(UNKNOWN)
        elif any(count > rest for count, rest in zip(results.pulls, left, strict=False)):
            faults.add(CONFLICT)
        if self.closed:
            faults.add(CONFLICT)
        if faults:
            return Judged(frozenset(faults))
        self.bundles[number] = [a - b for a, b in zip(left, results.pulls, strict=True)]
        self.keys[key] = (asked, None)
        self._count(results, self.page)
        return Judged(changed=True)

    # --- administration

    def park(self, arm: int, parked: bool) -> Judged:
        """Leave an arm out, or use it again."""
        if not 0 <= arm < len(self.terms.arms):
            return Judged(frozenset({REFUSED}))
        if parked == (arm in self.parked):
            return Judged()
        if parked and len(self.parked) == len(self.terms.arms) - 1:
            return Judged(frozenset({CONFLICT}))
        (self.parked.add if parked else self.parked.discard)(arm)
        return Judged(changed=True)

    def pause(self, paused: bool) -> Judged:
        """Stop, or go on."""
        changed = self.paused != paused
        self.paused = paused
        return Judged(changed=changed)


Told = tuple[tuple[Book, int] | None, float]  # a decision, if there is such a one, and its reward


@dataclass
class Books:
    """All versions of an experiment, the oldest first."""

    versions: list[Book] = field(default_factory=list)

    @property
    def current(self) -> Book:
        """The version that is asked."""
        return self.versions[-1]

    def key_of_decision(self, key: str) -> tuple[Book, int] | None:
        """Return the decision that was asked for with a key, of the newest version that knows it."""
        for book in reversed(self.versions):
            if key in book.keys:
                asked, got = book.keys[key]
                return (book, got[0]) if asked[:2] == ("ask", 1) else None
        return None

    def judge_rewards(self, told: Sequence[Told]) -> Judged:
        """Say what rewards are answered, which are told together: all count, or none."""
        faults: set[int] = set()
        fresh: dict[tuple[str, int], float] = {}
        said = []
        for place, reward in told:
            if place is None:
                faults |= {UNKNOWN} if self.current.fits(reward) else {UNKNOWN, REFUSED}
                continue
            book, number = place
            judged = book.judge_reward(number, reward)
            faults |= judged.faults
            known = fresh.get((book.uid, number))
            if judged.changed and known is not None:
                said.append("duplicate")
                faults |= set() if known == reward else {CONFLICT}
                continue
            if judged.changed:
                fresh[book.uid, number] = reward
            said.append(judged.said)
        return Judged(frozenset(faults), bool(fresh), said)

    def take_rewards(self, told: Sequence[Told]) -> None:
        """Write down rewards that were found right; those that are known change nothing."""
        for place, reward in told:
            assert place is not None, "a decision that nobody knows was told a reward"
            book, number = place
            if book.given[number].reward is None:
                book.take_reward(number, reward)

    def learn(self, results: Results, key: str) -> Judged:
        """Take in results from elsewhere, once."""
        for book in reversed(self.versions):
            if key in book.keys:
                same = book.keys[key][0] == ("learn", results)
                return Judged(NONE if same else frozenset({REFUSED}))
        return self.current.learn(results, key)

    def judge_version(self, key: str | None, asked: Any, names: Sequence[str]) -> Judged:
        """Say what a request for a new version is answered."""
        for number, book in enumerate(self.versions, start=1):
            if key in book.keys:
                same = book.keys[key][0] == ("version", asked)
                return Judged(NONE if same else frozenset({REFUSED}), said=number)
        left = set(names) - {self.current.terms.arms[arm] for arm in self.current.parked}
        return Judged(NONE if left else frozenset({REFUSED}), True, len(self.versions) + 1)

    def add_version(
        self, book: Book, carried: Results | None, key: str | None = None, asked: Any = None
    ) -> None:
        """Begin a new version; with None it gets nothing of the one before, now or later."""
        begin = book.terms.start if carried is None else carried
        if self.versions:
            old = self.current
            book.paused = old.paused
            names = {old.terms.arms[arm] for arm in old.parked}
            book.parked = {arm for arm, name in enumerate(book.terms.arms) if name in names}
        if begin is not None:
            book.entries.append(Entry(book.page, begin))
        if key is not None:
            book.keys[key] = (("version", asked), None)
        for each in self.versions:
            follows = carried is not None and (each.forwards_to is not None or not each.retired)
            each.retired, each.forwards_to = True, book if follows else None
        self.versions.append(book)

    def carried(
        self, names: Sequence[str], up_to: int | None, without: Collection[tuple[int, int]]
    ) -> Results:
        """Return what a new version with these arms begins with."""
        found = self.current.totals(up_to, without)
        assert found.squares is not None
        known = not any(map(math.isnan, found.squares))
        return renamed(
            found._replace(squares=found.squares if known else None), self.current.terms.arms, names
        )
