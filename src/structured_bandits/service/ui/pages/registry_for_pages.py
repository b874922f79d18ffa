"""The registry as the pages see it: what they show is on the disk, and what they do is waited for."""

from __future__ import annotations

from collections.abc import Sequence

from structured_bandits.service.refusals import NotFound
from structured_bandits.service.rows import Event
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.running.tokens import Tokens
from structured_bandits.service.running.views import state_of, summary_of
from structured_bandits.service.wire import Park, State, Summary


class RegistryForPages:
    """Reads and changes experiments and tokens; whoever may do so was asked before."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @property
    def tokens(self) -> Tokens:
        """The tokens of the server."""
        return self._registry.tokens

    def summaries(self) -> Sequence[Summary]:
        """Return all experiments in short, by name."""
        experiments = self._registry.experiments
        return [summary_of(experiments[name]) for name in sorted(experiments)]

    def state(self, name: str) -> State:
        """Return all that is shown of an experiment."""
        return state_of(self._registry.find(name))

    def explorer_path(self, name: str) -> str | None:
        """Return the path at which the structure of an experiment is explored."""
        self._registry.find(name)
        return f"/experiments/{name}/explore"

    async def events(self, name: str, after: int, limit: int) -> Sequence[Event]:
        """Return rows of the current version's log."""
        await self._registry.written()
        version = self._registry.find(name).current
        return self._registry.store.events(version.row.id, after, limit)

    async def act(self, name: str, verb: str, body: Park | None) -> object:
        """Pause, resume or park, and wait until it is recorded."""
        if verb == "park" and body is not None:
            done = self._registry.find(name).park(body)
        elif verb in ("pause", "resume"):
            done = self._registry.find(name).pause(verb == "pause")
        else:
            raise NotFound(f"There is no {verb!r} for an experiment.")
        await self._registry.written(name)
        return done

    async def make_token(self, name: str, role: str, experiments: Sequence[str] | None) -> str:
        """Make a token and return its text, which is shown once."""
        text, _ = self._registry.add_token(name, role, experiments)
        await self._registry.written()
        return text

    async def revoke_token(self, identity: str) -> bool:
        """Revoke a token; return whether this changed anything."""
        changed = self._registry.revoke_token(identity)
        await self._registry.written()
        return changed
