"""The rows of the log, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from structured_bandits.agents.words import counted, cut
from structured_bandits.base.text_tables import number
from structured_bandits.service import rows as events
from structured_bandits.service.rows import Event

LONGEST_NAME = 40  # of an arm

#: Kinds of rows that are said in the same words each time.
PLAIN = {
    events.START: "The service started and took over the experiment.",
    events.PAUSE: "Paused.",
    events.RESUME: "Resumed.",
    events.FALLBACK: "The alarm rang: the structure is refuted, and the fallback plays.",
    events.CARRY: "Rewards of the version before were carried over.",
    events.FORWARD: "Late rewards of an older version were taken over.",
    events.RETIRE: "Another version took over.",
    events.CLOSE: "No reward is out any more: this version is closed.",
    events.MARK: "A snapshot was saved.",
}


class LogLine(NamedTuple):
    """A row of the log for people."""

    seq: int
    at: int
    text: str


def log_lines(rows: Sequence[Event], arms: Sequence[str]) -> list[LogLine]:
    """Return rows in words, the latest first."""
    return [LogLine(row.seq, row.at, in_words(row, arms)) for row in reversed(rows)]


def in_words(row: Event, arms: Sequence[str]) -> str:
    """Say what a row records; `arms` are the names of the arms.

    >>> in_words(Event(7, "tell", 0, decision=3, arm=1, value=0.5), ["tea", "coffee"])
    'Decision 3 (coffee): reward 0.5.'
    """
    if row.kind in PLAIN:
        return PLAIN[row.kind]
    arm = cut(arms[row.arm], LONGEST_NAME) if row.arm is not None else None
    which = f"Decision {row.decision}" + (f" ({arm})" if arm else "")
    reward = "none" if row.value is None else number(row.value)
    if row.kind == events.ASK:
        return _asked(row, which)
    if row.kind == events.EXPIRE:
        ends = "is cancelled" if row.value is None else f"counts as {reward}"
        return f"{which}: no reward came in time; it {ends}."
    if row.kind == events.SETTLE:
        count = "counts" if row.n == 1 else "count"
        return f"The window closed: {counted(row.n or 0, 'reward')} {count} from now on."
    if row.kind == events.PARK:
        return f"{arm} was {'parked' if row.n else 'unparked'}."
    if row.kind in (events.LEARN, events.RESULTS):
        source = "Logged data" if row.kind == events.LEARN else f"Results of batch {row.decision}"
        return f"{source}: {counted(sum(row.content().get('pulls', [])), 'reward')}."
    said = {
        events.TELL: f"{which}: reward {reward}.",
        events.LATE: f"{which}: its reward {reward} came late and counts.",
        events.CANCEL: f"{which} was cancelled.",
        events.ACTIVATE: f"{which} was shown.",
    }
    return said.get(row.kind, f"{row.kind.capitalize()}.")


def _asked(row: Event, which: str) -> str:
    """Say which arm, or how many, were asked for."""
    if (row.n or 1) > 1:
        return f"{row.n:,} arms were asked for, decision {row.decision} and on."
    return f"{which} was asked for."
