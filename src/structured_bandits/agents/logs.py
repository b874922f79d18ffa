"""Rewards that were logged elsewhere, by the names of arms: a data frame or a CSV file.

A log has one row for each pull (columns arm and reward), or sums: arm, pulls, sum and, if they are
known, squares, the sum of the squared rewards. Rows of one arm add up, such as one for each day.
Columns are found whatever their case, other columns are left alone. A log is read as a whole or
refused.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.agents.results import (
    LARGEST_REWARD,
    Range,
    check_square,
    check_sum,
    checked_reward,
)
from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_count, checked_number
from structured_bandits.errors import FileFormatError, ParameterError, RewardError
from structured_bandits.protocols import Outcome
from structured_bandits.structures.base import shortened
from structured_bandits.structures.files.csv import check_commas, is_number, read_lines

ACCEPTED = (
    "accepted are the columns arm and reward (a row for each pull), or arm, pulls and sum, and squares "
    "if they are known (rows of sums)"
)
KNOWN = ("arm", "reward", "pulls", "sum", "sums", "squares")
NUMBERS = "biuf"  # the kinds of NumPy's types that are plain numbers
MISSING = ("NAType", "NaTType")  # what data frames have in empty cells, besides None and nan


@dataclass(frozen=True)
class Learned:
    """What an agent took in from a log: its rows, the pulls in them and the arms that were pulled."""

    rows: int
    pulls: int
    arms: tuple[str, ...]


class Log(NamedTuple):
    """The results of a log, a number for each arm; `squares` is None if nobody knows them."""

    pulls: Ints
    sums: Floats
    squares: Floats | None
    rows: int

    def learned(self, names: Sequence[str]) -> Learned:
        """Return what an agent whose arms have these names took in."""
        pulled = tuple(names[arm] for arm in np.flatnonzero(self.pulls).tolist())
        return Learned(self.rows, int(self.pulls.sum()), pulled)


class _Columns(NamedTuple):
    """The columns of a log that mean something, and what its rows are called in messages."""

    values: dict[str, Sequence[Any]]
    place: Callable[[int], str]


def read_log(log: Any, names: Sequence[str], allowed: Range) -> Log:
    """Read a log of rewards in a range, of arms with these names."""
    if callable(
        getattr(type(log), "collect", None)
    ):  # a lazy frame warns where its columns are asked
        raise ParameterError(
            f"learn: got a {type(log).__name__}, whose rows are not there yet; call its collect() first"
        )
    if isinstance(log, Mapping):
        raise ParameterError(
            f"learn: got {type(log).__name__} alone; expected pulls and sums of each arm, or a log: a "
            "data frame, as pandas.DataFrame makes of it, or the path of a CSV file"
        )
    if hasattr(log, "columns"):
        columns = _frame_columns(log)
    elif isinstance(log, (str, os.PathLike)):
        columns = _file_columns(log)
    else:
        raise ParameterError(
            f"learn: got {type(log).__name__} alone; expected pulls and sums of each arm, or a log: a "
            "data frame, or the path of a CSV file"
        )
    read = _rewards if "reward" in columns.values else _sums
    return read(columns, names, allowed)


def _frame_columns(frame: Any) -> _Columns:
    labels = getattr(frame, "column_names", frame.columns)  # Arrow's columns are no names
    chosen = _chosen("the log", list(map(str, labels)))
    cells = {name: frame[labels[place]] for name, place in chosen.items()}
    values = {
        name: _numbers(column) if name == "reward" else _list(column)
        for name, column in cells.items()
    }
    return _Columns(values, lambda row: f"the log, row {row} (counted from 0)")


def _file_columns(path: str | os.PathLike[str]) -> _Columns:
    lines = read_lines(path)
    if not lines:
        raise FileFormatError(f"{path}: the file is empty; {ACCEPTED}")
    (first, header), *rows = lines
    check_commas(f"{path}, line {first}", header)
    chosen = _chosen(f"{path}, line {first}", header)
    for line, row in rows:
        if len(row) != len(header):
            raise FileFormatError(
                f"{path}, line {line}: {len(row)} cells where the header has {len(header)}"
            )
    values: dict[str, Sequence[Any]] = {
        name: cells if name == "arm" else _values(cells)
        for name, place in chosen.items()
        if (cells := [row[place] for _, row in rows]) is not None
    }
    return _Columns(values, lambda row: f"{path}, line {rows[row][0]}")


def _chosen(place: str, labels: Sequence[str]) -> dict[str, int]:
    """Return the places of the columns that mean something; raise unless they are those of a log."""
    plain = [label.strip().lower() for label in labels]
    found = {name: plain.index(name) for name in KNOWN if name in plain}
    twice = [name for name in found if plain.count(name) > 1]
    if twice:
        raise FileFormatError(f"{place}: the column {twice[0]!r} is there twice; {ACCEPTED}")
    by_pull = {"arm", "reward"} <= found.keys() and "pulls" not in found
    by_sums = {"arm", "pulls"} <= found.keys() and ("sum" in found) != ("sums" in found)
    if by_pull == by_sums or ("reward" in found and not by_pull):
        raise FileFormatError(f"{place}: the columns are {shortened(labels)}; {ACCEPTED}")
    return {"sum" if name == "sums" else name: at for name, at in found.items()}


def _rewards(columns: _Columns, names: Sequence[str], allowed: Range) -> Log:
    """Add up rows of one pull each."""
    find = _Finder(names)
    arms, rewards = columns.values["arm"], columns.values["reward"]
    index, values = _plain_arms(arms, find), _plain_rewards(rewards, allowed)
    if index is None or values is None or len(index) != len(values):
        index, values = _checked_rows(columns, find, allowed)
    pulls, sums, squares = np.zeros(len(names), np.int64), *np.zeros((2, len(names)))
    np.add.at(pulls, index, 1)
    np.add.at(sums, index, values)
    np.add.at(squares, index, values * values)
    return Log(pulls, sums, squares, len(index))


def _plain_arms(cells: Sequence[Any], find: _Finder) -> Ints | None:
    """Return the arm of each row; None if the rows have to be looked at one by one."""
    kinds = set(map(type, cells))
    if len(kinds) != 1 or not kinds <= {str, int, float}:  # others may be equal and mean two arms
        return None
    different = set(cells)
    if 0.0 in different and float in kinds and np.signbit(cells).any():  # and so may 0.0 and -0.0
        return None
    try:
        arms = {cell: find(cell) for cell in different}
    except ParameterError:
        return None
    return np.fromiter(map(arms.__getitem__, cells), np.int64, len(cells))


def _plain_rewards(cells: Sequence[Any], allowed: Range) -> Floats | None:
    """Return the rewards as numbers; None if some are not in the range, or are no plain numbers."""
    try:
        column = np.asarray(cells)
    except ValueError:  # lists in cells
        return None
    if column.ndim != 1 or column.dtype.kind not in NUMBERS:
        return None
    values: Floats = column.astype(np.float64)
    low, high = max(allowed[0], -LARGEST_REWARD), min(allowed[1], LARGEST_REWARD)
    return values if bool(((low <= values) & (values <= high)).all()) else None


def _checked_rows(columns: _Columns, find: _Finder, allowed: Range) -> tuple[Ints, Floats]:
    """Return arms and rewards, row by row; raises for the first row that is wrong."""
    arms, rewards = [], []
    cells = zip(columns.values["arm"], _list(columns.values["reward"]), strict=True)
    for row, (arm, reward) in enumerate(cells):
        try:
            arms.append(find(arm))
            rewards.append(checked_reward(_filled("reward", reward), allowed))
        except (ParameterError, RewardError) as error:
            raise FileFormatError(f"{columns.place(row)}: {error}") from None
    return np.array(arms, np.int64), np.array(rewards, np.float64)


def _sums(columns: _Columns, names: Sequence[str], allowed: Range) -> Log:
    """Add up rows of sums."""
    find = _Finder(names)
    known = "squares" in columns.values
    pulls, sums, squares = np.zeros(len(names), np.int64), *np.zeros((2, len(names)))
    wanted = ("arm", "pulls", "sum", "squares") if known else ("arm", "pulls", "sum")
    rows = list(zip(*(columns.values[name] for name in wanted), strict=True))
    for row, cells in enumerate(rows):
        try:
            outcome = _outcome(find(cells[0]), cells[1:], allowed)
        except (ParameterError, RewardError) as error:
            raise FileFormatError(f"{columns.place(row)}: {error}") from None
        pulls[outcome.arm] += outcome.pulls
        sums[outcome.arm] += outcome.total
        squares[outcome.arm] += outcome.squares
    return Log(pulls, sums, squares if known else None, len(rows))


def _outcome(arm: int, cells: Sequence[Any], allowed: Range) -> Outcome:
    """Return the checked numbers of a row of sums: pulls, sum and perhaps squares."""
    count = checked_count("pulls", _filled("pulls", cells[0]), least=0)
    total = checked_number("sum", _filled("sum", cells[1]))
    check_sum("sum", count, total, allowed)
    if len(cells) == 2:
        return Outcome(arm, count, total, math.nan)
    outcome = Outcome(arm, count, total, checked_number("squares", _filled("squares", cells[2])))
    check_square("squares", outcome, allowed)
    return outcome


class _Finder:
    """Finds arms by what a log calls them: names as they are, without spaces around them, or numbers."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        stripped = [name.strip() for name in names]
        often = Counter(stripped)
        self._found = {name: arm for arm, name in enumerate(stripped) if often[name] == 1}
        self._found.update((name, arm) for arm, name in enumerate(names))  # spelled exactly

    def __call__(self, value: Any) -> int:
        text = str(_filled("arm", value))
        spellings = [text, text.strip()]
        if isinstance(value, float) and value.is_integer():
            spellings.append(str(int(value)))  # a data frame makes 10.0 of a price of 10
        for spelling in spellings:
            if spelling in self._found:
                return self._found[spelling]
        raise ParameterError(f"arm={value!r} is unknown; accepted are {shortened(self._names)}")


