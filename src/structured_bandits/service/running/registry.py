"""All experiments of a store in memory, and how memory and disk stay the same.

What was decided is queued for the disk, and whoever waits for `written` sees nothing that a loss of
power could undo. After a commit that failed, the disk says what there is: memory is read anew.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

import structured_bandits
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service.experiment.experiment_state import BrokenError
from structured_bandits.service.experiment.replay import (
    Restored,
    code_here,
    restore,
    spec_of,
    wrote_here,
)
from structured_bandits.service.experiment.saved_state import digest_of, save_state
from structured_bandits.service.json_logs import log, log_error
from structured_bandits.service.refusals import NotFound, Unavailable
from structured_bandits.service.rows import Changes, Saved, TokenRow, VersionRow
from structured_bandits.service.running.metrics import Metrics, server_reading
from structured_bandits.service.running.running_experiment import TRY_AGAIN, RunningExperiment
from structured_bandits.service.running.tokens import Token, Tokens, new_token
from structured_bandits.service.running.trusted_clock import TrustedClock
from structured_bandits.service.running.version import RunningVersion
from structured_bandits.service.store.log_index import LogIndex
from structured_bandits.service.store.tables import UNSEALED
from structured_bandits.service.store.writer import Refused, Unwritten, Writer
from structured_bandits.service.store_protocol import DamagedError, OwnedElsewhereError, Store

COST_OF_ROW = 5e-6  # seconds to read and check a row at a restart, besides what the policy takes
MOST_COST = 1.0  # seconds of replay after which a snapshot is taken
CONTRADICTED = (
    "What was to be recorded contradicts rows of the store. It was not recorded, and the experiment has "
    "stopped. Run `structured-bandits verify`; if it finds damage, restore a backup."
)


class Registry:
    """Holds the experiments of a store, and writes what happens to them; call `open` first."""

    def __init__(self, store: Store, clock: TrustedClock | None = None) -> None:
        self.store = store
        self.clock = clock or TrustedClock()
        self.experiments: dict[str, RunningExperiment] = {}
        self.tokens = Tokens()
        self.metrics = Metrics(lambda: server_reading(self), structured_bandits.__version__)
        self.epoch = 0
        self.refusal: str | None = None  # why nothing can be written, if so
        self.lost = False  # another process has taken over
        self.stopped: dict[int, str] = {}  # experiments whose policies failed, and why
        self.failed_at: float | None = None
        self._refusals: Counter[str | None] = Counter()  # by name; None: what is of no experiment
        self.unreadable: dict[str, RunningExperiment] = {}  # stopped, and could not be read again
        self.writer = Writer(store, self._wrote, self._failed, self._contradicted)

    # --- opening and closing

    def open(self) -> None:
        """Become the owner of the store, and bring all experiments back."""
        self.epoch = self.store.claim()
        try:
            self._load()
            self.writer.write_now()
        except BaseException:  # another process may try
            self.writer.close()
            self.store.close()
            raise

    def close(self) -> None:
        """Save snapshots, so that the next start is quick, and give the store up."""
        if self.refusal is None and not self.lost:
            for experiment in self.experiments.values():
                for version in experiment.versions:
                    if version.state is not None and version.cost > 0.0:
                        self._snapshot(version)
            self.writer.write_now()
        self.writer.close()
        self.store.close()

    def _load(self, begin: bool = True) -> None:
        """Read everything from the store; what was in memory is forgotten.

        With `begin` the logs are to go on, and rows that say so are queued. Raises StoreError if the
        store is damaged.
        """
        self.writer.index = Unwritten()
        try:
            found = {row.id: RunningExperiment(self, row) for row in self.store.experiments()}
            for row in self.store.versions():
                experiment = found[row.experiment]
                experiment.versions.append(self._loaded(row, experiment, begin))
            for name in (each.name for each in found.values() if not each.is_whole()):
                raise self._damaged(f"the version of {name} that is asked is missing or closed")
            tokens = [_token(row) for row in self.store.tokens()]
        except StructuredBanditsError:
            raise
        except Exception as error:
            raise self._damaged(f"{type(error).__name__}: {error}") from error
        if not self.store.is_sealed():
            self._warn_of_seal(found.values())
        self.experiments = {each.name: each for each in found.values()}
        self.unreadable = {}
        self.tokens.replace(tokens)

    def _damaged(self, what: str) -> DamagedError:
        return DamagedError(
            f"{self.store.where}: it is damaged ({what}). Run `structured-bandits verify`, and restore "
            "a backup"
        )

    def _warn_of_seal(self, experiments: Iterable[RunningExperiment]) -> None:
        """Say at every experiment that what no log covers is not what was written."""
        warning = f"{UNSEALED[0].upper()}{UNSEALED[1:]}: run `structured-bandits verify`."
        log("A restart met something unexpected.", what=warning)
        for each in experiments:
            each.warnings.append(warning)

    def _loaded(self, row: VersionRow, of: RunningExperiment, begin: bool) -> RunningVersion:
        log_index = self.log_of(row.id)
        if row.closed:
            return RunningVersion(row, log_index, None)
        began = time.perf_counter()
        restored = restore(self.store, row, spec_of(self.store, row))
        seconds = time.perf_counter() - began
        for warning in restored.warnings:
            of.warnings.append(warning)
            log("A restart met something unexpected.", experiment=of.name, what=warning)
        restored.state.outbox.clear()  # each reward was forwarded in the transaction that recorded it
        version = RunningVersion(row, log_index, restored.state, replay_seconds=seconds)
        version.cost = seconds if restored.replayed else 0.0
        if begin:
            self._begin_again(version, restored)
        return version

    def _begin_again(self, version: RunningVersion, restored: Restored) -> None:
        """Record that this process goes on with a version; if its code is new, with an anchor."""
        row = version.row
        changed = restored.changed or not wrote_here(self.store, row, row.head)
        if restored.replayed or changed:
            taken = {"code": code_here(), "taken": restored.changed}
            restored.state.start(taken, self.clock.now())
            self.queue(version)
        if changed:
            self._snapshot(version, anchor=1)

    # --- writing

    def log_of(self, version: int) -> LogIndex:
        """Return what is in the log of a version, rows that are on their way to the disk included."""
        return LogIndex(self.store, self.writer.index, version)

    def _wrote(self, changes: Changes, seconds: float) -> None:
        self.metrics.observe_commit(seconds, len(changes.events))

    def _failed(self, error: BaseException) -> None:
        """After a failed commit: the disk says what there is; a second failure stops all writing."""
        if isinstance(error, BrokenError):  # the disk is well, but memory is not what it says
            self.recover()
            return
        self.metrics.count_failed_commit()
        log_error("A commit failed.", error)
        if isinstance(error, OwnedElsewhereError):
            self._lose("Another process has taken over this store.")
            return
        now = time.monotonic()
        again = self.failed_at is not None and now - self.failed_at < 2 * TRY_AGAIN
        self.failed_at = now
        if again:
            self._stop("The disk cannot be written.")
        else:
            self.recover()

    def _contradicted(self, refused: Refused) -> None:
        """Stop the experiments of which rows contradict the store; all others go on."""
        experiment_of = {
            version.row.id: each.row.id
            for each in self.experiments.values()
            for version in each.versions
        }
        parts = self.writer.open.parts(experiment_of)
        self.writer.open = Changes.joined(
            part for experiment, part in parts.items() if experiment not in refused
        )
        for experiment, error in refused.items():
            self.metrics.count_failed_commit()
            log_error("What was to be written contradicts the store.", error)
            if experiment is None:
                self._refusals[None] += 1
                self.tokens.replace(_token(row) for row in self.store.tokens())
                continue
            (name,) = (each.name for each in self.experiments.values() if each.row.id == experiment)
            self._refusals[name] += 1
            self.writer.index.forget([row for row, of in experiment_of.items() if of == experiment])
            self._load_again(self.experiments.pop(name))

    def _load_again(self, before: RunningExperiment) -> None:
        """Read one experiment from the store, stopped; if it was to be made, it is not there."""
        name, experiment = before.name, before.row.id
        self.stopped[experiment] = CONTRADICTED
        try:
            rows = [row for row in self.store.experiments() if row.id == experiment]
            for found in (RunningExperiment(self, row) for row in rows):
                for row in self.store.versions():
                    if row.experiment == experiment:
                        found.versions.append(self._loaded(row, found, begin=False))
                self.experiments[name] = found
        except Exception as error:  # its rows are damaged as well
            log_error("An experiment could not be read again.", error)
            self.unreadable[name] = before
        else:
            if not rows:
                del self.stopped[experiment]

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
        self.failed_at = time.monotonic()
        self.writer.open = Changes()
        try:
            self._load(begin=False)
        except Exception as error:  # then nothing is known
            self.experiments = {}
            log_error("The store cannot be read.", error)

    def _lose(self, why: str) -> None:
        """Answer nothing any more: what is true is known by another process."""
        self.lost, self.refusal = True, why
        self.experiments = {}

    def queue(self, version: RunningVersion) -> None:
        """Let the rows that a version has recorded be written."""
        state = version.state
        assert state is not None
        fresh = state.take_fresh()
        self.writer.add(version.row.id, fresh)
        version.cost += COST_OF_ROW * len(fresh)
        if version.cost > max(MOST_COST, 5.0 * version.snapshot_cost):
            self._snapshot(version)

    def _snapshot(self, version: RunningVersion, anchor: int = 0) -> None:
        """Save the state of a version with a row that says so."""
        state = version.state
        assert state is not None
        began = time.thread_time()
        event = state.mark(self.clock.now(), anchor)
        self.writer.add(version.row.id, state.take_fresh())
        packed = save_state(state)
        saved = Saved(version.row.id, event.seq, digest_of(packed), packed, anchor)
        self.writer.open.snapshots.append(saved)
        version.cost, version.snapshot_at = 0.0, event.at
        version.snapshot_cost = time.thread_time() - began

    async def written(self, name: str | None = None) -> None:
        """Wait until all that was decided is on the disk.

        Raises Unavailable if that of the experiment with a name was refused.
        """
        before = self._refusals[name]
        await self.writer.wait()
        if self._refusals[name] != before:
            raise Unavailable(CONTRADICTED, retry_after=TRY_AGAIN)

    def check_writable(self, experiment: int | None = None) -> None:
        """Raise if nothing can be written now, or an experiment has stopped."""
        if self.refusal is not None:
            raise Unavailable(self.refusal, retry_after=TRY_AGAIN)
        if experiment in self.stopped:
            raise Unavailable(self.stopped[experiment], retry_after=TRY_AGAIN)
        self.writer.check_room()

    # --- tokens

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

    # --- finding

    def all_there(self) -> list[RunningExperiment]:
        """Return all experiments, those that cannot be read included: their numbers are taken."""
        return [*self.experiments.values(), *self.unreadable.values()]

    def find(self, name: str) -> RunningExperiment:
        """Return an experiment; raises NotFound."""
        try:
            return self.experiments[name]
        except KeyError:
            if self.refusal is not None:
                raise Unavailable(self.refusal, retry_after=TRY_AGAIN) from None
            if name in self.unreadable:
                raise Unavailable(CONTRADICTED, retry_after=TRY_AGAIN) from None
            raise NotFound(f"There is no experiment {name!r}.") from None


def token_row(token: Token) -> TokenRow:
    """Return a token as the store keeps it."""
    experiments = msgspec.json.encode(token.experiments).decode()
    return TokenRow(*token[:4], experiments, token.made_at, token.revoked_at)


def _token(row: TokenRow) -> Token:
    experiments = msgspec.json.decode(row.experiments)
    names = None if experiments is None else tuple(experiments)
    return Token(row.id, row.name, row.hash, row.role, names, row.made_at, row.revoked_at)  # type: ignore[arg-type]
