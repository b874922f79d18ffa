"""The problems that experiments play: a structure with its true model, or random ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from structured_bandits.environments.bernoulli import Bernoulli
from structured_bandits.environments.gaussian import Gaussian
from structured_bandits.errors import FileFormatError
from structured_bandits.experiments.paper.structures import (
    figure1_left,
    figure1_right,
    figure1_right_as_curves,
    random_structure,
)
from structured_bandits.information.truth import true_means
from structured_bandits.structures.base import Structure
from structured_bandits.structures.files.load import reader
from structured_bandits.structures.files.paths import shortened
from structured_bandits.structures.files.toml import build_structure, check_keys
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure

RANDOM = "paper:random"
NAMED: dict[str, Callable[[], Structure]] = {
    "paper:figure1-left": figure1_left,
    "paper:figure1-left-flat": partial(figure1_left, informative=False),
    "paper:figure1-right": figure1_right,
    "paper:figure1-right-curves": figure1_right_as_curves,
}


@dataclass(frozen=True)
class Problem:
    """A structure, its true model and the world that pays its means."""

    structure: Structure
    truth: Any
    world: Bernoulli | Gaussian


def named_problem(path: Path, name: Any, truth: Any, rewards: str, sigma: float) -> Problem | None:
    """Return the problem of an experiment file, None if it is drawn in each run.

    `name` is that of a structure of the paper, a file, or a table that describes the structure.
    """
    if rewards not in ("bernoulli", "gaussian"):
        raise FileFormatError(
            f"{path}, rewards={rewards!r}: accepted are 'bernoulli' and 'gaussian'"
        )
    if name == RANDOM:
        return None
    if isinstance(name, dict):
        structure = build_structure(name, f"{path}, structure", path.parent, reader())
    elif name in NAMED:
        structure = NAMED[name]()
    elif name.startswith("paper:"):
        accepted = ", ".join([*NAMED, RANDOM])
        raise FileFormatError(f"{path}, structure={name!r}: accepted are files, {accepted}")
    else:
        structure = _structure_file(path, name)
    if truth is None:
        raise FileFormatError(f"{path}: 'truth' is missing; it names the true model")
    if structure.kind == "finite" and isinstance(truth, int):
        raise FileFormatError(f"{path}, truth={truth}: give the name of the true model, in quotes")
    if isinstance(truth, dict):
        truth = _place(path, structure, truth)
    means = true_means(structure, truth)
    world = Bernoulli(means) if rewards == "bernoulli" else Gaussian(means, sigma)
    return Problem(structure, truth, world)


def _place(path: Path, structure: Structure, truth: dict[str, Any]) -> Any:
    """Return the model of a polyhedral structure that a table gives by its parameters."""
    check_keys(truth, f"{path}, truth", ("parameter",), ("piece",))
    if not isinstance(structure, PolyhedralStructure):
        raise FileFormatError(f"{path}, truth={truth!r}: this structure has no such parameters")
    return structure.at(**truth)


def _structure_file(path: Path, name: str) -> Structure:
    return reader()(path.parent / name, f"{path}, structure={shortened(name)!r}", False)


def draw_random(run: int | np.random.Generator) -> Problem:
    """Draw one of the paper's random structures and its true model (Figure 2d)."""
    rng = run if isinstance(run, np.random.Generator) else np.random.default_rng(run)
    structure, truth = random_structure(rng)
    return Problem(structure, truth, Bernoulli(structure.means(truth)))
