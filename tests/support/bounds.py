"""Rows of the table of bounds."""

from __future__ import annotations


def row(table: object, start: str) -> object:
    """Return the first row whose bound has a name that begins like this."""
    return table[table.bound.str.startswith(start)].iloc[0]  # type: ignore[index]
