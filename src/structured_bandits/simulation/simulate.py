"""Running policies in a world: many runs, seeds, workers."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.checks import checked_count
from structured_bandits.errors import ParameterError
from structured_bandits.policies.base import Policy
from structured_bandits.policies.certain import Certain
from structured_bandits.policies.guarded import Guarded
from structured_bandits.policies.horizons import tuned_horizon
from structured_bandits.protocols import PolicyLike, WorldLike
from structured_bandits.simulation.batches import Block, needs_python
from structured_bandits.simulation.compatibility import check_together, warn_of_horizons
from structured_bandits.simulation.result import Result
from structured_bandits.simulation.run_spec import Draw, Same, Setting, draw_rng
from structured_bandits.simulation.warmup import first_runs
from structured_bandits.simulation.workers import core_count, run_blocks, run_blocks_on, slots_of

ENGINES = ("auto", "compiled", "python")


def simulate(
    policies: Mapping[str, PolicyLike] | PolicyLike,
    world: WorldLike,
    horizon: int,
    runs: int = 100,
    seed: int = 0,
    checkpoints: int | Sequence[int] = 200,
    workers: int | None = None,
    engine: str = "auto",
    planning: bool = True,
    record_arms: bool = False,
    progress: bool | None = None,
    misfit: bool | None = None,
    stop: float | None = None,
    first_run: int = 0,
    executor: Any = None,
) -> Result:
    """Play each policy in `world` for `horizon` pulls, `runs` times.

    `policies` is a policy, or a dictionary from names to policies; `world` pays the rewards, such as
    `sb.Bernoulli(means)`. Returns a `Result`: `result.summary()` is a table of the regrets,
    `result.plot()` draws them, `result.save(path)` keeps all.

    Run i of the policy named P draws from SeedSequence(seed, spawn_key=(i, crc32(P))): more runs, more
    policies or other workers change nothing else.

    - `checkpoints`: the numbers of pulls at which regret is kept, or how many such numbers, evenly
      spread.
    - `workers`: how many runs are played at the same time. None means all cores for compiled runs and
      one for Python runs. Compiled runs are threads (they do not hold Python's lock); Python runs get
      processes of their own, so a script needs its `if __name__ == "__main__":`.
    - `engine`: "compiled" (Numba), "python", the same code uncompiled, or "auto": compiled, but before
      anything is compiled or loaded, up to half a second of runs in Python, which is often enough
      (STRUCTURED_BANDITS_PATIENCE=0 in the environment: none). The results are the same. Policies that
      solve linear programs (on polyhedral structures without a closed form) always run in Python.
    - `planning=False`: policies whose choice depends on every reward decide before each pull. The result
      has the same distribution; it only takes longer.
    - `record_arms`: keep the arm of every pull.
    - `progress`: whether to show a bar on standard error. None shows one if that is a terminal and the
      simulation takes a while.
    - `misfit`: compute the e-value against a policy's structure at the end of each run
      (`Result.e_values`). None means for all structures except polytopes, where it takes linear and
      quadratic programs.
    - `stop`: a level, such as 0.05: note in `Result.alarms` after how many pulls each run was certain
      which arm is best, with an error of at most this, given that one of the models of the policy's
      structure is right. The policy goes on (`sb.Certain` has it settle); it is played pull by pull.
    - `first_run`: the number of the first run, so that more runs can be added to earlier ones.
    - `executor`: an object that plays the runs, anything with `submit` as in `concurrent.futures`: a
      pool of processes, or a cluster (`client.get_executor()` of dask). The results are the same to
      the last bit where the versions are. `workers` then says how many tasks it does at the same time.
    """
    policies = _named(policies)
    if stop is not None:
        policies = {
            name: Certain(policy, share=0.0, level=stop, settles=False)  # type: ignore[arg-type]
            for name, policy in policies.items()
        }
    setting = _setting(policies, horizon, seed, checkpoints, engine, planning, record_arms, misfit)
    for name, policy in policies.items():
        check_together(name, policy, world, setting.horizon)
    warn_of_horizons(policies, setting.horizon)
    about = {
        "world": repr(world),
        "means": world.means.tolist(),
        "policies": {name: _described(policy) for name, policy in policies.items()},
    }
    numbers = _run_numbers(first_run, runs)
    players = Players(workers, executor, progress)
    return _run(setting, Same(dict(policies), world), numbers, players, about)


def simulate_random(
    draw: Callable[[np.random.Generator], tuple[Mapping[str, PolicyLike], WorldLike]],
    horizon: int,
    runs: int = 100,
    seed: int = 0,
    checkpoints: int | Sequence[int] = 200,
    workers: int | None = None,
    engine: str = "auto",
    planning: bool = True,
    record_arms: bool = False,
    progress: bool | None = None,
    misfit: bool | None = None,
    first_run: int = 0,
    executor: Any = None,
) -> Result:
    """Like `simulate`, with policies and world drawn afresh in each run.

    `draw(rng)` returns the policies and the world; in run i, `rng` is made from SeedSequence(seed,
    spawn_key=(i,)). Each run must draw the same policy names and number of arms.
    """
    numbers = _run_numbers(first_run, runs)
    first = draw(draw_rng(checked_count("seed", seed, least=0), numbers.start))
    if not isinstance(first, tuple) or len(first) != 2 or not hasattr(first[1], "means"):
        raise ParameterError(f"draw: expected it to return (policies, world), got {first!r}")
    policies, world = _named(first[0]), first[1]
    about = {
        "world": f"drawn by {getattr(draw, '__name__', type(draw).__name__)}, the first: {world!r}",
        "policies": {name: _described(policy) for name, policy in policies.items()},
    }
    setting = _setting(policies, horizon, seed, checkpoints, engine, planning, record_arms, misfit)
    warn_of_horizons(policies, setting.horizon)  # here, not in the threads that draw again
    players = Players(workers, executor, progress)
    return _run(setting, Draw(draw, len(world.means)), numbers, players, about)


class Players(NamedTuple):
    """Who plays, and whether a bar shows it."""

    workers: int | None
    executor: Any
    progress: bool | None

    def play(self, setting: Setting, case: Same | Draw, runs: range) -> list[Block]:
        """Return the blocks of all runs."""
        if self.executor is None:
            workers = _worker_count(self.workers, setting)
            first, left = first_runs(setting, case, runs)
            return first + (run_blocks(setting, case, left, workers, self.progress) if left else [])
        given = self.workers
        slots = slots_of(self.executor) if given is None else checked_count("workers", given)
        return run_blocks_on(self.executor, setting, case, runs, slots, self.progress)


def _run(
    setting: Setting, case: Same | Draw, runs: range, players: Players, about: dict[str, Any]
) -> Result:
    blocks = players.play(setting, case, runs)
    return Result(
        checkpoints=setting.checkpoints,
        regret=_gathered(blocks, setting, "regret"),
        pulls=_gathered(blocks, setting, "pulls"),
        plans=_gathered(blocks, setting, "plans"),
        empty=_gathered(blocks, setting, "empty"),
        sums=_gathered(blocks, setting, "sums"),
        e_values=_gathered(blocks, setting, "e_values"),
        alarms=_gathered(blocks, setting, "alarms"),
        arms=_gathered(blocks, setting, "arms") if setting.record_arms else {},
        out=_where_late(_gathered(blocks, setting, "out")),
        info={
            **about,
            "horizon": setting.horizon,
            "runs": len(runs),
            "first_run": runs.start,
            "seed": setting.seed,
            "engine": setting.engine,
            "planning": setting.planning,
            "versions": versions_of(setting.engine),
        },
    )


def _run_numbers(first: int, runs: int) -> range:
    """Return the numbers of the runs to play."""
    start = checked_count("first_run", first, least=0)
    return range(start, start + checked_count("runs", runs))


def _gathered(blocks: list[Block], setting: Setting, key: str) -> dict[str, Any]:
    return {name: np.concatenate([block[name][key] for block in blocks]) for name in setting.names}


def _where_late(out: dict[str, Ints]) -> dict[str, Ints]:
    """Return how many rewards were out, nothing if all rewards came at once."""
    return out if any(table.shape[1] for table in out.values()) else {}


def _named(policies: Mapping[str, PolicyLike] | PolicyLike) -> dict[str, PolicyLike]:
    if not isinstance(policies, Mapping):
        kind = Guarded if isinstance(policies, Guarded) else type(policies)
        return {kind.__name__: policies}
    if not policies:
        raise ParameterError("policies: none given")
    for name in policies:
        if not isinstance(name, str):
            raise ParameterError(f"policies: the name {name!r} is not a string")
    return dict(policies)


def _setting(
    policies: Mapping[str, PolicyLike],
    horizon: int,
    seed: int,
    checkpoints: int | Sequence[int],
    engine: str,
    planning: bool,
    record_arms: bool,
    misfit: bool | None,
) -> Setting:
    if engine not in ENGINES:
        raise ParameterError(f"engine={engine!r}: expected 'auto', 'compiled' or 'python'")
    horizon = checked_count("horizon", horizon)
    return Setting(
        names=tuple(policies),
        horizon=horizon,
        seed=checked_count("seed", seed, least=0),
        checkpoints=_checkpoints(checkpoints, horizon),
        engine=engine,
        processes=engine == "python" or any(map(needs_python, policies.values())),
        planning=bool(planning),
        record_arms=bool(record_arms),
        misfit=misfit,
    )


def _checkpoints(wanted: int | Sequence[int], horizon: int) -> Ints:
    """Return rising numbers of pulls that end with the horizon, unless given one by one."""
    if np.ndim(wanted) == 0:
        count = min(checked_count("checkpoints", wanted), horizon)
        return np.array([horizon * (place + 1) // count for place in range(count)], dtype=np.int64)
    places = [checked_count("checkpoints", t) for t in wanted]  # type: ignore[union-attr]
    rising = all(a < b for a, b in pairwise(places))
    if not places or not rising or places[-1] > horizon:
        raise ParameterError(
            f"checkpoints={wanted!r}: expected rising numbers of pulls from 1 to horizon={horizon}"
        )
    return np.array(places, dtype=np.int64)


def _worker_count(workers: int | None, setting: Setting) -> int:
    if workers is not None:
        return checked_count("workers", workers)
    return 1 if setting.processes else core_count()


def _described(policy: Any) -> dict[str, Any]:
    if not isinstance(policy, Policy):
        return {"policy": repr(policy), "width": "?", "horizon": tuned_horizon(policy)}
    return {
        "policy": repr(policy),
        "width": policy.width(),
        "horizon": tuned_horizon(policy),
        "parameters": json.loads(json.dumps(policy.parameters())),  # as a file gives them back
        "structure": policy.structure.fingerprint if policy.structure is not None else None,
    }


def versions_of(engine: str) -> dict[str, str]:
    """Return the versions of what a simulation rests on."""
    import structured_bandits

    versions = {
        "structured_bandits": structured_bandits.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{sys.platform} {platform.machine()}",
    }
    if engine != "python":
        with suppress(PackageNotFoundError):  # policies that solve programs play without it
            versions["numba"] = version_of("numba")
    return versions


#: The version of a package; looking it up takes longer than a short simulation.
version_of = cache(version)
