"""From the log to the state: restarting, and checking that both agree.

There are two levels. *Accounting*: pulls, sums and what is out follow from the rows alone, with any
version of the library. *Decisions*: each logged arm is derived again, which needs the same code, because
a policy may have been improved since. A `start` row says which code wrote the rows after it. When the
code has changed, the rows after the last snapshot are replayed with their arms taken as they are, and a
new snapshot is saved as an anchor: decisions are derived from there on.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import numpy as np

import structured_bandits
from structured_bandits.base.sources import SOURCES_HASH
from structured_bandits.errors import FileFormatError, StructuredBanditsError
from structured_bandits.service import rows as kinds
from structured_bandits.service.experiment.experiment_state import DiffersError, ExperimentState
from structured_bandits.service.experiment.saved_state import (
    digest_of,
    restored_state,
    saved_content,
)
from structured_bandits.service.experiment.spec import Spec, build_spec
from structured_bandits.service.rows import (
    CLOSED,
    Damage,
    Event,
    Saved,
    VersionRow,
    damages,
    first_link,
)
from structured_bandits.service.store_protocol import KEPT_SNAPSHOTS, Store, StoreError, all_events


def code_here() -> dict[str, str]:
    """Return what must be equal for decisions to be derived again to the last bit."""
    return {
        "sources": SOURCES_HASH,
        "library": structured_bandits.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


class Restored(NamedTuple):
    """A version after a restart."""

    state: ExperimentState
    replayed: int  # rows after the snapshot
    changed: bool  # some of these rows are of other code: their arms were taken as they are
    warnings: list[str]


def restore(store: Store, row: VersionRow, spec: Spec) -> Restored:
    """Return the state of a version: from its newest snapshot that is whole, and the rows after it.

    Raises StoreError if the log itself is damaged.
    """
    first = store.last_start(row.id, 1)
    warnings = [] if first is None else _specified(first, spec)
    for saved in store.snapshots(row.id):
        try:
            return _replayed(store, row, spec, saved, warnings)
        except FileFormatError as error:
            warnings.append(f"the snapshot after row {saved.seq} was not used: {error}")
    return _replayed(store, row, spec, None, warnings)


def _replayed(
    store: Store, row: VersionRow, spec: Spec, saved: Saved | None, warnings: list[str]
) -> Restored:
    """Return the state after all rows; derives decisions if it can, else takes them as logged."""
    try:
        return _try(store, row, spec, saved, warnings, derive=True)
    except DiffersError as error:
        warnings.append(f"decisions are taken as they were logged: {error}")
        return _try(store, row, spec, saved, warnings, derive=False)


def _try(
    store: Store,
    row: VersionRow,
    spec: Spec,
    saved: Saved | None,
    warnings: list[str],
    derive: bool,
) -> Restored:
    state = state_in(spec, row, saved)
    count, changed = 0, not derive
    here = code_here()
    ours = saved is None or wrote_here(store, row, saved.seq)
    for event in _checked(store, row, state):
        if event.kind == kinds.START:
            ours = event.content().get("code") == here
        taken = event.kind == kinds.ASK and not ours
        changed = changed or taken
        _apply(state, event, derive and ours)
        count += 1
    if (state.seq, state.chain) != (row.head, row.chain):
        raise StoreError(
            f"version {row.number}: its log ends with row {state.seq}, and row {row.head} was written"
        )
    return Restored(state, count, changed, warnings)


def _apply(state: ExperimentState, event: Event, derive: bool) -> None:
    try:
        state.replay(event, derive)
    except DiffersError:
        raise
    except Exception as error:
        raise StoreError(f"row {event.seq} ({event.kind}) cannot be applied: {error}") from error


def state_in(spec: Spec, row: VersionRow, saved: Saved | None) -> ExperimentState:
    """Return the state in a snapshot, or at the very beginning."""
    if saved is None:
        return ExperimentState(spec, row.uid)
    if digest_of(saved.state) != saved.digest:
        raise FileFormatError("the snapshot is damaged: its hash is another")
    return restored_state(spec, row.uid, saved.state)


def spec_of(store: Store, row: VersionRow) -> Spec:
    """Return the specification of a version: as it was written, with its structure.

    Raises StoreError if it cannot be read any more.
    """
    try:
        plain = msgspec.json.decode(row.spec)
        plain["structure"] = msgspec.json.decode(store.structure(row.structure))
        return build_spec(plain)
    except (StructuredBanditsError, msgspec.MsgspecError, TypeError) as error:
        raise StoreError(
            f"version {row.number}: its specification or structure cannot be read: {error}"
        ) from error


def wrote_here(store: Store, row: VersionRow, seq: int) -> bool:
    """Was the row `seq` written by the code that runs here?"""
    start = store.last_start(row.id, seq)
    return start is not None and start.content().get("code") == code_here()


def _checked(store: Store, row: VersionRow, state: ExperimentState) -> Iterable[Event]:
    """Yield the rows after those that a state knows; raises StoreError if they are damaged."""
    seq, chain = state.seq, state.chain
    for event in all_events(store, row.id, state.seq):
        for damage in damages([event], seq, chain):
            raise StoreError(f"version {row.number}: {damage.what}")
        seq, chain = event.seq, event.chain
        yield event


class LogVerdict(NamedTuple):
    """What checking a version has found."""

    rows: int
    damages: list[Damage]
    derived: int  # asks whose arms were derived again
    taken: int  # asks of other code, whose arms cannot be derived here
    differs: list[str]
    archived: bool = False  # its rows were moved out of the store

    @property
    def exit_code(self) -> int:
        """0: all is well; 1: something differs; 2: not everything can be checked here."""
        if self.damages or self.differs:
            return 1
        return 2 if self.taken else 0


def verify(store: Store, row: VersionRow, spec: Spec, decisions: bool) -> LogVerdict:
    """Read the log of a version once, and check the chain, the accounting and, if wanted, decisions.

    After rows of other code, decisions are derived again from the next anchor on. While a server writes,
    what is checked is the log up to the last row that `row` knows. Whatever goes wrong while damaged
    rows are read is damage.
    """
    check = _Check(store, row, spec, decisions)
    try:
        check.run()
    except Exception as error:
        said = f"what follows row {check.seq} cannot be read: {type(error).__name__}: {error}"
        check.found.append(Damage(check.seq + 1, said))
    return check.verdict()


class _Check:
    """The log of a version, which is read row by row."""

    def __init__(self, store: Store, row: VersionRow, spec: Spec, decisions: bool) -> None:
        self.store, self.row, self.spec, self.decisions = store, row, spec, decisions
        self.state = ExperimentState(spec, row.uid)
        self.seq, self.chain = 0, first_link(row.uid)
        self.found: list[Damage] = []
        self.differs: list[str] = []
        self.saved: dict[int, Saved] = {}
        self.marks: list[int] = []
        self.rows = self.derived = self.taken = 0
        self.ours = False  # was this row written by the code that runs here?
        self.exact = True  # is the state the one that the writer had, or one with arms as logged?

    def verdict(self) -> LogVerdict:
        """Return what was found."""
        return LogVerdict(self.rows, self.found, self.derived, self.taken, self.differs)

    def run(self) -> None:
        """Read all rows."""
        self.saved = {each.seq: each for each in self.store.snapshots(self.row.id)}
        for event in all_events(self.store, self.row.id):
            if event.seq > self.row.head:
                self.found += _surplus(self.store, self.row)
                break
            self.found += damages([event], self.seq, self.chain)
            self.seq, self.chain = event.seq, event.chain
            self.rows += 1
            if not self.found and not self._apply(
                event
            ):  # what follows damage cannot be told from it
                break
        if not self.found and not self.differs:
            self._check_end()

    def _apply(self, event: Event) -> bool:
        """Check a row that is as it was written; False if those after it mean nothing any more."""
        if event.kind == kinds.START:
            self._check_start(event)
        derive = self.decisions and self.ours and self.exact
        if event.kind == kinds.ASK:
            self.exact = derive
            self.derived += derive
            self.taken += self.decisions and not derive
        try:
            self.state.replay(event, derive)
        except Exception as error:
            self.differs.append(f"row {event.seq} ({event.kind}): {error}")
            return False
        if event.kind == kinds.MARK:
            self._check_mark(event)
        return True

    def _check_start(self, event: Event) -> None:
        self.ours = event.content().get("code") == code_here()
        self.exact = self.exact and self.ours and not event.content().get("taken")
        self.differs += _specified(event, self.spec)

    def _check_mark(self, event: Event) -> None:
        """Compare the snapshot of a mark, if it is still there; an anchor must be."""
        saved = self.saved.get(event.seq)
        self.marks.append(event.seq)
        if event.n and (saved is None or not saved.anchor):
            self.differs.append(
                f"row {event.seq}: the snapshot that decisions follow from is missing"
            )
        if saved is None:
            return
        try:
            shown = state_in(self.spec, self.row, saved)
        except FileFormatError as error:
            if self.ours or digest_of(saved.state) != saved.digest:
                self.differs.append(f"row {event.seq}: {error}")
            return  # what other code has saved need not fit the policy as it is here
        self.differs += _compared(self.state, shown, self.exact)
        if self.decisions and self.ours and not self.exact:
            self.state, self.exact = shown, True

    def _check_end(self) -> None:
        """Compare the end of the log with what the store knows of it."""
        row = self.row
        self.differs += self._snapshots_amiss()
        if (self.seq, self.chain) != (row.head, row.chain):
            said = f"the log ends with row {self.seq}, and row {row.head} was written"
            self.found.append(Damage(self.seq, said))
        elif self.state.closed != (row.closed == CLOSED):
            says, known = (
                ("open", "closed")[self.state.closed],
                ("open", "closed")[bool(row.closed)],
            )
            self.differs.append(f"its log says that it is {says}, and the store that it is {known}")

    def _snapshots_amiss(self) -> list[str]:
        """Return which snapshots are missing: the last ones stay; and which have no mark."""
        head = self.row.head
        found = [
            f"row {each}: it is no mark, but there is a snapshot of it"
            for each in self.saved
            if each <= head and each not in self.marks
        ]
        beyond = [each for each in self.saved if each > head]
        if beyond and _goes_on(self.store, self.row):
            return found  # a server has saved newer ones, and removed older ones for them
        found += [f"there is a snapshot of row {each}, which was not written" for each in beyond]
        return found + [
            f"row {each}: the snapshot that was saved with it is missing"
            for each in self.marks[-KEPT_SNAPSHOTS:]
            if each not in self.saved
        ]


def _goes_on(store: Store, row: VersionRow) -> bool:
    """Return whether a server has written more of a version meanwhile."""
    now = next((each for each in store.versions() if each.id == row.id), row)
    return now.head != row.head


def _surplus(store: Store, row: VersionRow) -> list[Damage]:
    """Return what is wrong if there are rows after the last one that was written, and no server."""
    if _goes_on(store, row):
        return []
    return [
        Damage(row.head + 1, f"row {row.head} was the last one that was written, and more follow")
    ]


def _specified(start: Event, spec: Spec) -> list[str]:
    """Return how a specification differs from the one that the first row of its version knows."""
    known = start.content().get("spec")
    if start.seq != 1 or known == spec.digest:
        return []
    return ["row 1: the specification or the structure is not what the version began with"]


def _compared(state: ExperimentState, saved: ExperimentState, exact: bool) -> list[str]:
    """Return how a state that was replayed differs from the one in a snapshot.

    If arms were taken as logged, it need not be `exact`: only what was counted is compared.
    """
    ours, theirs = (_facts(each, exact) for each in (state, saved))
    return [
        f"row {state.seq}: {name} in the snapshot is not what the log leads to"
        for name, value in ours.items()
        if value != theirs[name]
    ]


def _out(state: ExperimentState) -> list[tuple[int, int]]:
    """Return the decisions that are out, with their arms; of a batch its first one and each arm.

    The row of a batch holds counts alone, so arms that are taken as logged are in another order.
    """
    firsts = {
        decision: first
        for first, size in state.batches.items()
        for decision in range(first, first + size)
    }
    return sorted((firsts.get(one.id, one.id), one.arm) for one in state.agent.pending)


def _facts(state: ExperimentState, exact: bool) -> dict[str, Any]:
    counted = {
        "pulls": state.agent.pulls.tolist(),
        "sums": state.agent.sums.tolist(),
        "what is out": _out(state),
        "what is held": state.held,
    }
    return {**counted, "the state": saved_content(state)} if exact else counted
