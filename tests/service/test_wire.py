"""The records of the wire, as somebody reads them who is older or newer than the one who wrote them."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import msgspec
import pytest

from structured_bandits.service import wire

ANSWERS = [
    each for each in vars(wire).values() if inspect.isclass(each) and issubclass(each, wire.Answer)
]


def test_a_field_of_a_newer_service_is_left_out() -> None:
    said = b'{"pulls": 3, "mean": 0.5, "low": 0, "high": null, "mood": {"today": ["good"]}}'
    assert msgspec.json.decode(said, type=wire.Side) == wire.Side(3, 0.5, 0.0, None)


def test_a_word_of_a_newer_service_is_read() -> None:
    said = b'{"outcomes": [{"id": "u-1", "status": "postponed"}]}'
    assert msgspec.json.decode(said, type=wire.Told).outcomes[0].status == "postponed"


@pytest.mark.parametrize("record", ANSWERS, ids=lambda record: record.__name__)
def test_an_answer_limits_no_words_and_cannot_be_changed(record: Any) -> None:
    assert "Literal" not in str(get_type_hints(record, include_extras=True))
    assert "list[" not in str(get_type_hints(record))
    assert record.__struct_config__.frozen


@pytest.mark.parametrize(
    ("said", "place"),
    [
        (b'{"decisions": [{"id": "u-1", "arm": 0}]}', r"`name` - at `\$.decisions\[0\]`"),
        (b'{"decisions": {}}', r"`\$.decisions`"),
        (b"[]", "Expected `object`, got `array`"),
    ],
)
def test_the_place_of_what_is_wrong_is_named(said: bytes, place: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=place):
        msgspec.json.decode(said, type=wire.Asked)


def test_a_request_with_a_misspelt_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="availabel"):
        msgspec.json.decode(b'{"availabel": [1]}', type=wire.Ask)
