"""The rule of a guarded policy, one pull at a time: play by the structure until the e-value says that it is wrong.

Before each pull the rule decides from the data; after it, if the number of pulls is one of
:func:`oracles.misfit.looks`, E is computed. At E >= 1/level the alarm rings, for ever: from the next
pull on the fallback decides, with all data. Until then an arm with fewer than explore log(t + 1) pulls,
t pulls having been made, comes before the policy's choice: the one with the fewest, the lowest on ties.

The rules of policies are objects that decide from pulls, sums and the number t of pulls so far; those
below are the single decisions of the oracles of whole games.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from oracles.indices import highest_upper, klucb_budget
from oracles.kl_sets import KLBoxes, sucb_kl_arm
from oracles.misfit import looks
from oracles.policies import highest_index, sucb_arm
from oracles.structures import (
    MP,
    ZERO,
    Confidence,
    Game,
    Real,
    Rewards,
    Structure,
    exact,
    log,
    real,
    width_constant,
)

__all__ = ["Choice", "Guarded", "Rule", "guarded", "klucb_choice", "sucb_choice", "ucb_choice"]


class Rule(Protocol):
    """A rule that decides from the data alone."""

    def choose(self, pulls: Sequence[int], sums: Sequence[Fraction], t: int) -> int:
        """The arm of the pull after t pulls; the clock of this decision is t + 1."""


class Guarded(NamedTuple):
    """What happened: the arms, after how many pulls the alarm rang, and (pulls, log E) at each look.

    Looks go on after the alarm; ``largest`` is the largest log E of all of them.
    """

    arms: list[int]
    rang: int | None
    largest: Real
    seen: list[tuple[int, Real]]


def guarded(
    inner: Rule,
    fallback: Rule,
    log_e: Callable[[Sequence[int], Sequence[Fraction]], Real],
    level: Any,
    rewards: Rewards,
    horizon: int,
    explore: Any = 0.0,
) -> Guarded:
    """Play a guarded policy; ``rewards[k][j]`` is the reward of the (j+1)-th pull of arm k."""
    pulls, sums = [0] * len(rewards), [ZERO] * len(rewards)
    arms, seen, rang = list[int](), list[tuple[int, Real]](), None
    times, loud = set(looks(horizon)), -log(exact(level))
    for t in range(horizon):
        if rang is not None:
            arm = fallback.choose(pulls, sums, t)
        elif (neglected := least_pulled(pulls, explore, t)) is not None:
            arm = neglected
        else:
            arm = inner.choose(pulls, sums, t)
        sums[arm] += exact(rewards[arm][pulls[arm]])
        pulls[arm] += 1
        arms.append(arm)
        if t + 1 in times:
            seen.append((t + 1, log_e(pulls, sums)))
            if rang is None and seen[-1][1] >= loud:
                rang = t + 1
    return Guarded(arms, rang, max((value for _, value in seen), default=-MP.inf), seen)


def least_pulled(pulls: Sequence[int], explore: Any, t: int) -> int | None:
    """The arm with the fewest pulls if they are fewer than explore log(t + 1)."""
    fewest = min(pulls)
    return pulls.index(fewest) if fewest < real(exact(explore)) * log(t + 1) else None


# ---------------------------------------------------------------------------- single decisions


class Choice:
    """A rule made of a function of a game with the data and of the decision's number, counted from 1.

    ``ties`` are the decisions, counted from 0, at which arms were exactly equal, ``coincidences`` those at
    which numbers from different data were (:class:`oracles.structures.Trace`). A new choice for each game!
    """

    def __init__(self, arm: Callable[[Game, int], int]) -> None:
        self.arm = arm
        self.ties: list[int] = []
        self.coincidences: list[int] = []

    def choose(self, pulls: Sequence[int], sums: Sequence[Fraction], t: int) -> int:
        game = Game.after(pulls, sums)
        arm = self.arm(game, t + 1)
        if game.trace.ties:
            self.ties.append(t)
        if game.trace.coincidences:
            self.coincidences.append(t)
        return arm


def ucb_choice(n_arms: int, alpha: float = 2.0, sigma: float = 0.5) -> Choice:
    """UCB over all arms."""
    c = width_constant(alpha, sigma)
    return Choice(lambda game, s: highest_index(game, range(n_arms), c * log(s)))


def klucb_choice(n_arms: int, c: float = 0.0, sigma: float | None = None) -> Choice:
    """KL-UCB over all arms; with sigma for Gaussian rewards."""
    return Choice(
        lambda game, s: highest_upper(game, range(n_arms), lambda _: klucb_budget(s, c), sigma)
    )


def sucb_choice(
    structure: Structure, alpha: float = 2.0, sigma: float = 0.5, confidence: str = "hoeffding"
) -> Choice:
    """SUCB on a table or on curves."""
    c = width_constant(alpha, sigma)

    def hoeffding(game: Game, s: int) -> int:
        box = Confidence(structure, game)
        return sucb_arm(box, box.evaluate(c * log(s)), c * log(s))

    def kl(game: Game, s: int) -> int:
        return sucb_kl_arm(KLBoxes(structure, game), c * log(s))

    return Choice({"hoeffding": hoeffding, "kl": kl}[confidence])
