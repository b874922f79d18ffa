"""The hardest truths by theory: where lower bounds, upper bounds or small gaps promise trouble."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from structured_bandits.advice.options import Options
from structured_bandits.advice.truths import NamedTruth, Truths, means_text
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.policies.base import answers
from structured_bandits.policies.sae import SAE
from structured_bandits.policies.sucb import SUCB
from structured_bandits.structures.base import Structure
from structured_bandits.theory.graves_lai import cheapest_allocation
from structured_bandits.theory.truth import Truth, truth_of
from structured_bandits.theory.upper_bounds import upper_bounds

TOP = 2  # truths for each reason
LISTED = 8  # a table with no more models is played on all of them
LOOKED_AT = 24  # truths that theory is asked about

Score = Callable[[Truth], float]


def trials(
    options: Options, truths: Truths, given: list[NamedTruth], late: Callable[[], bool]
) -> list[NamedTruth]:
    """Return the truths on which the worst case is looked for.

    Those that the user gave; all models of a small table; else the hardest, by theory, of the models
    of a table, or of some truths that are drawn. `late` says when to stop asking theory.
    """
    if given:
        return given
    several = _possible_models(options) or _drawn(options, truths)
    if len(several) <= LISTED:
        return several
    return hardest(options, several[:LOOKED_AT], late)


def hardest(
    options: Options, several: Sequence[NamedTruth], late: Callable[[], bool]
) -> list[NamedTruth]:
    """Return the two hardest truths for each reason, each once."""
    found: dict[str, NamedTruth] = {}
    for score in scores(options):
        values = []
        for each in several:
            values.append(-math.inf if late() else _value(options.structure, each, score))
        order = np.argsort(-np.array(values), kind="stable")[:TOP]
        found |= {several[place].name: several[place] for place in order}
    return list(found.values())


def scores(options: Options) -> list[Score]:
    """Return what makes a truth hard; theory that cannot answer for this structure is left out."""
    structure, horizon = options.structure, options.horizon
    rewards = options.rewards
    several: list[Score] = [_closeness, lambda truth: -truth.gamma_star]
    if answers(structure, SUCB):
        policy = SUCB.paper(structure, **rewards)
        several.append(lambda truth: upper_bounds(truth, horizon, "SUCB", policy)[0].value)
    if answers(structure, SAE) and options.reward_range is not None:
        longer = SAE.paper(structure, horizon, alpha=1.0, **rewards)
        several.append(lambda truth: upper_bounds(truth, horizon, "SAE", longer)[0].value)
    several.append(lambda truth: cheapest_allocation(truth, options.family, options.sigma).constant)
    return several


def _closeness(truth: Truth) -> float:
    """The smaller the gap of the second best arm, the harder; ties cost nothing."""
    gaps = truth.gaps[truth.gaps > 0.0]
    return -float(gaps.min()) if len(gaps) else -math.inf


def _value(structure: Structure, truth: NamedTruth, score: Score) -> float:
    try:
        value = score(truth_of(structure, truth.means))
    except StructuredBanditsError:  # an extra is missing, or theory has no answer here
        return -math.inf
    return -math.inf if math.isnan(value) else value


def _possible_models(options: Options) -> list[NamedTruth]:
    """Return the models of a table whose means are possible, those with the smallest gaps first."""
    structure = options.structure
    names = getattr(structure, "model_names", None)
    if names is None:
        return []
    several = [
        NamedTruth(f"model {name}", structure.means(place)) for place, name in enumerate(names)
    ]
    low, high = options.ends
    possible = [each for each in several if low <= each.means.min() and each.means.max() <= high]
    if len(possible) <= LISTED:
        return possible
    return sorted(possible, key=lambda each: float(np.diff(np.sort(each.means)[-2:])[0]))


def _drawn(options: Options, truths: Truths) -> list[NamedTruth]:
    rng = np.random.default_rng([options.seed, LOOKED_AT])
    drawn = [truths.draw(rng) for _ in range(LOOKED_AT)]
    return [NamedTruth(means_text(means), means) for means in drawn]