def _filled(name: str, value: Any) -> Any:
    """Return what is in a cell; raise if there is nothing."""
    empty = value is None or type(value).__name__ in MISSING
    if empty or (isinstance(value, float) and math.isnan(value)) or not str(value).strip():
        raise ParameterError(f"{name}: the cell is empty")
    return value


def _values(texts: Sequence[str]) -> list[Any]:
    """Return the numbers that texts are, or the texts."""
    whole = "".join(texts)
    if whole.isascii() and "_" not in whole:  # what `is_number` asks of each
        try:
            return list(map(float, texts))
        except ValueError:
            pass
    return list(map(_value, texts))


def _value(text: str) -> Any:
    """Return the number that a text is, or the text, which is refused where numbers are wanted."""
    return float(text) if is_number(text) else text


def _numbers(column: Any) -> Sequence[Any]:
    """Return a column as an array if it holds plain numbers of NumPy, else its cells."""
    kind = getattr(column, "dtype", None)
    plain = isinstance(kind, np.dtype) and kind.kind in NUMBERS
    return np.asarray(column) if plain else _list(column)  # type: ignore[return-value]


def _list(column: Any) -> Sequence[Any]:
    """Return the cells of a data frame's column as plain values, whatever its make calls that."""
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            return values
    return list(column)
