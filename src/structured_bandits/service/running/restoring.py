"""Bringing a backup back: a store of it, in which each experiment begins a new version."""

from __future__ import annotations

from pathlib import Path

from structured_bandits.base.writing import check_file
from structured_bandits.errors import OutputError, ParameterError
from structured_bandits.service.experiment.accounting import results_of
from structured_bandits.service.running.lifecycle import new_version
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.store.backups import LOGS, copy_of_backup, remove_store
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.wire import NewVersion


def bring_back(backup: Path, target: Path) -> list[str]:
    """Make a store of a backup; return what was done.

    Decisions that were handed out after the backup are not in it, and their numbers would be handed out
    again. So each experiment begins a new version, with all rewards that the backup has.
    """
    if not backup.is_file():
        raise ParameterError(f"{backup}: there is no such file")
    if target.exists():
        raise OutputError(f"{target}: there is such a file already; move it away first")
    for left in (target.with_name(f"{target.name}{log}") for log in LOGS):
        if left.exists() and left.stat().st_size:  # SQLite would play it into the store
            raise OutputError(
                f"{left}: it holds rows of a store that was here; move it away, with that store"
            )
    check_file(target)
    try:
        copy_of_backup(backup, target)
        return _begin_anew(target)
    except BaseException:  # a store that goes on where the backup ended would hand out ids again
        remove_store(target)
        raise


def _begin_anew(target: Path) -> list[str]:
    """Begin a new version of each experiment; return what was done."""
    registry = Registry(SqliteStore(target))
    registry.open()
    done = []
    try:
        for name, experiment in registry.experiments.items():
            state = experiment.state
            rewards = sum(results_of(state).pulls)
            made = new_version(experiment, NewVersion(spec=state.spec.plain), again=True)
            done.append(f"{name}: version {made.version} begins with {rewards:,} rewards")
        registry.writer.write_now()
    finally:
        registry.close()
    return done
