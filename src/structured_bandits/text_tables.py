"""Tables and paragraphs for the terminal, tables in HTML for notebooks, names for both."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Sequence

NOT_PRINTABLE = "\ufffd"
WIDTH = 110  # of a paragraph on the terminal

HtmlRow = Sequence[tuple[str, bool]]  # texts, and which of them are bold


def printable(text: str) -> str:
    """Return a text with a mark for each character that moves the cursor or cannot be seen."""
    return "".join(each if each.isprintable() else NOT_PRINTABLE for each in text)


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
