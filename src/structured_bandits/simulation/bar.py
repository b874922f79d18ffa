"""Progress bars on standard error, where there is a terminal and the package that draws them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from structured_bandits.errors import MissingExtraError
from structured_bandits.extras import needs


class NoBar(nullcontext[Any]):
    """Stands where a bar would: nobody asked for one, and there is none to be had."""

    def __enter__(self) -> NoBar:
        return self

    def set_description(self, text: str, refresh: bool = True) -> None:
        """Show nothing."""

    def update(self, amount: float) -> None:
        """Show nothing."""

    def refresh(self) -> None:
        """Show nothing."""


def progress_bar(what: str, progress: bool | None, **options: Any) -> Any:
    """Return a bar of tqdm with these options: None for one if standard error is a terminal.

    Everything works without a bar if the package is not installed; who asks for one is told.
    """
    try:
        with needs(f"{what}(progress=True)", extra="simulate"):
            from tqdm import tqdm
    except MissingExtraError:
        if progress:
            raise
        return NoBar()
    return tqdm(leave=False, disable=None if progress is None else not progress, **options)
