"""The owner as the pages see it: what they show is on the disk, and what they do is waited for."""

from __future__ import annotations

from collections.abc import Sequence

from structured_bandits.service.refusals import NotFound
from structured_bandits.service.rows import Event
from structured_bandits.service.running.commands import Owner
from structured_bandits.service.running.tokens import Tokens
from structured_bandits.service.running.views import state_of, summary_of
from structured_bandits.wire import Park, State, Summary


class RegistryForPages:
    """Fulfils pages.owner.PagesRegistry."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    @property
    def tokens(self) -> Tokens:
        """The tokens of the server."""
        return self._owner.tokens

    def summaries(self) -> Sequence[Summary]:
        """Return all experiments in short, by name."""
        owner = self._owner
        return [summary_of(owner, owner.served[name]) for name in sorted(owner.served)]

    def state(self, name: str) -> State:
        """Return all that is shown of an experiment."""
        return state_of(self._owner, self._owner.find(name))

    def explorer_path(self, name: str) -> str | None:
        """Return the path at which the structure of an experiment is explored."""
        self._owner.find(name)
        return f"/experiments/{name}/explore"

    async def events(self, name: str, after: int, limit: int) -> Sequence[Event]:
        """Return rows of the current version's log."""
        await self._owner.written()
        served = self._owner.find(name)
        return self._owner.store.events(served.current.row.id, after, limit)

    async def act(self, name: str, verb: str, body: Park | None) -> object:
        """Pause, resume or park, and wait until it is recorded."""
        if verb == "park" and body is not None:
            done = self._owner.park(name, body)
        elif verb in ("pause", "resume"):
            done = self._owner.pause(name, verb == "pause")
        else:
            raise NotFound(f"There is no {verb!r} for an experiment.")
        await self._owner.written(name)
        return done

    async def make_token(self, name: str, role: str, experiments: Sequence[str] | None) -> str:
        """Make a token and return its text, which is shown once."""
        text, _ = self._owner.add_token(name, role, experiments)
        await self._owner.written()
        return text

    async def revoke_token(self, identity: str) -> bool:
        """Revoke a token; return whether this changed anything."""
        changed = self._owner.revoke_token(identity)
        await self._owner.written()
        return changed
