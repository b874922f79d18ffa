"""The rows of the table of advice: plain records, one for each candidate."""

from __future__ import annotations

from typing import Any

from structured_bandits.advice.candidates import BLIND
from structured_bandits.advice.estimates import Estimate, mean_of
from structured_bandits.advice.race import Race
from structured_bandits.base.arrays import Floats
from structured_bandits.display.advice_report import (
    ADVISED,
    DROPPED,
    HOPELESS,
    REFERENCE,
    TIED,
    TOO_SLOW,
    UNDECIDED,
)

ORDER = (ADVISED, TIED, REFERENCE, UNDECIDED, DROPPED, HOPELESS, TOO_SLOW)
NOTHING = Estimate(None, None, None)  # type: ignore[arg-type]


def records_of(race: Race) -> list[dict[str, Any]]:
    """Return a record for each candidate: the advised one first, then by role and mean regret."""
    rows = [_record(race, name) for name in race.candidates]
    return sorted(rows, key=lambda row: (ORDER.index(row["role"]), _or_last(row["mean"])))


def _record(race: Race, name: str) -> dict[str, Any]:
    """Return the row of a candidate; what was not measured is None."""
    candidate = race.candidates[name]
    row: dict[str, Any] = {"policy": name, **_role(race, name), **_numbers(race, name)}
    seconds = race.evaluator.decision_seconds.get(name)
    blind = race.fresh[BLIND].mean.value
    mean = row["mean"]
    return row | {
        "times_blind": None if mean is None or blind <= 0.0 else mean / blind,
        "microseconds": None if seconds is None else 1e6 * seconds,
        "randomised": candidate.randomised,
        "batches": candidate.takes_batches,
    }


def _role(race: Race, name: str) -> dict[str, Any]:
    """Return what became of a candidate, and why."""
    standings = race.standings
    raced = name in standings.regrets
    verdict = standings.verdict(name) if raced and standings.sizes else None
    if name == race.chosen:
        role, note = ADVISED, ""
    elif name in race.tied:
        role, note = TIED, f"cannot be told from {race.chosen}"
    elif name == BLIND:
        role, note = REFERENCE, "knows nothing of the structure"
    elif name in race.too_slow:
        role, note = TOO_SLOW, race.too_slow[name]
    elif name in race.pilot.hopeless:
        role, note = HOPELESS, f"far worse than {BLIND} in the pilot"
    elif name in standings.dropped:
        role, note = DROPPED, standings.dropped[name]
    else:
        role, note = UNDECIDED, "whether it survives a wrong structure is open"
    return {"role": role, "note": note, "verdict": verdict}


def _numbers(race: Race, name: str) -> dict[str, Any]:
    """Return estimates: from fresh runs of the finalists, else from the runs that were played."""
    if name in race.fresh:
        fresh = race.fresh[name]
        return {
            "runs": fresh.runs,
            "fresh": True,
            **_ends("mean", fresh.mean),
            **_ends("worst", fresh.worst.regret),
            "worst_truth": fresh.worst.truth,
            **_ends("q95", fresh.quantile),
            "wrong": {size: _ends("mean", each) for size, each in fresh.wrong.items()},
        }
    raced = race.standings.regrets.get(name, {})
    inside = raced.get("inside", race.pilot.regrets.get(name))
    sizes = race.standings.sizes
    return {
        "runs": 0 if inside is None else len(inside),
        "fresh": False,
        **_ends("mean", _played(inside)),
        **_ends("worst", NOTHING),
        "worst_truth": None,
        **_ends("q95", NOTHING),
        "wrong": {size: _ends("mean", _played(raced.get(size))) for size in sizes},
    }


def _played(samples: Floats | None) -> Estimate:
    return NOTHING if samples is None or not len(samples) else mean_of(samples)


def _ends(name: str, estimate: Estimate) -> dict[str, Any]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _or_last(mean: float | None) -> float:
    return float("inf") if mean is None else mean
