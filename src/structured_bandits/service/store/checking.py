"""Checking a whole store: is it what was written, and does the log lead to what was decided?

The database is checked first: its pages and indexes, and the rows that no log covers. Then the log of
each version is read from its first row on. Whatever goes wrong while damaged rows are read is damage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from structured_bandits.agents.words import counted
from structured_bandits.errors import ParameterError
from structured_bandits.service.experiment.replay import LogVerdict, spec_of, verify
from structured_bandits.service.experiment.spec import digest_of_text
from structured_bandits.service.rows import ARCHIVED, Damage, ExperimentRow, VersionRow
from structured_bandits.service.store_protocol import Store, StoreError

MOST_LINES = 5  # about one thing that is not right


class Checked(NamedTuple):
    """A part of a store, and what checking it has found."""

    name: str  # for people
    verdict: LogVerdict

    def text(self, decisions: bool) -> str:
        """Return one line for people, and one more for each thing that is wrong."""
        found = self.verdict
        lines = [f"  {each.what}" for each in found.damages[:MOST_LINES]]
        lines += [f"  {each}" for each in found.differs[:MOST_LINES]]
        if lines:
            return "\n".join([f"{self.name}: it is not as it was written:", *lines])
        if found.archived:
            return f"{self.name}: archived; its rows are not in the store"
        said = (
            f"{self.name}: the log is as it was written and adds up ({counted(found.rows, 'row')})"
        )
        if decisions:
            said += f"; derived again: {counted(found.derived, 'ask')}, no difference"
        if found.taken:
            said += f"; not derived, because other code wrote them: {counted(found.taken, 'ask')}"
        return said


def check_store(store: Store, names: Sequence[str], decisions: bool) -> Iterator[Checked]:
    """Check the database, and all versions of the experiments with these names; without any, of all.

    The database is yielded only if it is not right.
    """
    try:
        experiments, versions = _listed(store)
        faults = store.faults() + _contradictions(experiments, versions)
    except Exception as error:
        yield Checked(store.where, broken(_said(error)))
        return
    known = {row.id: row.name for row in experiments}
    unknown = [name for name in names if name not in known.values()]
    if unknown and not faults:
        accepted = ", ".join(known.values()) or "none: the store is empty"
        raise ParameterError(f"there is no experiment {unknown[0]!r}; there are {accepted}")
    if faults:
        yield Checked(store.where, broken(*faults))
    for row in versions:
        name = known.get(row.experiment, f"experiment {row.experiment}")
        if not names or name in names:
            yield Checked(f"{name}, version {row.number}", _verdict(store, row, decisions))


def broken(*sentences: str) -> LogVerdict:
    """Return the verdict on what is damaged."""
    return LogVerdict(0, [Damage(0, each) for each in sentences], 0, 0, [])


def _listed(store: Store) -> tuple[list[ExperimentRow], list[VersionRow]]:
    """Return experiments and versions as they were at one time, while a server may write."""
    while True:
        experiments, versions = store.experiments(), store.versions()
        if store.experiments() == experiments:  # a new version would be the current one of its own
            return experiments, versions


def _contradictions(
    experiments: Sequence[ExperimentRow], versions: Sequence[VersionRow]
) -> list[str]:
    """Return where experiments and versions do not fit each other."""
    found = []
    names = {row.id: row.name for row in experiments}
    for experiment, name, current in experiments:
        rows = [row for row in versions if row.experiment == experiment]
        numbers = [row.number for row in rows]
        if not rows or numbers != list(range(1, len(rows) + 1)):
            found.append(f"{name}: its versions are {numbers}; expected 1, 2, … without a gap")
        elif rows[-1].id != current:
            found.append(f"{name}: version {numbers[-1]} is its newest one, and another is played")
    found += [
        f"version {row.number} belongs to experiment {row.experiment}, which is not there"
        for row in versions
        if row.experiment not in names
    ]
    return found


def _verdict(store: Store, row: VersionRow, decisions: bool) -> LogVerdict:
    """Check one version; without its specification nothing of it can be right."""
    try:
        if digest_of_text(store.structure(row.structure)) != row.structure:
            return broken("its structure is not what was written")
        if row.closed == ARCHIVED:
            return _archived(store, row)
        return verify(store, row, spec_of(store, row), decisions)
    except Exception as error:
        return broken(_said(error))


def _archived(store: Store, row: VersionRow) -> LogVerdict:
    """Check that nothing is left of a version whose rows were moved out of the store."""
    if store.events(row.id, limit=1) or store.snapshots(row.id):
        return broken("it was archived, and there are rows of it")
    return LogVerdict(0, [], 0, 0, [], archived=True)


def _said(error: Exception) -> str:
    """Return what an error says of what cannot be read, in a sentence."""
    if isinstance(error, StoreError):
        return str(error)
    return f"what is there cannot be read: {type(error).__name__}: {error}"


def exit_code(verdicts: Sequence[LogVerdict]) -> int:
    """Return 0 if all is well, 1 if something differs, 2 if not everything can be checked here."""
    codes = [verdict.exit_code for verdict in verdicts]
    return 1 if 1 in codes else max(codes, default=0)
