"""A progress bar on standard error, for what may take a while."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

from structured_bandits.base.extras import needs
from structured_bandits.errors import MissingExtraError

Item = TypeVar("Item")

COMPILING = "compiling, once"  # what is compiled is kept: on disk, or while this process lives

_under_way = 0  # compilations, one inside the other


def note_compilation(begins: bool) -> None:
    """Take note that a compilation begins or ends; what is read from the disk is none."""
    global _under_way
    _under_way += 1 if begins else -1


def doing(usual: str) -> str:
    """Return what a bar says that is being done: `usual`, unless something is compiled now."""
    return COMPILING if _under_way else usual


class _NoBar(nullcontext[Any]):
    """The bar that shows nothing, where none was asked for or none is installed."""

    def __enter__(self) -> _NoBar:
        return self

    def set_description(self, text: str, refresh: bool = True) -> None:
        pass

    def update(self, steps: float) -> None:
        pass

    def refresh(self) -> None:
        pass


def progress_bar(what: str, progress: bool | None, **options: Any) -> Any:
    """Return the bar of a function named `what`, which works without one if the package is missing.

    `progress` is what its users say: whether there is a bar, None for one if standard error is a
    terminal and it takes a while. `options` are those of tqdm.
    """
    if not (_sees_a_terminal() if progress is None else progress):  # tqdm takes a while to load
        return _NoBar()
    try:
        with needs(f"{what}(progress=True)", extra="simulate"):
            from tqdm import tqdm
    except MissingExtraError:
        if progress:
            raise  # who asks for a bar sees one
        return _NoBar()
    usual = {"desc": "preparing", "delay": 0.0 if progress else 0.5, "leave": False}
    return tqdm(**{**usual, **options})


def _sees_a_terminal() -> bool:
    """Return whether standard error is a terminal; programs with windows may have none at all."""
    return sys.stderr is not None and sys.stderr.isatty()


def with_bar(items: Sequence[Item], what: str, unit: str) -> Iterator[Item]:
    """Yield the items while a bar, if standard error is a terminal, shows how many are done."""
    with progress_bar(what, None, total=len(items), unit=unit, desc=what) as bar:
        for item in items:
            yield item
            bar.update(1)
