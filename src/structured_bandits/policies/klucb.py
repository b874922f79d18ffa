"""KL-UCB: optimism arm by arm with the divergence of coins (Garivier and Cappé, 2011)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_at_least, checked_count, checked_word
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data, fresh_data
from structured_bandits.base.kl import kl_upper
from structured_bandits.errors import ParameterError
from structured_bandits.policies.base import (
    GivenRange,
    State,
    checked_rewards,
    playable_arms,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.index_policy import (
    NO_ARM,
    BlindPolicy,
    checked_horizon,
    first_unpulled,
    scaled_means,
)
from structured_bandits.policies.indices import Growth, budget_at, kl_front
from structured_bandits.policies.playing import add_outcome
from structured_bandits.protocols import Choice, Now, Outcome
from structured_bandits.structures.base import Structure

MOST_IN_WINDOW = 10_000_000  # pulls: each takes 16 bytes


class _KLUCB(NamedTuple):
    n_arms: int
    playable: Ints
    c: float
    pulls_in_all: int  # of the variant "++"; 0: the plain one
    size: int  # of the window; 0: all pulls count
    sigma: float
    bottom: float
    top: float


@registered
class KLUCB(BlindPolicy, _KLUCB):
    """Play the arm with the highest index, the largest q with T d(m, q) <= f, each arm once first.

    T and m are the pulls and the mean of an arm, d is the Kullback-Leibler divergence of two coins with
    the means m and q, and f = log t + c log log t, or, for the variant "++" that knows the horizon n,
    log+(y (1 + log+(y)^2)) with y = n / (K T) for K arms. For Gaussian rewards (no range) the index is
    the mean + sigma sqrt(2 f / T). docs/notes/mathematics.md 2.12 has the definition.

    With a `window` only the last so many pulls count, in T, m and t, so that it follows means which
    change (Garivier and Moulines, 2011, with the divergence in place of their radius): for the plain
    variant only. Of results that are learned at once (logs, batches) those of the last arm count as the
    newest.

    >>> KLUCB(3)
    KLUCB(3 arms, c=0.0, variant='plain', horizon=None, arms='all', reward_range=(0.0, 1.0), sigma=0.5)
    """

    variant: str
    horizon: int | None
    arms: str
    window: int | None

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        c: float = 0.0,
        variant: str = "plain",
        horizon: int | None = None,
        arms: str = "all",
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        window: int | None = None,
    ) -> KLUCB:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        playable = playable_arms(structure, n_arms, arms)
        known = _checked_variant(variant, checked_horizon(horizon))
        rewards = checked_rewards(reward_range, sigma, structure)
        constant = checked_at_least("c", c, 0.0)
        size = _checked_window(window, variant, n_arms, rewards.bottom)
        kind = WindowedKLUCB if size else cls
        policy: KLUCB = super().__new__(
            kind, n_arms, playable, constant, known or 0, size, *rewards
        )
        policy.structure, policy.arms = structure, arms
        policy.variant, policy.horizon, policy.window = variant, known, size or None
        return policy

    @property
    def idle_parameters(self) -> tuple[str, ...]:
        """The window if there is none."""
        return () if self.size else ("window",)

    def width(self) -> str:
        """Return the confidence radius in words."""
        if self.pulls_in_all > 0:
            return "T d(m, q) <= log+(n / (K T)) + ..."
        repeated = f" + {self.c:g} log log t" if self.c > 0.0 else ""
        inside = f", of the last {self.size} pulls" if self.size else ""
        return f"T d(m, q) <= log t{repeated}{inside}"

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the first arm without a pull, else the one with the highest index."""
        unpulled = first_unpulled(state.data, self.playable)
        if unpulled != NO_ARM:
            return Choice(unpulled, 0)
        budget = budget_at(Growth(1.0, self.c), math.log(now.t + 1))
        means = scaled_means(state.data, self.bottom, self.top)
        if self.pulls_in_all == 0 and math.isfinite(self.bottom):
            return Choice(kl_front(state.data, means, self.playable, budget).arm, 0)
        indices = [index(self, state.data.pulls[arm], means[arm], budget) for arm in self.playable]
        return Choice(int(self.playable[np.argmax(indices)]), 0)


class Window(NamedTuple):
    """The last pulls, as many as the window holds, in a ring."""

    pulls: Ints  # of each arm in the window
    sums: Floats  # of their rewards, scaled to [0, 1]
    means: Floats
    arms: Ints  # of each pull in the ring
    rewards: Floats
    made: Ints  # one number: pulls so far


