"""Tokens: only the right text is one, and roles hold."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest

import structured_bandits as sb
from structured_bandits.service.running.tokens import ROLES, Tokens, allowed, new_token

TEXT, TOKEN = new_token("shop", "ask", now=1_000)


def test_the_right_text_is_the_token() -> None:
    assert Tokens([TOKEN]).check(TEXT) is TOKEN


def test_the_secret_is_kept_nowhere() -> None:
    _, _, secret = TEXT.split("_")
    assert len(secret) * 4 == 256
    assert secret not in repr(TOKEN)
    assert TOKEN.hash == hashlib.sha256(secret.encode()).hexdigest()


def test_no_two_tokens_are_alike() -> None:
    made = [new_token("shop", "ask") for _ in range(100)]
    assert len({text for text, _ in made}) == len({token.id for _, token in made}) == 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sb",
        "sb__",
        "sb_" + "0" * 12,
        TEXT[:-1],
        TEXT + "0",
        TEXT + "\n",
        " " + TEXT,
        TEXT.upper(),
        TEXT.replace("sb_", "sb-"),
        TEXT[:-1] + ("0" if TEXT[-1] != "0" else "1"),
        TEXT[:-1] + "é",
        TEXT[:-1] + "٣",  # a digit, but not one of ours
        TEXT[:-1] + "\ud800",
        TEXT[:-1] + "\0",
        "sb_" + TOKEN.id + "_" + TOKEN.hash,  # what a thief of the database has
        TEXT * 10_000,
    ],
    ids=lambda text: f"{len(text)} characters",
)
def test_other_texts_are_no_token(text: str) -> None:
    assert Tokens([TOKEN]).check(text) is None


def test_known_and_unknown_ids_take_the_same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text with an unknown id is hashed and compared like one with a known id."""
    compared: list[tuple[Any, Any]] = []
    compare = hmac.compare_digest

    def spy(one: Any, other: Any) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", spy)
    book = Tokens([TOKEN])
    secret = TEXT.split("_")[2]
    wrong = secret[::-1]
    assert book.check(f"sb_{TOKEN.id}_{wrong}") is None
    assert book.check(f"sb_{'0' * 12}_{wrong}") is None
    assert book.check(TEXT) is TOKEN
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in (wrong, wrong, secret)]
    assert [one for one, _ in compared] == hashes
    assert {len(other) for _, other in compared} == {64}


def test_a_revoked_token_is_none_and_the_server_stays_closed() -> None:
    book = Tokens([TOKEN])
    assert book.revoke(TOKEN.id, now=2_000)
    assert not book.revoke(TOKEN.id, now=3_000)
    assert not book.revoke("unknown", now=3_000)
    assert book.check(TEXT) is None
    assert not book.open
    assert [token.revoked_at for token in book] == [2_000]


def test_a_server_is_open_until_the_first_token() -> None:
    book = Tokens()
    assert book.open
    book.add(TOKEN)
    assert not book.open
    book.replace([])
    assert book.open


@pytest.mark.parametrize("has", ROLES)
@pytest.mark.parametrize("wants", ROLES)
def test_a_role_may_what_those_below_it_may(has: Any, wants: Any) -> None:
    may = {"read": {"read"}, "ask": {"read", "ask"}, "admin": {"read", "ask", "admin"}}
    _, everywhere = new_token("shop", has)
    _, here = new_token("shop", has, experiments=["tea", "coffee"])
    expected = wants in may[has]
    assert allowed(everywhere, wants, "tea") is expected
    assert allowed(everywhere, wants, None) is expected
    assert allowed(here, wants, "coffee") is expected
    assert not allowed(here, wants, "te")
    assert not allowed(here, wants, None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("shop", "root"), "role='root'; accepted are 'read', 'ask', 'admin'"),
        (("", "read"), "name=''"),
        (("a\nb", "read"), "printable"),
        (("x" * 201, "read"), "1 to 200"),
        (("shop", "read", "tea"), "expected a list"),
        (("shop", "read", []), "None means all"),
    ],
)
def test_bad_arguments_are_named(arguments: Any, words: str) -> None:
    with pytest.raises(sb.ParameterError, match=words):
        new_token(*arguments)
