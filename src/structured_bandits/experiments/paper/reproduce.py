"""Reproducing the paper: run its experiments, decide its claims, write the page."""

from __future__ import annotations

from pathlib import Path

from structured_bandits.display.page import Page
from structured_bandits.display.verdicts import claims_text
from structured_bandits.experiments.claim_runner import MOST_RUNS, decide
from structured_bandits.experiments.paper.catalogue import experiments, with_all_policies
from structured_bandits.experiments.paper.claim_list import CLAIMS
from structured_bandits.experiments.paper.page_texts import (
    FAIR,
    LEAD,
    NOTES,
    PRESETS,
    TITLE,
    outcome_of,
)
from structured_bandits.experiments.run import Say, publish, run_all
from structured_bandits.experiments.saved_runs import RunOptions
from structured_bandits.simulation.regret_table import regret_table


def reproduce(
    ids: tuple[str, ...],
    presets: tuple[str, ...],
    options: RunOptions,
    say: Say,
    most_runs: int | None = None,
    all_policies: bool = False,
) -> Path:
    """Run the paper's experiments, print the claims and write the page; return its path.

    Claims get up to `most_runs` of each policy, times their patience. With `all_policies` the
    experiments that show regrets come once more, with every policy that can play them; nothing is
    claimed of those.
    """
    chosen = {preset: experiments(ids, preset) for preset in presets}
    extra = with_all_policies(experiments(ids, FAIR)) if all_policies else []
    played = [e for each in chosen.values() for e in each]
    results, seconds = run_all([*played, *extra], options, say)
    most = MOST_RUNS if most_runs is None else most_runs
    verdicts = {preset: decide(CLAIMS, each, options, most) for preset, each in chosen.items()}
    page = Page(TITLE, LEAD, {preset: PRESETS[preset] for preset in presets}, notes=NOTES)
    judged = {claim for each in verdicts.values() for claim in each}
    page.claims = tuple(claim for claim in CLAIMS if claim.id in judged)
    if page.claims:
        page.verdicts = verdicts
        page.outcome = outcome_of(page.claims, verdicts)
    side_by_side = [e for pair in zip(*chosen.values(), strict=True) for e in pair]
    path = publish(page, [*side_by_side, *extra], results, options, seconds)
    say(claims_text(CLAIMS, verdicts))
    if page.outcome:
        say(f"\n{page.outcome.text()}\n")
    for experiment in extra:
        result = results[experiment.id, experiment.preset]
        if result is not None:
            say(f"\n{experiment.title}\n{regret_table(result).text()}")
    say(f"page: {path}")
    return path
