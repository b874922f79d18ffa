"""Watching requests from outside: how many, how they ended, how long they took.

It is the outermost middleware, so that it sees what the guard and the limits refuse as well.
"""

from __future__ import annotations

import time

from structured_bandits.base.extras import needs
from structured_bandits.service.guard import SECURITY_HEADERS
from structured_bandits.service.logs import begin_request, log, log_error
from structured_bandits.service.metrics import Metrics
from structured_bandits.service.problems import problem_of, send_problem

with needs("The service", extra="serve"):
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Under which an endpoint leaves its name in the scope: one of few, unlike paths.
ENDPOINT = "structured_bandits.endpoint"
_GONE = 499  # the caller went away before there was an answer


class Watch:
    """The middleware; with `log_requests` it logs each request, without query and body."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log_requests: bool = False) -> None:
        self.app = app
        self.metrics = metrics
        self.log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and note what becomes of it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), _GONE

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        begin_request(scope)
        try:
            await self.app(scope, receive, send_noting)
        except Exception as error:
            if status != _GONE:  # a part of the answer has left: the server cuts it off
                raise
            await self._answer_bug(error, send_noting)
        finally:
            seconds = time.perf_counter() - began
            self.metrics.count_request(scope.get(ENDPOINT, "other"), status, seconds)
            if self.log_requests:
                _log_request(scope, status, seconds)

    async def _answer_bug(self, error: Exception, send: Send) -> None:
        """Answer an error that nothing inside has answered; if it is a bug, log it."""
        problem = problem_of(error)
        if problem.status >= 500 and problem is not error:
            log_error("A request met a bug.", error)
        await send_problem(send, problem, SECURITY_HEADERS)


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    log(
        "Request answered.",
        method=scope["method"],
        path=scope["path"],
        endpoint=scope.get(ENDPOINT, "other"),
        status=status,
        milliseconds=round(1_000 * seconds, 3),
    )
