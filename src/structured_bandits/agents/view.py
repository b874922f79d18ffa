"""An agent in words and a table, for people who look at it: as text, and as HTML in notebooks.

Looking changes nothing. Names are shown so that they cannot break a line, a table or a page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structured_bandits.agents.intervals import MISS, own_widths
from structured_bandits.agents.words import chance, counted, cut, fitting_words, likely_words
from structured_bandits.base.text_tables import interval, number, printable, table_html, table_text
from structured_bandits.policies.best_arm import BestArm
from structured_bandits.policies.certain import Certain
from structured_bandits.policies.guarded import NOT_RUNG, Guarded
from structured_bandits.policies.playing import moment_of

if TYPE_CHECKING:
    from structured_bandits.agents.agent import Agent

HEADER = ["arm", "pulls", "mean", "interval", "in the race"]
MOST_ARMS = 50  # rows of the table
LONGEST = 300  # characters of a policy's parameters
LONGEST_NAME = 60  # in the table


class Description(NamedTuple):
    """Sentences, a table of arms, and more sentences."""

    before: list[str]
    rows: list[list[str]]
    best: list[bool]  # of each row: has no other arm a higher mean?
    after: list[str]

    def text(self) -> str:
        """Return it for the terminal."""
        table = table_text([HEADER, *self.rows], LONGEST_NAME)
        return "\n".join([*self.before, "", table, "", *self.after])

    def html(self) -> str:
        """Return it for a notebook; the highest mean is bold."""
        rows = [
            [
                (printable(cell), best and title == "mean")
                for title, cell in zip(HEADER, row, strict=True)
            ]
            for row, best in zip(self.rows, self.best, strict=True)
        ]
        before, after = (
            "".join(f"<p>{html.escape(sentence)}</p>" for sentence in part)
            for part in (self.before, self.after)
        )
        return f"{before}{table_html(HEADER, rows)}{after}"


def describe(agent: Agent) -> Description:
    """Return what a person wants to know of an agent."""
    pulls = agent.pulls
    shown = np.sort(np.argsort(-pulls, kind="stable")[:MOST_ARMS])
    means = agent.means[shown]
    highest = np.max(means, initial=-math.inf, where=~np.isnan(means))
    structure = getattr(agent.policy, "structure", None)
    return Description(
        [
            f"The agent plays {cut(repr(agent.policy), LONGEST)}.",
            seen_words(int(pulls.sum()), len(agent._pending)),
            *_alarm_words(agent),
        ],
        _rows(agent, shown.tolist()),
        [bool(mean == highest) for mean in means],
        [
            *left_out_words(len(pulls) - len(shown)),
            _interval_words(agent),
            *fitting_words(structure, agent.fitting_models),
            *likely_words(structure, agent.likely_models, agent._names),
            *_empty_words(agent),
            *unsolved_words(agent.unsolved),
            *([] if (misfit := agent.misfit) is None else [str(misfit)]),
        ],
    )


def _rows(agent: Agent, shown: list[int]) -> list[list[str]]:
    """Return the rows of these arms."""
    pulls, means, intervals = agent.pulls, agent.means, agent.intervals
    active, parked = set(agent.active_arms), set(agent.parked)
    return [
        [
            agent._names[arm],
            *seen_cells(pulls[arm], means[arm], intervals[arm]),
            race_cell(arm in active, arm in parked),
        ]
        for arm in shown
    ]


def seen_cells(pulls: int, mean: float, ends: Sequence[float]) -> list[str]:
    """Return the cells that say what was seen of an arm: pulls, mean (nan without) and interval."""
    bounded = any(map(math.isfinite, ends))
    return [
        f"{pulls:,}",
        "" if math.isnan(mean) else number(mean),
        interval(*ends) if bounded else "",
    ]


def race_cell(active: bool, parked: bool) -> str:
    """Return the cell that says whether an arm is in the race."""
    return ("yes" if active else "no") + (", parked" if parked else "")


def seen_words(rewards: int, waiting: int) -> str:
    """Say how many rewards have come, and how many have not."""
    more = f"{waiting:,}" if waiting else "no"
    return f"It has seen {counted(rewards, 'reward')} and waits for {more} more."


def left_out_words(arms: int) -> list[str]:
    """Say how many arms a table does not have."""
    return [f"The {arms:,} arms with the fewest pulls are left out."] if arms else []


def _interval_words(agent: Agent) -> str:
    """Say what the intervals are."""
    policy: Any = agent.policy
    if own_widths(policy, agent._state, agent._t) is not None:
        return (
            "The intervals are those that the policy uses now, cut to the range of rewards; their width "
            f"is given by {policy.width()}, where T is the number of pulls of the arm."
        )
    if getattr(policy, "reward_range", None) is None and not hasattr(policy, "sigma"):
        return "There are no intervals: the policy declares neither a range of rewards nor a sigma."
    return (
        f"With a probability of at least {chance(1.0 - MISS)} all intervals contain the true means at "
        "all times, provided that the mean reward of an arm does not change."
    )


def _alarm_words(agent: Agent) -> list[str]:
    """Say which policy is at work if it is a fallback, and whether the best arm is certain."""
    moment = moment_of(agent.policy, agent._state)
    if isinstance(agent.policy, (BestArm, Certain)) and moment:
        return [f"It has been certain since pull {moment:,}, and plays what it found to be best."]
    if not isinstance(agent.policy, Guarded) or moment == NOT_RUNG:
        return []
    return [f"Its alarm rang after {moment:,} pulls; since then it plays its fallback policy."]


def unsolved_words(programs: int) -> list[str]:
    """Say how many programs were not solved, and what that means."""
    if not programs:
        return []
    return [
        f"{counted(programs, 'program')} that no solver solved: the policy went on with looser bounds "
        "there, and the test of the structure saw no evidence."
    ]


def _empty_words(agent: Agent) -> list[str]:
    """Say how often a policy that keeps a set of models found none in it."""
    if agent.empty == 0:
        widths = own_widths(agent.policy, agent._state, agent._t)
        keeps_set = widths is not None and hasattr(agent.policy, "cells")
        return ["Each time the policy decided, some model fitted the rewards."] if keeps_set else []
    times = "once" if agent.empty == 1 else f"{agent.empty:,} times"
    return [
        f"The policy found no model that fitted the rewards (or none whose best arm was still in the "
        f"race) {times}. The structure may be wrong, but this alone does not prove it."
    ]
