"""The problems that experiments play: a structure with its true model, or random ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.checks import checked_above
from structured_bandits.base.input_files import check_keys, short_name
from structured_bandits.errors import FileFormatError
from structured_bandits.protocols import WorldLike
from structured_bandits.structures.base import Structure
from structured_bandits.structures.boxes.structure import BoxStructure
from structured_bandits.structures.files.load import reader
from structured_bandits.structures.files.toml import build_structure
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure
from structured_bandits.theory.truth import true_means
from structured_bandits.worlds.bernoulli import Bernoulli
from structured_bandits.worlds.bounded import Bounded
from structured_bandits.worlds.delays import Delayed, GeometricDelay, checked_delay
from structured_bandits.worlds.gaussian import Gaussian

PlayedWorld = Bernoulli | Bounded | Gaussian


@dataclass(frozen=True)
class Problem:
    """A structure, its true model and the world that pays its means."""

    structure: Structure
    truth: Any
    world: PlayedWorld
    late: Delayed | None = None  # the world with its delays, if rewards come late

    @property
    def played(self) -> WorldLike:
        """The world in which policies play."""
        return self.late or self.world


@dataclass(frozen=True)
class RandomProblems:
    """Problems that are drawn, a fresh one in each run."""

    draw: Callable[[np.random.Generator], Problem]


class Delays(NamedTuple):
    """How late rewards come, as an experiment file writes it."""

    usual: Any  # None for at once
    failures: Any  # None for as late as others


NO_DELAYS = Delays(None, None)

#: Structures that experiment files may name instead of a file, and random problems.
NamedStructures = Mapping[str, Callable[[], Structure] | RandomProblems]


@dataclass(frozen=True)
class RewardLaw:
    """How the rewards of an experiment are drawn around their means: its `rewards`, and what they take.

    Bernoulli and bounded ones follow the range that the structure declares.
    """

    kind: str = "bernoulli"  # or "bounded", "gaussian"
    sigma: float = 0.5  # of Gaussian rewards
    spread: float = 0.25  # of bounded ones

    def world(self, structure: Structure, means: Any) -> PlayedWorld:
        """Return the world that pays these means."""
        if self.kind == "gaussian":
            return Gaussian(means, self.sigma)
        if self.kind == "bounded":
            return Bounded(means, structure.range_of_rewards, self.spread)
        return Bernoulli(means, structure.range_of_rewards)


def read_rewards(path: Path, content: Mapping[str, Any]) -> RewardLaw:
    """Return the law of the rewards that an experiment file asks for."""
    kind = content.get("rewards", "bernoulli")
    if kind not in ("bernoulli", "bounded", "gaussian"):
        raise FileFormatError(
            f"{path}, rewards={kind!r}: accepted are 'bernoulli', 'bounded' and 'gaussian'"
        )
    if "spread" in content and kind != "bounded":
        raise FileFormatError(
            f"{path}, spread={content['spread']!r}: it is for rewards = 'bounded', not for {kind!r}"
        )
    sigma = checked_above("sigma", content.get("sigma", 0.5), 0.0)
    return RewardLaw(kind, sigma, content.get("spread", 0.25))


def read_problem(
    path: Path, name: Any, truth: Any, rewards: RewardLaw, delays: Delays, named: NamedStructures
) -> Problem | RandomProblems:
    """Return the problem of an experiment file.

    `name` is one of those in `named`, a file, or a table that describes the structure.
    """
    if isinstance(name, dict):
        structure = build_structure(name, f"{path}, structure", path.parent, reader())
    elif name in named:
        known = named[name]
        if isinstance(known, RandomProblems):
            if delays != NO_DELAYS:
                raise FileFormatError(f"{path}, structure={name!r}: its rewards come at once")
            return known
        structure = known()
    elif ":" in name and not os.path.isfile(path.parent / name):
        accepted = ", ".join(["files", *named])
        raise FileFormatError(f"{path}, structure={name!r}: accepted are {accepted}")
    else:
        structure = _structure_file(path, name)
    if truth is None:
        raise FileFormatError(f"{path}: 'truth' is missing; it names the true model")
    if hasattr(structure, "model_names") and isinstance(truth, int):
        raise FileFormatError(f"{path}, truth={truth}: give the name of the true model, in quotes")
    if isinstance(truth, dict):
        truth = _place(path, structure, truth)
    world = rewards.world(structure, true_means(structure, truth))
    return Problem(structure, truth, world, _late_world(path, world, delays))


def _late_world(path: Path, world: PlayedWorld, delays: Delays) -> Delayed | None:
    if delays == NO_DELAYS:
        return None
    if delays.failures is not None and isinstance(world, Gaussian):
        raise FileFormatError(f"{path}, delay_failures: Gaussian rewards have no lowest one")
    usual = 0 if delays.usual is None else _delay(path, "delay", delays.usual)
    failures = delays.failures
    return Delayed(
        world, usual, None if failures is None else _delay(path, "delay_failures", failures)
    )


def _delay(path: Path, key: str, written: Any) -> Any:
    """Return a delay as `Delayed` takes it; errors name the key of the file."""
    delay = written
    if isinstance(written, dict):
        check_keys(written, f"{path}, {key}", ("geometric",), ())
        delay = GeometricDelay(written["geometric"])
    checked_delay(f"{path}, {key}", delay)
    return delay


def _place(path: Path, structure: Structure, truth: dict[str, Any]) -> Any:
    """Return the model of a piece or box that a table gives by its parameters."""
    check_keys(truth, f"{path}, truth", ("parameter",), ("piece",))
    if not isinstance(structure, (PolyhedralStructure, BoxStructure)):
        raise FileFormatError(f"{path}, truth={truth!r}: this structure has no such parameters")
    return structure.at(**truth)


def _structure_file(path: Path, name: str) -> Structure:
    return reader()(path.parent / name, f"{path}, structure={short_name(name)!r}", {})
