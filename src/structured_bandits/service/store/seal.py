"""The seal of a store: one checksum over the rows that play depends on and that no log covers.

The log of a version tells whether its own rows are what was written. It does not say which experiments,
versions and tokens there are. The seal covers these: it is the exclusive or of the hashes of all their
rows, and a transaction that changes such rows changes the seal by the hashes of the rows before and
after. So damage to a row that was sealed shows for ever: nothing that is written later hides it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from structured_bandits.service.store import statements as sql
from structured_bandits.service.store_protocol import SCHEMA

Rows = list[tuple[Any, ...]]
BYTES = 16


def is_sealing(work: list[tuple[str, Rows]]) -> bool:
    """Return whether these statements change rows that are sealed."""
    return any(statement in sql.SEALING and rows for statement, rows in work)


def sum_of(read: Callable[[str], Rows]) -> int:
    """Return the exclusive or of the hashes of all sealed rows, which `read` finds by a query."""
    found = 0
    for table, query in sql.SEALED.items():
        for row in read(query):
            hashed = hashlib.blake2b(repr((table, *row)).encode(), digest_size=BYTES)
            found ^= int.from_bytes(hashed.digest(), "big")
    return found


def text_of(total: int) -> str:
    """Return a seal as the store keeps it; it repeats the schema, which is read before all else.

    >>> text_of(17)
    '2:00000000000000000000000000000011'
    """
    return f"{SCHEMA}:{total:0{2 * BYTES}x}"


def moved(seal: str | None, before: int, after: int) -> str | None:
    """Return a seal after sealed rows have changed; one that cannot be read stays as it is.

    >>> moved(text_of(5), 5, 6) == text_of(6), moved(text_of(4), 5, 6) == text_of(7), moved("?", 5, 6)
    (True, True, '?')
    """
    try:
        total = int((seal or "").partition(":")[2], 16)
    except ValueError:
        return seal
    return text_of(total ^ before ^ after) if seal == text_of(total) else seal
