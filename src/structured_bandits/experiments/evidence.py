"""How a simulation decides a claim: a difference of means, and on which side of 0 it lies.

It is decided if it lies eight standard errors from 0. That is far more than a single test needs: regret
has heavy tails, and at three or five some verdicts changed with the seed. What is nearer to 0 is
undecided at this number of runs, and the verdict says which way it leans.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.report.records import FAILS, HOLDS, OPEN, Statement, Verdict
from structured_bandits.simulation.result import Result

ENOUGH = 8.0  # standard errors


class Test(Protocol):
    """Decides a claim from the runs of an experiment."""

    def decide(self, result: Result) -> Verdict:
        """Return the verdict."""


@dataclass(frozen=True)
class Claim(Statement):
    """A statement, where it is made, and the experiment and test that decide it."""

    experiment: str
    test: Test


def decide(claims: Iterable[Claim], results: Mapping[str, Result | None]) -> dict[str, Verdict]:
    """Return the verdict on every claim whose experiment was run."""
    return {
        claim.id: claim.test.decide(result)
        for claim in claims
        if (result := results.get(claim.experiment)) is not None
    }


@dataclass(frozen=True)
class LowerRegret:
    """Mean final regret of `policy` is below `factor` times that of `than`.

    `paired`: run i of both played the same structure.
    """

    policy: str
    than: str
    factor: float = 1.0
    paired: bool = False

    def decide(self, result: Result) -> Verdict:
        """Compare the two means."""
        one, two = (result.regret[name][:, -1] for name in (self.policy, self.than))
        times = "" if self.factor == 1.0 else f"{self.factor:g} × "
        words = f"{self.policy} {one.mean():.1f}, {self.than} {two.mean():.1f}"
        return _below_zero(
            one, self.factor * two, self.paired, f"{words}; {self.policy} − {times}{self.than}"
        )


@dataclass(frozen=True)
class FewerPulls:
    """Mean pulls of an arm (from 0) by `policy` are below `factor` times those by `than`."""

    arm: int
    policy: str
    than: str
    factor: float = 1.0

    def decide(self, result: Result) -> Verdict:
        """Compare the two means."""
        one, two = (
            result.pulls[name][:, self.arm].astype(np.float64) for name in (self.policy, self.than)
        )
        times = "" if self.factor == 1.0 else f"{self.factor:g} × "
        means = f"{self.policy} {one.mean():.0f}, {self.than} {two.mean():.0f}"
        words = f"pulls of arm {self.arm + 1}: {means}"
        return _below_zero(
            one, self.factor * two, False, f"{words}; {self.policy} − {times}{self.than}"
        )


@dataclass(frozen=True)
class NeverPulls:
    """`policy` does not pull an arm (from 0) in any run."""

    policy: str
    arm: int

    def decide(self, result: Result) -> Verdict:
        """Count the runs that pull it."""
        pulled = int((result.pulls[self.policy][:, self.arm] > 0).sum())
        words = f"{self.policy} pulls arm {self.arm + 1} in {pulled} of {result.runs} runs"
        words += f", {result.pulls[self.policy][:, self.arm].mean():.0f} times on average over all"
        return Verdict(FAILS if pulled else HOLDS, words)


@dataclass(frozen=True)
class Flat:
    """Mean regret grows by less than `share` of itself in the second half of the run."""

    policy: str
    share: float = 0.02

    def decide(self, result: Result) -> Verdict:
        """Compare the growth with the share."""
        half, end = halves(result, self.policy)
        grown = 100.0 * (end - half).mean() / end.mean() if end.mean() > 0.0 else 0.0
        words = f"{self.policy} {half.mean():.1f} at half time, {end.mean():.1f} at the end"
        words += f" (+{grown:.1f} %)"
        return _below_zero(
            end - half, self.share * end, True, f"{words}; growth − {self.share:g} × end"
        )


@dataclass(frozen=True)
class Growing:
    """The opposite of `Flat`: mean regret grows by more than `share` of itself."""

    policy: str
    share: float = 0.02

    def decide(self, result: Result) -> Verdict:
        """Turn the verdict of `Flat` round."""
        verdict = Flat(self.policy, self.share).decide(result)
        turned = {HOLDS: FAILS, FAILS: HOLDS, OPEN: OPEN}
        return Verdict(turned[verdict.outcome], verdict.numbers, -verdict.distance)


@dataclass(frozen=True)
class Linear:
    """The second half of the run costs at least `share` of what the first did."""

    policy: str
    share: float = 0.9

    def decide(self, result: Result) -> Verdict:
        """Compare the halves."""
        half, end = halves(result, self.policy)
        words = f"{self.policy} {half.mean():.1f} at half time, {end.mean():.1f} at the end"
        return _below_zero(
            self.share * half,
            end - half,
            True,
            f"{words}; {self.share:g} × first half − second half",
        )


@dataclass(frozen=True)
class ShareOfRegret:
    """At least `share` of the mean regret of `policy` comes from one arm (from 0)."""

    policy: str
    arm: int
    share: float

    def decide(self, result: Result) -> Verdict:
        """Compare the arm's part with the whole."""
        whole = result.regret[self.policy][:, -1]
        means = result.info["means"]
        part = (max(means) - means[self.arm]) * result.pulls[self.policy][:, self.arm].astype(
            np.float64
        )
        percent = 100.0 * part.mean() / whole.mean()
        words = f"arm {self.arm + 1} makes {percent:.0f} % of the regret of {self.policy}"
        return _below_zero(
            self.share * whole, part, True, f"{words}; {self.share:g} × regret − its part"
        )


@dataclass(frozen=True)
class EarlyRegret:
    """At a tenth of the run, mean regret of `policy` is above that of `than`."""

    policy: str
    than: str

    def decide(self, result: Result) -> Verdict:
        """Compare both at a tenth of the horizon."""
        place = int(np.searchsorted(result.checkpoints, result.checkpoints[-1] // 10))
        one, two = (result.regret[name][:, place] for name in (self.policy, self.than))
        words = f"{self.policy} {one.mean():.1f}, {self.than} {two.mean():.1f}"
        words = f"at {result.checkpoints[place]:,} pulls {words}"
        return _below_zero(two, one, True, f"{words}; {self.than} − {self.policy}")


def halves(result: Result, name: str) -> tuple[Floats, Floats]:
    """Return the regret of each run at half time and at the end."""
    middle = int(np.searchsorted(result.checkpoints, result.checkpoints[-1] // 2))
    return result.regret[name][:, middle], result.regret[name][:, -1]


def _below_zero(one: Floats, two: Floats, paired: bool, words: str) -> Verdict:
    """Decide whether the mean of `one` is below that of `two`."""
    difference, error = difference_of_means(one, two, paired)
    distance = difference / error if error > 0.0 else math.copysign(math.inf, difference)
    outcome = HOLDS if distance <= -ENOUGH else FAILS if distance >= ENOUGH else OPEN
    if difference == 0.0 and error == 0.0:
        outcome = FAILS  # it is not below
    away = f"{abs(distance):.1f} standard errors" if error > 0.0 else "the same in every run"
    return Verdict(outcome, f"{words} = {difference:.1f} ± {error:.1f} ({away})", distance)


def difference_of_means(one: Floats, two: Floats, paired: bool) -> tuple[float, float]:
    """Return the difference of two means and its standard error."""
    n = len(one)
    if paired:
        variance = float((one - two).var(ddof=1)) / n
    else:
        variance = (float(one.var(ddof=1)) + float(two.var(ddof=1))) / n
    return float(one.mean() - two.mean()), math.sqrt(variance)
