"""Logs: one line of JSON for each event, with the trace id of the request that it belongs to.

Tokens are blotted out wherever they turn up, in messages of other packages too. Bodies are never handed
to a log, and paths are logged without their query.
"""

from __future__ import annotations

import contextvars
import json
import logging
import re
import secrets
import sys
import time
from typing import Any, TextIO

from structured_bandits.base.extras import needs

with needs("The service", extra="serve"):
    from starlette.types import Scope

LOGGER = "structured_bandits.service"
_TRACE = "structured_bandits.trace"  # under which a scope remembers its trace id
_SECRET = re.compile(r"(sb_[0-9a-fA-F]{12}_)[0-9a-zA-Z]+")
_TRACEPARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")
_NO_TRACE = b"0" * 32

_logger = logging.getLogger(LOGGER)
_request: contextvars.ContextVar[Scope | None] = contextvars.ContextVar("request", default=None)


def log(message: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event: a whole sentence, and what belongs to it as fields."""
    if _logger.isEnabledFor(level):
        _logger.log(level, "%s", message, extra={"fields": fields})


def log_error(message: str, error: BaseException, **fields: Any) -> None:
    """Log a bug, with its traceback."""
    _logger.error("%s", message, exc_info=error, extra={"fields": fields})


def set_up_logs(stream: TextIO | None = None, level: int = logging.INFO) -> logging.Handler:
    """Write what the service and its HTTP server log as JSON to a stream, standard error by default."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in (LOGGER, "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
    return handler


def begin_request(scope: Scope) -> None:
    """Let what is logged from here on, in this task, belong to a request."""
    _request.set(scope)


def trace_id_of(scope: Scope) -> str:
    """Return the trace id of a request: that of its `traceparent` (W3C), else a random one."""
    if _TRACE not in scope:
        scope[_TRACE] = _read_trace_id(scope) or secrets.token_hex(16)
    trace: str = scope[_TRACE]
    return trace


def _read_trace_id(scope: Scope) -> str | None:
    given = [value for name, value in scope["headers"] if name == b"traceparent"]
    form = _TRACEPARENT.fullmatch(given[0].strip()) if len(given) == 1 else None
    if form is None or form[1] == _NO_TRACE:
        return None
    return form[1].decode("ascii")


class JsonLines(logging.Formatter):
    """A log record as one line of JSON, in ASCII: nothing in it can end the line or move a cursor."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without the newline at its end."""
        line: dict[str, Any] = {
            "time": _utc(record.created),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.name != LOGGER:
            line["logger"] = record.name
        scope = _request.get()
        if scope is not None:
            line["trace_id"] = trace_id_of(scope)
        for name, value in getattr(record, "fields", {}).items():
            line.setdefault(name, value)
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = type(record.exc_info[1]).__name__
            line["traceback"] = self.formatException(record.exc_info)
        return without_secrets(json.dumps(line, default=str))


def without_secrets(text: str) -> str:
    """Return a text with the secrets of all tokens in it blotted out.

    >>> without_secrets("Bearer sb_0123456789ab_c0ffee, please")
    'Bearer sb_0123456789ab_***, please'
    """
    return _SECRET.sub(r"\1***", text)


def _utc(seconds: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}Z"
