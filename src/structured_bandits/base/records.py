"""Equality, hashing and pickling for named tuples that hold arrays.

Policies, cells and worlds are named tuples, because Numba compiles those. Two things named tuples do
not offer: `==` raises when a field is an array, and pickling calls `__new__` with the fields, which
fails once `__new__` validates other arguments. `Record` mends both; put it before the tuple in the
bases.
"""

from __future__ import annotations

from typing import Any

import numpy as np

PREPARED = "_prepared"  # the attribute that keeps the tables of a policy's lookahead


class Record:
    """Mixin for `NamedTuple` subclasses, see the module's docstring."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return all(_same(a, b) for a, b in zip(self, other, strict=True))  # type: ignore[call-overload]

    def __ne__(self, other: object) -> bool:
        return not self == other  # tuples have a __ne__ of their own

    def __hash__(self) -> int:
        return hash((type(self), *(_hashable(value) for value in self)))  # type: ignore[attr-defined]

    def _replace(self, **changes: Any) -> Any:
        changed = super()._replace(**changes)  # type: ignore[misc]
        kept = {name: value for name, value in self.__dict__.items() if name != PREPARED}
        changed.__dict__.update(kept)
        return changed

    def __reduce__(self) -> tuple[Any, ...]:
        extra = {name: value for name, value in self.__dict__.items() if name != PREPARED}
        return _rebuild, (type(self), tuple(self), extra)  # type: ignore[arg-type]


def _rebuild(cls: type, values: tuple[Any, ...], extra: dict[str, Any]) -> Any:
    record: Any = tuple.__new__(cls, values)
    record.__dict__.update(extra)
    return record


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


def _hashable(value: Any) -> Any:
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value
