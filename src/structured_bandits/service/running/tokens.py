"""Tokens: who may do what.

A token reads `sb_<id>_<secret>`. The store keeps its id, which is no secret, and the SHA-256 of the
secret. A slow hash would add nothing: the secret is 256 random bits, and nobody can try them all.

A server without tokens is open to whoever reaches it, so it may only be reached from its own machine
(`trusted_hosts.py`). Tokens that were revoked stay in the book: revoking the last one does not open the
server.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, get_args

from structured_bandits.errors import ParameterError

Role = Literal["read", "ask", "admin"]
#: Each role may do what those before it may.
ROLES: tuple[Role, ...] = get_args(Role)
_RANK = {role: rank for rank, role in enumerate(ROLES)}

_FORM = re.compile(r"sb_([0-9a-f]{12})_([0-9a-f]{64})", re.ASCII)
_NO_HASH = "0" * 64  # the SHA-256 of nothing that anybody knows


class Token(NamedTuple):
    """What the store keeps of a token. `experiments` is None for all of them; times are in ms."""

    id: str
    name: str
    hash: str
    role: Role
    experiments: tuple[str, ...] | None
    made_at: int
    revoked_at: int | None = None


def new_token(
    name: str, role: str, experiments: Iterable[str] | None = None, now: int | None = None
) -> tuple[str, Token]:
    """Make a token; return its text, which is shown once and kept nowhere, and its record.

    >>> text, token = new_token("shop", "ask", experiments=["prices"])
    >>> len(text), token.role, token.experiments
    (80, 'ask', ('prices',))
    """
    if role not in ROLES:
        raise ParameterError(f"role={role!r}; accepted are {', '.join(map(repr, ROLES))}")
    if not name or len(name) > 200 or not name.isprintable():
        raise ParameterError(f"name={name[:50]!r}: expected 1 to 200 printable characters")
    if isinstance(experiments, str):
        raise ParameterError(f"experiments={experiments!r}: expected a list of names")
    names = None if experiments is None else tuple(experiments)
    if names == ():
        raise ParameterError("experiments=[]: a token for none can do nothing; None means all")
    made_at = time.time_ns() // 1_000_000 if now is None else now
    identity, secret = secrets.token_hex(6), secrets.token_hex(32)
    token = Token(identity, name, _hash(secret), role, names, made_at)
    return f"sb_{identity}_{secret}", token


class Tokens:
    """The tokens of a server, in memory.

    It is `open` if there never were any: then nobody is asked for one.
    """

    def __init__(self, tokens: Iterable[Token] = ()) -> None:
        self.replace(tokens)

    def replace(self, tokens: Iterable[Token]) -> None:
        """Take these tokens instead of all others, such as those of the store after a change."""
        self._by_id = {token.id: token for token in tokens}
        self.open = not self._by_id

    def add(self, token: Token) -> None:
        """Add a token; from the first one on the server is closed to those without."""
        self._by_id[token.id] = token
        self.open = False

    def revoke(self, identity: str, now: int) -> bool:
        """Revoke a token; return whether this changed anything."""
        token = self._by_id.get(identity)
        if token is None or token.revoked_at is not None:
            return False
        self._by_id[identity] = token._replace(revoked_at=now)
        return True

    def check(self, text: str) -> Token | None:
        """Return the token that a text is, None if it is none, or was revoked.

        All texts of the right form take the same path, so that the time tells nothing of which ids
        exist, nor how much of a secret is right.
        """
        form = _FORM.fullmatch(text)
        if form is None:
            return None
        token = self._by_id.get(form[1])
        right = hmac.compare_digest(_hash(form[2]), token.hash if token else _NO_HASH)
        if token is None or not right or token.revoked_at is not None:
            return None
        return token

    def __iter__(self) -> Iterator[Token]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)


def allowed(token: Token, role: Role, experiment: str | None) -> bool:
    """May this token do what `role` may with an experiment?

    Without an experiment: with the whole server, which needs a token for all experiments.

    >>> _, token = new_token("shop", "ask", experiments=["prices"])
    >>> allowed(token, "read", "prices"), allowed(token, "admin", "prices")
    (True, False)
    >>> allowed(token, "read", "teas"), allowed(token, "read", None)
    (False, False)
    """
    if _RANK[token.role] < _RANK[role]:
        return False
    return token.experiments is None or experiment in token.experiments


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("ascii")).hexdigest()
