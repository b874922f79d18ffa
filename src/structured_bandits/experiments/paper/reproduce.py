"""Reproducing the paper: run its experiments, decide its claims, write the page."""

from __future__ import annotations

from pathlib import Path

from structured_bandits.experiments.evidence import decide
from structured_bandits.experiments.paper.catalogue import experiments
from structured_bandits.experiments.paper.claims import CLAIMS
from structured_bandits.experiments.paper.words import LEAD, NOTES, PRESETS, TITLE
from structured_bandits.experiments.run import Say, publish, run_all
from structured_bandits.experiments.saved_runs import RunOptions
from structured_bandits.report.page import Page
from structured_bandits.report.tables import claims_text


def reproduce(
    ids: tuple[str, ...], presets: tuple[str, ...], options: RunOptions, say: Say
) -> Path:
    """Run the paper's experiments, print the claims and write the page; return its path."""
    chosen = {preset: experiments(ids, preset) for preset in presets}
    results, seconds = run_all([e for each in chosen.values() for e in each], options, say)
    verdicts = {
        preset: decide(CLAIMS, {e.id: results[e.id, preset] for e in each})
        for preset, each in chosen.items()
    }
    page = Page(TITLE, LEAD, {preset: PRESETS[preset] for preset in presets}, notes=NOTES)
    judged = {claim for each in verdicts.values() for claim in each}
    page.claims = tuple(claim for claim in CLAIMS if claim.id in judged)
    page.verdicts = verdicts if page.claims else {}
    side_by_side = [e for pair in zip(*chosen.values(), strict=True) for e in pair]
    path = publish(page, side_by_side, results, options, seconds)
    say(claims_text(CLAIMS, verdicts))
    say(f"page: {path}")
    return path
