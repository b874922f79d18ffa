"""The service as an ASGI application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from structured_bandits.base.extras import needs
from structured_bandits.service.auth import Role
from structured_bandits.service.doubled import check_doubled
from structured_bandits.service.endpoints import (
    ALL,
    ENDPOINTS,
    NDJSON,
    Call,
    Endpoint,
    Reply,
    encoded,
)
from structured_bandits.service.guard import caller_of
from structured_bandits.service.hosts import Hosts, Proxies
from structured_bandits.service.limits import Buckets
from structured_bandits.service.middleware import protected
from structured_bandits.service.openapi import description
from structured_bandits.service.owner import Owner
from structured_bandits.service.problems import (
    HttpProblem,
    problem_of,
    problem_of_status,
    send_problem,
)
from structured_bandits.service.watch import ENDPOINT

with needs("The service", extra="serve"):
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute, Route
    from starlette.types import ASGIApp, Receive, Scope, Send

JSON = b"application/json"
OFTEN = ("ask", "tell")  # endpoints of an experiment, labelled like the ends of their paths


class Answering:
    """An endpoint as an ASGI application of its own: the shortest way from a request to an answer."""

    def __init__(self, owner: Owner, endpoint: Endpoint) -> None:
        self.owner = owner
        self.endpoint = endpoint
        self._decode = None
        self._has_key = False
        if endpoint.takes is not None:
            self._decode = msgspec.json.Decoder(endpoint.takes).decode
            self._has_key = "key" in getattr(endpoint.takes, "__struct_fields__", ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, after what it changed is on the disk."""
        endpoint = self.endpoint
        scope[ENDPOINT] = endpoint.label
        try:
            reply = await self._reply(scope, receive)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                raise
            await send_problem(send, problem)
            return
        known = None if reply.etag is None else _header(scope, b"if-none-match")
        await _send(send, reply, known)

    async def _reply(self, scope: Scope, receive: Receive) -> Reply:
        endpoint, owner = self.endpoint, self.owner
        path: dict[str, str] = scope["path_params"]
        caller = caller_of(scope)
        if endpoint.label == "list":  # which leaves out what the caller may not see
            caller.require_token()
        elif endpoint.role is not None:
            caller.require(endpoint.role, path.get("name"))
        content = await self._content(scope, receive)
        asked = scope["query_string"]
        query = dict(parse_qsl(asked.decode("latin-1"))) if asked else {}
        if endpoint.method == "GET":  # nothing is shown that a loss of power could undo
            await owner.written()
        reply = endpoint.does(Call(owner, caller, path, query, content))
        await owner.written(path.get("name"))
        return reply

    async def _content(self, scope: Scope, receive: Receive) -> Any:
        if self._decode is None:
            return None
        body = (await receive()).get("body", b"")
        check_doubled(body)
        content = self._decode(body)
        if self._has_key and content.key is None:
            key = _header(scope, b"idempotency-key")
            if key is not None:
                content = msgspec.json.decode(
                    msgspec.json.encode(msgspec.structs.replace(content, key=key)),
                    type=self.endpoint.takes,
                )  # so that the key is checked like one in the body
        return content


class Shortcut:
    """Hands asks and tells to their endpoints at once; all else goes through the routes.

    The router, and what stands before it to answer errors, take a tenth of the time of such a request.
    What an endpoint does not answer itself, `watch.py` does.
    """

    def __init__(self, routed: ASGIApp, often: dict[str, Answering]) -> None:
        self.routed = routed
        self.often = often

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["method"] == "POST":
            start, _, rest = scope["path"].partition(f"{ALL}/")
            name, _, label = rest.partition("/")
            endpoint = self.often.get(label)
            if endpoint is not None and name and not start:
                scope["path_params"] = {"name": name}
                await endpoint(scope, receive, send)
                return
        await self.routed(scope, receive, send)


def _header(scope: Scope, name: bytes) -> str | None:
    for key, value in scope["headers"]:
        if key == name:
            return str(value.decode("latin-1"))
    return None


async def _send(send: Send, reply: Reply, known: str | None) -> None:
    headers = [(b"content-type", NDJSON.encode() if reply.lines else JSON)]
    status, body = reply.status, b""
    if reply.etag is not None:
        etag = f'"{reply.etag}"'
        headers.append((b"etag", etag.encode()))
        if known == etag:
            status = 304
    if status != 304:
        body = encoded(reply)
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def application(
    owner: Owner,
    hosts: Hosts,
    *,
    pages: Sequence[BaseRoute] = (),
    proxies: Proxies | None = None,
    rate: float | None = None,
    log_requests: bool = False,
) -> ASGIApp:
    """Return the service: its endpoints, its description, its metrics and its pages."""
    answering = [Answering(owner, endpoint) for endpoint in ENDPOINTS]
    routes: list[BaseRoute] = [
        Route(each.endpoint.path, each, methods=[each.endpoint.method]) for each in answering
    ]
    routes.append(Route("/v1/openapi.json", _described, methods=["GET"]))
    routes.append(Route("/metrics", _metrics_of(owner), methods=["GET"]))
    routes += pages
    handlers = {HTTPException: _refused, HttpProblem: _said, Exception: _said}
    app = Starlette(routes=routes, exception_handlers=handlers)
    often = {each.endpoint.label: each for each in answering if each.endpoint.label in OFTEN}
    return protected(
        Shortcut(app, often),
        tokens=owner.tokens,
        hosts=hosts,
        metrics=owner.metrics,
        proxies=proxies,
        buckets=None if rate is None else Buckets(rate, int(2 * rate) + 1),
        log_requests=log_requests,
    )


def require(request: Request, role: Role, experiment: str | None) -> None:
    """Refuse the request of a page unless its sender may act in this role."""
    caller_of(request.scope).require(role, experiment)


async def _described(request: Request) -> Response:
    return Response(msgspec.json.encode(description()), media_type="application/json")


def _metrics_of(owner: Owner) -> Any:
    async def metrics(request: Request) -> Response:
        caller_of(request.scope).require("read", None)
        body, kind = owner.metrics.render(request.headers.get("accept", ""))
        return Response(body, headers={"content-type": kind})

    return metrics


async def _refused(request: Request, error: Exception) -> Response:
    """Answer what the router refuses: an unknown path, or a method that a path has not."""
    status = getattr(error, "status_code", 500)
    allow = (getattr(error, "headers", None) or {}).get("Allow", "")
    words = {404: f"There is nothing at {request.url.path[:200]!r}."}
    detail = words.get(status, f"{request.method} is not possible here.")
    return _response(problem_of_status(status, detail, allow))


async def _said(request: Request, error: Exception) -> Response:
    """Answer what a route that is none of the endpoints refuses, or stumbles over."""
    return _response(problem_of(error))


def _response(problem: HttpProblem) -> Response:
    return Response(problem.body(), problem.status, problem.headers())
