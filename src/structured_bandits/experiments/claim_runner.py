"""Playing runs until every claim is decided, or until no more are allowed.

An experiment's own runs come first. While a claim is open, the number of runs of the policies that it
compares is doubled, until there are `most_runs` times the claim's patience. Run i is the same run
whoever asks for it, so more runs change no earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from structured_bandits.base.progress import progress_bar
from structured_bandits.display.verdicts import OPEN, Verdict
from structured_bandits.experiments.claims import Claim
from structured_bandits.experiments.saved_runs import RunOptions, run_policy, together
from structured_bandits.experiments.settings import Experiment
from structured_bandits.simulation.result import Result

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
