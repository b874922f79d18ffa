"""Rewards that were logged elsewhere, by the names of arms: a data frame or a CSV file.

A log has one row for each pull (columns arm and reward), or sums: arm, pulls, sum and, if they are
known, squares, the sum of the squared rewards. Rows of one arm add up, such as one for each day. Columns
are found whatever their case, other columns are left alone. A log is read as a whole or refused.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.base.checks import checked_count, checked_number
from structured_bandits.errors import FileFormatError, ParameterError, RewardError
from structured_bandits.live.results import Range, check_square, check_sum, checked_reward
from structured_bandits.protocol import Outcome
from structured_bandits.structures.base import shortened
from structured_bandits.structures.files.csv import check_commas, is_number, read_lines

ACCEPTED = (
    "accepted are the columns arm and reward (a row for each pull), or arm, pulls and sum, and squares "
    "if they are known (rows of sums)"
)
KNOWN = ("arm", "reward", "pulls", "sum", "sums", "squares")
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
    values = {name: _list(frame[labels[place]]) for name, place in chosen.items()}
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
        name: [row[place] if name == "arm" else _value(row[place]) for _, row in rows]
        for name, place in chosen.items()
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
    arms, rewards = [], []
    cells = zip(columns.values["arm"], columns.values["reward"], strict=True)
    for row, (arm, reward) in enumerate(cells):
        try:
            arms.append(find(arm))
            rewards.append(checked_reward(_filled("reward", reward), allowed))
        except (ParameterError, RewardError) as error:
            raise FileFormatError(f"{columns.place(row)}: {error}") from None
    pulls, sums, squares = np.zeros(len(names), np.int64), *np.zeros((2, len(names)))
    index, values = np.array(arms, np.int64), np.array(rewards, np.float64)
    np.add.at(pulls, index, 1)
    np.add.at(sums, index, values)
    np.add.at(squares, index, values * values)
    return Log(pulls, sums, squares, len(arms))


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


def _value(text: str) -> Any:
    """Return the number that a text is, or the text, which is refused where numbers are wanted."""
    return float(text) if is_number(text) else text


def _list(column: Any) -> Sequence[Any]:
    """Return the cells of a data frame's column as plain values, whatever its make calls that."""
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            return values
    return list(column)