class WindowState(NamedTuple):
    """Pulls and sums of each arm, all of them, and the last ones."""

    data: Data
    last: Window


class WindowedKLUCB(KLUCB):
    """KL-UCB of the last pulls."""

    learned = ("data", "last")
    shown_as = "KLUCB"

    @property
    def adapts(self) -> bool:
        """It forgets, since means may change."""
        return True

    def init(self) -> WindowState:
        """Return a fresh state."""
        arms, size = self.n_arms, self.size
        last = Window(
            np.zeros(arms, np.int64),
            np.zeros(arms),
            np.zeros(arms),
            np.zeros(size, np.int64),
            np.zeros(size),
            np.zeros(1, np.int64),
        )
        return WindowState(fresh_data(arms), last)

    def choose(self, state: Any, now: Now, rng: np.random.Generator) -> Choice:
        """Return the first arm without a pull in the window, else the one with the highest index."""
        budget = budget_at(Growth(1.0, self.c), math.log(min(now.t + 1, self.size)))
        data = Data(state.last.pulls, state.last.sums)
        return Choice(kl_front(data, state.last.means, self.playable, budget).arm, 0)

    def update(self, state: WindowState, outcome: Outcome) -> None:
        """Let pulls come into the window, and as many leave it; of several each pays their average."""
        add_outcome(self, state, outcome)
        reward = outcome.total / outcome.pulls
        share = (reward - self.bottom) / (self.top - self.bottom)
        for _ in range(min(outcome.pulls, self.size)):
            slide(state.last, outcome.arm, share)


@compilable
def slide(window: Window, arm: int, reward: float) -> None:
    """Let a pull come into the window, and the oldest one leave it if it is full."""
    size = len(window.arms)
    place = window.made[0] % size
    if window.made[0] >= size:
        gone = window.arms[place]
        window.pulls[gone] -= 1
        window.sums[gone] -= window.rewards[place]
        write_mean(window, gone)
    window.arms[place], window.rewards[place] = arm, reward
    window.pulls[arm] += 1
    window.sums[arm] += reward
    window.made[0] += 1
    write_mean(window, arm)


@compilable
def write_mean(window: Window, arm: int) -> None:
    """Write the mean of an arm in the window; sums that were added and taken away are rounded."""
    share = window.sums[arm] / max(window.pulls[arm], 1)
    window.means[arm] = min(max(share, 0.0), 1.0)


@compilable
def index(policy: Any, pulls: int, mean: float, budget: float) -> float:
    """Return the index of an arm; the variant "++" has a budget of its own, which falls with pulls."""
    if policy.pulls_in_all > 0:
        budget = plus_budget(policy.pulls_in_all, len(policy.playable), pulls)
    if math.isfinite(policy.bottom):
        return kl_upper(mean, budget / pulls)
    return mean + policy.sigma * math.sqrt(2.0 * budget / pulls)


@compilable
def plus_budget(pulls_in_all: int, arms: int, pulls: int) -> float:
    """Return the budget of the variant "++" for an arm with `pulls` pulls: it falls with them."""
    ratio = pulls_in_all / (arms * pulls)
    log_ratio = max(math.log(ratio), 0.0)
    return max(math.log(ratio * (1.0 + log_ratio * log_ratio)), 0.0)


def _checked_variant(variant: str, horizon: int | None) -> int | None:
    """Return the horizon if the variant has a use for one."""
    checked_word("variant", variant, ("plain", "++"))
    if variant == "++" and horizon is None:
        raise ParameterError(
            "horizon=None: the variant '++' is made for a number of pulls in all; give "
            "horizon=10_000, for example, or take variant='plain'"
        )
    return horizon if variant == "++" else None


def _checked_window(window: Any, variant: str, n_arms: int, bottom: float) -> int:
    """Return the size of the window, 0 if there is none."""
    if window is None:
        return 0
    size = checked_count("window", window)
    if size > MOST_IN_WINDOW:
        raise ParameterError(f"window={window!r}: expected at most {MOST_IN_WINDOW:,} pulls")
    if size < n_arms:
        raise ParameterError(
            f"window={window!r}: expected at least as many pulls as arms, {n_arms}"
        )
    if variant != "plain" or not math.isfinite(bottom):
        raise ParameterError(f"window={window!r}: it is for variant='plain' and rewards in a range")
    return size
