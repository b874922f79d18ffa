"""What states, alarms and settings mean, in sentences for whoever runs an experiment."""

from __future__ import annotations

from typing import NamedTuple


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
