"""What came out of a reproduction, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from structured_bandits.experiments.sequential import ERROR, MARGIN
from structured_bandits.report.records import (
    CAPPED,
    FAILS,
    HOLDS,
    SAME,
    Outcome,
    Statement,
    Verdict,
    tally,
)

Verdicts = Mapping[str, Mapping[str, Verdict]]  # preset -> claim id -> verdict


def outcome_of(claims: Sequence[Statement], verdicts: Verdicts) -> Outcome:
    """Return how many claims hold in each reading, which do not, and how sure that is."""
    refuted = [claim for claim in claims if _all(claim, verdicts, FAILS)]
    several = len(verdicts) > 1
    split = [
        claim
        for claim in claims
        if several and not any(_all(claim, verdicts, each) for each in (HOLDS, FAILS))
    ]
    heading = "These claims do not hold, however the paper is read" if several else "Do not hold"
    return Outcome(
        _counts(claims, verdicts),
        {
            heading: tuple(claim.statement for claim in refuted),
            "These depend on how it is read": tuple(claim.statement for claim in split),
        },
        _how_sure([verdict for each in verdicts.values() for verdict in each.values()]),
    )


def _counts(claims: Sequence[Statement], verdicts: Verdicts) -> str:
    if len(verdicts) == 1:
        (only,) = verdicts.values()
        return f"Of {len(claims)} claims, {tally(only.values())}."
    hold, fail = (sum(_all(claim, verdicts, which) for claim in claims) for which in (HOLDS, FAILS))
    text = f"Of {len(claims)} claims, {hold} hold in both readings and {fail} in neither."
    if rest := len(claims) - hold - fail:
        text += f" On the other {rest} it depends on the reading."
    return text


def _all(claim: Statement, verdicts: Verdicts, outcome: str) -> bool:
    return all(each[claim.id].outcome == outcome for each in verdicts.values())


def _how_sure(verdicts: Sequence[Verdict]) -> str:
    """Say with which error verdicts come, and what marks the weaker ones."""
    most = max(verdict.runs for verdict in verdicts)
    text = (
        f"Runs were added, up to {most:,} of a policy, until a test decided that may be looked at after "
        f"any number of runs; a verdict is wrong with a probability of at most {ERROR:.2%}."
    )
    if any(verdict.asymptotic for verdict in verdicts):
        text += (
            " Where ≈ follows a verdict, that test was open at the last run, and the verdict rests "
            "on the central limit theorem: its error is asymptotic."
        )
    if any(verdict.outcome == SAME for verdict in verdicts):
        text += f' "No difference" means that the two sides differ by less than {MARGIN:.0%}.'
    if any(verdict.outcome == CAPPED for verdict in verdicts):
        text += (
            ' "Capped" means that the runs that were allowed (--most-runs) are too few for a verdict '
            "that is this sure, however clear they look."
        )
    return text
