"""Blocks of runs: the unit of work that a worker gets.

Everything here can be sent to another process; a block's result depends on the setting, the case and
its runs only, never on who computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.extras import needs
from structured_bandits.lookahead.base import tables_of
from structured_bandits.policies.base import Policy
from structured_bandits.policies.guarded import Guarded
from structured_bandits.protocols import PolicyLike, WorldLike
from structured_bandits.simulation import engine as python_engine
from structured_bandits.simulation.delayed import comes_late, middle_reward
from structured_bandits.simulation.generator import (
    Layout,
    Memory,
    RunStarts,
    fresh_generator,
    known_layout,
    run_starts,
    start_of_run,
)
from structured_bandits.simulation.misfits import FinalEValues
from structured_bandits.simulation.run_spec import Case, Drawn, Game, Runs, Setting, drawn_together
from structured_bandits.structures.questions import compiles

Block = dict[str, dict[str, Any]]  # policy name -> kind of table -> a row per run


def play_block(setting: Setting, case: Case, runs: range, stop: Ints) -> Block:
    """Play the given runs of every policy: all in one call if they play the same."""
    rng = fresh_generator()
    empty_game = Game(None, setting.horizon, setting.planning, rng, stop)
    sheets: dict[str, _Sheet] = {}
    for drawn in drawn_together(setting, case, runs):
        sheets = sheets or _sheets(setting, runs, known_layout(rng), drawn[0].world)
        calls = [
            _call(setting, sheet, each, empty_game) for each in drawn for sheet in sheets.values()
        ]
        for call in calls:
            call.play(call.policy, call.game, call.starts, call.tables)
        for call in calls:
            sheets[call.name].e_values.played(call.policy, call.rows)
    for sheet in sheets.values():
        sheet.e_values.finish()
    return {name: sheet.tables for name, sheet in sheets.items()}


class _Sheet(NamedTuple):
    """Where the runs of a policy start, and where they are written down."""

    name: str
    runs: range
    starts: RunStarts | None  # None: the state of a generator can only be set in the public way
    tables: dict[str, Any]
    e_values: FinalEValues


def _sheets(
    setting: Setting, runs: range, layout: Layout | None, world: WorldLike
) -> dict[str, _Sheet]:
    """Return a sheet for each policy."""
    sheets = {}
    for name in setting.names:
        starts = run_starts(layout, setting.seed, runs, name) if layout else None
        tables = _empty_tables(setting, len(runs), world)
        at_end = FinalEValues(tables["e_values"], tables["pulls"], tables["sums"], setting.misfit)
        sheets[name] = _Sheet(name, runs, starts, tables, at_end)
    return sheets


class _Call(NamedTuple):
    """A call of the engine."""

    name: str
    policy: PolicyLike
    rows: slice  # of the block
    play: Callable[..., Any]
    game: Game
    starts: RunStarts
    tables: Runs


def _call(setting: Setting, sheet: _Sheet, drawn: Drawn, empty_game: Game) -> _Call:
    """Return how the engine is called for one policy in these runs."""
    name, runs = sheet.name, drawn.runs
    policy, world = drawn.policies[name], drawn.world
    rows = slice(runs.start - sheet.runs.start, runs.stop - sheet.runs.start)
    own = {key: table[rows] for key, table in sheet.tables.items() if key in Runs._fields}
    play = engine_of(setting.engine, policy, world)
    game = empty_game._replace(world=world, middle=middle_reward(policy), tables=tables_of(policy))
    if sheet.starts is None:
        play = partial(_play_one_by_one, play, setting.seed, runs, name)
        starts = _starts_nowhere()
    else:
        starts = RunStarts(sheet.starts.memory, sheet.starts.words[rows])
    return _Call(name, policy, rows, play, game, starts, Runs(setting.checkpoints, **own))


def _starts_nowhere() -> RunStarts:
    """Return a start in memory that nobody reads."""
    memory = Memory(np.zeros(4, np.uint64), np.zeros(2, np.uint32))
    return RunStarts(memory, np.zeros((1, 4), np.uint64))


def _play_one_by_one(
    play: Callable[..., Any],
    seed: int,
    runs: range,
    name: str,
    policy: PolicyLike,
    game: Game,
    starts: RunStarts,
    tables: Runs,
) -> None:
    """Play runs with the generator set in the public way; the engine sets it nowhere."""
    for place, run in enumerate(runs):
        game.rng.bit_generator.state = start_of_run(seed, run, name).state
        rows: Any = (part[place : place + 1] for part in tables[1:])
        play(policy, game, starts, Runs(tables.checkpoints, *rows))


#: Parts of policies that may call solvers, or else cannot be compiled.
PARTS = ("cells", "posterior", "finder", "widths")


def needs_python(policy: Any) -> bool:
    """Can the policy, or can what it asks, not be compiled?

    Of a guard that goes for both of its policies, and for the test of the structure.
    """
    asked = [getattr(policy, name) for name in PARTS if hasattr(policy, name)]
    if isinstance(policy, Policy) and any(map(needs_python, policy.inner_policies)):
        return True
    if isinstance(policy, Guarded):
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
    if engine == "python":
        return python_engine.run_many
    with needs("sb.simulate", extra="simulate", otherwise="; engine='python' does without, slowly"):
        from structured_bandits.simulation.compiled import compile_kernels, engine_for

    if needs_python(policy):
        compile_kernels()
        return python_engine.run_many
    return engine_for(policy, world)
