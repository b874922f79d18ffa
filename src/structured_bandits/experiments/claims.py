"""Claims: each compares two means over runs, of which the first should be lower.

How many runs decide that, and how surely, is the business of `sequential`. An experiment's own runs
come first. While a claim is open, the number of runs of the policies that it compares is doubled, until
there are `most_runs` times the claim's patience. Run i is the same run whoever asks for it, so more
runs change no earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.progress import progress_bar
from structured_bandits.display.verdicts import OPEN, Statement, Verdict
from structured_bandits.errors import ParameterError
from structured_bandits.experiments.saved_runs import RunOptions, run_policy, together
from structured_bandits.experiments.sequential import Comparison
from structured_bandits.experiments.settings import Experiment
from structured_bandits.simulation.result import Result

RARELY = 0.01  # "never" is shown as: in a smaller share of all runs than this


@dataclass(frozen=True)
class Arm:
    """An arm: its index, and what people call it."""

    index: int
    name: str


class Test(Protocol):
    """Decides a claim from the runs of some policies."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies whose runs it looks at."""

    def compare(self, result: Result) -> Comparison:
        """Return the two sides of which the claim says that the first is lower."""


@dataclass(frozen=True)
class Claim(Statement):
    """A statement, where it is made, and the experiment and test that decide it.

    `patience` multiplies the runs that may be played for it: more where bets need them and runs are
    quick, fewer where they would not suffice anyhow and runs are slow.
    """

    test: Test
    patience: float = 1.0


@dataclass(frozen=True)
class OfOne:
    """A test that looks at the runs of one policy."""

    policy: str

    @property
    def policies(self) -> tuple[str, ...]:
        """The policy."""
        return (self.policy,)


@dataclass(frozen=True)
class OfTwo:
    """A test that compares one policy with another."""

    policy: str
    than: str

    @property
    def policies(self) -> tuple[str, ...]:
        """The two policies."""
        return self.policy, self.than


@dataclass(frozen=True)
class LowerRegret(OfTwo):
    """Mean final regret of `policy` is below `factor` times that of `than`."""

    factor: float = 1.0

    def compare(self, result: Result) -> Comparison:
        """Compare the two regrets."""
        one, two = (result.regret[name][:, -1] for name in self.policies)
        most = most_regret(result)
        words = f"regret of {self.policy} {one.mean():.1f}, "
        words += f"{_times(self.factor)}that of {self.than} {self.factor * two.mean():.1f}"
        return Comparison(one, self.factor * two, most, self.factor * most, words)


@dataclass(frozen=True)
class FewerPulls(OfTwo):
    """Mean pulls of an arm by `policy` are below `factor` times those by `than`."""

    arm: Arm
    factor: float = 1.0

    def compare(self, result: Result) -> Comparison:
        """Compare the two numbers of pulls."""
        one, two = (
            result.pulls[name][:, self.arm.index].astype(np.float64) for name in self.policies
        )
        most = float(result.checkpoints[-1])
        words = f"pulls of {self.arm.name} by {self.policy} {one.mean():,.1f}, "
        words += f"{_times(self.factor)}those by {self.than} {self.factor * two.mean():,.1f}"
        return Comparison(one, self.factor * two, most, self.factor * most, words)


@dataclass(frozen=True)
class NeverPulls(OfOne):
    """`policy` does not pull an arm: a single run with a pull of it refutes that."""

    arm: Arm

    def compare(self, result: Result) -> Comparison:
        """Compare the share of runs that pull it with a small one."""
        pulls = result.pulls[self.policy][:, self.arm.index]
        pulled = (pulls > 0).astype(np.float64)
        words = (
            f"{self.policy} pulls {self.arm.name} in {pulled.sum():,.0f} of {result.runs:,} runs"
        )
        rarely = np.full(len(pulled), RARELY)
        return Comparison(pulled, rarely, 1.0, RARELY, words, refuted=bool(pulled.any()))


