"""The service as an ASGI application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from structured_bandits.base.extras import needs
from structured_bandits.service.http.authentication import Authentication, caller_of
from structured_bandits.service.http.bodies import BodyLimit, check_doubled
from structured_bandits.service.http.endpoints import (
    ALL,
    ENDPOINTS,
    NDJSON,
    Call,
    Endpoint,
    Reply,
    encoded,
)
from structured_bandits.service.http.openapi import description
from structured_bandits.service.http.problems import (
    body_of,
    headers_of,
    problem_of,
    problem_of_status,
    send_problem,
)
from structured_bandits.service.http.rate_limit import Buckets, RateLimit
from structured_bandits.service.http.request_metrics import ENDPOINT, RequestMetrics
from structured_bandits.service.http.trusted_hosts import Hosts, Proxies
from structured_bandits.service.refusals import Refusal
from structured_bandits.service.running.metrics import Metrics
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.running.tokens import Role, Tokens

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

    def __init__(self, registry: Registry, endpoint: Endpoint) -> None:
        self.registry = registry
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
        endpoint, registry = self.endpoint, self.registry
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
            await registry.written()
        reply = endpoint.does(Call(registry, caller, path, query, content))
        await registry.written(path.get("name"))
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
    What an endpoint does not answer itself, `request_metrics.py` does.
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
    registry: Registry,
    hosts: Hosts,
    *,
    pages: Sequence[BaseRoute] = (),
    proxies: Proxies | None = None,
    rate: float | None = None,
    log_requests: bool = False,
) -> ASGIApp:
    """Return the service: its endpoints, its description, its metrics and its pages."""
    answering = [Answering(registry, endpoint) for endpoint in ENDPOINTS]
    routes: list[BaseRoute] = [
        Route(each.endpoint.path, each, methods=[each.endpoint.method]) for each in answering
    ]
    routes.append(Route("/v1/openapi.json", _described, methods=["GET"]))
    routes.append(Route("/metrics", _metrics_of(registry), methods=["GET"]))
    routes += pages
    handlers = {HTTPException: _refused, Refusal: _said, Exception: _said}
    app = Starlette(routes=routes, exception_handlers=handlers)
    often = {each.endpoint.label: each for each in answering if each.endpoint.label in OFTEN}
    return protected(
        Shortcut(app, often),
        tokens=registry.tokens,
        hosts=hosts,
        metrics=registry.metrics,
        proxies=proxies,
        buckets=None if rate is None else Buckets(rate, int(2 * rate) + 1),
        log_requests=log_requests,
    )


def protected(
    app: ASGIApp,
    *,
    tokens: Tokens,
    hosts: Hosts,
    metrics: Metrics,
    proxies: Proxies | None = None,
    buckets: Buckets | None = None,
    log_requests: bool = False,
) -> ASGIApp:
    """Return an application with everything that stands before it, in its order.

    Requests are counted first, those that are refused too; who is limited is known once the caller is;
    bodies are read last. Without
    buckets there is no limit to the requests a second.
    """
    app = BodyLimit(app)
    if buckets is not None:
        app = RateLimit(app, buckets)
    return RequestMetrics(Authentication(app, tokens, hosts, proxies), metrics, log_requests)


def require(request: Request, role: Role, experiment: str | None) -> None:
    """Refuse the request of a page unless its sender may act in this role."""
    caller_of(request.scope).require(role, experiment)


async def _described(request: Request) -> Response:
    return Response(msgspec.json.encode(description()), media_type="application/json")


def _metrics_of(registry: Registry) -> Any:
    async def metrics(request: Request) -> Response:
        caller_of(request.scope).require("read", None)
        body, kind = registry.metrics.render(request.headers.get("accept", ""))
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


def _response(problem: Refusal) -> Response:
    return Response(body_of(problem), problem.status, headers_of(problem))
