"""The test of a structure: which models speak for it, and which grid of them against it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.errors import StructureError
from structured_bandits.inference.misfit.alternatives import grid_of
from structured_bandits.inference.misfit.e_value import MisfitTest
from structured_bandits.inference.misfit.max_likelihood import (
    BoxModels,
    GroupModels,
    LineModels,
    TableModels,
)
from structured_bandits.inference.misfit.polytopes import PieceModels, some_models
from structured_bandits.inference.misfit.reward_likelihood import RewardScale, reward_scale
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import ModelLines

GRID = 64  # models of a curve or a polytope that are looked at with one arm set free
MOST_ENTRIES = 1_000_000  # of a table: a look takes about as many hundredths of a microsecond
MOST_ROWS = 20_000  # entries of the constraints of all polytopes: a look takes a fifth of a second


def misfit_test(
    structure: Structure, bottom: float, top: float, sigma: float, quick: bool = False
) -> MisfitTest | None:
    """Return the test of a structure for rewards in a range, or Gaussian ones (bottom = -inf).

    None for structures that are too large to look at again and again, for kinds from elsewhere that
    know no `model_lines`, and no `mean_ranges` or no `polytopes`, and, if it has to be `quick`, for
    those whose likeliest model takes programs to find.
    """
    lines = getattr(structure, "model_lines", None)
    if lines is None or len(lines) > 1:
        quickly = structure.kind == "boxes" or not quick
        if not (quickly and hasattr(structure, "mean_ranges")):
            return None
        return _test_of_pieces(structure, lines, bottom, top, sigma)
    (line,) = lines
    listed = not line.length.any()  # a table
    if listed and line.first.size > MOST_ENTRIES:
        return None  # before anything of its size is computed
    scale = reward_scale(bottom, top, sigma, lambda: _ranges_on(line))
    if listed:
        return _test(scale, line.first, TableModels(len(line.first)), _prior(structure, line))
    return _test(scale, models_on(line, GRID), LineModels(line.first, line.last))


def _ranges_on(line: ModelLines) -> Floats:
    """Return the least and the largest mean of each arm (arms x 2)."""
    low, high = line.first.min(axis=0), line.first.max(axis=0)
    if line.last is not line.first:  # as those of a table are
        low, high = np.minimum(low, line.last.min(axis=0)), np.maximum(high, line.last.max(axis=0))
    return np.stack([low, high], axis=1)


def _test(scale: RewardScale, means: Floats, models: Any, weights: Any = None) -> MisfitTest:
    if weights is None:
        prior = np.full(len(means), -math.log(len(means)))
    else:
        shares = np.asarray(weights, np.float64)
        with np.errstate(divide="ignore"):
            prior = np.log(shares) - math.log(shares.sum())
    return MisfitTest(scale, grid_of(means, prior, scale), models)


def _prior(structure: Structure, line: ModelLines) -> Any:
    """Return the weights of the models that a structure has, if it has any."""
    prior = getattr(structure, "prior", None)
    return prior if prior is not None and len(prior) == len(line.first) else None


def models_on(line: ModelLines, count: int) -> Floats:
    """Return about `count` models of a curve, evenly spread in the parameter, a few on each cell."""
    if not line.length.any():
        return line.first
    share = line.length / line.length.sum()
    rows = []
    for first, last, part in zip(line.first, line.last, share, strict=True):
        number = max(1, round(count * part))
        places = (np.arange(number) + 0.5) / number
        rows.append(first + places[:, None] * (last - first))
    return np.concatenate(rows)


def _test_of_pieces(
    structure: Any, lines: Any, bottom: float, top: float, sigma: float
) -> MisfitTest | None:
    scale = reward_scale(bottom, top, sigma, lambda: structure.mean_ranges)
    if structure.kind == "boxes":
        return _test(scale, structure.rows, BoxModels(structure.cells.least, structure.cells.most))
    if lines is not None:
        return _test(scale, models_of_groups(lines), GroupModels(tuple(lines)))
    try:
        pieces = structure.polytopes
    except StructureError:  # a kind from elsewhere that has ranges of means and no such form
        return None
    if sum(piece.rows.size for piece in pieces) > MOST_ROWS:
        return None
    return _test(scale, some_models(pieces, scale, GRID), PieceModels(pieces))


def models_of_groups(lines: Sequence[ModelLines]) -> Floats:
    """Return GRID models of a product, those of its groups combined at random."""
    rng = np.random.default_rng(0)  # fixed: the grid is part of the definition of the e-value
    return np.hstack([rng.permutation(models_on_group(line, GRID)) for line in lines])


def models_on_group(line: ModelLines, count: int) -> Floats:
    """Return exactly `count` models of a group of a product: all of them in turn, or spread evenly."""
    models = models_on(line, count)
    places = np.arange(count)
    spread = places * len(models) // count if len(models) > count else places % len(models)
    return models[spread]
