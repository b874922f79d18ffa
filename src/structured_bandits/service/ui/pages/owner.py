"""What the pages need of whoever owns the experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from structured_bandits.service.rows import Event
from structured_bandits.service.running.tokens import Tokens
from structured_bandits.wire import Park, State, Summary


class PagesRegistry(Protocol):
    """Reads and changes experiments and tokens; whoever may do so was asked before.

    All of them raise the problems of problems.py: NotFound for a name that is not known.
    """

    @property
    def tokens(self) -> Tokens:
        """The tokens of the server."""
        ...

    def summaries(self) -> Sequence[Summary]:
        """Return all experiments in short, in the order in which they are listed."""
        ...

    def state(self, name: str) -> State:
        """Return all that is shown of an experiment."""
        ...

    def explorer_path(self, name: str) -> str | None:
        """Return the path at which the structure of an experiment is explored, None if there is none."""
        ...

    async def events(self, name: str, after: int, limit: int) -> Sequence[Event]:
        """Return at most `limit` rows of the current version's log, from row `after` + 1 on."""
        ...

    async def act(self, name: str, verb: str, body: Park | None) -> object:
        """Do what `verb` says ("pause", "resume" or "park"), and return when it is recorded."""
        ...

    async def make_token(self, name: str, role: str, experiments: Sequence[str] | None) -> str:
        """Make a token and return its text, which is shown once."""
        ...

    async def revoke_token(self, identity: str) -> bool:
        """Revoke a token; return whether this changed anything."""
        ...
