"""The bookkeeping of an experiment, as a clerk would do it with paper and pencil.

A slow, plain model of what the service promises about decisions and rewards: who was asked what, what is
out, held, expired, cancelled or late, which keys were used for what, and what every request is answered.
It knows nothing of policies: which arm is given it is told. It shares no code with the service.

Times are milliseconds. Rewards are meant to be multiples of 1/8, so that sums are exact in any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

OK, CONFLICT, UNKNOWN, REFUSED = 200, 409, 404, 422


@dataclass(frozen=True)
class Terms:
    """What the specification of a version says about rewards."""

    arms: tuple[str, ...]
    low: float = 0.0
    high: float = 1.0
    window: int | None = None
    missing: float | None = None  # None: cancelled
    late: bool = False  # are rewards of cancelled decisions learned after all?
    default_arm: int | None = None
    horizon: int = 10**9


@dataclass
class Given:
    """A decision that was handed out."""

    arm: int
    asked_at: int
    deferred: bool = False
    shown: bool = True
    fate: str = "out"  # out, held, counted, cancelled, expired
    reward: float | None = None  # as it was told


@dataclass
class Bundle:
    """A batch: pulls by arm that are still out."""

    left: list[int]
    asked_at: int


@dataclass(frozen=True)
class Judged:
    """What a request is answered."""

    status: int
    changed: bool = False  # is there anything new to record?
    said: Any = None


@dataclass
class Totals:
    """Pulls, sums and squares by arm."""

    pulls: list[int]
    sums: list[float]
    squares: list[float]

    @classmethod
    def none(cls, arms: int) -> Totals:
        """Return those of nothing."""
        return cls([0] * arms, [0.0] * arms, [0.0] * arms)

    def add(self, arm: int, reward: float) -> None:
        """Add a single reward."""
        self.pulls[arm] += 1
        self.sums[arm] += reward
        self.squares[arm] += reward * reward

    def add_many(self, pulls: list[int], sums: list[float], squares: list[float]) -> None:
        """Add results of many pulls."""
        for arm, (count, total, square) in enumerate(zip(pulls, sums, squares, strict=True)):
            self.pulls[arm] += count
            self.sums[arm] += total
            self.squares[arm] += square


@dataclass
class Book:
    """One version of an experiment."""

    terms: Terms
    uid: str
    given: dict[int, Given] = field(default_factory=dict)
    bundles: dict[int, Bundle] = field(default_factory=dict)
    keys: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # what was asked, what it got
    parked: set[int] = field(default_factory=set)
    paused: bool = False
    totals: Totals = field(init=False)
    forwards_to: Book | None = None

    def __post_init__(self) -> None:
        self.totals = Totals.none(len(self.terms.arms))

    # --- what is where

    @property
    def out(self) -> int:
        """How many pulls wait for their reward, or with it for the end of their window."""
        singles = sum(each.fate in ("out", "held") for each in self.given.values())
        return singles + sum(sum(bundle.left) for bundle in self.bundles.values())

    @property
    def held(self) -> int:
        """How many rewards wait for the end of their window."""
        return sum(each.fate == "held" for each in self.given.values())

    def count(self, arm: int, reward: float) -> None:
        """Let a reward count here, and in the version that has taken over."""
        self.totals.add(arm, reward)
        if self.forwards_to is not None:
            self.forwards_to.receive(self.terms.arms[arm], [1], [reward], [reward * reward])

    def receive(self, name: str, pulls: list[int], sums: list[float], squares: list[float]) -> None:
        """Take in late rewards of an older version, if this one has the arm, and pass them on."""
        if name in self.terms.arms:
            arm = self.terms.arms.index(name)
            self.totals.pulls[arm] += pulls[0]
            self.totals.sums[arm] += sums[0]
            self.totals.squares[arm] += squares[0]

    # --- asking

    def may_choose(self, available: list[int | str] | None) -> set[int] | None:
        """Return the arms that may be given; None if the request names one that does not exist."""
        arms = self.terms.arms
        everything = set(range(len(arms)))
        if available is None:
            return everything - self.parked
        chosen = set()
        for each in available:
            if isinstance(each, str) and each in arms:
                chosen.add(arms.index(each))
            elif isinstance(each, int) and 0 <= each < len(arms):
                chosen.add(each)
            else:
                return None
        return chosen - self.parked

    def judge_ask(
        self, n: int, available: list[int | str] | None, key: str | None, defer: bool
    ) -> Judged:
        """Say what an ask is answered; a new one is then written down with `give`."""
        if key is not None and key in self.keys:
            before, answer = self.keys[key]
            return Judged(OK, False, answer) if before == ("ask", n, defer) else Judged(REFUSED)
        allowed = self.may_choose(available)
        if allowed is None or not allowed:
            return Judged(REFUSED)
        return Judged(OK, True, allowed)

    def give(
        self, numbers: list[int], arms: list[int], key: str | None, defer: bool, now: int
    ) -> None:
        """Write down the decisions of an ask."""
        for number, arm in zip(numbers, arms, strict=True):
            assert number not in self.given, "a decision was given twice"
            self.given[number] = Given(arm, now, defer, not defer)
        if key is not None:
            self.keys[key] = (("ask", len(numbers), defer), (numbers, arms))

    # --- rewards

    def fits(self, reward: float) -> bool:
        """Is it a reward that this experiment can have?"""
        return math.isfinite(reward) and self.terms.low <= reward <= self.terms.high

    def judge_reward(self, number: int, reward: float) -> Judged:
        """Say what a reward is answered, and what is recorded of its decision before."""
        if number not in self.given:
            return Judged(UNKNOWN)
        if not self.fits(reward):
            return Judged(REFUSED)
        given = self.given[number]
        if given.reward is not None:
            same = given.reward == reward
            return Judged(OK if same else CONFLICT, False, "duplicate" if same else given.reward)
        if given.fate == "out":
            return Judged(OK, True, "recorded" if self.terms.window is None else "held")
        if given.fate == "cancelled" and self.terms.late:
            return Judged(OK, True, "recorded")
        return Judged(CONFLICT)

    def take_reward(self, number: int, reward: float) -> None:
        """Write down a reward that was found right."""
        given = self.given[number]
        given.reward = reward
        if self.terms.window is None or given.fate == "cancelled":
            given.fate = "counted"
            self.count(given.arm, reward)
        else:
            given.fate = "held"

    def cancel(self, number: int) -> Judged:
        """Take a decision back."""
        if number not in self.given:
            return Judged(UNKNOWN)
        given = self.given[number]
        if given.fate == "cancelled":
            return Judged(OK, False)
        if given.fate != "out":
            return Judged(CONFLICT)
        given.fate = "cancelled"
        return Judged(OK, True)

    def activate(self, number: int) -> Judged:
        """Write down that a deferred decision was shown."""
        if number not in self.given:
            return Judged(UNKNOWN)
        given = self.given[number]
        if given.shown:
            return Judged(OK, False)
        if given.fate != "out":
            return Judged(CONFLICT)
        given.shown = True
        return Judged(OK, True)

    def settle(self, now: int) -> None:
        """Close the windows whose time has come."""
        window = self.terms.window
        if window is None:
            return
        for number in sorted(self.given):
            given = self.given[number]
            if given.fate not in ("out", "held") or given.asked_at + window > now:
                continue
            if given.fate == "held":
                assert given.reward is not None
                given.fate = "counted"
                self.count(given.arm, given.reward)
            elif self.terms.missing is None or not given.shown:
                given.fate = "cancelled"
            else:
                given.fate = "expired"
                self.count(given.arm, self.terms.missing)

    # --- many at once

    def judge_results(
        self,
        pulls: list[int],
        sums: list[float],
        squares: list[float] | None,
    ) -> bool:
        """Can these be results at all?"""
        arms = len(self.terms.arms)
        if len(pulls) != arms or len(sums) != arms or len(squares or pulls) != arms:
            return False
        low, high = self.terms.low, self.terms.high
        return all(
            low * count <= total <= high * count for count, total in zip(pulls, sums, strict=True)
        )

    def learn(self, pulls: list[int], sums: list[float], squares: list[float], key: str) -> Judged:
        """Take in results from elsewhere."""
        asked = ("learn", tuple(pulls), tuple(sums), tuple(squares))
        if key in self.keys:
            return Judged(OK, False) if self.keys[key][0] == asked else Judged(REFUSED)
        if not self.judge_results(pulls, sums, squares):
            return Judged(REFUSED)
        self.keys[key] = (asked, None)
        self.totals.add_many(pulls, sums, squares)
        return Judged(OK, True)

    def judge_hand_out(self, limit: int, key: str | None) -> Judged:
        """Say what a request for a batch is answered."""
        if key is not None and key in self.keys:
            before, answer = self.keys[key]
            return Judged(OK, False, answer) if before == ("batch", limit) else Judged(REFUSED)
        return Judged(OK, True)

    def give_batch(
        self, number: int, pulls: list[int], limit: int, key: str | None, now: int
    ) -> None:
        """Write down a batch."""
        self.bundles[number] = Bundle(list(pulls), now)
        if key is not None:
            self.keys[key] = (("batch", limit), (number, list(pulls)))

    def results(
        self, number: int, pulls: list[int], sums: list[float], squares: list[float], key: str
    ) -> Judged:
        """Take in results of a part of a batch."""
        if number not in self.bundles:
            return Judged(UNKNOWN)
        asked = ("results", number, tuple(pulls), tuple(sums), tuple(squares))
        if key in self.keys:
            return Judged(OK, False) if self.keys[key][0] == asked else Judged(REFUSED)
        if not self.judge_results(pulls, sums, squares):
            return Judged(REFUSED)
        left = self.bundles[number].left
        if any(count > rest for count, rest in zip(pulls, left, strict=True)):
            return Judged(CONFLICT)
        for arm, count in enumerate(pulls):
            left[arm] -= count
        self.keys[key] = (asked, None)
        self.totals.add_many(pulls, sums, squares)
        if self.forwards_to is not None:
            for arm, name in enumerate(self.terms.arms):
                parts = [pulls[arm]], [sums[arm]], [squares[arm]]
                self.forwards_to.receive(name, *parts)
        return Judged(OK, True)

    # --- administration

    def park(self, arm: int, parked: bool) -> Judged:
        """Leave an arm out, or use it again."""
        if not 0 <= arm < len(self.terms.arms):
            return Judged(REFUSED)
        if parked == (arm in self.parked):
            return Judged(OK, False)
        if parked and len(self.parked) == len(self.terms.arms) - 1:
            return Judged(CONFLICT)
        (self.parked.add if parked else self.parked.discard)(arm)
        return Judged(OK, True)

    def pause(self, paused: bool) -> Judged:
        """Stop, or go on."""
        changed = self.paused != paused
        self.paused = paused
        return Judged(OK, changed)
