"""The models of a structure: how an address spells them, and what the page calls them.

A row of a table is spelt by its index, a model of a curve by its parameter, any other model by its
means, separated by commas. Means that are no model of the structure may be spelt as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.text_tables import number, printable
from structured_bandits.errors import ParameterError
from structured_bandits.inference.misfit.build import GRID, models_of_groups
from structured_bandits.inference.misfit.polytopes import some_models
from structured_bandits.inference.misfit.reward_likelihood import reward_scale
from structured_bandits.structures.base import Structure, labels_of
from structured_bandits.theory.truth import true_means

MOST_SPELT = 20_000  # characters of a model in an address: a thousand means in full
LARGEST = 1e9  # mean or parameter that is taken from an address


class Listed(NamedTuple):
    """Models to choose from, and how they were chosen ("" if these are all)."""

    models: Sequence[Any]
    choice: str


def has_rows(structure: Structure) -> bool:
    """Are the models rows of a table, each with a name?"""
    return structure.kind in ("finite", "boxes") and hasattr(structure, "model_names")


def listed(structure: Any) -> Listed:
    """Return the models to choose from; of polytopes, one for each arm that can be best."""
    if has_rows(structure):
        return Listed(range(len(structure.model_names)), "")
    if structure.kind == "curves":
        return Listed(*structure.listed_models())
    leading = [*_leading(_sampled(structure))]
    return Listed(leading, "one example for each arm that can be best; there are many others")


def _sampled(structure: Any) -> Floats:
    """Return the models with which the e-value works (models x arms)."""
    lines = getattr(structure, "model_lines", None)
    if lines is not None:
        return models_of_groups(lines)
    low, high = structure.range_of_rewards
    scale = reward_scale(low, high, 0.5 * (high - low), lambda: structure.mean_ranges)
    return some_models(structure.polytopes, scale, GRID)


def _leading(means: Floats) -> dict[tuple[float, ...], None]:
    """Return for each arm that is best in some of these models the one in which it leads most."""
    leads = means.max(axis=1)
    if means.shape[1] > 1:
        leads = leads - np.partition(means, -2, axis=1)[:, -2]
    found: dict[tuple[float, ...], None] = {}
    for arm in np.unique(means.argmax(axis=1)):
        own = np.flatnonzero(means.argmax(axis=1) == arm)
        found[tuple(means[own[leads[own].argmax()]].tolist())] = None
    return found


def spelt(structure: Structure, model: Any) -> str:
    """Return how an address spells a model."""
    if isinstance(model, (int, np.integer)) and has_rows(structure):
        return str(int(model))
    if isinstance(model, (int, float, np.number)):
        return repr(float(model))
    return ",".join(map(repr, means_of(structure, model).tolist()))


def read_model(structure: Structure, name: str, text: str) -> Any:
    """Return the model that a parameter of an address spells; raise if there is none."""
    if len(text) > MOST_SPELT:
        raise ParameterError(f"{name}: it is {len(text):,} characters long, at most {MOST_SPELT:,}")
    if has_rows(structure) and "," not in text:
        return _row(structure, name, text)
    numbers = [_number(name, part) for part in text.split(",")]
    if structure.kind == "curves" and len(numbers) == 1:
        structure.means(numbers[0])  # raises if it is in no piece
        return numbers[0]
    if len(numbers) != structure.n_arms:
        raise ParameterError(
            f"{name}={printable(text[:60])}: expected {structure.n_arms} means, separated by commas, "
            f"and found {len(numbers)}"
        )
    return tuple(numbers)


def _row(structure: Any, name: str, text: str) -> int:
    count = len(structure.model_names)
    plain = text.isascii() and text.isdigit() and len(text) <= 12
    if not plain or int(text) >= count:
        raise ParameterError(
            f"{name}={printable(text[:60])}: expected the number of a model, from 0 to {count - 1}"
        )
    return int(text)


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= LARGEST:
        raise ParameterError(f"{name}: {printable(text[:60])!r} is not a number up to {LARGEST:g}")
    return value


def means_of(structure: Structure, model: Any) -> Floats:
    """Return the means of a model."""
    return true_means(structure, model)


def label_of(structure: Any, model: Any) -> str:
    """Return what a page calls a model."""
    if isinstance(model, tuple):
        return f"means {_few_numbers(model)}"
    if has_rows(structure):
        (label,) = labels_of([structure.model_name(model)], "model")
        return str(label)
    return (
        f"parameter {structure.model_name(model)}"
        if structure.kind == "curves"
        else (f"model {structure.model_name(model)}")
    )


def _few_numbers(values: Sequence[float], most: int = 6) -> str:
    shown = ", ".join(number(value, 3) for value in values[:most])
    return f"{shown}, …" if len(values) > most else shown
