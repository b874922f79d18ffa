"""From the schema of an older store to this one: forward only, a copy first, one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from structured_bandits.service.contract import SCHEMA, DamagedError, StoreError

#: The statements that lead from each schema to the next, for both databases: words in braces as in
#: `statements.py`. Schema 2 has a seal (`seal.py`), which the store computes once it is there.
STEPS: Mapping[int, Sequence[str]] = {1: ("INSERT INTO meta VALUES ('seal', '')",)}


def statements_from(
    where: str, found: str | None, wanted: int = SCHEMA, steps: Mapping[int, Sequence[str]] = STEPS
) -> list[str]:
    """Return what brings a store from the schema `found` to the wanted one, nothing if it has it.

    >>> statements_from("a.db", "1", 3, {1: ["ALTER TABLE a"], 2: ["DROP TABLE b"]})
    ['ALTER TABLE a', 'DROP TABLE b']
    """
    if found is None or not found.isdigit():
        raise DamagedError(
            f"{where}: it does not say its schema; it is damaged, or was not made by structured-bandits"
        )
    if int(found) > wanted:
        raise StoreError(
            f"{where}: it has schema {found}, and this version of structured-bandits knows {wanted}; "
            "install the version that wrote it, or a newer one"
        )
    missing = [schema for schema in range(int(found), wanted) if schema not in steps]
    if missing:
        raise StoreError(f"{where}: nothing leads from its schema {missing[0]} to the next one")
    return [each for schema in range(int(found), wanted) for each in steps[schema]]
