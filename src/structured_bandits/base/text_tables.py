"""Tables and paragraphs for the terminal, tables in HTML; names and numbers as texts or plain data."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

NOT_PRINTABLE = "\ufffd"
#: What no page may hold: control characters but tabs and line ends, turns of direction, half characters.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
WIDTH = 110  # of a paragraph on the terminal
SHARE = 1e-4  # of an interval's width: an end below it is 0
SKEW = 2.5  # times the other half of an interval: then both halves are told
NEGLIGIBLE = 1e-12  # smaller numbers are what rounding left over, or as good as nothing

HtmlRow = Sequence[tuple[str, bool]]  # texts, and which of them are bold


def printable(text: str) -> str:
    """Return a text with a mark for each character that moves the cursor or cannot be seen."""
    return "".join(each if each.isprintable() else NOT_PRINTABLE for each in text)


def without_controls(text: str) -> str:
    """Return a text for a page, with a mark for each control character; joined emoji stay whole.

    >>> without_controls("evil \u202egnp"), without_controls("👩\u200d👧")
    ('evil �gnp', '👩\u200d👧')
    """
    return CONTROL.sub(NOT_PRINTABLE, text)


def number(value: float, digits: int = 4) -> str:
    """Return a number with as many digits as people read; what is negligible is 0.

    >>> number(0.123456), number(1.7e-32), number(-0.0), number(2.5e-7), number(1 / 3, digits=2)
    ('0.1235', '0', '0', '2.5e-07', '0.33')
    """
    return "0" if abs(value) < NEGLIGIBLE else f"{value:.{digits}g}"


def listed(texts: Iterable[str]) -> str:
    """Return texts as a sentence lists them: a, b and c."""
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last


def few(names: Sequence[str], most: int = 8) -> str:
    """Return names as a list in words, cut after `most`."""
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


def rounded(value: float) -> str:
    """Return a number with about three digits, and commas between thousands.

    >>> rounded(8.314), rounded(77.04), rounded(1629.3)
    ('8.31', '77.0', '1,629')
    """
    places = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:,.{places}f}"


def plus_minus(value: float, low: float | None, high: float | None) -> str:
    """Return a value with its interval, whose width decides how many digits are shown.

    >>> plus_minus(22.04, 18.9, 25.72), plus_minus(108.3, 95.1, 181.6), plus_minus(5.5, None, None)
    ('22.0 ± 3.7', '108 −13 +73', '5.50')
    """
    if low is None or high is None:
        return rounded(value)
    below, above = value - low, high - value
    half = max(below, above)
    places = 0 if half >= 9.95 else 1 if half >= 0.995 else 2
    if half > SKEW * min(below, above):
        return f"{value:,.{places}f} −{below:,.{places}f} +{above:,.{places}f}"
    return f"{value:,.{places}f} ± {half:,.{places}f}"


def interval(low: float, high: float) -> str:
    """Return an interval in words; an end that is negligible beside its width is 0.

    >>> interval(4.1e-7, 0.021534), interval(0.00041, 0.0021), interval(-1.5, float("inf"))
    ('0 to 0.02153', '0.00041 to 0.0021', '-1.5 to inf')
    """
    least = SHARE * (high - low) if math.isfinite(high - low) else 0.0
    return " to ".join("0" if abs(end) < least else number(end) for end in (low, high))


def table_text(rows: list[list[str]], widest: int = 60) -> str:
    """Return rows as a table with aligned columns, the first row as its head; long cells are cut."""
    rows = [[printable(cell) for cell in row] for row in rows]
    rows = [
        [cell if len(cell) <= widest else cell[: widest - 1] + "…" for cell in row] for row in rows
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def paragraph(text: str) -> str:
    """Return sentences in lines that fit the terminal."""
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def table_html(header: Sequence[str], rows: Iterable[HtmlRow]) -> str:
    """Return a table as HTML; all texts are escaped."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(_cell(*cell) for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str, bold: bool) -> str:
    text = html.escape(text)
    return f"<td><b>{text}</b></td>" if bold else f"<td>{text}</td>"


def bound_text(value: float | str | None, most: float) -> str:
    """Return a bound as the cell of a table; above `most`, which no regret exceeds, it is vacuous."""
    if value is None:
        return ""
    if isinstance(value, str) or value > most:  # "inf"
        return "vacuous"
    return f"{value:,.1f}"


def rewards_text(family: str, sigma: float) -> str:
    """Return in words what the rewards are."""
    return "rewards of 0 or 1" if family == "bernoulli" else f"Gaussian rewards (sigma {sigma:g})"


def plain_data(value: Any) -> Any:
    """Return nested data as JSON holds them: infinity as "inf", None for what is no number."""
    if isinstance(value, dict):
        return {key: plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf"
    return value
