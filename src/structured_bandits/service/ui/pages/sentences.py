"""Rows of the log, states, alarms and settings in sentences, for whoever runs an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from structured_bandits.agents.words import counted, cut
from structured_bandits.base.text_tables import number
from structured_bandits.service import rows as events
from structured_bandits.service.rows import Event


class Meaning(NamedTuple):
    """An alarm in a few words, what it means, what to do about it, and whether it is urgent."""

    title: str
    means: str
    do: str
    urgent: bool = True


ALARMS = {
    "structure": Meaning(
        "The rewards refute the structure",
        "If one of its models were the truth and mean rewards did not change, rewards like these would "
        "almost never be seen.",
        "See below which arms are furthest from what the structure allows. Then begin a new version: "
        "with a structure that allows these means or, if the world has changed, with recent data only.",
    ),
    "clock": Meaning(
        "The clock of the server jumped",
        "So it cannot be told which rewards are overdue. None is taken as missing meanwhile, and every "
        "reward that comes is kept.",
        "Check the time service of the computer.",
    ),
    "horizon": Meaning(
        "The experiment runs beyond its horizon",
        "It goes on, but what the policy promises holds only up to its horizon.",
        "Begin a new version with a longer horizon, which carries the rewards over; or stop asking and "
        "use the best arm.",
        urgent=False,
    ),
    "read-only": Meaning(
        "Nothing can be written",
        "No decision is made and no reward is accepted, since they could be lost. What was "
        "acknowledged before is safe.",
        "See whether the disk is full or failing, or the database is out of reach. The service goes on "
        "by itself when it can write again.",
    ),
    "empty": Meaning(
        "No model fitted the rewards for a while",
        "No model lay within the confidence intervals of all arms. This happens by chance now and then, "
        "and more and more often if the structure is wrong.",
        "Watch the evidence against the structure, below. If it grows, the structure is wrong.",
        urgent=False,
    ),
    "replay": Meaning(
        "The restart met something unexpected",
        "The log is complete and all rewards count; decisions that this program would not have made "
        "were kept as they were logged. After an upgrade this is expected. Or the store is damaged; "
        "then the text says so.",
        "If there was no upgrade, run structured-bandits verify.",
        urgent=False,
    ),
    "stopped": Meaning(
        "The experiment has stopped",
        "Its policy could not take in what came, or its rows in the store are damaged; the text says "
        "which. It hands out no decisions and accepts no rewards. Other experiments go on.",
        "If the policy failed, begin a new version with another policy or structure, which carries the "
        "rewards over; a restart tries the same policy once more. If the store is damaged, run "
        "structured-bandits verify.",
    ),
    "waiting": Meaning(
        "A missing reward holds back the test of the structure",
        "The test takes rewards in the order in which their decisions were asked for, because those "
        "that come early may be of another kind than those that come late. So one reward that never "
        "comes makes all later ones wait. The policy itself does not wait.",
        "Cancel the decision if its reward is lost. If rewards get lost now and then, begin a new "
        "version with a reward window.",
        urgent=False,
    ),
    "untested": Meaning(
        "The structure is not tested",
        "Rewards that come after the window are learned. Those in time may be of another kind than "
        "those that come late, so a test of the structure could ring although it is right.",
        "Begin a new version with a longer reward window, or without one.",
        urgent=False,
    ),
}
UNKNOWN_ALARM = Meaning("Something needs a look", "", "")

FALLBACKS = {
    "klucb": "every arm is judged by its own rewards alone (KL-UCB), on all data",
    "control": "the control arm is shown to everyone",
    "none": "the policy plays on, and the alarm is only shown",
}

ORDERS = {"turn": "the arms take turns", "drawn": "the arms are drawn"}

STATES = {
    "running": "Arms are handed out, and every reward counts.",
    "paused": "Asks get the default arm, if there is one, and are not learned from. Rewards of earlier "
    "decisions still count.",
    "read-only": "Nothing can be written: asks and rewards are refused.",
}
BADGES = {"running": "good", "paused": "open", "read-only": "bad"}  # classes of the style sheet


def alarm_meaning(kind: str) -> Meaning:
    """Return what an alarm means; one that is not known has only the text that came with it."""
    return ALARMS.get(kind, UNKNOWN_ALARM)


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
