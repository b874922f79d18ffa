"""The owner of a store: everything that can be done with its experiments.

One process owns a store, and one thread of it calls the methods here: each decision depends on every
reward before it. A method checks, decides, queues rows for the disk and returns the answer; whoever
called waits for `written` before the answer goes out. So nobody ever sees what a loss of power could
undo.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from structured_bandits import wire
from structured_bandits.service.contract import StoreError
from structured_bandits.service.experiment.choosing import Wanted, wanted_of
from structured_bandits.service.experiment.experiment_state import ExperimentState, Results
from structured_bandits.service.logs import log, log_error
from structured_bandits.service.refusals import Conflict, Refusal, Refused
from structured_bandits.service.rows import (
    ASK,
    CANCEL,
    LEARN,
    RESULTS,
    TELL,
    Event,
    public_id,
)
from structured_bandits.service.running.answers import asked_answer, batch_answer
from structured_bandits.service.running.closed_versions import check_closed, closed_status
from structured_bandits.service.running.forwarding import follow, forward, forwarded
from structured_bandits.service.running.lifecycle import create, new_version
from structured_bandits.service.running.registry import TRY_AGAIN, Keeper, token_row
from structured_bandits.service.running.running_experiment import (
    Place,
    RunningExperiment,
    RunningVersion,
)
from structured_bandits.service.running.tokens import Token, new_token
from structured_bandits.structures.base import index_of


class Owner(Keeper):
    """Does what requests want, and what happens by itself."""

    def _place(self, served: RunningExperiment, public_id: str | None, key: str | None) -> Place:
        if (public_id is None) == (key is None):
            raise Refused("Name the decision by its id or by the key of its ask: one of the two.")
        return served.find(public_id) if public_id is not None else served.find_key(key or "")

    # --- decisions and rewards

    def ask(self, name: str, request: wire.Ask) -> wire.Asked:
        """Hand out decisions."""
        served = self.find(name)
        version, state = served.current, served.state
        available = None
        if request.available is not None:
            names = state.spec.arm_names
            available = tuple(sorted({index_of(arm, names, "arm") for arm in request.available}))
        wanted = Wanted(request.n, available, request.key, request.defer)
        if request.key is not None:
            before = version.past.by_key(request.key)
            if before is not None:
                return self._asked_before(state, before, wanted)
        with self.changing(version):
            event = state.ask(wanted, self.clock.now())
        answer = asked_answer(state, event)
        for decision in answer.decisions:
            self.metrics.count_decisions(name, decision.reason)
        return answer

    def _asked_before(self, state: ExperimentState, before: Event, wanted: Wanted) -> wire.Asked:
        """Return the answer that a key got before; another request under the same key is refused."""
        if before.kind != ASK or wanted_of(before)._replace(available=None) != wanted._replace(
            available=None
        ):
            raise Refused(f"The key {wanted.key!r} was used for another request before.")
        answer = asked_answer(state, before, repeated=True)
        if wanted.available is not None:
            gone = [each.name for each in answer.decisions if each.arm not in wanted.available]
            if gone:
                raise Conflict(
                    f"The key {wanted.key!r} has the arm {gone[0]}, which is not available now."
                )
        return answer

    def tell(self, name: str, rewards: Sequence[wire.Reward]) -> wire.Told:
        """Record rewards, all of them or none."""
        served = self.find(name)
        places = [self._place(served, each.id, each.key) for each in rewards]
        at = self.clock.now()
        try:
            statuses = self._tell_all(served, places, [each.reward for each in rewards], at)
        except Conflict:
            self.metrics.count_conflict(name)
            raise
        outcomes = []
        for (version, decision), status in zip(places, statuses, strict=True):
            self.metrics.count_rewards(name, status)
            public = public_id(version.uid, decision)
            outcomes.append(wire.Outcome(id=public, status=status))
        return wire.Told(outcomes=tuple(outcomes))

    def _tell_all(
        self, served: RunningExperiment, places: Sequence[Place], rewards: Sequence[float], at: int
    ) -> list[str]:
        """Record rewards of one version or several; nothing is recorded before all were judged."""
        self.check_writable(served.row.id)
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
                judged.append((version, version.state.judge(pairs, version.past)))
                found = judged[-1][1].statuses
            for index, status in zip(indices, found, strict=True):
                statuses[index] = status
        for version, accepted in judged:
            with self.changing(version, follows=True) as state:
                state.tell(accepted, at)
            follow(self, served, version, at)
        return statuses

    def cancel(self, name: str, request: wire.Named) -> wire.Done:
        """Take a decision back."""
        served = self.find(name)
        place = version, decision = self._place(served, request.id, request.key)
        if version.state is None:
            check_closed(place, unchanged=(CANCEL,))
            return wire.Done(changed=False, seq=version.row.head)
        at = self.clock.now()
        with self.changing(version) as state:
            changed = state.cancel(decision, at, version.past)
        follow(self, served, version, at)
        return wire.Done(changed=changed, seq=state.seq)

    def activate(self, name: str, request: wire.Named) -> wire.Done:
        """Note that a deferred decision was shown."""
        place = version, decision = self._place(self.find(name), request.id, request.key)
        if version.state is None:
            check_closed(place, unchanged=(TELL,))
            return wire.Done(changed=False, seq=version.row.head)
        with self.changing(version) as state:
            changed = state.activate(decision, self.clock.now(), version.past)
        return wire.Done(changed=changed, seq=state.seq)

    def hand_out(self, name: str, request: wire.HandOut) -> wire.Batch:
        """Hand out a plan as counts."""
        served = self.find(name)
        version, state = served.current, served.state
        if request.key is not None:
            before = version.past.by_key(request.key)
            if before is not None:
                if before.kind != ASK or wanted_of(before).batch != request.limit:
                    raise Refused(f"The key {request.key!r} was used for another request before.")
                return batch_answer(state, before, repeated=True)
        with self.changing(version):
            event = state.hand_out(request.limit, request.key, self.clock.now())
        self.metrics.count_decisions(name, "plan", event.n or 0)
        return batch_answer(state, event)

    def results(self, name: str, batch: str, request: wire.BatchResults) -> wire.Done:
        """Take in results of a part of a batch."""
        served = self.find(name)
        version, decision = served.find(batch)
        results = Results(request.pulls, request.sums, request.squares)
        if self._is_repeated(version, request.key, RESULTS, decision, results):
            return wire.Done(changed=False, seq=served.state.seq)
        at = self.clock.now()
        passed_on = forwarded(served, version, results)
        if passed_on is not None:  # what the version that took over refuses, nobody learns
            served.state.agent.check_results(*passed_on)
        with self.changing(version) as state:
            state.results(decision, results, request.key, at)
        forward(self, served, version, passed_on, at)
        follow(self, served, version, at)
        self.metrics.count_rewards(name, "recorded", sum(results.pulls))
        return wire.Done(changed=True, seq=state.seq)

    def learn(self, name: str, request: wire.Learn) -> wire.Done:
        """Take in results of pulls that the service did not ask for."""
        served = self.find(name)
        results = Results(request.pulls, request.sums, request.squares)
        for version in reversed(served.versions):  # an older one may have carried them over
            if self._is_repeated(version, request.key, LEARN, None, results):
                return wire.Done(changed=False, seq=served.state.seq)
        with self.changing(served.current) as state:
            state.learn(results, request.key, self.clock.now())
        self.metrics.count_rewards(name, "recorded", sum(results.pulls))
        return wire.Done(changed=True, seq=state.seq)

    def _is_repeated(
        self, version: RunningVersion, key: str, kind: str, decision: int | None, results: Results
    ) -> bool:
        """Was this request recorded before? Another one under the same key is refused."""
        before = version.past.by_key(key)
        if before is None:
            return False
        same = before.kind == kind and before.decision == decision
        if not same or Results.of(before.content()) != results:
            raise Refused(f"The key {key!r} was used for another request before.")
        return True

    # --- administration

    def create(self, name: str, plain: dict[str, Any]) -> wire.Created:
        """Make an experiment; the same again changes nothing."""
        return create(self, name, plain)

    def new_version(self, name: str, request: wire.NewVersion, again: bool = False) -> wire.Created:
        """Change an experiment, or begin its version `again`; rewards are carried over."""
        return new_version(self, name, request, again)

    def park(self, name: str, request: wire.Park) -> wire.Done:
        """Leave an arm out of all plans, or use it again."""
        served = self.find(name)
        arm = index_of(request.arm, served.state.spec.arm_names, "arm")
        with self.changing(served.current) as state:
            changed = state.park(arm, request.parked, self.clock.now())
        return wire.Done(changed=changed, seq=state.seq)

    def pause(self, name: str, paused: bool) -> wire.Done:
        """Stop an experiment, or let it go on."""
        with self.changing(self.find(name).current) as state:
            changed = state.pause(paused, self.clock.now())
        return wire.Done(changed=changed, seq=state.seq)

    def add_token(
        self, name: str, role: str, experiments: Sequence[str] | None
    ) -> tuple[str, Token]:
        """Make a token; return its text, which is kept nowhere."""
        self.check_writable()
        text, token = new_token(name, role, experiments, self.clock.now())
        self.writer.open.tokens.append(token_row(token))
        self.tokens.add(token)
        return text, token

    def revoke_token(self, identity: str) -> bool:
        """Revoke a token; False if there is none, or it was revoked before."""
        self.check_writable()
        changed = self.tokens.revoke(identity, self.clock.now())
        for token in self.tokens:
            if changed and token.id == identity:
                self.writer.open.tokens.append(token_row(token))
        return changed

    # --- what happens by itself

    def settle(self) -> bool:
        """Close windows whose time has come; is there more to do?"""
        if self.refusal is not None or not self.clock.is_trusted():
            return False
        at, more = self.clock.now(), False
        for served in list(self.served.values()):
            for version in served.versions:
                state = version.state
                stopped = served.row.id in self.stopped
                if state is None or state.spec.rewards.window is None or stopped:
                    continue
                with self.changing(version):
                    more = state.settle(at) > 0 or more
                follow(self, served, version, at)
        return more

    async def live(self, stop: Callable[[], bool]) -> None:
        """Do once a second what happens by itself, until `stop`."""
        while not stop():
            await asyncio.sleep(1.0)
            try:
                if self.refusal is not None and not self.lost and self._may_try():
                    self.recover()
                await self._beat()
                while self.settle():
                    await self.written()
                await self.written()
            except Refusal as error:  # the disk again; `_failed` has seen to it
                log("What happens by itself was put off.", why=str(error))
            except Exception as error:  # it must not end because of one experiment
                log_error("What happens by itself has failed.", error)

    async def _beat(self) -> None:
        """Say that the owner is alive; if that fails, a commit would, too."""
        if self.refusal is None:
            try:
                await asyncio.get_running_loop().run_in_executor(None, self.store.beat)
            except StoreError as error:
                self.writer.fail(error)

    def _may_try(self) -> bool:
        return self._failed_at is None or time.monotonic() - self._failed_at >= TRY_AGAIN
