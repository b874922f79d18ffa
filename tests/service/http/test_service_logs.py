"""Logs: lines of JSON that belong to their request and hold no secrets."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from support.asgi import hello, request, scope_of

from structured_bandits.service import json_logs as logs
from structured_bandits.service.http.api import protected
from structured_bandits.service.http.authentication import caller_of
from structured_bandits.service.http.rate_limit import Buckets
from structured_bandits.service.http.request_metrics import ENDPOINT
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.refusals import NotFound
from structured_bandits.service.running.metrics import Metrics, ServerReading
from structured_bandits.service.running.tokens import Tokens, new_token

TEXT, TOKEN = new_token("shop", "read", experiments=["tea"])
SECRET = TEXT.split("_")[2]
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GIVEN = ("traceparent", f"00-{TRACE}-00f067aa0ba902b7-01")
HOST = ("host", "localhost")


@pytest.fixture
def lines() -> Iterator[Any]:
    """What is logged: a function that returns the lines so far, read as JSON."""
    kept = {name: logging.getLogger(name) for name in (logs.LOGGER, "uvicorn")}
    before = {name: (log.handlers, log.level, log.propagate) for name, log in kept.items()}
    stream = io.StringIO()
    logs.set_up_logs(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for name, log in kept.items():
        log.handlers, log.level, log.propagate = before[name]


def test_an_event_is_one_line(lines: Any) -> None:
    logs.log(
        "The server\nhas \x1b[31mstarted\u2028.", port=8321, time="not this one", path="é\ud800"
    )
    (line,) = lines()
    assert line["message"] == "The server\nhas \x1b[31mstarted\u2028."
    assert line["port"] == 8321
    assert line["level"] == "info"
    assert line["time"].endswith("Z")
    assert "trace_id" not in line


def test_lines_are_ascii() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "é\n\x9b\u2028", None, None)
    line = logs.JsonLines().format(record)
    assert line.isascii()
    assert line.isprintable()


def test_secrets_are_blotted_out_wherever_they_are(lines: Any) -> None:
    logs.log(f"Somebody sent {TEXT}.", path=f"/x/{TEXT}", nested={"a": [TEXT]})
    logging.getLogger("uvicorn.error").warning("odd: %s", f"Bearer {TEXT}")
    try:
        raise KeyError(TEXT)
    except KeyError as error:
        logs.log_error("A bug.", error)
    found = lines()
    assert len(found) == 3
    assert SECRET not in json.dumps(found)
    assert SECRET[:8] not in json.dumps(found)
    assert TOKEN.id in found[0]["message"]  # which says whose token it was
    assert found[2]["error"] == "KeyError"
    assert "Traceback" in found[2]["traceback"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([GIVEN], True),
        ([("traceparent", f"cc-{TRACE}-00f067aa0ba902b7-01-what-the-future-will-be-like")], True),
        ([], False),
        ([GIVEN, GIVEN], False),
        ([("traceparent", "")], False),
        ([("traceparent", f"ff-{TRACE}-00f067aa0ba902b7-01")], False),
        ([("traceparent", f"00-{TRACE.upper()}-00f067aa0ba902b7-01")], False),
        ([("traceparent", f"00-{TRACE}x-00f067aa0ba902b7-01")], False),
        ([("traceparent", f"00-{'0' * 32}-00f067aa0ba902b7-01")], False),
    ],
)
def test_trace_ids_are_those_of_the_caller_or_random(given: Any, expected: bool) -> None:
    scope = scope_of(headers=given)
    found = logs.trace_id_of(scope)
    assert (found == TRACE) is expected
    assert len(found) == 32
    assert int(found, 16)
    assert logs.trace_id_of(scope) == found
    assert logs.trace_id_of(scope_of()) != found


# --- requests, through all that stands before the endpoints -----------------------------------


async def endpoint(scope: Any, receive: Any, send: Any) -> None:
    """Answer like an endpoint, with all that can go wrong in one."""
    scope[ENDPOINT] = "echo"
    logs.log("Inside.")
    if scope["path"] == "/bug":
        raise KeyError(TEXT)
    if scope["path"] == "/gone":
        raise NotFound("There is no such page.")
    caller_of(scope).require("read", "tea")
    await hello(scope, receive, send)


def app_of(**options: Any) -> tuple[Any, Metrics]:
    metrics = Metrics(lambda: ServerReading(0, False, []))
    app = protected(
        endpoint,
        tokens=Tokens([TOKEN]),
        hosts=Hosts("127.0.0.1"),
        metrics=metrics,
        log_requests=True,
        **options,
    )
    return app, metrics


BEARER = ("authorization", f"Bearer {TEXT}")


def test_a_request_is_logged_and_counted_once(lines: Any) -> None:
    app, metrics = app_of()
    body = b'{"reward": 0.12345678901}'  # no duration in the log can be this
    reply = request(app, [body], method="POST", path="/a", headers=[HOST, GIVEN, BEARER])
    assert (reply.status, reply.body) == (200, body)
    inside, answered = lines()
    assert inside["trace_id"] == answered["trace_id"] == TRACE
    assert {key: answered[key] for key in ("method", "path", "endpoint", "status")} == {
        "method": "POST",
        "path": "/a",
        "endpoint": "echo",
        "status": 200,
    }
    assert "0.12345678901" not in json.dumps(lines())
    assert SECRET not in json.dumps(lines())
    assert b'request_seconds_count{endpoint="echo",status="200"} 1.0' in metrics.render()[0]


@pytest.mark.parametrize(
    ("about", "status", "label"),
    [
        ({"headers": [("host", "evil.example")]}, 421, "other"),
        ({"headers": [HOST, BEARER], "path": "/bug"}, 500, "echo"),
        ({"headers": [HOST, BEARER], "path": "/gone"}, 404, "echo"),
        ({"headers": [HOST, ("content-length", "9999999")], "method": "POST"}, 413, "other"),
    ],
)
def test_refusals_and_bugs_are_problems_that_are_counted(
    about: Any, status: int, label: str, lines: Any
) -> None:
    app, metrics = app_of(buckets=Buckets(1.0, 100))
    reply = request(app, **about)
    assert reply.status == status
    assert json.loads(reply.body)["status"] == status
    assert SECRET.encode() not in reply.body
    assert "content-security-policy" in reply.headers
    counted = f'request_seconds_count{{endpoint="{label}",status="{status}"}} 1.0'
    assert counted in metrics.render()[0].decode()
    assert [line["status"] for line in lines() if "status" in line] == [status]
    assert [line["error"] for line in lines() if "error" in line] == ["KeyError"] * (status == 500)
