"""Every refusal is a problem with the right status, and bugs tell strangers nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

import structured_bandits as sb
from structured_bandits.service import refusals, wire
from structured_bandits.service.http import problems
from structured_bandits.service.store_protocol import StoreError


def caught(action: Any) -> Exception:
    with pytest.raises(ValueError) as info:  # noqa: PT011 (the callers look at it)
        action()
    return info.value


def agent_that_was_told() -> sb.Agent:
    agent = sb.Agent(sb.UCB(2))
    agent.tell(agent.ask().id, 1.0)
    return agent


@pytest.mark.parametrize(
    ("action", "status", "words"),
    [
        (lambda: sb.Agent(sb.UCB(2)).ask(0), 422, "n=0"),
        (lambda: agent_that_was_told().tell(0, 1.0), 409, "already told"),
        (lambda: sb.FiniteStructure([]), 422, "expected models × arms"),
        (lambda: msgspec.json.decode(b"{"), 400, "truncated"),
        (lambda: msgspec.json.decode(b'"\xff"'), 400, ""),
        (lambda: msgspec.json.decode(b'{"n": 0}', type=wire.Ask), 422, "$.n"),
    ],
)
def test_errors_of_the_library_become_problems(action: Any, status: int, words: str) -> None:
    problem = problems.problem_of(caught(action))
    assert problem.status == status
    assert words in problem.detail


def test_a_reward_outside_the_range_is_refused() -> None:
    agent = sb.Agent(sb.UCB(2))
    decision = agent.ask()
    problem = problems.problem_of(caught(lambda: agent.tell(decision.id, float("nan"))))
    assert problem.status == 422
    assert "nan" in problem.detail


def test_a_bug_says_nothing_of_itself() -> None:
    problem = problems.problem_of(KeyError("sb_secret"))
    assert problem.status == 500
    assert b"secret" not in problems.body_of(problem)


def test_what_a_store_says_is_for_the_log() -> None:
    error = StoreError("postgresql://bandits:sb_secret@db.test cannot be reached")
    problem = problems.problem_of(error)
    assert (problem.status, problem.detail) == (503, "The store cannot be read now.")
    assert problems.headers_of(problem)["retry-after"] == "1"


def test_a_long_value_is_not_sent_back_whole() -> None:
    assert len(problems.body_of(refusals.Refused("x" * 10**6))) < 5_000


def test_a_problem_stays_what_it_is() -> None:
    gone = refusals.NotFound("There is no experiment 'tea'.")
    assert problems.problem_of(gone) is gone


def test_the_body_is_the_record_of_the_contract() -> None:
    conflict = refusals.Conflict("Decision 'a-1' has the reward 1.0.", recorded=1.0)
    record = msgspec.json.decode(problems.body_of(conflict), type=wire.Problem)
    assert record.status == 409
    assert record.recorded == 1.0
    assert record.detail == "Decision 'a-1' has the reward 1.0."
    assert record.type.endswith("conflict")
    assert "recorded" in json.loads(problems.body_of(refusals.NotFound("No.")))


@pytest.mark.parametrize(
    ("problem", "name", "value"),
    [
        (refusals.Unavailable("Wait.", retry_after=0.01), "retry-after", "1"),
        (problems.TooMany("Wait.", retry_after=2.1), "retry-after", "3"),
        (problems.Unauthorised("No."), "www-authenticate", 'Bearer realm="structured-bandits"'),
        (problems.TooLarge("No."), "connection", "close"),
        (problems.TooSlow("No."), "connection", "close"),
        (problems.problem_of_status(405, "No.", allow="GET"), "allow", "GET"),
        (refusals.Refused("No."), "content-type", "application/problem+json"),
    ],
)
def test_headers_say_what_to_do(problem: refusals.Refusal, name: str, value: str) -> None:
    assert problems.headers_of(problem)[name] == value


def test_statuses_of_the_framework_are_problems_too() -> None:
    assert isinstance(problems.problem_of_status(404, "No."), refusals.NotFound)
    assert problems.problem_of_status(418, "No.").status == 500


def test_middlewares_send_problems_without_a_framework() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(problems.send_problem(send, problems.TooMany("Wait.", retry_after=1)))
    start, body = sent
    headers = dict(start["headers"])
    assert start["status"] == 429
    assert headers[b"content-length"] == str(len(body["body"])).encode()
    assert headers[b"retry-after"] == b"1"
