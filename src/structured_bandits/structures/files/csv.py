"""Structures from files."""

from __future__ import annotations

import csv
import math
import os
from typing import Any

from structured_bandits.base.checks import checked_range
from structured_bandits.base.input_files import file_id
from structured_bandits.errors import FileFormatError
from structured_bandits.structures.reward_ranges import UNIT, Range

MARKS = ("", "model")  # what a header may have above the names of models
ADVICE = "if these numbers are names of arms, begin the line with 'model' or say header=True"


def read_table(
    path: str | os.PathLike[str], header: bool = False, reward_range: Any = None
) -> tuple[list[list[float]], list[str], list[str] | None]:
    """Read a CSV of models x arms; return its means, arm names and, if it has them, model names.

    `header` says that the first line holds names even if these look like means: numbers in the
    `reward_range`, in [0, 1] if that is None.
    """
    ends = UNIT if reward_range is None else checked_range("reward_range", reward_range)
    lines = read_lines(path)
    if len(lines) < 2:
        raise FileFormatError(f"{path}: expected a header with arm names and a row per model")
    (line, first), *rows = lines
    names = [cell.strip() for cell in first]
    if not header:
        _check_header(f"{path}, line {line}", names, ends)
    for line, row in rows:
        if len(row) != len(names):
            raise FileFormatError(
                f"{path}, line {line}: {len(row)} cells where the header has {len(names)}"
            )
    named = names[0].lower() in MARKS or not any(_is_like_number(row[0]) for _, row in rows)
    start = 1 if named else 0
    for column, name in enumerate(names[start:], start=start + 1):
        if not name:
            raise FileFormatError(
                f"{path}, line {lines[0][0]}, column {column}: the arm has no name"
            )
    means = [
        [_number(path, line, names[column], row[column]) for column in range(start, len(row))]
        for line, row in rows
    ]
    return means, names[start:], _model_names(path, rows) if named else None


def read_lines(path: str | os.PathLike[str]) -> list[tuple[int, list[str]]]:
    """Return the lines of a CSV file that are not empty, with their numbers."""
    file_id(path)  # says so if no file can have this name
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        try:
            return [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
        except csv.Error as error:
            raise FileFormatError(f"{path}, line {reader.line_num}: {error}") from None
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{path}, byte {error.start}: expected text in UTF-8") from None


def _check_header(place: str, names: list[str], ends: Range) -> None:
    """Raise if the first line is not one of names, or may be the first model of a table without one."""
    check_commas(place, names)
    if all("." in name and _may_be_mean(name, ends) for name in names):
        raise FileFormatError(f"{place}: expected a header with arm names, found means; {ADVICE}")
    model, *rest = names
    named = rest and model.lower() not in MARKS and not is_number(model)
    if named and all(_may_be_mean(name, ends) for name in rest):
        raise FileFormatError(
            f"{place}: expected a header with arm names, found what may be the means of a model "
            f"{model!r}; {ADVICE}"
        )


def check_commas(place: str, names: list[str]) -> None:
    """Raise if the cells of a header are kept apart by something else than commas."""
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        raise FileFormatError(f"{place}: no comma in {names[0]!r}; expected commas")


def _model_names(path: str | os.PathLike[str], rows: list[tuple[int, list[str]]]) -> list[str]:
    names = [row[0].strip() for _, row in rows]
    if "" in names:
        raise FileFormatError(f"{path}, line {rows[names.index('')][0]}: the model has no name")
    return names


def is_number(text: str) -> bool:
    """Return whether the text is a number: Python's 1_0 is none, nor are digits of other scripts."""
    return _is_like_number(text) and text.isascii() and "_" not in text


def _is_like_number(text: str) -> bool:
    """Return whether Python takes the text for a number: then it is no name of a model either."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _may_be_mean(text: str, ends: Range) -> bool:
    return is_number(text) and ends[0] <= float(text) <= ends[1]


def _number(path: str | os.PathLike[str], line: int, column: str, text: str) -> float:
    if not is_number(text) or not math.isfinite(float(text)):
        raise FileFormatError(
            f"{path}, line {line}, column {column!r}: {text!r} is not a finite number"
        )
    return float(text)
