"""The owner of a store: all experiments in memory, and everything that can be done with them.

One process owns a store, and one thread of it calls the methods here: each decision depends on every
reward before it. A method checks, decides, queues rows for the disk and returns the answer; whoever
called waits for `written` before the answer goes out. So nobody ever sees what a loss of power could
undo.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import structured_bandits
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.extras import needs
from structured_bandits.policies.horizons import tuned_horizon
from structured_bandits.service import messages
from structured_bandits.service.accounting import (
    by_name,
    results_of_life,
    results_of_log,
    results_of_rewards,
)
from structured_bandits.service.auth import Token, Tokens, new_token
from structured_bandits.service.choosing import Wanted, choices_of, wanted_of
from structured_bandits.service.clock import Clock
from structured_bandits.service.events import (
    ASK,
    CANCEL,
    LEARN,
    RESULTS,
    START,
    TELL,
    Event,
    first_link,
    public_id,
)
from structured_bandits.service.life import Life, Results
from structured_bandits.service.logs import log, log_error
from structured_bandits.service.metrics import Metrics
from structured_bandits.service.past import PastOf, Unwritten
from structured_bandits.service.problems import (
    Conflict,
    HttpProblem,
    NotFound,
    Refused,
    Unavailable,
)
from structured_bandits.service.readings import server_reading
from structured_bandits.service.replay import Restored, code_here, restore, wrote_here
from structured_bandits.service.saved_life import digest_of, save_life
from structured_bandits.service.served import Place, Served, Version, new_uid, spec_of
from structured_bandits.service.spec import Spec, build_spec, checked_name
from structured_bandits.service.store import (
    ARCHIVED,
    CLOSED,
    Changes,
    ExperimentRow,
    OwnedElsewhereError,
    Saved,
    Store,
    TokenRow,
    VersionRow,
    all_events,
)
from structured_bandits.service.writer import Writer
from structured_bandits.structures.base import index_of

with needs("The service", extra="serve"):
    import msgspec

COST_OF_ROW = 5e-6  # seconds to read and check a row at a restart, besides what the policy takes
MOST_COST = 1.0  # seconds of replay after which a snapshot is taken
TRY_AGAIN = 5.0  # seconds for which nothing is written after a second failure


class Owner:
    """Holds the experiments of a store; call `open` first."""

    def __init__(self, store: Store, clock: Clock | None = None) -> None:
        self.store = store
        self.clock = clock or Clock()
        self.served: dict[str, Served] = {}
        self.tokens = Tokens()
        self.metrics = Metrics(lambda: server_reading(self), structured_bandits.__version__)
        self.epoch = 0
        self.refusal: str | None = None  # why nothing can be written, if so
        self.lost = False  # another process has taken over
        self._failed_at: float | None = None
        self._unwritten = Unwritten()
        self.writer = Writer(store, self._wrote, self._failed)

    # --- opening and closing

    def open(self) -> None:
        """Become the owner of the store, and bring all experiments back."""
        self.epoch = self.store.claim()
        self._load()
        self.writer.write_now()

    def close(self) -> None:
        """Save snapshots, so that the next start is quick, and give the store up."""
        if self.refusal is None and not self.lost:
            for served in self.served.values():
                for version in served.versions:
                    if version.life is not None and version.cost > 0.0:
                        self._snapshot(version)
            self.writer.write_now()
        self.writer.close()
        self.store.close()

    def _load(self, begin: bool = True) -> None:
        """Read everything from the store; what was in memory is forgotten.

        With `begin` the logs are to go on, and rows that say so are queued.
        """
        self._unwritten = Unwritten()
        served = {row.id: Served(row) for row in self.store.experiments()}
        for row in self.store.versions():
            experiment = served[row.experiment]
            experiment.versions.append(self._loaded(row, experiment, begin))
        self.served = {each.name: each for each in served.values()}
        self.tokens.replace(_token(row) for row in self.store.tokens())

    def _loaded(self, row: VersionRow, served: Served, begin: bool) -> Version:
        past = PastOf(self.store, self._unwritten, row.id)
        if row.closed:
            return Version(row, past, None)
        began = time.perf_counter()
        restored = restore(self.store, row, spec_of(self.store, row))
        seconds = time.perf_counter() - began
        for warning in restored.warnings:
            served.warnings.append(warning)
            log("A restart met something unexpected.", experiment=served.name, what=warning)
        restored.life.outbox.clear()  # each reward was forwarded in the transaction that recorded it
        version = Version(row, past, restored.life, replay_seconds=seconds)
        version.cost = seconds if restored.replayed else 0.0
        if begin:
            self._begin_again(version, restored)
        return version

    def _begin_again(self, version: Version, restored: Restored) -> None:
        """Record that this process goes on with a version; if its code is new, with an anchor."""
        row = version.row
        changed = restored.changed or not wrote_here(self.store, row, row.head)
        if restored.replayed or changed:
            taken = {"code": code_here(), "taken": restored.changed}
            restored.life.start(taken, self.clock.now())
            self._queue(version)
        if changed:
            self._snapshot(version, anchor=1)

    # --- writing

    def _wrote(self, changes: Changes, seconds: float) -> None:
        self._unwritten.remove(changes)
        self.metrics.observe_commit(seconds, len(changes.events))

    def _failed(self, error: BaseException) -> None:
        """After a failed commit: the disk says what there is; a second failure stops all writing."""
        self.metrics.count_failed_commit()
        log_error("A commit failed.", error)
        if isinstance(error, OwnedElsewhereError):
            self._lose("Another process has taken over this store.")
            return
        now = time.monotonic()
        again = self._failed_at is not None and now - self._failed_at < 2 * TRY_AGAIN
        self._failed_at = now
        if again:
            self._stop("The disk cannot be written.")
        else:
            self.recover()

    def recover(self) -> None:
        """Open the store anew and replay; if that fails, nothing is written until it succeeds."""
        try:
            self.store.reopen()
            self._load()
            self.writer.write_now()
        except OwnedElsewhereError as error:
            self._lose(str(error))
        except Exception as error:  # whatever the disk or the database has to say
            log_error("The store could not be opened again.", error)
            self._stop("The store cannot be read or written.")
        else:
            self.refusal = None
            log("The store was opened again.", where=self.store.where)

    def _stop(self, why: str) -> None:
        """Write nothing until `recover` succeeds, and show nothing but what the disk has."""
        self.refusal = why
        self._failed_at = time.monotonic()
        self.writer.open = Changes()
        try:
            self._load(begin=False)
        except Exception as error:  # then nothing is known
            self.served = {}
            log_error("The store cannot be read.", error)

    def _lose(self, why: str) -> None:
        """Answer nothing any more: what is true is known by another process."""
        self.lost, self.refusal = True, why
        self.served = {}

    def _queue(self, version: Version) -> None:
        """Let the rows that a version has recorded be written."""
        life = version.life
        assert life is not None
        fresh = life.take_fresh()
        self._unwritten.add(version.row.id, fresh)
        self.writer.add(version.row.id, fresh)
        version.cost += COST_OF_ROW * len(fresh)
        if version.cost > max(MOST_COST, 5.0 * version.snapshot_cost):
            self._snapshot(version)

    def _snapshot(self, version: Version, anchor: int = 0) -> None:
        """Save the state of a version with a row that says so."""
        life = version.life
        assert life is not None
        began = time.perf_counter()
        event = life.mark(self.clock.now())
        self.writer.add(version.row.id, life.take_fresh())
        state = save_life(life)
        saved = Saved(version.row.id, event.seq, digest_of(state), state, anchor)
        self.writer.open.snapshots.append(saved)
        version.cost, version.snapshot_at = 0.0, event.at
        version.snapshot_cost = time.perf_counter() - began

    async def written(self) -> None:
        """Wait until all that was decided so far is on the disk."""
        await self.writer.wait()

    @contextmanager
    def _changing(self, version: Version, follows: bool = False) -> Iterator[Life]:
        """Around a command: refuses if nothing can be written, and queues what was recorded.

        What `follows` from a command that was recorded is not refused. If a command fails after it has
        begun to change the state, memory is not what the log says any more; then everything since the
        last commit is given up, as after a failed commit.
        """
        if not follows:
            self.check_writable()
        life = version.life
        if life is None:
            raise Conflict("This version is closed: no rewards are out.")
        began = time.perf_counter()
        try:
            yield life
        except StructuredBanditsError:
            if life.fresh:
                self.writer.fail(RuntimeError("a command was refused after it had recorded rows"))
                raise Unavailable("The service made a mistake; try again.") from None
            raise
        except Exception as error:
            self.writer.fail(error)
            raise
        version.cost += time.perf_counter() - began
        self._queue(version)

    def check_writable(self) -> None:
        """Raise if nothing can be written now."""
        if self.refusal is not None:
            raise Unavailable(self.refusal, retry_after=TRY_AGAIN)
        self.writer.check_room()

    # --- finding

    def find(self, name: str) -> Served:
        """Return an experiment; raises NotFound."""
        try:
            return self.served[name]
        except KeyError:
            if self.refusal is not None:
                raise Unavailable(self.refusal, retry_after=TRY_AGAIN) from None
            raise NotFound(f"There is no experiment {name!r}.") from None

    def _place(self, served: Served, public_id: str | None, key: str | None) -> Place:
        if (public_id is None) == (key is None):
            raise Refused("Name the decision by its id or by the key of its ask: one of the two.")
        return served.find(public_id) if public_id is not None else served.find_key(key or "")

    # --- decisions and rewards

    def ask(self, name: str, request: messages.Ask) -> messages.Asked:
        """Hand out decisions."""
        served = self.find(name)
        version, life = served.current, served.life
        available = None
        if request.available is not None:
            names = life.spec.arm_names
            available = tuple(sorted({index_of(arm, names, "arm") for arm in request.available}))
        wanted = Wanted(request.n, available, request.key, request.defer)
        if request.key is not None:
            before = version.past.by_key(request.key)
            if before is not None:
                return self._asked_before(life, before, wanted)
        with self._changing(version):
            event = life.ask(wanted, self.clock.now())
        answer = asked_answer(life, event)
        for decision in answer.decisions:
            self.metrics.count_decisions(name, decision.reason)
        return answer

    def _asked_before(self, life: Life, before: Event, wanted: Wanted) -> messages.Asked:
        """Return the answer that a key got before; another request under the same key is refused."""
        if before.kind != ASK or wanted_of(before)._replace(available=None) != wanted._replace(
            available=None
        ):
            raise Refused(f"The key {wanted.key!r} was used for another request before.")
        answer = asked_answer(life, before, repeated=True)
        if wanted.available is not None:
            gone = [each.name for each in answer.decisions if each.arm not in wanted.available]
            if gone:
                raise Conflict(
                    f"The key {wanted.key!r} has the arm {gone[0]}, which is not available now."
                )
        return answer

    def tell(self, name: str, rewards: Sequence[messages.Reward]) -> messages.Told:
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
            outcomes.append(messages.Outcome(id=public, status=status))  # type: ignore[arg-type]
        return messages.Told(outcomes=outcomes)

    def _tell_all(
        self, served: Served, places: Sequence[Place], rewards: Sequence[float], at: int
    ) -> list[str]:
        """Tell rewards version by version; those of several versions are told one by one."""
        uids = {place.version.uid for place in places}
        if len(uids) > 1:
            raise Refused(
                "These decisions are of several versions of the experiment; tell those of one only."
            )
        version = places[0].version
        if version.life is None:
            return [
                _closed_status(place, reward) for place, reward in zip(places, rewards, strict=True)
            ]
        pairs = [(place.decision, reward) for place, reward in zip(places, rewards, strict=True)]
        with self._changing(version) as life:
            statuses = life.tell(pairs, at, version.past)
        self._follow(served, version, at)
        return statuses

    def cancel(self, name: str, request: messages.Named) -> messages.Done:
        """Take a decision back."""
        served = self.find(name)
        place = version, decision = self._place(served, request.id, request.key)
        if version.life is None:
            _check_closed(place, unchanged=(CANCEL,))
            return messages.Done(changed=False, seq=version.row.head)
        at = self.clock.now()
        with self._changing(version) as life:
            changed = life.cancel(decision, at, version.past)
        self._follow(served, version, at)
        return messages.Done(changed=changed, seq=life.seq)

    def activate(self, name: str, request: messages.Named) -> messages.Done:
        """Note that a deferred decision was shown."""
        place = version, decision = self._place(self.find(name), request.id, request.key)
        if version.life is None:
            _check_closed(place, unchanged=(TELL,))
            return messages.Done(changed=False, seq=version.row.head)
        with self._changing(version) as life:
            changed = life.activate(decision, self.clock.now(), version.past)
        return messages.Done(changed=changed, seq=life.seq)

    def hand_out(self, name: str, request: messages.HandOut) -> messages.Batch:
        """Hand out a plan as counts."""
        served = self.find(name)
        version, life = served.current, served.life
        if request.key is not None:
            before = version.past.by_key(request.key)
            if before is not None:
                if before.kind != ASK or wanted_of(before).batch != request.limit:
                    raise Refused(f"The key {request.key!r} was used for another request before.")
                return _batch_answer(life, before, repeated=True)
        with self._changing(version):
            event = life.hand_out(request.limit, request.key, self.clock.now())
        self.metrics.count_decisions(name, "plan", event.n or 0)
        return _batch_answer(life, event)

    def results(self, name: str, batch: str, request: messages.BatchResults) -> messages.Done:
        """Take in results of a part of a batch."""
        served = self.find(name)
        version, decision = served.find(batch)
        results = Results(request.pulls, request.sums, request.squares)
        if self._is_repeated(version, request.key, RESULTS, decision, results):
            return messages.Done(changed=False, seq=served.life.seq)
        at = self.clock.now()
        forwarded = self._forwarded(served, version, results)
        if forwarded is not None:  # what the version that took over refuses, nobody learns
            served.life.agent.check_results(*forwarded)
        with self._changing(version) as life:
            life.results(decision, results, request.key, at)
        self._forward(served, version, forwarded, at)
        self._follow(served, version, at)
        self.metrics.count_rewards(name, "recorded", sum(results.pulls))
        return messages.Done(changed=True, seq=life.seq)

    def learn(self, name: str, request: messages.Learn) -> messages.Done:
        """Take in results of pulls that the service did not ask for."""
        served = self.find(name)
        results = Results(request.pulls, request.sums, request.squares)
        for version in reversed(served.versions):  # an older one may have carried them over
            if self._is_repeated(version, request.key, LEARN, None, results):
                return messages.Done(changed=False, seq=served.life.seq)
        with self._changing(served.current) as life:
            life.learn(results, request.key, self.clock.now())
        self.metrics.count_rewards(name, "recorded", sum(results.pulls))
        return messages.Done(changed=True, seq=life.seq)

    def _is_repeated(
        self, version: Version, key: str, kind: str, decision: int | None, results: Results
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

    def create(self, name: str, plain: dict[str, Any]) -> messages.Created:
        """Make an experiment; the same again changes nothing."""
        checked_name(name)
        if name in self.served:
            return self._created_before(self.served[name], plain)
        self.check_writable()
        spec = build_spec(plain)
        rows = [each.row for each in self.served.values()]
        experiment = 1 + max((row.id for row in rows), default=0)
        row = self._new_row(experiment, 1, plain, spec)
        served = Served(ExperimentRow(experiment, name, row.id))
        version = self._begin(row, spec)
        life = version.life
        assert life is not None
        if spec.start is not None:
            self._check_start(spec)
            life.carry(Results.of(spec.start), {"file": "start"}, self.clock.now())
        served.versions.append(version)
        self._queue_version(served.row, version, plain)
        self.served[name] = served
        log("An experiment was created.", experiment=name, policy=repr(spec.policy)[:200])
        return messages.Created(name=name, version=1, uid=row.uid, created=True)

    def _created_before(self, served: Served, plain: dict[str, Any]) -> messages.Created:
        row = served.current.row
        if _written(plain) != row.spec or served.life.spec.plain.get("structure") != plain.get(
            "structure"
        ):
            raise Conflict(
                f"There is an experiment {served.name!r} with another specification; make a new version "
                "of it instead."
            )
        return messages.Created(name=served.name, version=row.number, uid=row.uid, created=False)

    def new_version(self, name: str, request: messages.NewVersion) -> messages.Created:
        """Change an experiment: a new version, which begins with rewards of the one before."""
        served = self.find(name)
        before, old = served.current, served.life
        made = self._made_before(served, request)
        if made is not None:
            return made
        self.check_writable()
        spec = build_spec(request.spec)
        carried = self._carried(before, old, request.carry, spec)
        row = self._new_row(served.row.id, before.row.number + 1, request.spec, spec)
        at = self.clock.now()
        version = self._begin(row, spec, request.key, _digest(request))
        life = version.life
        assert life is not None
        if carried is not None:
            life.carry(carried, {"version": before.row.number}, at)
        for each in served.versions:
            if each.life is not None:
                with self._changing(each):
                    each.life.retire(at, forwards=carried is not None)
        served.row = served.row._replace(current=row.id)
        served.versions.append(version)
        self._queue_version(served.row, version, request.spec)
        self._follow(served, before, at)
        log("A version was created.", experiment=name, version=row.number)
        return messages.Created(name=name, version=row.number, uid=row.uid, created=True)

    def _made_before(self, served: Served, request: messages.NewVersion) -> messages.Created | None:
        """Return the version that this request has made; another one under its key is refused."""
        if request.key is None:
            return None
        for version in served.versions:
            made = version.past.by_key(request.key)
            if made is None:
                continue
            if made.kind != START or made.content().get("request") != _digest(request):
                raise Refused(f"The key {request.key!r} was used for another request before.")
            number, uid = version.row.number, version.uid
            return messages.Created(name=served.name, version=number, uid=uid, created=False)
        return None

    def _carried(
        self, before: Version, old: Life, carry: messages.Carry | None, spec: Spec
    ) -> Results | None:
        """Return the rewards with which a new version begins, checked."""
        if carry is None:
            return None
        if carry.up_to is None and not carry.without:
            results = results_of_life(old)
        else:
            rows = [*all_events(self.store, before.row.id)]
            last = rows[-1].seq if rows else 0
            rows += [each for each in self.writer.unwritten(before.row.id) if each.seq > last]
            settled = old.settled_before if old.spec.rewards.window else float("inf")
            arms = len(old.spec.arm_names)
            results = results_of_log(rows, arms, settled, carry.up_to, carry.without)
        results = by_name(results, old.spec.arm_names, spec.arm_names)
        trial = Life(spec, new_uid()).agent
        _check_ranges(old.agent.reward_range, trial.reward_range)
        horizon = tuned_horizon(spec.policy)
        if horizon is not None and sum(results.pulls) >= horizon:
            raise Refused(
                f"horizon={horizon}: {sum(results.pulls)} pulls are carried over; expected a horizon "
                "beyond them."
            )
        trial.check_results(*results)
        return results

    def _check_start(self, spec: Spec) -> None:
        """Raise if no model fits the results to begin with, unless that is wanted."""
        assert spec.start is not None
        trial = Life(spec, new_uid()).agent
        trial.learn(*Results.of(spec.start))
        fitting = trial.fitting_models
        if fitting is not None and not len(fitting) and not spec.start.get("force", False):
            raise Refused(
                "start: no model of the structure fits these results. To begin with them all "
                "the same, say force = true."
            )

    def _new_row(
        self, experiment: int, number: int, plain: dict[str, Any], spec: Spec
    ) -> VersionRow:
        versions = [version for each in self.served.values() for version in each.versions]
        uid = new_uid()
        return VersionRow(
            id=1 + max((version.row.id for version in versions), default=0),
            experiment=experiment,
            number=number,
            uid=uid,
            spec=_written(plain),
            structure=spec.structure.fingerprint,
            made_at=self.clock.now(),
            head=0,
            chain=first_link(uid),
        )

    def _begin(
        self, row: VersionRow, spec: Spec, key: str | None = None, request: str | None = None
    ) -> Version:
        """Return a new version with the first row of its log."""
        life = Life(spec, row.uid)
        life.start({"code": code_here(), "request": request}, self.clock.now(), key)
        return Version(row, PastOf(self.store, self._unwritten, row.id), life)

    def _queue_version(self, row: ExperimentRow, version: Version, plain: dict[str, Any]) -> None:
        body = msgspec.json.encode(plain["structure"]).decode()
        changes = self.writer.open
        changes.structures.append((version.row.structure, body))
        changes.experiments.append(row)
        changes.versions.append(version.row)
        self._queue(version)

    def park(self, name: str, request: messages.Park) -> messages.Done:
        """Leave an arm out of all plans, or use it again."""
        served = self.find(name)
        arm = index_of(request.arm, served.life.spec.arm_names, "arm")
        with self._changing(served.current) as life:
            changed = life.park(arm, request.parked, self.clock.now())
        return messages.Done(changed=changed, seq=life.seq)

    def pause(self, name: str, paused: bool) -> messages.Done:
        """Stop an experiment, or let it go on."""
        with self._changing(self.find(name).current) as life:
            changed = life.pause(paused, self.clock.now())
        return messages.Done(changed=changed, seq=life.seq)

    def add_token(
        self, name: str, role: str, experiments: Sequence[str] | None
    ) -> tuple[str, Token]:
        """Make a token; return its text, which is kept nowhere."""
        self.check_writable()
        text, token = new_token(name, role, experiments, self.clock.now())
        self.writer.open.tokens.append(_token_row(token))
        self.tokens.add(token)
        return text, token

    def revoke_token(self, identity: str) -> bool:
        """Revoke a token; False if there is none, or it was revoked before."""
        self.check_writable()
        changed = self.tokens.revoke(identity, self.clock.now())
        for token in self.tokens:
            if changed and token.id == identity:
                self.writer.open.tokens.append(_token_row(token))
        return changed

    # --- what happens by itself

    def settle(self) -> bool:
        """Close windows whose time has come; is there more to do?"""
        if self.refusal is not None or not self.clock.is_trusted():
            return False
        at, more = self.clock.now(), False
        for served in list(self.served.values()):
            for version in served.versions:
                life = version.life
                if life is None or life.spec.rewards.window is None:
                    continue
                with self._changing(version):
                    more = life.settle(at) > 0 or more
                self._follow(served, version, at)
        return more

    def _follow(self, served: Served, version: Version, at: int) -> None:
        """Forward rewards that an older version got, and close it when it is done."""
        life = version.life
        if life is None or not life.retired:
            return
        rewards, life.outbox = life.outbox, []
        if rewards:
            results = results_of_rewards(rewards, len(life.spec.arm_names))
            self._forward(served, version, self._forwarded(served, version, results), at)
        if life.close_if_done(at):
            self._queue(version)
            self.writer.open.closed.append((CLOSED, version.row.id))
            version.row = version.row._replace(head=life.seq, chain=life.chain, closed=CLOSED)
            version.life = None

    def _forwarded(self, served: Served, version: Version, results: Results) -> Results | None:
        """Return what the current version learns of results of an older one; None if nothing."""
        life = version.life
        if life is None or not life.retired or not life.forwards:
            return None
        named = by_name(results, life.spec.arm_names, served.life.spec.arm_names)
        return named if any(named.pulls) else None

    def _forward(self, served: Served, version: Version, results: Results | None, at: int) -> None:
        """Let the current version learn what came late for an older one."""
        if results is not None:
            with self._changing(served.current, follows=True) as life:
                life.forward(results, version.row.number, at)

    async def live(self, stop: Callable[[], bool]) -> None:
        """Do once a second what happens by itself, until `stop`."""
        loop = asyncio.get_running_loop()
        while not stop():
            await asyncio.sleep(1.0)
            try:
                if self.refusal is not None and not self.lost and self._may_try():
                    self.recover()
                await loop.run_in_executor(None, self.store.beat)
                while self.settle():
                    await self.written()
                await self.written()
            except HttpProblem as error:  # the disk again; `_failed` has seen to it
                log("What happens by itself was put off.", why=str(error))
            except Exception as error:  # it must not end because of one experiment
                log_error("What happens by itself has failed.", error)

    def _may_try(self) -> bool:
        return self._failed_at is None or time.monotonic() - self._failed_at >= TRY_AGAIN


def asked_answer(life: Life, event: Event, repeated: bool = False) -> messages.Asked:
    """Return the answer to an ask, from its row."""
    names, first = life.spec.arm_names, event.decision or 0
    decisions = [
        messages.Decision(
            id=life.name_of(number),
            arm=choice.arm,
            name=names[choice.arm],
            reason=choice.reason,
            propensity=choice.propensity,
        )
        for number, choice in enumerate(choices_of(event), start=first)
    ]
    return messages.Asked(decisions=decisions, repeated=repeated)


def _batch_answer(life: Life, event: Event, repeated: bool = False) -> messages.Batch:
    pulls = event.content()["pulls"]
    return messages.Batch(id=life.name_of(event.decision or 0), pulls=pulls, repeated=repeated)


def _closed_status(place: Place, reward: float) -> str:
    """Return what becomes of a reward for a closed version, of which nothing is out."""
    outcome = _check_closed(place, unchanged=(TELL,))
    if outcome.value == reward:
        return "duplicate"
    name = public_id(place.version.uid, place.decision)
    raise Conflict(f"Decision {name} is settled.", recorded=outcome.value)


def _check_closed(place: Place, unchanged: Sequence[str]) -> Event:
    """Return what became of a decision of a closed version; raises unless it is one of these."""
    name = public_id(place.version.uid, place.decision)
    if place.version.row.closed == ARCHIVED:
        raise Conflict(f"Decision {name} is of a version that was archived: all is settled.")
    outcome = place.version.past.outcome(place.decision)
    if outcome is None and place.decision < 0:
        raise Conflict(f"Decision {name} was made in a pause of a version that is closed.")
    if outcome is None:
        raise NotFound(f"Decision {name} was never handed out by itself.")
    if outcome.kind not in unchanged:
        raise Conflict(f"Decision {name} is settled.", recorded=outcome.value)
    return outcome


def _check_ranges(old: tuple[float, float], new: tuple[float, float]) -> None:
    """Raise if rewards of the old range may lie outside of the new one: sums do not show it."""
    if not new[0] <= old[0] or not old[1] <= new[1]:
        raise Refused(
            f"reward_range={new}: rewards of the version before may lie in {old}. To begin without "
            "them, say carry = null."
        )


def _digest(request: messages.NewVersion) -> str:
    """Return a hash of a request: does the same one come again?"""
    return hashlib.blake2b(msgspec.json.encode(request, order="sorted"), digest_size=16).hexdigest()


def _written(plain: dict[str, Any]) -> str:
    """Return a specification as the store keeps it: JSON, without its structure, in one order."""
    rest = {key: value for key, value in plain.items() if key != "structure"}
    return msgspec.json.encode(rest, order="sorted").decode()


def _token_row(token: Token) -> TokenRow:
    experiments = msgspec.json.encode(token.experiments).decode()
    return TokenRow(*token[:4], experiments, token.made_at, token.revoked_at)


def _token(row: TokenRow) -> Token:
    experiments = msgspec.json.decode(row.experiments)
    names = None if experiments is None else tuple(experiments)
    return Token(row.id, row.name, row.hash, row.role, names, row.made_at, row.revoked_at)  # type: ignore[arg-type]
