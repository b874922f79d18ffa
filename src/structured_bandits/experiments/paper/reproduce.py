"""Reproducing the paper: run its experiments, decide its claims, write the page.

The experiments are found by id. There is an extra set with every policy of the library that can play
them, with the parameters of the paper or else their defaults; SUCB and SAE are there with KL boxes,
too. The paper makes no claims on it, and its own experiments stay as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.random import default_rng

from structured_bandits.display.page import Page
from structured_bandits.display.verdicts import claims_text
from structured_bandits.errors import ParameterError, StructuredBanditsError
from structured_bandits.experiments.claims import MOST_RUNS, decide
from structured_bandits.experiments.paper.claim_list import CLAIMS
from structured_bandits.experiments.paper.page_texts import (
    FAIR,
    LEAD,
    NOTES,
    PRESETS,
    TITLE,
    outcome_of,
)
from structured_bandits.experiments.paper.structures import STRUCTURES
from structured_bandits.experiments.policies import build_policy
from structured_bandits.experiments.run import Say, publish, run_all
from structured_bandits.experiments.saved_runs import RunOptions
from structured_bandits.experiments.settings import Experiment, read_experiment
from structured_bandits.experiments.worlds import Problem
from structured_bandits.policies.base import POLICIES
from structured_bandits.simulation.regret_table import regret_table

FOLDER = Path(__file__).parent / "settings"
IDS = (
    "fig1-left",
    "fig1-right",
    "fig2a",
    "fig2a-long",
    "fig2b",
    "fig2c",
    "fig2d",
    "fig3a",
    "fig3b",
    "fig3c",
    "wagp-left",
    "wagp-flat",
    "wagp-right",
)
PRESET = "all policies"
WORDS = (
    "Every policy of the library that can play the structure, with the paper's parameters or else its "
    "defaults, and SUCB and SAE with KL boxes; the settings are those of equal-widths. OSSB solves a "
    "program for each model and is left out where each run draws a structure of its own."
)
SHARPER: dict[str, dict[str, Any]] = {
    "SUCB, KL boxes": {"kind": "SUCB", "alpha": 0.5, "confidence": "kl"},
    "SAE, KL boxes": {"kind": "SAE", "alpha": 2.0, "confidence": "kl"},
}


def experiments(ids: tuple[str, ...], preset: str) -> list[Experiment]:
    """Return experiments by id or by what ids begin with (`matching_ids`), all if none is given."""
    chosen = dict.fromkeys(found for each in ids or IDS for found in matching_ids(each))
    return [read_experiment(FOLDER / f"{each}.toml", preset, STRUCTURES) for each in chosen]


def matching_ids(text: str) -> tuple[str, ...]:
    """Return the id that a text is, or all ids that begin with it.

    >>> matching_ids("fig2a")
    ('fig2a',)
    >>> matching_ids("fig2")
    ('fig2a', 'fig2a-long', 'fig2b', 'fig2c', 'fig2d')
    """
    matching = tuple(each for each in IDS if each.startswith(text)) if text else ()
    if not matching:
        raise ParameterError(
            f"experiment {text!r} is unknown; accepted are {', '.join(IDS)}, and what several of them "
            "begin with, such as fig2"
        )
    return (text,) if text in IDS else matching


def with_all_policies(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Return the experiments that show regrets, each once, with all policies that can play them."""
    return [
        replace(
            each,
            id=f"{each.id}-all",
            preset=PRESET,
            has_presets=False,
            title=f"{each.title}, all policies",
            caption=f"{each.caption} {WORDS}",
            specs=playable_specs(each),
        )
        for each in experiments
        if each.figure == "regret" and each.data == each.id
    ]


def playable_specs(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """Return the policies that can play an experiment, as a file would write them."""
    random = experiment.fixed is None
    specs: dict[str, dict[str, Any]] = {
        name: {"kind": name} for name in POLICIES if not (random and name == "OSSB")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random structures leave [0, 1] on purpose
        problem = experiment.fixed or experiment.problem.draw(default_rng(0))  # type: ignore[union-attr]
        return {name: spec for name, spec in {**specs, **SHARPER}.items() if _serves(spec, problem)}


def _serves(spec: dict[str, Any], problem: Problem) -> bool:
    """Return whether such a policy can be built for this structure, and is made for regret there.

    `BestArm` looks at rivals one by one where there is no table, which would take hours.
    """
    if spec["kind"] == "BestArm" and not hasattr(problem.structure.cells, "table"):
        return False
    try:
        build_policy(spec, problem.structure, horizon=1000)
    except StructuredBanditsError:
        return False
    return True


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
