"""The paper's experiments by id, and an extra set with every policy of the library that can play them.

In that set policies have the parameters of the paper, or else their defaults; SUCB and SAE are there
with KL boxes, too. The paper makes no claims on it, and its own experiments stay as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.random import default_rng

from structured_bandits.errors import ParameterError, StructuredBanditsError
from structured_bandits.experiments.paper.structures import STRUCTURES
from structured_bandits.experiments.policies import build_policy
from structured_bandits.experiments.settings import Experiment, read_experiment
from structured_bandits.experiments.worlds import Problem
from structured_bandits.policies.base import POLICIES

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
    """Return whether such a policy can be built for this structure."""
    try:
        build_policy(spec, problem.structure, horizon=1000)
    except StructuredBanditsError:
        return False
    return True
