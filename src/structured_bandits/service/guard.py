"""At the door: does the request mean this server, who sends it, and may a browser have sent it?

The guard leaves a `Caller` in the scope of each request that it lets in; an endpoint calls
`caller_of(scope).require("ask", experiment)` before it looks anything up, so that the answer to a caller
who may not know does not depend on what exists. Every answer leaves with the headers that keep browsers
careful.

All of this is plain ASGI, a few microseconds a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from structured_bandits.base.extras import needs
from structured_bandits.service.auth import Role, Token, Tokens, allowed
from structured_bandits.service.hosts import Hosts, Proxies, same_origin
from structured_bandits.service.problems import (
    Forbidden,
    HttpProblem,
    Misdirected,
    Refused,
    Unauthorised,
    send_problem,
)

with needs("The service", extra="serve"):
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CALLER = "structured_bandits.caller"  # under which the scope holds the caller
COOKIE = "sb_token"
COOKIE_SECONDS = 7 * 86_400
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOKED_AT = frozenset(
    {b"authorization", b"cookie", b"forwarded", b"host", b"origin"}
    | {b"x-forwarded-for", b"x-forwarded-proto"}
)

#: Scripts and styles from files of this server only; no inline ones, no frames, no other servers.
CONTENT_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
#: Other servers learn no address of ours. (With "no-referrer" browsers would send our own forms with the
#: origin "null", which cannot be told from a stranger's.)
SECURITY_HEADERS = [
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_NO_SHARED_CACHE = (b"cache-control", b"private, no-cache")


class Caller(NamedTuple):
    """Who sends a request. `token` is None for one without, which an `open` server lets do all."""

    token: Token | None
    open: bool
    address: str
    https: bool

    def require(self, role: Role, experiment: str | None) -> None:
        """Refuse the request unless its sender may act in this role, on this experiment or on all."""
        self.require_token()
        if self.token is not None and not allowed(self.token, role, experiment):
            which = "all experiments" if experiment is None else f"the experiment {experiment!r}"
            raise Forbidden(f"The token {self.token.name!r} has not the role {role!r} for {which}.")

    def require_token(self) -> None:
        """Refuse the request of a stranger, unless the server is open."""
        if self.token is None and not self.open:
            raise Unauthorised("Send a token that is valid here as 'Authorization: Bearer sb_…'.")

    def check_first_token(self, role: str, experiments: Sequence[str] | None) -> None:
        """Refuse to make a first token over HTTP with which nobody could make a second one."""
        if self.open and (role != "admin" or experiments):
            raise Refused(
                "The first token closes the server to everybody without one, so it has to be an admin "
                "token for all experiments."
            )

    def may(self, role: Role, experiment: str | None) -> bool:
        """May the sender act in this role? For lists, which leave out what may not be seen."""
        return self.open or (self.token is not None and allowed(self.token, role, experiment))


def caller_of(scope: Scope) -> Caller:
    """Return the caller that the guard has put into the scope."""
    caller: Caller = scope[CALLER]
    return caller


class Guard:
    """The middleware; it must stand before everything that answers."""

    def __init__(
        self, app: ASGIApp, tokens: Tokens, hosts: Hosts, proxies: Proxies | None = None
    ) -> None:
        self.app = app
        self.tokens = tokens
        self.hosts = hosts
        self.proxies = proxies or Proxies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request in, with its caller in the scope, or answer why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_carefully(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = with_security(message["headers"])
            await send(message)

        try:
            scope[CALLER] = self._caller(scope)
        except HttpProblem as problem:
            await send_problem(send_carefully, problem)
            return
        await self.app(scope, receive, send_carefully)

    def _caller(self, scope: Scope) -> Caller:
        """Return who sends a request, or raise why it is not let in."""
        head = _head(scope)
        host = head.get(b"host", "")
        if not self.hosts.accepts(host):
            raise Misdirected(
                f"The host {host[:100]!r} is not known here; --allow-host adds a name."
            )
        address, https = self._sender(scope, head)
        token = _bearer(head)
        if token is None:  # a browser may send it without being asked to
            token = _cookie(head, https)
            if scope["method"] not in _SAFE_METHODS:
                _check_origin(head.get(b"origin"), https, host, by_cookie=token is not None)
        if not self.tokens.open:
            return Caller(self.tokens.check(token) if token else None, False, address, https)
        if b"x-forwarded-for" in head or b"forwarded" in head:
            raise Forbidden("This server has no tokens, so it does not answer through a proxy.")
        return Caller(None, True, address, https)

    def _sender(self, scope: Scope, head: dict[bytes, str]) -> tuple[str, bool]:
        """Return the address that a request is from, and whether it came by TLS."""
        client = scope.get("client")
        address = client[0] if client else ""
        if not (self.proxies and self.proxies.trusts(address)):
            return address, scope.get("scheme") == "https"
        https = head.get(b"x-forwarded-proto", "").strip().lower() == "https"
        return self.proxies.client(address, head.get(b"x-forwarded-for", "")), https


def _check_origin(origin: str | None, https: bool, host: str, by_cookie: bool) -> None:
    """Refuse changes that a page of another server makes a browser send.

    Browsers add cookies by themselves, and reach an open server without any. Programs send no Origin,
    but no cookies either.
    """
    if origin is None:
        if by_cookie:
            raise Forbidden("A request with a cookie needs an Origin header.")
    elif not same_origin(origin, "https" if https else "http", host):
        raise Forbidden(f"Pages of {origin[:100]!r} may not change anything here.")


def _head(scope: Scope) -> dict[bytes, str]:
    """Return the headers that the guard looks at; one that is given twice is joined with commas.

    So a second Host, Origin or token makes all of them invalid, whatever a proxy made of it.
    """
    head: dict[bytes, str] = {}
    for name, value in scope["headers"]:
        if name in _LOOKED_AT:
            text = value.decode("latin-1")
            head[name] = f"{head[name]},{text}" if name in head else text
    return head


def _bearer(head: dict[bytes, str]) -> str | None:
    """Return the token of the Authorization header; None if there is no such header."""
    header = head.get(b"authorization")
    if header is None:
        return None
    kind, _, text = header.partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""


def _cookie(head: dict[bytes, str], https: bool) -> str | None:
    """Return the token of the cookie; None if there is no such cookie."""
    if b"cookie" not in head:
        return None
    wanted = cookie_name(https)
    for part in head[b"cookie"].replace(",", ";").split(";"):
        name, _, value = part.strip().partition("=")
        if name == wanted:
            return value
    return None


def with_security(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with those that keep browsers careful."""
    for name, _ in headers:
        if name == b"cache-control":
            return [*headers, *SECURITY_HEADERS]
    return [*headers, *SECURITY_HEADERS, _NO_SHARED_CACHE]


def cookie_name(https: bool) -> str:
    """Return the cookie's name; over TLS one that browsers let no other host set."""
    return f"__Host-{COOKIE}" if https else COOKIE


def session_cookie(text: str, https: bool) -> str:
    """Return the Set-Cookie header that keeps a token for the pages; an empty text ends it."""
    seconds = COOKIE_SECONDS if text else 0
    secure = "; Secure" if https else ""
    return (
        f"{cookie_name(https)}={text}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    )
