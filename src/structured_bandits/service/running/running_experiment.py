"""An experiment in memory, and everything that can be done with it.

One process owns a store, and one thread of it calls the methods here: each decision depends on every
reward before it. A method checks, decides, queues rows for the disk and returns the answer; whoever
called waits for `Registry.written` before the answer goes out. So nobody ever sees what a loss of power
could undo.

Rewards that still come for an older version go on to the current one. Each version tests its own
decisions, in the order of asking. So what is forwarded counts for the policy alone, and an alarm is
handed on if the structure is still the same.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service import wire
from structured_bandits.service.experiment.accounting import by_name, results_of_rewards
from structured_bandits.service.experiment.choosing import Wanted, choices_of, wanted_of
from structured_bandits.service.experiment.experiment_state import (
    BrokenError,
    ExperimentState,
    Results,
)
from structured_bandits.service.experiment.judging import judge
from structured_bandits.service.json_logs import log_error
from structured_bandits.service.refusals import Conflict, NotFound, Refused, Unavailable
from structured_bandits.service.rows import (
    ASK,
    CANCEL,
    CLOSED,
    LEARN,
    RESULTS,
    TELL,
    Event,
    ExperimentRow,
    public_id,
)
from structured_bandits.service.running.version import (
    DecisionPlace,
    RunningVersion,
    check_closed,
    closed_status,
)
from structured_bandits.structures.base import index_of

if TYPE_CHECKING:
    from structured_bandits.service.running.registry import Registry

TRY_AGAIN = 5.0  # seconds for which nothing is written after a second failure
#: As `public_id` writes them, and in no other way: without zeros before the number.
ID = re.compile(r"([0-9a-f]{12})-(?:p([1-9][0-9]{0,17})|(0|[1-9][0-9]{0,17}))")


@dataclass
class RunningExperiment:
    """An experiment: the version that is asked, and those that still wait for rewards."""

    registry: Registry
    row: ExperimentRow
    versions: list[RunningVersion] = field(default_factory=list)  # oldest first
    warnings: list[str] = field(default_factory=list)  # of the last restart

    @property
    def name(self) -> str:
        """Its name."""
        return self.row.name

    @property
    def current(self) -> RunningVersion:
        """The version that is asked."""
        return self.versions[-1]

    @property
    def state(self) -> ExperimentState:
        """The state of the version that is asked."""
        state = self.versions[-1].state
        assert state is not None  # the current version is never closed
        return state

    @property
    def stopped(self) -> str | None:
        """Why it has stopped; None if it has not."""
        return self.registry.stopped.get(self.row.id)

    def is_whole(self) -> bool:
        """Return whether there is a version that can be asked."""
        return bool(self.versions) and self.current.state is not None

    # --- finding decisions

    def find(self, public_id: str) -> DecisionPlace:
        """Return the decision with a public id; raises NotFound."""
        form = ID.fullmatch(public_id)
        for version in self.versions:
            if form and version.uid == form[1]:
                return DecisionPlace(version, int(form[3]) if form[3] else -int(form[2]))
        raise NotFound(f"There is no decision {public_id!r} in the experiment {self.name!r}.")

    def find_key(self, key: str) -> DecisionPlace:
        """Return the decision that was asked for with a key, in the newest version that knows it."""
        for version in reversed(self.versions):
            event = version.log.by_key(key)
            if event is None:
                continue
            if event.kind != "ask" or event.n != 1 or event.decision is None:
                raise NotFound(
                    f"The key {key!r} is not that of an ask for one decision; name it by its id."
                )
            return DecisionPlace(version, event.decision)
        raise NotFound(f"Nothing was asked with the key {key!r} in the experiment {self.name!r}.")

    def _place(self, public_id: str | None, key: str | None) -> DecisionPlace:
        if (public_id is None) == (key is None):
            raise Refused("Name the decision by its id or by the key of its ask: one of the two.")
        return self.find(public_id) if public_id is not None else self.find_key(key or "")

    # --- changing

    @contextmanager
    def changing(self, version: RunningVersion, follows: bool = False) -> Iterator[ExperimentState]:
        """Around a command: refuses if nothing can be written, and queues what was recorded.

        What `follows` from a command that was recorded is not refused. If a command fails after it has
        begun to change the state, memory is not what the log says any more: then everything since the
        last commit is given up, as after a failed commit, and the experiment stops, so that its requests
        cannot do this to the others again and again.
        """
        registry = self.registry
        if not follows:
            registry.check_writable(self.row.id)
        state = version.state
        if state is None:
            raise Conflict("This version is closed: no rewards are out.")
        began = time.thread_time()
        try:
            yield state
        except BrokenError as error:
            log_error("A policy failed.", error)
            why = f"The experiment has stopped, because its policy failed: {error}"
            registry.stopped[self.row.id] = why
            registry.writer.fail(error)
            raise Unavailable(why, retry_after=TRY_AGAIN) from error
        except StructuredBanditsError:  # refused before anything was changed
            raise
        except Exception as error:
            registry.writer.fail(BrokenError(str(error)))
            raise
        version.cost += time.thread_time() - began  # waiting for others is no work of ours
        registry.queue(version)

    # --- decisions and rewards

    def ask(self, request: wire.Ask) -> wire.Asked:
        """Hand out decisions."""
        version, state, registry = self.versions[-1], self.state, self.registry
        available = None
        if request.available is not None:
            names = state.arm_names
            available = tuple(sorted({index_of(arm, names, "arm") for arm in request.available}))
        wanted = Wanted(request.n, available, request.key, request.defer)
        if request.key is not None:
            before = version.log.by_key(request.key)
            if before is not None:
                return _asked_before(state, before, wanted)
        with self.changing(version):
            event = state.ask(wanted, registry.clock.now())
        answer = _asked(state, event)
        for decision in answer.decisions:
            registry.metrics.count_decisions(self.row.name, decision.reason)
        return answer

    def tell(self, rewards: Sequence[wire.Reward]) -> wire.Told:
        """Record rewards, all of them or none."""
        places = [self._place(each.id, each.key) for each in rewards]
        metrics, at = self.registry.metrics, self.registry.clock.now()
        try:
            statuses = self._tell_all(places, [each.reward for each in rewards], at)
        except Conflict:
            metrics.count_conflict(self.name)
            raise
        outcomes = []
        for (version, decision), status in zip(places, statuses, strict=True):
            metrics.count_rewards(self.name, status)
            public = public_id(version.uid, decision)
            outcomes.append(wire.Outcome(id=public, status=status))
        return wire.Told(outcomes=tuple(outcomes))

    def _tell_all(
        self, places: Sequence[DecisionPlace], rewards: Sequence[float], at: int
    ) -> list[str]:
        """Record rewards of one version or several; nothing is recorded before all were judged."""
        self.registry.check_writable(self.row.id)
        members: dict[str, list[int]] = {}
        for index, place in enumerate(places):
            members.setdefault(place.version.uid, []).append(index)
        statuses = [""] * len(places)
        judged = []
        for indices in members.values():
            version = places[indices[0]].version
            if version.state is None:
                found = [closed_status(places[index], rewards[index]) for index in indices]
            else:
                pairs = [(places[index].decision, rewards[index]) for index in indices]
                judged.append((version, judge(version.state, pairs, version.log)))
                found = judged[-1][1].statuses
            for index, status in zip(indices, found, strict=True):
                statuses[index] = status
        for version, accepted in judged:
            with self.changing(version, follows=True) as state:
                state.tell(accepted, at)
            self.follow(version, at)
        return statuses

    def cancel(self, request: wire.Named) -> wire.Done:
        """Take a decision back."""
        place = version, decision = self._place(request.id, request.key)
        if version.state is None:
            check_closed(place, unchanged=(CANCEL,))
            return wire.Done(changed=False, seq=version.row.head)
        at = self.registry.clock.now()
        with self.changing(version) as state:
            changed = state.cancel(decision, at, version.log)
        self.follow(version, at)
        return wire.Done(changed=changed, seq=state.seq)

    def activate(self, request: wire.Named) -> wire.Done:
        """Note that a deferred decision was shown."""
        place = version, decision = self._place(request.id, request.key)
        if version.state is None:
            check_closed(place, unchanged=(TELL,))
            return wire.Done(changed=False, seq=version.row.head)
        with self.changing(version) as state:
            changed = state.activate(decision, self.registry.clock.now(), version.log)
        return wire.Done(changed=changed, seq=state.seq)

    def hand_out(self, request: wire.HandOut) -> wire.Batch:
        """Hand out a plan as counts."""
        version, state = self.current, self.state
        if request.key is not None:
            before = version.log.by_key(request.key)
            if before is not None:
                if before.kind != ASK or wanted_of(before).batch != request.limit:
                    raise Refused(f"The key {request.key!r} was used for another request before.")
                return _batch(state, before, repeated=True)
        with self.changing(version):
            event = state.hand_out(request.limit, request.key, self.registry.clock.now())
        self.registry.metrics.count_decisions(self.name, "plan", event.n or 0)
        return _batch(state, event)

    def results(self, batch: str, request: wire.BatchResults) -> wire.Done:
        """Take in results of a part of a batch."""
        version, decision = self.find(batch)
        results = Results(request.pulls, request.sums, request.squares)
        if _is_repeated(version, request.key, RESULTS, decision, results):
            return wire.Done(changed=False, seq=self.state.seq)
        at = self.registry.clock.now()
        passed_on = self._forwarded(version, results)
        if passed_on is not None:  # what the version that took over refuses, nobody learns
            self.state.agent.check_results(*passed_on)
        with self.changing(version) as state:
            state.results(decision, results, request.key, at)
        self._forward(version, passed_on, at)
        self.follow(version, at)
        self.registry.metrics.count_rewards(self.name, "recorded", sum(results.pulls))
        return wire.Done(changed=True, seq=state.seq)

    def learn(self, request: wire.Learn) -> wire.Done:
        """Take in results of pulls that the service did not ask for."""
        results = Results(request.pulls, request.sums, request.squares)
        for version in reversed(self.versions):  # an older one may have carried them over
            if _is_repeated(version, request.key, LEARN, None, results):
                return wire.Done(changed=False, seq=self.state.seq)
        with self.changing(self.current) as state:
            state.learn(results, request.key, self.registry.clock.now())
        self.registry.metrics.count_rewards(self.name, "recorded", sum(results.pulls))
        return wire.Done(changed=True, seq=state.seq)

    # --- administration

    def park(self, request: wire.Park) -> wire.Done:
        """Leave an arm out of all plans, or use it again."""
        arm = index_of(request.arm, self.state.arm_names, "arm")
        with self.changing(self.current) as state:
            changed = state.park(arm, request.parked, self.registry.clock.now())
        return wire.Done(changed=changed, seq=state.seq)

    def pause(self, paused: bool) -> wire.Done:
        """Stop, or go on."""
        with self.changing(self.current) as state:
            changed = state.pause(paused, self.registry.clock.now())
        return wire.Done(changed=changed, seq=state.seq)

    def settle(self, at: int) -> bool:
        """Close windows whose time has come; is there more to do?"""
        more = False
        for version in self.versions:
            state = version.state
            if state is None or state.spec.rewards.window is None or self.stopped is not None:
                continue
            with self.changing(version):
                more = state.settle(at) > 0 or more
            self.follow(version, at)
        return more

    # --- older versions

    def follow(self, version: RunningVersion, at: int) -> None:
        """Forward rewards and the alarm of an older version, and close it when it is done."""
        state = version.state
        if state is None or not state.retired:
            return
        rewards, state.outbox = state.outbox, []
        if rewards:
            results = results_of_rewards(rewards, len(state.arm_names))
            self._forward(version, self._forwarded(version, results), at)
        if self.state.fallen_at is None and state.refutes(self.state):
            with self.changing(self.current, follows=True) as newer:
                newer.fall_back(at, version.row.number)
        if state.close_if_done(at):
            self.registry.queue(version)
            self.registry.writer.open.closed.append((CLOSED, version.row.id))
            version.row = version.row._replace(head=state.seq, chain=state.chain, closed=CLOSED)
            version.state = None

    def _forwarded(self, version: RunningVersion, results: Results) -> Results | None:
        """Return what the current version learns of results of an older one; None if nothing."""
        state = version.state
        if state is None or not state.retired or not state.forwards:
            return None
        named = by_name(results, state.arm_names, self.state.arm_names)
        return named if any(named.pulls) else None

    def _forward(self, version: RunningVersion, results: Results | None, at: int) -> None:
        """Let the current version learn what came late for an older one."""
        if results is not None:
            with self.changing(self.current, follows=True) as state:
                state.forward(results, version.row.number, at)


def _asked(state: ExperimentState, event: Event, repeated: bool = False) -> wire.Asked:
    """Return the answer to an ask, from its row: a request that comes again gets the same."""
    names, first = state.arm_names, event.decision or 0
    decisions = tuple(
        wire.Decision(
            id=state.name_of(number),
            arm=choice.arm,
            name=names[choice.arm],
            reason=choice.reason,
            propensity=choice.propensity,
        )
        for number, choice in enumerate(choices_of(event), start=first)
    )
    return wire.Asked(decisions=decisions, repeated=repeated)


def _asked_before(state: ExperimentState, before: Event, wanted: Wanted) -> wire.Asked:
    """Return the answer that a key got before; another request under the same key is refused."""
    if before.kind != ASK or wanted_of(before)._replace(available=None) != wanted._replace(
        available=None
    ):
        raise Refused(f"The key {wanted.key!r} was used for another request before.")
    answer = _asked(state, before, repeated=True)
    if wanted.available is not None:
        gone = [each.name for each in answer.decisions if each.arm not in wanted.available]
        if gone:
            raise Conflict(
                f"The key {wanted.key!r} has the arm {gone[0]}, which is not available now."
            )
    return answer


def _batch(state: ExperimentState, event: Event, repeated: bool = False) -> wire.Batch:
    """Return the answer to a request for a plan, from its row."""
    pulls = tuple(event.content()["pulls"])
    return wire.Batch(id=state.name_of(event.decision or 0), pulls=pulls, repeated=repeated)


def _is_repeated(
    version: RunningVersion, key: str, kind: str, decision: int | None, results: Results
) -> bool:
    """Was this request recorded before? Another one under the same key is refused."""
    before = version.log.by_key(key)
    if before is None:
        return False
    same = before.kind == kind and before.decision == decision
    if not same or Results.of(before.content()) != results:
        raise Refused(f"The key {key!r} was used for another request before.")
    return True
