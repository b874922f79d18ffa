"""Write docs/notes/benchmarks.md from results/bench/*.json, which the other benchmarks leave behind.

The page shows what has an aim, mostly without its note. The files keep the rest.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from rows import FOLDER, Row, number

PAGE = Path(__file__).parent.parent / "docs" / "notes" / "benchmarks.md"
TITLES = {  # in the order of the page
    "policies": "Policies against hand-written loops",
    "field": "The field's policies against hand-written loops",
    "peers": "Beside other libraries",
    "start": "First results",
    "workers": "Workers",
    "sweep": "Sweeps",
    "live": "Live agents",
    "service": "The decision service",
    "large": "A table of 1,000,000 models × 100 arms",
    "polyhedral": "Polyhedral structures",
    "reproduce": "The paper's experiments",
}
LEFT_OUT = {"same_tapes", "bounds", "engine", "theory"}  # topics without a table on the page
#: Rows without an aim that the page shows all the same: what the library is compared with.
SHOWN = re.compile("against the fastest loop by hand|^FastAPI.* 64 clients$|^UCB, Figure 1 right")
WITH_NOTES = {"peers"}
#: Rows with an aim that say little beside others of their table.
HIDDEN = re.compile(
    "against the textbook loop$|first result of SAE|engine='auto', from the cache|memory of the server"
    "|10,000 decisions out|holds all models|at the last arm only$|arms pay as in a model"
    "|planning ahead, |^S?ASAE? in Python|concave|against the library on the grid|first result of SUCB"
    "|10\\^6 pulls, against a Beta|nearly all models leave|10\\^12 pulls"
)
WORDS = {  # before the table of a topic
    "service": "Every answer waits until its rows are on the disk (SQLite, `synchronous = FULL`).\n"
    "*Requests a second and core* are requests (an ask or a tell, in turn) over seconds of the\n"
    "processor that the server took. FastAPI's endpoint inserts one row and commits it, with the\n"
    "same settings. Latency counts from the moment at which a request was due; in times of an\n"
    "fdatasync it can be small only where the disk is slower than the processor.",
    "large": "A confidence update is the question of SAE at the end of a phase. One at a time, it and\n"
    "the pass count seconds of the processor; on all cores and for live agents the clock counts.",
}
HEADER = ("work", "measured", "aim", "", "note")  # the last in topics with notes


def read(folder: Path) -> list[dict[str, Any]]:
    """Return what the benchmarks wrote, in the order of the page."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    others = sorted(set(found) - set(TITLES) - LEFT_OUT)
    return [found[topic] for topic in [*TITLES, *others] if topic in found]


def machines(topics: list[dict[str, Any]]) -> str:
    """Say in a sentence what was measured on and when."""
    described = {
        f"{m['cpu']}, {m['cores']} cores, with Python {m['Python']}, NumPy {m['NumPy']} and "
        f"Numba {m['Numba']}": None
        for m in (topic["machine"] for topic in topics)
    }
    dates = sorted({topic["date"] for topic in topics})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"Measured {when} on {'; and on '.join(described)}."


def cell(text: str) -> str:
    """Return text that stays in its cell of a table."""
    return " ".join(text.split()).replace("|", r"\|").replace("<", r"\<").replace("*", r"\*")


def is_shown(row: Row) -> bool:
    """Does the page have this row?"""
    if row.bound is None:
        return bool(SHOWN.search(row.work))
    return not row.meets or not HIDDEN.search(row.work)


def table(topic: dict[str, Any]) -> str:
    """Return a topic as a heading and a table."""
    columns = 5 if topic["topic"] in WITH_NOTES else 4
    lines = [HEADER, ("---", "---:", "---:", "---", "---")]
    for kept in topic["rows"]:
        row = Row(**{key: value for key, value in kept.items() if key != "meets"})
        if is_shown(row):
            measured = f"{number(row.measured)} {row.unit}"
            lines.append((row.work, measured, row.aim or "-", row.verdict, row.note))
    title = TITLES.get(topic["topic"], topic["topic"])
    words = f"{WORDS[topic['topic']]}\n\n" if topic["topic"] in WORDS else ""
    rows = "\n".join(f"| {' | '.join(map(cell, line[:columns]))} |" for line in lines)
    return f"## {title}\n\n{words}{rows}"


def page(topics: list[dict[str, Any]]) -> str:
    """Return the whole page."""
    parts = [
        "# Benchmarks",
        machines(topics),
        "How fast the library is, compared with loops written by hand and with other libraries. Where\n"
        "we set ourselves an aim, the column after it says whether it was met.",
        "The two sides of a ratio were measured in one session, taking turns, and mostly medians of\n"
        "several repetitions are compared; the loop at 10^8 pulls and the paper's experiments were\n"
        "timed once. `times` says how many times faster the library is, unless the row says\n"
        "otherwise. A *pass* is the time in which NumPy adds up the whole table once.\n"
        "*The field's policies* count seconds of the processor, the others those of the clock. No\n"
        "test asserts a time.",
        "The loops by hand are compiled by Numba and decide before each pull. SUCB's aims are for a\n"
        "loop that computes the confidence set anew at each pull, as the definition says; the row\n"
        "below has the fastest loop that we could write.",
        *map(table, topics),
        "## How to measure again",
        "`make bench` runs every script of the folder benchmarks and writes this page from what they\n"
        "measured; results/bench keeps all rows. It needs a machine that does nothing else.",
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    topics = read(FOLDER)
    if not topics:
        raise SystemExit(f"there is nothing in {FOLDER}; run the other benchmarks first")
    PAGE.write_text(page(topics))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
