"""What all runs of a simulation share, and what is played in which of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.errors import ParameterError
from structured_bandits.protocol import PolicyLike, WorldLike
from structured_bandits.simulation.compatibility import check_together

DRAWING = 2e-3  # seconds of draws before what was drawn is played


@dataclass(frozen=True)
class Setting:
    """What all runs of a simulation share."""

    names: tuple[str, ...]
    horizon: int
    seed: int
    checkpoints: Ints
    engine: str
    processes: bool  # does a policy run in Python, which needs a process for each worker?
    planning: bool
    record_arms: bool
    misfit: bool | None  # are e-values computed? None: where that is quick


@dataclass(frozen=True)
class Same:
    """The same policies and world in every run."""

    policies: dict[str, PolicyLike]
    world: WorldLike

    def at(self, setting: Setting, run: int) -> tuple[Mapping[str, PolicyLike], WorldLike]:
        """Return what is played in a run."""
        return self.policies, self.world


@dataclass(frozen=True)
class Draw:
    """Policies and world drawn afresh in every run."""

    draw: Callable[[np.random.Generator], tuple[Mapping[str, PolicyLike], WorldLike]]
    arms: int  # of the first run

    def at(self, setting: Setting, run: int) -> tuple[Mapping[str, PolicyLike], WorldLike]:
        """Draw and check what is played in a run."""
        policies, world = self.draw(draw_rng(setting.seed, run))
        if set(policies) != set(setting.names):
            raise ParameterError(
                f"draw: run {run} drew the policies {sorted(policies)}, "
                f"the first run {sorted(setting.names)}; the names must stay the same"
            )
        for name, policy in policies.items():
            check_together(name, policy, world, setting.horizon)
        if len(world.means) != self.arms:
            raise ParameterError(
                f"draw: run {run} has {len(world.means)} arms, the first run {self.arms}; "
                "the number of arms must stay the same"
            )
        return policies, world


@dataclass(frozen=True)
class Listed:
    """The same policies in every run, each run in a world of its own from a list.

    Who makes the list has checked that policies and worlds fit.
    """

    policies: dict[str, PolicyLike]
    worlds: Sequence[WorldLike]

    def at(self, setting: Setting, run: int) -> tuple[Mapping[str, PolicyLike], WorldLike]:
        """Return what is played in a run."""
        return self.policies, self.worlds[run]


Case = Same | Draw | Listed


def draw_rng(seed: int, run: int) -> np.random.Generator:
    """Return the generator from which the structure of a run is drawn."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(run,))))


class Drawn(NamedTuple):
    """Runs, and what is played in all of them."""

    runs: range
    policies: Mapping[str, PolicyLike]
    world: WorldLike


def drawn_together(setting: Setting, case: Case, runs: range) -> Iterator[list[Drawn]]:
    """Yield all runs with what they play; several of them at a time if they may be `drawn_ahead`.

    Python is several times as fast if compiled code does not take its place in the caches in between.
    What is large takes long to draw: of that, only one is held at a time.
    """
    if isinstance(case, Same):
        yield [Drawn(runs, *case.at(setting, runs.start))]
        return
    patience = DRAWING if isinstance(case, Draw) and drawn_ahead(case.draw) else 0.0
    drawn: list[Drawn] = []
    begin = time.perf_counter()
    for run in runs:
        drawn.append(Drawn(range(run, run + 1), *case.at(setting, run)))
        if time.perf_counter() - begin >= patience:
            yield drawn
            drawn, begin = [], time.perf_counter()
    if drawn:
        yield drawn


def drawn_ahead(draw: object) -> bool:
    """May several runs be drawn before the first of them is played?

    Only if `draw` says so: one of a user's own may fill the same arrays in every run.
    """
    return bool(getattr(draw, "ahead", False))
