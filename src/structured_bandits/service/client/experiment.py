"""Requests about one experiment: what is granted is read, what is refused is raised."""

from __future__ import annotations

import ssl
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from structured_bandits.errors import (
    DecisionError,
    ParameterError,
    RewardError,
    ServiceError,
    StructuredBanditsError,
)
from structured_bandits.service.client.calls import NOT_UNDERSTOOD, Answer, Calls
from structured_bandits.service.wire import State

ABOUT_DECISIONS = ("tell", "cancel", "activate", "batches")  # they name a decision or a batch
ABOUT_REWARDS = ("tell", "learn", "batches")
T = TypeVar("T")


class _Known(NamedTuple):
    tag: str
    state: State


class RemoteExperiment:
    """An experiment of a service; any number of threads may use it."""

    def __init__(
        self,
        url: str,
        name: str,
        token: str | None,
        timeout: float,
        retries: int,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ParameterError(f"name={name!r}: expected the name of an experiment")
        self._calls = Calls(url, token, timeout, retries, ssl_context)
        self._path = f"/v1/experiments/{quote(name, safe='')}"
        self._known: _Known | None = None  # what was read last

    @property
    def url(self) -> str:
        """The address of the service."""
        return str(self._calls.address)

    def state(self) -> State:
        """Return the state; if it is still the one that was read last, it is not sent again."""
        known = self._known
        headers = {} if known is None else {"If-None-Match": known.tag}
        answer = self._calls.call("GET", self._path, headers=headers)
        if answer.status == 304 and known is not None:
            return known.state
        state = self._read("state", answer, State)
        tag = answer.headers.get("ETag")
        self._known = None if tag is None else _Known(tag, state)
        return state

    def post(self, path: str, content: Any, gives: type[T], once: bool = False) -> T:
        """Send a request and return the record that it gives; send it `once` or with retries."""
        answer = self._calls.call("POST", f"{self._path}/{path}", content, once=once)
        return self._read(path.split("/")[0], answer, gives)

    def close(self) -> None:
        """Close the connections that are idle."""
        self._calls.close()

    def _read(self, action: str, answer: Answer, gives: type[T]) -> T:
        if not answer.is_granted:
            raise refusal(self.url, action, answer)
        try:
            return msgspec.json.decode(answer.body, type=gives)
        except NOT_UNDERSTOOD as error:
            raise ServiceError(
                f"{self.url} gave an answer that is not understood ({error}): {answer.text!r}",
                status=answer.status,
                passing=True,
            ) from error


def refusal(address: str, action: str, answer: Answer) -> StructuredBanditsError:
    """Return the error for an answer that does not grant a request for an action, such as "tell".

    It is the one that an agent here would raise.
    """
    status, problem = answer.status, answer.problem
    if status in (401, 403):
        why = "refuses the token" if status == 401 else "does not allow this"
        return ServiceError(f"{address} {why}: {answer.reason}", status=status)
    if 300 <= status < 400:
        return ServiceError(
            f"{address} redirects to {answer.headers.get('Location')!r}, which is not followed, since "
            "the token would go there too; if that is the service, make it the url",
            status=status,
        )
    if status < 300 or status >= 500:
        return ServiceError(f"{address} failed: {answer.reason}", status=status, passing=True)
    if problem is None or status in (405, 421):  # no such method there, or another host is meant
        return ServiceError(
            f"{address} is not a decision service, or the url lacks a part: {answer.reason}",
            status=status,
        )
    if (status == 409 and action != "park") or (status == 404 and action in ABOUT_DECISIONS):
        error = DecisionError(answer.reason)
        error.recorded = problem.recorded
        return error
    kind = RewardError if status == 422 and action in ABOUT_REWARDS else ParameterError
    return kind(answer.reason)
