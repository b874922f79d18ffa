"""The rule of an agent whose rewards come late, one decision at a time, and its e-value.

Before decision j, counted from 0, the rewards that are due are told in the order of their decisions: that
of decision i with delay d as soon as j >= i + 1 + d. If no reward is out, the agent decides from what it was
told. Otherwise each pending decision counts as one pull that paid the average of what was told of its arm;
without any such reward it paid the middle of the range, and if there is no range the average of all rewards
told, 0 if there are none. The clock counts all decisions. Rewards that are not due at the end never come.

This is for rules that decide each pull from pulls, sums and clock alone (not for phases, not for draws).
A tie of arms (``Choice.ties``) may hang on a rounded average there, where a rounding program need not see it.

The e-value counts decisions in the order in which they were made, up to the oldest whose reward is out: a
reward that is told early counts only when all before it are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from oracles.guarded import Rule
from oracles.misfit import looks
from oracles.structures import MP, ZERO, Real, Rewards, exact

__all__ = ["delayed_agent", "largest_log_e"]

HALF = Fraction(1, 2)


def delayed_agent(
    rule: Rule,
    rewards: Rewards,
    delays: Sequence[int],
    horizon: int,
    middle: Any = HALF,
) -> list[int]:
    """The arms that are played; ``delays[i]`` is that of decision i, ``middle`` None where rewards have no range.

    ``rewards[k][j]`` is the reward of the (j+1)-th decision for arm k, whenever it is told.
    """
    decided: list[tuple[int, Fraction]] = []  # (arm, reward) of each decision
    for j in range(horizon):
        due = [i + 1 + delays[i] <= j for i in range(j)]
        told = [decision for decision, known in zip(decided, due, strict=True) if known]
        out = [arm for (arm, _), known in zip(decided, due, strict=True) if not known]
        pulls, sums = data_with_guesses(len(rewards), told, out, middle)
        arm = rule.choose(pulls, sums, j)
        earlier = sum(a == arm for a, _ in decided)
        decided.append((arm, exact(rewards[arm][earlier])))
    return [arm for arm, _ in decided]


def data_with_guesses(
    n_arms: int, told: Sequence[tuple[int, Fraction]], out: Sequence[int], middle: Any
) -> tuple[list[int], list[Fraction]]:
    """Pulls and sums of what was told, with a guess for each arm in ``out``."""
    pulls, sums = [0] * n_arms, [ZERO] * n_arms
    for arm, reward in told:
        pulls[arm] += 1
        sums[arm] += reward
    average = sum(sums, ZERO) / len(told) if told else ZERO
    blind = average if middle is None else exact(middle)
    guesses = [s / n if n else blind for n, s in zip(pulls, sums, strict=True)]
    for arm in out:
        pulls[arm] += 1
        sums[arm] += guesses[arm]
    return pulls, sums


def largest_log_e(
    log_e: Callable[[Sequence[int], Sequence[Fraction]], Real],
    n_arms: int,
    decisions: Sequence[tuple[int, Any]],
    told: Sequence[bool],
) -> Real:
    """The largest log E so far of decisions ``(arm, reward)``, of which those in ``told`` are known; -inf before a look."""
    settled = list(told).index(False) if False in told else len(told)
    values = []
    for n in looks(settled):
        known = [(arm, exact(reward)) for arm, reward in decisions[:n]]
        values.append(log_e(*data_with_guesses(n_arms, known, [], 0)))
    return max(values, default=-MP.inf)
