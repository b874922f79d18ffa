"""Keys that are given twice in one object of JSON.

Readers differ in which of the two counts, so a proxy and this service could see different requests in
the same bytes. msgspec, which reads the bodies of requests, takes the last one and does not say so.
"""

from __future__ import annotations

import json
from typing import Any

from structured_bandits.service.http.problems import Malformed


def check_doubled(body: bytes) -> None:
    """Refuse a body if an object in it has a key twice; what is no JSON at all, its reader refuses.

    >>> check_doubled(b'[{"id": 1}, {"id": 1}]')
    >>> check_doubled(b'{"reward": 1, "reward": 0}')
    Traceback (most recent call last):
    ...
    structured_bandits.service.http.problems.Malformed: The key 'reward' is given twice in an object.
    """
    try:
        _read(body.decode())
    except (json.JSONDecodeError, UnicodeDecodeError):
        return


def _checked(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise Malformed(f"The key {key[:100]!r} is given twice in an object.")
        seen.add(key)


_read = json.JSONDecoder(
    object_pairs_hook=_checked, parse_int=str, parse_float=str, strict=False
).decode
