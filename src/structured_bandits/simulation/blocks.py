"""Blocks of runs: the unit of work that a worker gets.

Everything here can be sent to another process; a block's result depends on the setting, the case and
its runs only, never on who computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.errors import ParameterError
from structured_bandits.extras import needs
from structured_bandits.policies.guarded import Guarded
from structured_bandits.protocol import PolicyLike, WorldLike
from structured_bandits.simulation import engine as python_engine
from structured_bandits.simulation.compatibility import check_together
from structured_bandits.simulation.delayed import comes_late, middle_reward
from structured_bandits.simulation.game import Game, Runs
from structured_bandits.simulation.generator import (
    Memory,
    RunStarts,
    fresh_generator,
    known_layout,
    run_starts,
    start_of_run,
)
from structured_bandits.simulation.misfits import final_e_values
from structured_bandits.structures.questions import compiles

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


def play_block(setting: Setting, case: Case, runs: range, stop: Ints) -> Block:
    """Play the given runs of every policy: all in one call if they play the same."""
    rng = fresh_generator()
    layout = known_layout(rng)
    starts = {
        name: run_starts(layout, setting.seed, runs, name) if layout else None
        for name in setting.names
    }
    block: Block = {}
    together = [runs] if isinstance(case, Same) else [range(run, run + 1) for run in runs]
    for part in together:
        policies, world = case.at(setting, part.start)
        for name in setting.names:
            if name not in block:
                block[name] = _empty_tables(setting, len(runs), world)
            first = part.start - runs.start
            rows = slice(first, first + len(part))
            own = {key: table[rows] for key, table in block[name].items() if key in Runs._fields}
            tables = Runs(setting.checkpoints, **own)
            play = engine_of(setting.engine, policies[name], world)
            middle = middle_reward(policies[name])
            game = Game(world, setting.horizon, setting.planning, rng, stop, middle)
            begin = starts[name]
            if begin is None:
                _play_one_by_one(play, policies[name], game, setting.seed, part, name, tables)
            else:
                play(policies[name], game, RunStarts(begin.memory, begin.words[rows]), tables)
            block[name]["e_values"][rows] = final_e_values(
                policies[name], tables.pulls, tables.sums, setting.misfit
            )
    return block


def _play_one_by_one(
    play: Callable[..., Any],
    policy: PolicyLike,
    game: Game,
    seed: int,
    runs: range,
    name: str,
    tables: Runs,
) -> None:
    """Play runs with the generator set in the public way; the engine sets memory that nobody reads."""
    nowhere = Memory(np.zeros(4, np.uint64), np.zeros(2, np.uint32))
    for place, run in enumerate(runs):
        game.rng.bit_generator.state = start_of_run(seed, run, name).state
        rows: Any = (part[place : place + 1] for part in tables[1:])
        one = Runs(tables.checkpoints, *rows)
        play(policy, game, RunStarts(nowhere, np.zeros((1, 4), np.uint64)), one)


def needs_python(policy: PolicyLike) -> bool:
    """Can the policy, or can the cells or the posterior that it asks, not be compiled?

    Of a guard that goes for both of its policies, and for the test of the structure.
    """
    asked = [getattr(policy, name) for name in ("cells", "posterior") if hasattr(policy, name)]
    if isinstance(policy, Guarded):
        if needs_python(policy.inner) or needs_python(policy.fallback):
            return True
        asked.append(policy.test.models)
    return not (all(map(compiles, asked)) and getattr(type(policy), "compiles", True))


def _empty_tables(setting: Setting, runs: int, world: WorldLike) -> dict[str, Any]:
    places = len(setting.checkpoints)
    return {
        "regret": np.zeros((runs, places)),
        "pulls": np.zeros((runs, len(world.means)), np.int64),
        "sums": np.zeros((runs, len(world.means))),
        "e_values": np.zeros(runs),
        "plans": np.zeros(runs, np.int64),
        "empty": np.zeros(runs, np.int64),
        "alarms": np.zeros(runs, np.int64),
        "arms": np.zeros((runs, setting.horizon if setting.record_arms else 0), np.int64),
        "out": np.zeros((runs, places if comes_late(type(world)) else 0), np.int64),
    }


def engine_of(engine: str, policy: PolicyLike, world: WorldLike) -> Callable[..., Any]:
    """Return what plays many runs: compiled if that is wanted and the policy can be."""
    if engine == "python" or needs_python(policy):
        return python_engine.run_many
    with needs("sb.simulate", extra="simulate", otherwise="; engine='python' does without, slowly"):
        from structured_bandits.simulation.compiled import engine_for

    return engine_for(policy, world)
