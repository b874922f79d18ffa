"""What the page says of the paper: title, readings of open settings, errata, and what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from structured_bandits.display.verdicts import (
    CAPPED,
    FAILS,
    HOLDS,
    SAME,
    Findings,
    Statement,
    Verdict,
    tally,
)
from structured_bandits.experiments.sequential import ERROR, MARGIN

TITLE = "A Novel Confidence-Based Algorithm for Structured Bandits: the experiments, again"
LEAD = (
    "Tirinzoni, Lazaric and Restelli (AISTATS 2020), Section 6 and Appendix F, played again with the "
    "paper's settings where it gives them. Some it does not give; two readings of those stand side by "
    "side, and every statement of the paper that a simulation can decide is decided in both."
)
FAIR = "equal-widths"
FITTED = "fitted"
PRESETS = {
    FAIR: (
        "the fair comparison. Every policy has confidence intervals of the same width (alpha = 2), ASAE "
        "is read as its proofs need it, and the truth lies in the middle of the region."
    ),
    FITTED: (
        "the open settings were chosen so that the paper's words come out right as far as possible: "
        "SUCB and UCB with wider intervals (alpha = 4, which is the paper's 2 at another sigma), ASAE "
        "with other periods, the truth at the left edge. It shows that such a reading exists, not that "
        "the paper used it."
    ),
}
NOTES = [
    ("I-2", "Figure 1 right: the mean of arm 2 in the fourth model is 0.92, as drawn, not 0.2."),
    ("I-3, I-4, I-7", "ASAE's pseudo-code, proofs and text differ; the presets use two readings."),
    ("I-6", "Arm 4 cannot save pulls of arm 2; Section 6 itself speaks of arm 3."),
    ("I-11", "Random structures: the paper gives neither horizon nor eta; 50,000 and 0.1 here."),
    ("I-12", "The paper does not say which widths SUCB and UCB had. They decide who wins."),
    ("I-13", "Where in the shaded region the truth lies is not said; all regrets depend on it."),
    (
        "I-27",
        "Section 3.1's saving on Figure 1 right is 3 % of pulls without phases, none with them.",
    ),
    ("I-32", "SUCB does pull arm 4 in some runs; it rarely pulls it."),
    ("I-35", "How WAGP inverts flat means is not said; we take the middle."),
]
Verdicts = Mapping[str, Mapping[str, Verdict]]  # preset -> claim id -> verdict


def outcome_of(claims: Sequence[Statement], verdicts: Verdicts) -> Findings:
    """Return how many claims hold in each reading, which do not, and how sure that is."""
    refuted = [claim for claim in claims if _all(claim, verdicts, FAILS)]
    several = len(verdicts) > 1
    split = [
        claim
        for claim in claims
        if several and not any(_all(claim, verdicts, each) for each in (HOLDS, FAILS))
    ]
    heading = "These claims do not hold, however the paper is read" if several else "Do not hold"
    return Findings(
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
