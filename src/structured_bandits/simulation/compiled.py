"""The only place that imports Numba: the engine and everything it calls, compiled.

Policies, cells and worlds stay plain named tuples. Numba is told, once, that a method of a named
tuple is to be compiled from the class's own Python source, and that the functions marked `compilable`
are to be compiled as they are. Nothing is written twice.

The compiled engine is cached on disk. Numba's cache looks only at the file of the cached function, so
a hash of all sources of the package is part of the key (a closure variable), and what older sources
left behind is removed. Policies, cells or worlds from elsewhere go through an engine that is not
cached: their classes could change without the cache's knowing.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit, types
from numba.extending import overload, overload_method

import structured_bandits
from structured_bandits.compilable import COMPILABLE
from structured_bandits.environments.base import StoppingWorld, WorldLike
from structured_bandits.errors import ParameterError
from structured_bandits.planning.lookahead import LooksAhead
from structured_bandits.planning.streaks import StreakLike
from structured_bandits.policies.base import PolicyLike
from structured_bandits.simulation import engine
from structured_bandits.simulation.generator import Seats, take_seat
from structured_bandits.sources import SOURCES_HASH
from structured_bandits.structures.questions import Cells, LineCells
from structured_bandits.structures.spans import Spans

PROTOCOLS = (PolicyLike, StreakLike, LooksAhead, WorldLike, StoppingWorld, Cells, LineCells, Spans)

# Methods take and return records of many arrays, whose copies would cost more than a short plan.
INLINE: Any = {"forceinline": True}


def _register_method(name: str, parameters: str) -> None:
    """Let compiled code call method `name` of any named tuple.

    Numba matches overloads by the names of their parameters, hence the generated signature.
    """
    source = f"def typer({parameters}):\n    return getattr(self.instance_class, {name!r}, None)"
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    overload_method(types.BaseNamedTuple, name, strict=False, jit_options=INLINE)(  # type: ignore[call-arg]
        namespace["typer"]
    )


def _register_choice(
    function: Callable[..., Any], choose: Callable[[type], Callable[..., Any]], options: Any
) -> None:
    """Let compiled code call `function`: the one chosen for the class of its first argument."""
    overload(function, strict=False, jit_options=options)(
        lambda first, *others: choose(first.instance_class)
    )


def _register_function(function: Callable[..., Any]) -> None:
    """Let compiled code call `function`, compiled from its Python source."""
    overload(function, strict=False)(lambda *arguments: function)


def _register() -> None:
    for protocol in PROTOCOLS:
        for name, method in vars(protocol).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                _register_method(name, ", ".join(inspect.signature(method).parameters))
    for function in COMPILABLE:
        _register_function(function)


def _cached_engine(stamp: str) -> Any:
    """Return the engine with a disk cache that is valid for sources with this stamp only."""

    @njit(cache=True, nogil=True)
    def cached_runs(policy, world, horizon, planning, rng, seats, runs, stop):  # type: ignore[no-untyped-def]
        stamp  # noqa: B018  a closure variable is part of Numba's cache key
        engine.run_many(policy, world, horizon, planning, rng, seats, runs, stop)

    return cached_runs


def _forget_older(folder: Path, stamp: str) -> None:
    """Remove the cache files that other sources left behind; they would pile up over edits."""
    note = folder / "structured_bandits.sources"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if not note.exists() or note.read_text() != stamp:
            for path in folder.glob(f"{Path(__file__).stem}.*.nb[ic]"):
                path.unlink(missing_ok=True)
            note.write_text(stamp)


_register()
_register_function(engine.run)
_register_function(engine.run_many)
# Everything below `play` does without reference counts (see the engine). A function that takes memory
# cannot be compiled so, and says so; nothing goes wrong silently.
_register_choice(engine.play, engine.loop_for, {"_nrt": False})
_register_choice(engine.draw_streak, engine.drawing_for, INLINE)
cached_runs = _cached_engine(SOURCES_HASH)
_forget_older(Path(cached_runs.stats.cache_path), SOURCES_HASH)


_counting = {loop: njit(nogil=True)(loop) for loop in (engine.play_plans, engine.play_streaks)}


def uncached_runs(
    policy: Any,
    world: Any,
    horizon: int,
    planning: bool,
    rng: Any,
    seats: Seats,
    runs: engine.Runs,
    stop: Any,
) -> None:
    """Play runs of a policy or world from elsewhere: not cached, and free to take memory."""
    play = _counting[engine.loop_for(type(policy))]
    for place, start in enumerate(seats.starts):
        take_seat(seats.memory, start)
        record = engine.RunRecord(
            runs.checkpoints, runs.regret[place], runs.pulls[place], runs.arms[place]
        )
        table = engine.fresh_table(world.means)
        runs.plans[place], runs.empty[place] = play(
            policy, policy.init(), world, horizon, planning, rng, record, table, stop
        )


def engine_for(policy: Any, world: Any) -> Any:
    """Return the engine to play `policy` in `world`: cached if all of it is the library's own."""
    for record in (policy, world):
        if not hasattr(record, "_fields"):
            raise ParameterError(
                f"{type(record).__name__} is not a NamedTuple, which compiled code needs; "
                "make it one, or simulate with engine='python'"
            )
    return cached_runs if _is_ours(policy) and _is_ours(world) else uncached_runs


def _is_ours(record: Any) -> bool:
    """Do this named tuple and all named tuples inside it come from this package?"""
    inner = all(_is_ours(value) for value in record if hasattr(value, "_fields"))
    return inner and type(record).__module__.startswith(f"{structured_bandits.__name__}.")
