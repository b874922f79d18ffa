"""Checking a whole store: is the log what was written, and does it lead to what was decided?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from structured_bandits.errors import ParameterError
from structured_bandits.live.words import counted
from structured_bandits.service.replay import Verdict, verify
from structured_bandits.service.served import spec_of
from structured_bandits.service.store import Store, StoreError, VersionRow


class Checked(NamedTuple):
    """A version of an experiment, and what checking it has found."""

    experiment: str
    version: int
    verdict: Verdict

    def text(self, decisions: bool) -> str:
        """Return one line for people, and one more for each thing that is wrong."""
        found = self.verdict
        name = f"{self.experiment}, version {self.version}"
        lines = [f"  {each.what}" for each in found.damages[:5]]
        lines += [f"  {each}" for each in found.differs[:5]]
        if found.archived:
            return f"{name}: archived; its rows are not in the store"
        if lines:
            return "\n".join([f"{name}: the log is not right:", *lines])
        said = f"{name}: the log is as it was written and adds up ({counted(found.rows, 'row')})"
        if decisions:
            said += f"; derived again: {counted(found.derived, 'ask')}, no difference"
        if found.taken:
            said += f"; not derived, because other code wrote them: {counted(found.taken, 'ask')}"
        return said


def check_store(store: Store, names: Sequence[str], decisions: bool) -> Iterator[Checked]:
    """Check all versions of the experiments with these names, of all if there are none."""
    experiments = {row.id: row.name for row in store.experiments()}
    unknown = [name for name in names if name not in experiments.values()]
    if unknown:
        accepted = ", ".join(experiments.values()) or "none: the store is empty"
        raise ParameterError(f"there is no experiment {unknown[0]!r}; there are {accepted}")
    for row in store.versions():
        name = experiments[row.experiment]
        if not names or name in names:
            yield Checked(name, row.number, _verdict(store, row, decisions))


def _verdict(store: Store, row: VersionRow, decisions: bool) -> Verdict:
    """Check one version; without its specification nothing of it can be right."""
    try:
        spec = spec_of(store, row)
    except StoreError as error:
        return Verdict(0, [], 0, 0, [str(error)])
    return verify(store, row, spec, decisions)


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """Return 0 if all is well, 1 if something differs, 2 if not everything can be checked here."""
    codes = [verdict.exit_code for verdict in verdicts]
    return 1 if 1 in codes else max(codes, default=0)
