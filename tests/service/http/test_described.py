"""The service answers as its OpenAPI description says, with no 500; what it refuses changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.described import LABELS, TAKING, Described, call_often, described


@pytest.fixture
def running() -> Iterator[Described]:
    with described() as service:
        yield service


def test_every_endpoint_is_described(running: Described) -> None:
    assert sorted(running.operations) == sorted(LABELS)


@pytest.mark.parametrize("label", LABELS)
def test_answers_are_as_described(running: Described, label: str) -> None:
    call_often(running, label, examples=40, number=1, wrong=False)
    answered = [status for (each, status) in running.statuses if each == label]
    assert any(status < 400 for status in answered), f"{label} has never succeeded: {answered}"


@pytest.mark.parametrize("label", TAKING)
def test_wrong_requests_are_refused_without_harm(running: Described, label: str) -> None:
    call_often(running, label, examples=10, number=2, wrong=True)
