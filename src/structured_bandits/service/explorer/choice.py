"""What a reader has chosen, as an address carries it: the truth, another model, a horizon, a mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from structured_bandits.base.text_tables import printable
from structured_bandits.errors import ParameterError
from structured_bandits.service.explorer.models import listed, read_model, spelt
from structured_bandits.structures.base import Structure

HORIZON = 10_000
LONGEST = 10**12  # horizon
BETAS = (1, 2, 3)


class Choice(NamedTuple):
    """What a page shows.

    `truth` and `other` are models, as `models.read_model` returns them; `moved` is the arm whose mean is
    set to `mean`, and None for the mean that it has in the truth; `first` is the first model of the map.
    """

    truth: Any
    other: Any
    horizon: int = HORIZON
    beta: int = 1
    moved: int = 0
    mean: float | None = None
    first: int | None = None


def read_choice(structure: Structure, query: Mapping[str, str]) -> Choice:
    """Return what an address asks for; raise a readable error if it asks for what there is not.

    Without a truth it is the first model listed; without a second model, the first one that is another.
    """
    said = {name: text.strip() for name, text in query.items() if text.strip()}
    if "truth" in said:
        truth = read_model(structure, "truth", said["truth"])
    else:
        truth = listed(structure).models[0]
    if "other" in said:
        other = read_model(structure, "other", said["other"])
    else:
        other = next((m for m in listed(structure).models if m != truth), truth)
    beta = _whole("beta", said.get("beta", "1"), BETAS[0], BETAS[-1])
    moved = _whole("arm", said.get("arm", "0"), 0, structure.n_arms - 1)
    return Choice(
        truth,
        other,
        _whole("horizon", said.get("horizon", str(HORIZON)), 2, LONGEST),
        beta,
        moved,
        _mean(structure, said["mean"]) if "mean" in said else None,
        _whole("first", said["first"], 0, LONGEST) if "first" in said else None,
    )


def mean_limits(structure: Any) -> tuple[float, float]:
    """Return between what a mean can be moved: the range of the rewards, wider if the means are."""
    low, high = structure.range_of_rewards
    means = np.asarray(getattr(structure, "mean_ranges", [low, high]))
    finite = means[np.isfinite(means)]
    return min([low, *finite.tolist()]), max([high, *finite.tolist()])


def mean_span(structure: Any, *also: float) -> tuple[float, float]:
    """Return the part of these limits that is drawn: all means, others too, and as much beside."""
    low, high = mean_limits(structure)
    means = np.append(getattr(structure, "mean_ranges", [low, high]), also)
    finite = means[np.isfinite(means)]
    if not finite.size or finite.min() == finite.max():
        return low, high
    room = float(finite.max() - finite.min())
    return max(low, float(finite.min()) - room), min(high, float(finite.max()) + room)


def query_of(structure: Structure, choice: Choice, **changes: Any) -> str:
    """Return the query of an address for a choice with these changes; what is None is left out."""
    new = choice._replace(**changes)
    said = {
        "truth": spelt(structure, new.truth),
        "other": spelt(structure, new.other),
        "horizon": new.horizon,
        "beta": new.beta,
        "arm": new.moved,
        "mean": None if new.mean is None else repr(new.mean),
        "first": new.first,
    }
    return urlencode({name: value for name, value in said.items() if value is not None})


def _mean(structure: Structure, text: str) -> float:
    low, high = mean_limits(structure)
    try:
        value = float(text)
    except ValueError:
        value = low - 1.0
    if not low <= value <= high:
        raise ParameterError(
            f"mean={printable(text[:60])}: expected a number from {low:g} to {high:g}"
        )
    return value


def _whole(name: str, text: str, least: int, most: int) -> int:
    plain = text.replace(",", "").replace("_", "")
    if not (
        plain.isascii() and plain.isdigit() and len(plain) <= 15 and least <= int(plain) <= most
    ):
        raise ParameterError(
            f"{name}={printable(text[:60])}: expected a whole number from {least:,} to {most:,}"
        )
    return int(plain)
