"""Write docs/notes/benchmarks.md from results/bench/*.json, which the other benchmarks leave behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rows import FOLDER, Row, number

PAGE = Path(__file__).parent.parent / "docs" / "notes" / "benchmarks.md"
TITLES = {  # in the order of the page
    "policies": "Policies against hand-written loops",
    "field": "The field's policies against hand-written loops",
    "peers": "Beside other libraries",
    "same_tapes": "Other libraries on the same tapes",
    "bounds": "What bounds SUCB and UCB",
    "engine": "The engine and its surroundings",
    "start": "First results",
    "workers": "Workers",
    "sweep": "Sweeps",
    "live": "Live agents",
    "service": "The decision service",
    "large": "A table of 1,000,000 models × 100 arms",
    "theory": "Theory on a table of 100,000 models × 50 arms",
    "polyhedral": "Polyhedral structures",
    "reproduce": "The paper's experiments",
}
WORDS = {  # before the table of a topic
    "service": "Every answer waits until its rows are on the disk (SQLite, `synchronous = FULL`).\n"
    "*Requests a second and core* are requests over seconds of the processor that the server took, all\n"
    "threads and the kernel included; clients run in a process of their own, and what they could\n"
    "reach at most stands beside. A request is an ask or a tell, in turn. FastAPI's endpoint\n"
    "inserts one row and commits it, and does nothing else; it writes with the same settings.\n"
    "Latency at half load counts from the moment at which a request was due. In times of an\n"
    "fdatasync it can be small only where the disk is slower than the processor: a request takes\n"
    "about a quarter of a millisecond of the latter. Restarts begin with files that were left by\n"
    "a process that was killed.",
    "large": "A confidence update is the question of SAE at the end of a phase. One at a time, it and\n"
    "the pass count seconds of the processor; on all cores and for live agents the clock counts.",
}
HEADER = ("work", "measured", "aim", "", "note")


def read(folder: Path) -> list[dict[str, Any]]:
    """Return what the benchmarks wrote, in the order of the page."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    return [
        found[topic] for topic in [*TITLES, *sorted(set(found) - set(TITLES))] if topic in found
    ]


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


def table(topic: dict[str, Any]) -> str:
    """Return a topic as a heading and a table."""
    lines = [HEADER, ("---", "---:", "---:", "---", "---")]
    for kept in topic["rows"]:
        row = Row(**{key: value for key, value in kept.items() if key != "meets"})
        measured = f"{number(row.measured)} {row.unit}"
        lines.append((row.work, measured, row.aim or "-", row.verdict, row.note))
    title = TITLES.get(topic["topic"], topic["topic"])
    words = f"{WORDS[topic['topic']]}\n\n" if topic["topic"] in WORDS else ""
    rows = "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)
    return f"## {title}\n\n{words}{rows}"


def page(topics: list[dict[str, Any]]) -> str:
    """Return the whole page."""
    parts = [
        "# Benchmarks",
        machines(topics),
        "This page says how fast the library is, compared with loops written by hand and with other\n"
        "libraries. Where we set ourselves an aim, the column after it says whether it was met.",
        "The two sides of a ratio were measured in one session, taking turns, and mostly medians of\n"
        "several repetitions are compared. The loop at 10^8 pulls and the paper's experiments were\n"
        "timed once; for theory the least of five times counts. `times` says how many times faster\n"
        "the library is, unless the row says otherwise. A *plan* is one decision of a policy, which\n"
        "may hold for many pulls; a *pass* is the time in which NumPy adds up the whole table once.\n"
        "No test asserts a time.",
        "*The field's policies* count seconds of the processor instead of those of the clock. Where\n"
        "there are several loops by hand, each has a row: the one that an aim is for, and the best.",
        "The loops by hand are compiled by Numba and decide before each pull. SUCB's aims are for a\n"
        "loop that computes the confidence set anew at each pull, as the definition says; the row\n"
        "below has the fastest loop that we could write. *What bounds SUCB and UCB* splits the time\n"
        "of a plan into the decision and the rest, which is the engine and the rewards. An exact\n"
        "policy needs at least one plan for each change of arm, so the number of changes is shown as\n"
        "well. What limits two workers and the paper's experiments is said in their own sections.",
        *map(table, topics),
        "## How to measure again",
        "`make bench` runs every script of the folder benchmarks and writes this page from what they\n"
        "measured. It takes a while and needs a machine that does nothing else.",
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
