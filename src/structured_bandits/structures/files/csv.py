"""Structures from files."""

from __future__ import annotations

import csv
import math
import os

from structured_bandits.errors import FileFormatError


def read_table(
    path: str | os.PathLike[str],
) -> tuple[list[list[float]], list[str], list[str] | None]:
    """Read a CSV of models x arms; return its means, arm names and, if it has them, model names."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        try:
            lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
        except csv.Error as error:
            raise FileFormatError(f"{path}, line {reader.line_num}: {error}") from None
    if len(lines) < 2:
        raise FileFormatError(f"{path}: expected a header with arm names and a row per model")
    (_, header), *rows = lines
    header = [cell.strip() for cell in header]
    _check_header(path, header)
    for line, row in rows:
        if len(row) != len(header):
            raise FileFormatError(
                f"{path}, line {line}: {len(row)} cells where the header has {len(header)}"
            )
    named = header[0].lower() in ("", "model") or not any(_is_number(row[0]) for _, row in rows)
    first = 1 if named else 0
    means = [
        [_number(path, line, header[column], row[column]) for column in range(first, len(row))]
        for line, row in rows
    ]
    return means, header[first:], [row[0].strip() for _, row in rows] if named else None


def _check_header(path: str | os.PathLike[str], header: list[str]) -> None:
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise FileFormatError(f"{path}, line 1: no comma in {header[0]!r}; expected commas")
    if all("." in cell and _is_number(cell) and 0.0 <= float(cell) <= 1.0 for cell in header):
        raise FileFormatError(f"{path}, line 1: expected a header with arm names, found means")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(path: str | os.PathLike[str], line: int, column: str, text: str) -> float:
    if not _is_number(text) or not math.isfinite(float(text)):
        raise FileFormatError(
            f"{path}, line {line}, column {column!r}: {text!r} is not a finite number"
        )
    return float(text)
