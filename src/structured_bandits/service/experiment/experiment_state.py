"""A version of an experiment as a function of its log.

Every command checks first, then records one row or several, and then applies them; replaying the log
applies the same rows. So what is in memory is what the log says, and nothing else. A command that is
refused has changed nothing.

Decisions are numbered from 0 like those of the agent. While an experiment is paused, it hands out its
default arm under negative numbers, from which nothing is learned.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from structured_bandits.agents.agent import Agent
from structured_bandits.agents.availability import allowed_arms
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service import rows as kinds
from structured_bandits.service.experiment.choosing import (
    AUDIT,
    CONTROL,
    FALLBACK,
    PAUSED,
    Choice,
    Wanted,
    ask_body,
    choices_of,
    choose,
    pulls_of,
    wanted_of,
)
from structured_bandits.service.experiment.history import History
from structured_bandits.service.experiment.judging import DecisionLog, Judged, standing
from structured_bandits.service.experiment.spec import Spec
from structured_bandits.service.refusals import Conflict, NotFound, Refused
from structured_bandits.service.rows import Event, body_of, first_link, link, public_id
from structured_bandits.service.wire import HistoryPoint

MOST_SETTLED = 1_000  # decisions in one transaction, so that nobody waits long behind them
MOST_IN_BATCH = 10_000


class DiffersError(StructuredBanditsError):
    """A row of the log is not what the same events lead to here."""


class BrokenError(Exception):
    """A command failed after it had begun to change the state, which is not what the log says now."""


@contextmanager
def _whole() -> Iterator[None]:
    """Around what changes the state: whatever goes wrong there is no refusal."""
    try:
        yield
    except Exception as error:
        raise BrokenError(str(error) or type(error).__name__) from error


#: What a version that is retired hands on to the one that is asked: in `n` of its row.
NOTHING, REWARDS, REWARDS_AND_ALARM = range(3)


class AskTimes:
    """The times of all decisions from the oldest that is out, as columns: there may be millions.

    Ids and times both rise, so a time is found by bisection, and only the first decision of each
    millisecond is kept: at most 16 bytes for each.
    """

    def __init__(self) -> None:
        self.firsts = array("q")
        self.times = array("q")

    def add(self, first: int, at: int) -> None:
        """Note that decisions from `first` on were asked for at this time."""
        if not self.times or self.times[-1] != at:
            self.firsts.append(first)
            self.times.append(at)

    def asked_after(self, at: int, next_id: int) -> int:
        """Return the id of the first decision that was asked for after this time."""
        place = bisect_right(self.times, at)
        return self.firsts[place] if place < len(self.firsts) else next_id

    def time_of(self, decision: int) -> int:
        """Return when a decision was asked for; it must not have been forgotten."""
        return self.times[bisect_right(self.firsts, decision) - 1]

    def forget_before(self, decision: int) -> None:
        """Forget what only decisions before this one need; it is done when much has gathered."""
        place = bisect_right(self.firsts, decision) - 1
        if place > 1000 and 2 * place > len(self.firsts):
            del self.firsts[:place]
            del self.times[:place]

    def forget_all(self) -> None:
        """Forget everything: nothing is out."""
        if len(self.firsts) > 1000:
            del self.firsts[:-1]
            del self.times[:-1]

    def columns(self, oldest: int | None) -> tuple[bytes, bytes]:
        """Return both columns from the oldest decision that is out."""
        if oldest is None:
            return b"", b""
        start = max(bisect_right(self.firsts, oldest) - 1, 0)
        firsts = self.firsts[start:]
        firsts[0] = oldest  # whatever was asked for before it at the same time
        return firsts.tobytes(), self.times[start:].tobytes()

    @classmethod
    def from_columns(cls, firsts: bytes, times: bytes) -> AskTimes:
        """Return what `columns` has given."""
        restored = cls()
        restored.firsts.frombytes(firsts)
        restored.times.frombytes(times)
        rising = all(
            column[place] <= column[place + 1]
            for column in (restored.firsts, restored.times)
            for place in range(len(column) - 1)
        )
        if len(restored.firsts) != len(restored.times) or not rising:
            raise ValueError("the times of decisions do not rise")
        return restored


class Side:
    """Pulls, sum and sum of squares of one side: the control share, or the rest."""

    def __init__(self, pulls: int = 0, total: float = 0.0, squares: float = 0.0) -> None:
        self.pulls, self.total, self.squares = pulls, total, squares

    def add(self, value: float) -> None:
        """Count a reward."""
        self.pulls += 1
        self.total += value
        self.squares += value * value


class Results(NamedTuple):
    """Pulls, sums and sums of squares of rewards, by arm."""

    pulls: list[int]
    sums: list[float]
    squares: list[float] | None

    @classmethod
    def of(cls, content: dict[str, Any]) -> Results:
        """Return the results in the body of a row."""
        return cls(content["pulls"], content["sums"], content.get("squares"))


class ExperimentState:
    """The state of a version, and what can happen to it."""

    def __init__(self, spec: Spec, uid: str) -> None:
        self.spec = spec
        self.arm_names = spec.arm_names
        self.uid = uid
        seed = int.from_bytes(hashlib.blake2b(uid.encode(), digest_size=6).digest(), "big")
        self.agent = Agent(spec.policy, seed if spec.seed is None else spec.seed, spec.order)
        self.seq = 0
        self.chain = first_link(uid)
        self.at = 0
        self.paused = self.retired = self.closed = False
        self.forwards = True  # does the version that took over learn rewards that come late?
        self.warns = (
            True  # does what refutes the structure here refute it there, if it is the same?
        )
        self.fallen_at: int | None = None  # when the alarm rang
        self.unlearned = 0  # decisions that were handed out while paused
        self.settled_before = 0  # decisions before this one have been settled, with a window
        self.held: dict[int, float] = {}  # rewards that wait for their window to close
        self.deferred: set[int] = set()  # decisions that were not activated yet
        self.shared: dict[int, str] = {}  # decisions that are not the policy's, with their reason
        self.batches: dict[int, int] = {}  # first decision and size, as long as results are out
        self.times = AskTimes()
        self.sides = {CONTROL: Side(), "policy": Side()}
        self.dropped_after: dict[int, int] = {}
        self.history = History()
        self.fresh: list[Event] = []  # recorded, and not yet taken to be written
        self.outbox: list[tuple[int, float]] = []  # rewards that came after the version was retired

    # --- decisions

    def ask(self, wanted: Wanted, at: int) -> Event:
        """Hand out decisions."""
        if self.paused:
            return self._ask_paused(wanted, at)
        if wanted.available is not None:  # refused here, before anything is changed
            allowed_arms(wanted.available, self.arm_names, self.agent.parked_arms)
        return self._chosen(wanted, at)

    def hand_out(self, limit: int, key: str | None, at: int) -> Event:
        """Hand out what the plan still wants, at most `limit` pulls, as one batch."""
        if self.paused:
            raise Conflict("The experiment is paused: it hands out no batches.")
        if self._window is not None:
            raise Conflict(
                "This experiment has a reward window, and a batch has no time at which its window "
                "closes; ask for single decisions."
            )
        if self._plays_control:
            raise Conflict(
                "The structure is refuted, and the control arm is played; ask for single decisions."
            )
        with _whole():
            n = self._batch_of(limit)
        return self._chosen(Wanted(n, None, key, defer=False, batch=limit), at)

    def _batch_of(self, limit: int) -> int:
        """Let the plan hold what is certain; return how many pulls of it a batch gets."""
        most = min(limit, MOST_IN_BATCH)
        self.agent.extend_plan(most)
        return max(1, min(most, self.agent.left_to_hand_out))

    def _chosen(self, wanted: Wanted, at: int) -> Event:
        """Let the agent choose, and record what it chose."""
        first = self.agent.next_id
        with _whole():
            choices = choose(self.agent, self.spec, self.uid, wanted, self._plays_control)
            return self._asked(first, wanted, choices, at)

    def _ask_paused(self, wanted: Wanted, at: int) -> Event:
        arm = self.spec.default_arm
        if arm is None:
            raise Conflict("The experiment is paused, and it has no default_arm to hand out.")
        allowed = allowed_arms(wanted.available, self.arm_names, self.agent.parked_arms)
        if not allowed[arm]:
            name = self.arm_names[arm]
            raise Conflict(
                f"The experiment is paused, and its default arm {name} is not available."
            )
        choices = [Choice(arm, PAUSED, 1.0)] * wanted.n
        return self._asked(-self.unlearned - wanted.n, wanted, choices, at)

    def _asked(self, first: int, wanted: Wanted, choices: Sequence[Choice], at: int) -> Event:
        one = choices[0].arm if wanted.n == 1 and not wanted.batch else None
        body = ask_body(wanted, choices, len(self.arm_names))
        event = self._record(kinds.ASK, at, first, wanted.n, one, key=wanted.key, body=body)
        self._note_asked(event, wanted, choices)
        return event

    def _note_asked(self, event: Event, wanted: Wanted, choices: Sequence[Choice]) -> None:
        """Remember of decisions what the agent does not."""
        first = event.decision or 0
        if first < 0:
            self.unlearned += wanted.n
            return
        if wanted.batch:
            self.batches[first] = wanted.n
        self.times.add(first, event.at)
        for number, choice in enumerate(choices, start=first):
            if wanted.defer:
                self.deferred.add(number)
            if choice.reason in (CONTROL, AUDIT, FALLBACK):
                self.shared[number] = choice.reason

    @property
    def _plays_control(self) -> bool:
        return self.fallen_at is not None and self.spec.fallback == "control"

    @property
    def _window(self) -> float | None:
        return self.spec.rewards.window

    # --- rewards

    def tell(self, judged: Judged, at: int) -> None:
        """Record rewards that were judged, before anything else happens."""
        for decision, (kind, arm, value) in judged.fresh.items():
            self._do(kind, at, decision, arm=arm, value=value)
        self._watch(at)

    def cancel(self, decision: int, at: int, log: DecisionLog) -> bool:
        """Take a decision back; False if that was done before."""
        stands, recorded, arm = standing(self, decision, log)
        name = self.name_of(decision)
        if stands == "told":
            raise Conflict(f"Decision {name} was told a reward already.", recorded=recorded)
        if stands == "expired":
            raise Conflict(f"The window of decision {name} has closed.", recorded=recorded)
        if stands == "cancelled":
            return False
        self._do(kinds.CANCEL, at, decision, arm=arm)
        self._watch(at)
        return True

    def activate(self, decision: int, at: int, log: DecisionLog) -> bool:
        """Note that a deferred decision was shown; False if that was known."""
        if decision in self.deferred:
            self._do(kinds.ACTIVATE, at, decision)
            return True
        stands = standing(self, decision, log).state
        if stands in ("cancelled", "expired"):
            raise Conflict(f"Decision {self.name_of(decision)} is {stands}.")
        return False

    def learn(self, results: Results, key: str, at: int) -> None:
        """Take in results of pulls that nobody asked for."""
        self.agent.check_results(*results)
        self._do(kinds.LEARN, at, key=key, body=body_of(results._asdict()))
        self._watch(at)

    def results(self, batch: int, results: Results, key: str, at: int) -> None:
        """Take in results of a part of a batch."""
        ids = self._ids_of_results(batch, results.pulls)
        self.agent.check_totals(ids, results.sums, results.squares)
        self._do(kinds.RESULTS, at, batch, key=key, body=body_of(results._asdict()))
        self._watch(at)

    def _ids_of_results(self, batch: int, pulls: Sequence[int]) -> list[int]:
        """Return the decisions of a batch that these results are of: of each arm the oldest."""
        if batch not in self.batches:
            raise NotFound(f"There is no batch {self.name_of(batch)} whose results are out.")
        names = self.arm_names
        if len(pulls) != len(names):
            raise Refused(
                f"pulls: {len(pulls)} numbers; expected one for each of {len(names)} arms."
            )
        wanted = list(pulls)
        ids = []
        for decision in range(batch, batch + self.batches[batch]):
            arm = self.agent.pending_arm(decision)
            if arm is not None and wanted[arm] > 0:
                wanted[arm] -= 1
                ids.append(decision)
        for arm, left in enumerate(wanted):
            if left > 0:
                out = pulls[arm] - left
                raise Conflict(
                    f"pulls of arm {names[arm]}: {pulls[arm]}, but only {out} of the batch are out."
                )
        return ids

    # --- windows

    def settle(self, at: int) -> int:
        """Let the rewards count whose windows have closed, at most 1,000; return how many."""
        if self._window is None:
            return 0
        closed = self.times.asked_after(at - math.ceil(1000 * self._window), self.agent.next_id)
        due = self.agent.oldest_pending(closed, MOST_SETTLED)
        if not due:
            return 0
        for decision in due:
            if decision not in self.held:
                shown = decision not in self.deferred
                value = self.spec.rewards.missing if shown else None
                arm = self.agent.pending_arm(decision)
                self._do(kinds.EXPIRE, at, decision, arm=arm, value=value)
        self._do(kinds.SETTLE, at, due[-1] + 1, len(due))
        self._watch(at)
        return len(due)

    # --- administration

    def park(self, arm: int, parked: bool, at: int) -> bool:
        """Leave an arm out of plans, or use it again; False if that is so."""
        if (arm in self.agent.parked) == parked:
            return False
        if parked and len(self.agent.parked) + 1 == len(self.arm_names):
            raise Conflict(f"Arm {self.arm_names[arm]} is the last one that is not parked.")
        self._do(kinds.PARK, at, n=int(parked), arm=arm)
        return True

    def pause(self, paused: bool, at: int) -> bool:
        """Stop or go on; False if that is so."""
        if self.paused == paused:
            return False
        self._do(kinds.PAUSE if paused else kinds.RESUME, at)
        return True

    def start_with(self, results: Results, at: int) -> None:
        """Begin with results that the specification has; they count in the test of the structure."""
        self.agent.check_results(*results)
        body = body_of({**results._asdict(), "from": {"file": "start"}})
        self._do(kinds.CARRY, at, body=body)
        self._watch(at)

    def carry(self, results: Results, tested: Results | None, version: int, at: int) -> None:
        """Begin with results of an older version; `tested` count in the test of the structure."""
        self.agent.check_results(*results)
        self._do(kinds.CARRY, at, body=_handed_over(results, tested, version))
        self._watch(at)

    def forward(self, results: Results, version: int, at: int) -> None:
        """Take in rewards that came late for an older version, which tests them itself."""
        self._do(kinds.FORWARD, at, body=_handed_over(results, None, version))
        self._watch(at)

    def retire(self, at: int, hands_on: int) -> None:
        """Hand out no more decisions: another version does, which may learn what still comes here."""
        self._do(kinds.RETIRE, at, n=hands_on)

    def close_if_done(self, at: int) -> bool:
        """Close a retired version once nothing is out; was it closed now?"""
        if not self.retired or self.closed or self.agent.pending_count:
            return False
        self._do(kinds.CLOSE, at)
        return True

    def start(self, content: dict[str, Any], at: int, key: str | None = None) -> None:
        """Note that a process took over; the first one may have the key of its request."""
        self._do(kinds.START, at, key=key, body=body_of(content))

    def mark(self, at: int, anchor: int = 0) -> Event:
        """Note that a snapshot follows; an anchor is one that decisions are derived from."""
        return self._record(kinds.MARK, at, n=anchor or None)

    # --- the log

    def name_of(self, decision: int) -> str:
        """Return the public id of a decision: no other version has the same."""
        return public_id(self.uid, decision)

    def _do(
        self, kind: str, at: int, decision: int | None = None, n: int | None = None, **more: Any
    ) -> None:
        """Record a row and apply it."""
        with _whole():
            self._apply(self._record(kind, at, decision, n, **more))

    def _record(
        self,
        kind: str,
        at: int,
        decision: int | None = None,
        n: int | None = None,
        arm: int | None = None,
        value: float | None = None,
        key: str | None = None,
        body: str | None = None,
    ) -> Event:
        """Make the next row of the log."""
        at = max(at, self.at)
        row = (self.seq + 1, kind, at, decision, n, arm, value, key, body)
        event = Event(*row, link(self.chain, Event(*row)))
        self._advance(event)
        self.fresh.append(event)
        return event

    def _advance(self, event: Event) -> None:
        self.seq, self.chain, self.at = event.seq, event.chain, event.at

    def take_fresh(self) -> list[Event]:
        """Return the rows that were recorded since the last time."""
        fresh, self.fresh = self.fresh, []
        return fresh

    def replay(self, event: Event, derive: bool) -> None:
        """Apply a row of the log.

        With `derive` the arms of an ask are chosen anew, and DiffersError is raised if the row says
        otherwise; without it, the arms of the row are taken as they are.
        """
        self._advance(event)
        if event.kind == kinds.ASK:
            self._replay_ask(event, derive)
        else:
            self._apply(event)
        self.outbox.clear()  # the newer version has its own rows for these

    def _replay_ask(self, event: Event, derive: bool) -> None:
        wanted, logged = wanted_of(event), choices_of(event)
        first = event.decision or 0
        if first < 0:
            self._note_asked(event, wanted, logged)
            return
        if first != self.agent.next_id:
            raise DiffersError(
                f"row {event.seq}: its first decision is {first}, expected {self.agent.next_id}"
            )
        if wanted.batch:
            self._batch_of(wanted.batch)
        if derive:
            chosen = choose(self.agent, self.spec, self.uid, wanted, self._plays_control)
            arms = len(self.arm_names)
            same = (
                pulls_of(chosen, arms) == pulls_of(logged, arms)
                if wanted.batch
                else chosen == logged
            )
            if not same:
                raise DiffersError(
                    f"row {event.seq}: it says {logged}, and the events lead to {chosen}"
                )
        else:
            for choice in logged:
                self.agent.force(choice.arm)
        self._note_asked(event, wanted, logged)

    def _apply(self, event: Event) -> None:
        """Change the state as a row says."""
        self._appliers[event.kind](self, event)
        if self.history.is_due(self.agent.rewards):
            self._look()

    def _apply_tell(self, event: Event) -> None:
        decision, value = event.decision or 0, event.value or 0.0
        if decision < 0:
            return  # nothing is learned while the experiment is paused
        self.deferred.discard(decision)
        if self._window is not None:
            self.held[decision] = value
        else:
            self._count(decision, event.arm or 0, value)

    def _apply_cancel(self, event: Event) -> None:
        decision = event.decision or 0
        if decision >= 0:
            self.agent.cancel(decision)
            self._forget(decision)

    def _apply_expire(self, event: Event) -> None:
        if event.value is not None:
            self.held[event.decision or 0] = event.value

    def _apply_settle(self, event: Event) -> None:
        before = event.decision or 0
        for decision in self.agent.oldest_pending(before, event.n or 0):
            arm = self.agent.pending_arm(decision) or 0
            if decision in self.held:
                self._count(decision, arm, self.held.pop(decision))
            else:
                self.agent.cancel(decision)
                self._forget(decision)
        self.settled_before = before

    def _count(self, decision: int, arm: int, value: float) -> None:
        """Let the reward of a decision count."""
        self.agent.tell(decision, value)
        side = CONTROL if self.shared.get(decision) == CONTROL else "policy"
        self.sides[side].add(value)
        if self.retired and self.forwards:
            self.outbox.append((arm, value))
        self._forget(decision)

    def _forget(self, decision: int) -> None:
        """Forget what was remembered of a decision that is not out any more."""
        self.deferred.discard(decision)
        self.shared.pop(decision, None)
        oldest = self.agent.oldest_out
        if oldest is None:
            self.times.forget_all()
        elif oldest > decision:
            self.times.forget_before(oldest)

    def _apply_late(self, event: Event) -> None:
        arm, value = event.arm or 0, event.value or 0.0
        arms = len(self.arm_names)
        self.agent.take_over(
            [int(each == arm) for each in range(arms)],
            [value if each == arm else 0.0 for each in range(arms)],
            [value * value if each == arm else 0.0 for each in range(arms)],
        )
        if self.retired and self.forwards:
            self.outbox.append((arm, value))

    def _apply_learn(self, event: Event) -> None:
        self.agent.learn(*Results.of(event.content()))

    def _apply_handed_over(self, event: Event) -> None:
        content = event.content()
        tested = content.get("tested", True)
        if tested is True:
            self._apply_learn(event)
        else:
            counts = Results.of(tested) if tested else None
            self.agent.take_over(*Results.of(content), tested=counts)

    def _apply_results(self, event: Event) -> None:
        batch, results = event.decision or 0, Results.of(event.content())
        ids = self._ids_of_results(batch, results.pulls)
        members = range(batch, batch + self.batches[batch])
        self.agent.tell_totals(ids, results.sums, results.squares, until=members[-1])
        if all(self.agent.pending_arm(each) is None for each in members):
            del self.batches[batch]

    def _apply_park(self, event: Event) -> None:
        (self.agent.park if event.n else self.agent.unpark)(event.arm or 0)

    def _apply_activate(self, event: Event) -> None:
        self.deferred.discard(event.decision or 0)

    def _apply_fallback(self, event: Event) -> None:
        self.fallen_at = event.at
        if self.spec.fallback == "klucb" or self.spec.stop is not None:
            self.agent.switch(self.spec.playing(refuted=True))

    def _apply_state(self, event: Event) -> None:
        """Pause, resume, retire or close."""
        if event.kind in (kinds.PAUSE, kinds.RESUME):
            self.paused = event.kind == kinds.PAUSE
        if event.kind == kinds.RETIRE:
            self.retired = True
            self.forwards = self.forwards and event.n != NOTHING
            self.warns = self.warns and event.n == REWARDS_AND_ALARM
        self.closed = self.closed or event.kind == kinds.CLOSE

    def _apply_nothing(self, event: Event) -> None:
        """Starts and marks change nothing."""

    _appliers: ClassVar[dict[str, Callable[[ExperimentState, Event], None]]] = {
        kinds.TELL: _apply_tell,
        kinds.CANCEL: _apply_cancel,
        kinds.EXPIRE: _apply_expire,
        kinds.SETTLE: _apply_settle,
        kinds.LATE: _apply_late,
        kinds.ACTIVATE: _apply_activate,
        kinds.LEARN: _apply_learn,
        kinds.CARRY: _apply_handed_over,
        kinds.FORWARD: _apply_handed_over,
        kinds.RESULTS: _apply_results,
        kinds.PARK: _apply_park,
        kinds.PAUSE: _apply_state,
        kinds.RESUME: _apply_state,
        kinds.RETIRE: _apply_state,
        kinds.CLOSE: _apply_state,
        kinds.FALLBACK: _apply_fallback,
        kinds.START: _apply_nothing,
        kinds.MARK: _apply_nothing,
    }

    # --- watching

    @property
    def refuted(self) -> bool:
        """Do the rewards speak against the structure, at the level of the alarm?"""
        return self.spec.is_tested and self.agent.log_e_value >= -math.log(self.spec.level)

    def refutes(self, other: ExperimentState) -> bool:
        """Do rewards of this version refute the structure of a newer one, at its level?"""
        level = other.spec.level
        rung = self.fallen_at is not None and self.spec.level <= level
        reached = rung or self.agent.log_e_value >= -math.log(level)
        return self.warns and reached and self.spec.tests_as(other.spec)

    def _watch(self, at: int) -> None:
        """Record that the alarm rings, the first time it does."""
        if self.fallen_at is None and self.refuted:
            self.fall_back(at)

    def fall_back(self, at: int, version: int | None = None) -> None:
        """Record that the structure is refuted, and play what the specification says for that case.

        `version` is the number of the older version whose rewards refute it, None for this one's own.
        """
        body = body_of({"plays": self.spec.fallback, "version": version})
        self._do(kinds.FALLBACK, at, body=body)

    def _look(self) -> None:
        """Add a point to the history, and note which arms are dropped."""
        active = set(self.agent.active_arms)
        for arm in range(len(self.arm_names)):
            if arm in active:
                self.dropped_after.pop(arm, None)
            else:
                self.dropped_after.setdefault(arm, self.agent.rewards)
        fitting = self.agent.fitting_models
        self.history.add(
            HistoryPoint(
                at=self.at,
                rewards=self.agent.rewards,
                total=float(self.agent.sums.sum()),
                fitting=None if fitting is None else len(fitting),
                active=len(active),
                log10_e=self.agent.log_e_value / math.log(10.0),
            )
        )

    def batch_of(self, decision: int) -> int | None:
        """Return the first decision of the batch that a decision is part of; None if of none."""
        for first, size in self.batches.items():
            if first <= decision < first + size:
                return first
        return None


def _handed_over(results: Results, tested: Results | None, version: int) -> str | None:
    """Return the body of a row with results of an older version, of which some may be tested."""
    counts = tested._asdict() if tested is not None and any(tested.pulls) else False
    return body_of({**results._asdict(), "from": {"version": version}, "tested": counts})
