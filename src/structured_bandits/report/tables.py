"""Tables for the terminal."""

from __future__ import annotations


def table_text(rows: list[list[str]], widest: int = 60) -> str:
    """Return rows as a table with aligned columns, the first row as its head; long cells are cut."""
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
