"""A sequential test that one mean is below another: it may be looked at after any number of runs.

Each run gives two numbers, `one` and `two`, between 0 and bounds that are known beforehand: regret lies
between 0 and horizon times the largest gap. We bet against the statement that the mean of x = one - two
is 0 or more. Who starts with 1 and stakes the share b of it on every run has prod_i (1 - b x_i / most)
after the runs, where `most` bounds x from above, so that not all is ever lost. If the statement is
true, no such wealth is expected to grow, nor is the average over several shares. By Ville's inequality
it then reaches 1/a, at any time, with probability at most a, whatever the distribution within the
bounds: no normal law and no estimated variance is needed.

The price is that rare runs of the largest regret have to be ruled out, which takes about
log(1/a) · most / difference runs. Where a difference is too small for the runs that we are ready to
play, their number is fixed in advance, and the central limit theorem judges them: the verdict says that
it is asymptotic. docs/reproduce.md tells this to the readers of the page.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.display.verdicts import CAPPED, FAILS, HOLDS, OPEN, SAME, Verdict

ERROR = 1e-4  # the probability that a verdict is wrong, at most
MARGIN = 0.02  # of the second side: a smaller difference does not matter
SHARES = 0.9 * 0.5 ** np.arange(16.0)  # of the wealth, staked on each run
ENOUGH_RUNS = 1000  # for the central limit theorem

# Half of the error is for looks at the wealth, half for the one look at the end. Of the first, a claim
# has at most two false verdicts that it could get, each with its own bet.
LOG_NEEDED = math.log(4.0 / ERROR)
DEVIATIONS = NormalDist().inv_cdf(1.0 - ERROR / 4.0)


@dataclass(frozen=True)
class Comparison:
    """A claim that the mean of `one` is below that of `two`, with a value of each for every run."""

    one: Floats
    two: Floats
    most_one: float
    most_two: float
    words: str  # the numbers, for people
    refuted: bool = False  # has a single run shown that the claim is wrong?

    def verdict(self, last: bool = False) -> Verdict:
        """Return what the runs say; after the `last` ones also what they say asymptotically."""
        outcome = self._bet()
        if outcome != OPEN or not last:
            return self._said(outcome)
        if len(self.one) >= ENOUGH_RUNS:
            outcome = self._normal()
        return self._said(CAPPED if outcome == OPEN else outcome, outcome != OPEN)

    def _bet(self) -> str:
        """Decide by bets, which hold for all distributions within the bounds."""
        if self.refuted:
            return FAILS
        if log_wealth(self.one - self.two, self.most_one) >= LOG_NEEDED:
            return HOLDS
        if log_wealth(self.two - self.one, self.most_two) >= LOG_NEEDED:
            return FAILS
        above = log_wealth(self.one - (1.0 + MARGIN) * self.two, self.most_one)
        below = log_wealth((1.0 - MARGIN) * self.two - self.one, self.most_two)
        return SAME if min(above, below) >= LOG_NEEDED else OPEN

    def _normal(self) -> str:
        """Decide by standard errors."""
        if deviations(self.one - self.two) <= -DEVIATIONS:
            return HOLDS
        if deviations(self.two - self.one) <= -DEVIATIONS:
            return FAILS
        above = deviations(self.one - (1.0 + MARGIN) * self.two)
        below = deviations((1.0 - MARGIN) * self.two - self.one)
        return SAME if max(above, below) <= -DEVIATIONS else OPEN

    def _said(self, outcome: str, asymptotic: bool = False) -> Verdict:
        values = self.one - self.two
        error = float(values.std(ddof=1)) / math.sqrt(len(values))
        words = f"{self.words}; difference {values.mean():.2f} ± {2.0 * error:.2f}"
        words += f" (two standard errors), {len(values):,} runs"
        return Verdict(outcome, words, deviations(values), len(values), asymptotic)


def log_wealth(values: Floats, most: float) -> float:
    """Return the log of what bets against "the mean is 0 or more" made of 1; `values` <= `most`."""
    logs = np.array([np.log1p(values * (-share / most)).sum() for share in SHARES])
    top = logs.max()
    return float(top + math.log(np.exp(logs - top).mean()))


def deviations(values: Floats) -> float:
    """Return how many standard errors the mean lies above 0."""
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    mean = float(values.mean())
    return mean / error if error > 0.0 else math.copysign(math.inf, mean) if mean else 0.0