@dataclass(frozen=True)
class Flat(OfOne):
    """Mean regret grows by less than `share` of itself in the second half of the run."""

    share: float = 0.02

    def compare(self, result: Result) -> Comparison:
        """Compare the growth with the share."""
        half, end = halves(result, self.policy)
        most = most_regret(result)
        growth = most * (1.0 - (result.checkpoints[-1] // 2) / result.checkpoints[-1])
        words = f"{_halves_text(self.policy, half, end)}: it grows by {(end - half).mean():.2f}; "
        words += f"{100 * self.share:g} % of the end is {self.share * end.mean():.2f}"
        return Comparison(end - half, self.share * end, growth, self.share * most, words)


@dataclass(frozen=True)
class Growing(OfOne):
    """The opposite of `Flat`: mean regret grows by more than `share` of itself."""

    share: float = 0.02

    def compare(self, result: Result) -> Comparison:
        """Turn the sides of `Flat` round."""
        flat = Flat(self.policy, self.share).compare(result)
        return Comparison(flat.two, flat.one, flat.most_two, flat.most_one, flat.words)


@dataclass(frozen=True)
class Linear(OfOne):
    """The second half of the run costs at least `share` of what the first did."""

    share: float = 0.9

    def compare(self, result: Result) -> Comparison:
        """Compare the halves."""
        half, end = halves(result, self.policy)
        most = (result.checkpoints[-1] + 1) // 2 * largest_gap(result)
        words = f"{_halves_text(self.policy, half, end)}: the second half costs "
        words += f"{(end - half).mean():.1f}; {self.share:g} × the first is "
        words += f"{self.share * half.mean():.1f}"
        return Comparison(self.share * half, end - half, self.share * most, most, words)


@dataclass(frozen=True)
class ShareOfRegret(OfOne):
    """At least `share` of the mean regret of `policy` comes from one arm."""

    arm: Arm
    share: float

    def compare(self, result: Result) -> Comparison:
        """Compare the arm's part with the whole."""
        whole = result.regret[self.policy][:, -1]
        means = result.info["means"]
        gap = max(means) - means[self.arm.index]
        part = gap * result.pulls[self.policy][:, self.arm.index].astype(np.float64)
        most = most_regret(result)
        words = (
            f"of the regret of {self.policy}, {whole.mean():.1f}, pulls of {self.arm.name} make "
        )
        words += f"{part.mean():.1f} ({100.0 * part.mean() / whole.mean():.0f} %)"
        return Comparison(
            self.share * whole, part, self.share * most, gap * result.checkpoints[-1], words
        )


@dataclass(frozen=True)
class EarlyRegret(OfTwo):
    """At a tenth of the run, mean regret of `policy` is above that of `than`."""

    def compare(self, result: Result) -> Comparison:
        """Compare both at a tenth of the horizon."""
        t = int(result.checkpoints[-1]) // 10
        one, two = (regret_at(result, name, t) for name in (self.than, self.policy))
        most = t * largest_gap(result)
        words = f"after {t:,} pulls regret of {self.than} {one.mean():.1f}, "
        words += f"of {self.policy} {two.mean():.1f}"
        return Comparison(one, two, most, most, words)


def most_regret(result: Result) -> float:
    """Return the most that a run can cost: the horizon times the largest gap."""
    return float(result.checkpoints[-1]) * largest_gap(result)


def largest_gap(result: Result) -> float:
    """Return the largest gap; where every run draws means of its own, between 0 and 1, it is 1."""
    means = result.info.get("means", (0.0, 1.0))
    return float(max(means) - min(means))


def halves(result: Result, name: str) -> tuple[Floats, Floats]:
    """Return the regret of each run at half time and at the end."""
    return regret_at(result, name, int(result.checkpoints[-1]) // 2), result.regret[name][:, -1]


def regret_at(result: Result, name: str, t: int) -> Floats:
    """Return the regret of each run after exactly `t` pulls, on which the bounds of bets rest."""
    (places,) = np.nonzero(result.checkpoints == t)
    if not len(places):
        raise ParameterError(f"regret after {t} pulls was not kept, only at {result.checkpoints}")
    return result.regret[name][:, places[0]]


def _halves_text(name: str, half: Floats, end: Floats) -> str:
    return f"regret of {name} {half.mean():.1f} at half time, {end.mean():.1f} at the end"


def _times(factor: float) -> str:
    return "" if factor == 1.0 else f"{factor:g} × "


MOST_RUNS = 6400  # of each policy, times the patience of a claim


def decide(
    claims: Iterable[Claim], chosen: Sequence[Experiment], options: RunOptions, most_runs: int
) -> dict[str, Verdict]:
    """Return the verdict on every claim whose experiment is among the chosen ones."""
    played: dict[str, Experiment] = {}  # by their data: some experiments show the runs of others
    asked: dict[str, list[Claim]] = {}
    by_id = {experiment.id: experiment for experiment in chosen if experiment.specs}
    for claim in claims:
        if claim.experiment in by_id:
            experiment = by_id[claim.experiment]
            played.setdefault(experiment.data, experiment)
            asked.setdefault(experiment.data, []).append(claim)
    verdicts: dict[str, Verdict] = {}
    total = sum(map(len, asked.values()))
    with progress_bar("Deciding claims", None, total=total, unit="claim") as bar:
        for data, experiment in played.items():
            bar.set_description(f"deciding {data} ({experiment.preset})")
            verdicts |= _settled(asked[data], experiment, options, most_runs)
            bar.update(len(asked[data]))
    return verdicts


def _settled(
    claims: list[Claim], experiment: Experiment, options: RunOptions, most_runs: int
) -> dict[str, Verdict]:
    """Return the verdicts on the claims of one experiment, with as many runs as they need."""
    runs = options.runs_of(experiment)
    parts = {name: [run_policy(experiment, name, options)] for name in _compared(claims)}
    verdicts: dict[str, Verdict] = {}
    while True:
        result = together({name: _joined(each) for name, each in parts.items()})
        for claim in claims:
            sides = claim.test.compare(result)
            verdicts[claim.id] = sides.verdict(last=runs >= claim.patience * most_runs)
        claims = [claim for claim in claims if verdicts[claim.id].outcome == OPEN]
        if not claims:
            return verdicts
        left = max(int(claim.patience * most_runs) for claim in claims) - runs
        more = replace(options, first=runs, runs=min(runs, left), brief=True)
        parts = {
            name: [*parts[name], run_policy(experiment, name, more)] for name in _compared(claims)
        }
        runs += more.runs_of(experiment)


def _compared(claims: Iterable[Claim]) -> list[str]:
    """Return the policies that claims compare, each once."""
    return list(dict.fromkeys(name for claim in claims for name in claim.test.policies))


def _joined(parts: Sequence[Result]) -> Result:
    """Return the runs of several results one after the other, at the times that all of them kept."""
    times = parts[0].checkpoints
    for part in parts[1:]:
        times = np.intersect1d(times, part.checkpoints)
    (name,) = parts[0].policies
    places = [np.searchsorted(part.checkpoints, times) for part in parts]
    regret = [part.regret[name][:, kept] for part, kept in zip(parts, places, strict=True)]
    tables = {
        key: {name: np.concatenate([getattr(part, key)[name] for part in parts])}
        for key in ("pulls", "plans", "empty")
    }
    return Result(times, {name: np.concatenate(regret)}, **tables, info=parts[0].info)
