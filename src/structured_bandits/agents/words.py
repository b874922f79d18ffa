"""Sentences about models: which of them fit an agent's data, and which are likely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from structured_bandits.agents.likely import LikelyModel
from structured_bandits.base.text_tables import interval, number, printable
from structured_bandits.structures.base import Structure, labels_of, shortened
from structured_bandits.structures.boxes.structure import BoxStructure
from structured_bandits.structures.curves.structure import CurveStructure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.polyhedral.product import ProductStructure
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure

LONGEST_NAME = 40  # in a sentence
MOST = 8  # names in a sentence
LIKELIEST = 3  # models whose weights are told
NONE_FITS = "No model of the structure fits these intervals now."


def chance(probability: float) -> str:
    """Return a probability in percent.

    >>> chance(0.25), chance(1e-9), chance(1.0)
    ('25.0 %', 'below 0.1 %', 'over 99.9 %')
    """
    if probability < 0.001:
        return "below 0.1 %"
    return "over 99.9 %" if probability > 0.999 else f"{probability:.1%}".replace("%", " %")


def counted(count: int, what: str) -> str:
    """Return a number of things.

    >>> counted(1, "reward"), counted(1200, "reward")
    ('1 reward', '1,200 rewards')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def cut(text: str, longest: int) -> str:
    """Return a text on one line that is not too long."""
    text = printable(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def listed(names: Sequence[str]) -> str:
    """Return names in a sentence."""
    return shortened([cut(name, LONGEST_NAME) for name in names[:MOST]] + list(names[MOST:]), MOST)


def fitting_words(structure: Structure | None, fitting: Any) -> list[str]:
    """Say which models are inside the intervals of all arms."""
    if structure is None or fitting is None:
        return []
    if isinstance(structure, ProductStructure):
        return [
            f"Group {place}: {sentence}"
            for place, (group, own) in enumerate(zip(structure.groups, fitting, strict=True), 1)
            for sentence in fitting_words(group, own)
        ]
    if not fitting:
        return [NONE_FITS]
    if isinstance(structure, CurveStructure):
        ranges = [interval(*ends) for ends in fitting[:MOST]]
        more = f", and {len(fitting) - MOST:,} more ranges" if len(fitting) > MOST else ""
        return [f"The models that fit these intervals have parameters {', '.join(ranges)}{more}."]
    if isinstance(structure, (FiniteStructure, BoxStructure)):
        return [fit_words(len(fitting), structure.n_models, listed(fitting))]
    count = len(structure.pieces) if isinstance(structure, PolyhedralStructure) else len(fitting)
    if count == 1:
        return ["Some models of the structure fit these intervals."]
    return [
        f"Models that fit these intervals are in {len(fitting):,} of the structure's {count:,} pieces: "
        f"{listed(fitting)}."
    ]


def fit_words(fitting: int, total: int, names: str) -> str:
    """Say how many models of a table fit, and which."""
    fit = "fits" if fitting == 1 else "fit"
    return f"{fitting:,} of {counted(total, 'model')} {fit} these intervals: {names}."


def likely_words(structure: Structure | None, likely: Any, arms: Sequence[str]) -> list[str]:
    """Say which models are likely; `arms` are the names of the structure's arms."""
    if structure is None:
        return ["The policy uses no structure, so there are no models to compare."]
    if isinstance(structure, ProductStructure) and likely is not None:
        groups = zip(structure.groups, likely, strict=True)
        return [
            f"Group {place}: {sentence}"
            for place, (group, own) in enumerate(groups, 1)
            for sentence in likely_words(group, own, group.arm_names)
        ]
    if isinstance(likely, LikelyModel):
        means = [
            f"{number(mean)} for {cut(arm, LONGEST_NAME)}"
            for arm, mean in zip(labels_of(arms), likely.means, strict=True)
        ]
        more = ", …" if len(means) > MOST else ""
        return [
            f"The most likely parameter is {number(likely.parameter)}; its means are "
            f"{', '.join(means[:MOST])}{more}."
        ]
    if isinstance(likely, Mapping):
        return [weights_words(list(likely.items()))]
    if isinstance(structure, PolyhedralStructure):
        return ["Which model is most likely is not computed for polytopes."]
    if isinstance(structure, BoxStructure):
        return ["Which model is most likely is not computed for models with margins."]
    return []  # of a curve nothing was seen yet


def weights_words(models: Sequence[tuple[str, float]]) -> str:
    """Say how likely the likeliest models of a table are."""
    if models[0][1] <= models[-1][1] and len(models) > 1:
        return "All models are equally likely."
    told = [
        f"{cut(name, LONGEST_NAME)!r} ({chance(weight)})" for name, weight in models[:LIKELIEST]
    ]
    return f"If one of the models is right, the likeliest are {', '.join(told)}."
