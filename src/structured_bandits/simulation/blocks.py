"""Blocks of runs: the unit of work that a worker gets.

Everything here can be sent to another process; a block's result depends on the setting, the case and
its runs only, never on who computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.environments.base import WorldLike
from structured_bandits.errors import ParameterError
from structured_bandits.extras import needs
from structured_bandits.policies.base import PolicyLike
from structured_bandits.simulation import engine as python_engine
from structured_bandits.simulation.compatibility import check_together
from structured_bandits.simulation.engine import Runs
from structured_bandits.simulation.generator import fresh_generator, layout, seats

Block = dict[str, dict[str, Any]]  # policy name -> kind of table -> a row per run


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


def draw_rng(seed: int, run: int) -> np.random.Generator:
    """Return the generator from which the structure of a run is drawn."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(run,))))


def play_block(setting: Setting, case: Same | Draw, runs: range, stop: Ints) -> Block:
    """Play the given runs of every policy: all in one call if they play the same."""
    rng = fresh_generator()
    where = layout(rng)
    block: Block = {}
    together = [runs] if isinstance(case, Same) else [range(run, run + 1) for run in runs]
    for part in together:
        policies, world = case.at(setting, part.start)
        for name in setting.names:
            if name not in block:
                block[name] = _empty_tables(setting, len(runs), len(world.means))
            first = part.start - runs.start
            rows = slice(first, first + len(part))
            tables = Runs(setting.checkpoints, **{k: v[rows] for k, v in block[name].items()})
            play_runs = _engine(setting.engine, policies[name], world)
            seated = seats(where, setting.seed, part, name)
            play_runs(
                policies[name], world, setting.horizon, setting.planning, rng, seated, tables, stop
            )
    return block


def needs_python(policy: PolicyLike) -> bool:
    """Does the policy ask cells that call a solver? Those are no named tuples and do not compile."""
    return hasattr(policy, "cells") and not hasattr(policy.cells, "_fields")


def _empty_tables(setting: Setting, runs: int, arms: int) -> dict[str, Any]:
    return {
        "regret": np.zeros((runs, len(setting.checkpoints))),
        "pulls": np.zeros((runs, arms), np.int64),
        "plans": np.zeros(runs, np.int64),
        "empty": np.zeros(runs, np.int64),
        "arms": np.zeros((runs, setting.horizon if setting.record_arms else 0), np.int64),
    }


def _engine(engine: str, policy: PolicyLike, world: WorldLike) -> Callable[..., Any]:
    if engine == "python" or needs_python(policy):
        return python_engine.run_many
    with needs("sb.simulate", extra="simulate", otherwise="; engine='python' does without, slowly"):
        from structured_bandits.simulation.compiled import engine_for

    return engine_for(policy, world)
