"""Experiments as TOML files: a structure, its truth, policies, a horizon.

Those that come with the library and those of a user have the same form and run through the same code.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from numpy.random import default_rng

from structured_bandits.base.checks import checked_count
from structured_bandits.base.input_files import check_keys, read_toml
from structured_bandits.errors import (
    FileFormatError,
    MeansOutsideUnitIntervalWarning,
    MissingExtraError,
    ParameterError,
    StructuredBanditsError,
)
from structured_bandits.experiments.policies import (
    build_policy,
    checked_name,
    errors_of_code,
    keys_of,
    load_code,
    own_code,
)
from structured_bandits.experiments.worlds import (
    Delays,
    NamedStructures,
    Problem,
    RandomProblems,
    read_problem,
    read_rewards,
)
from structured_bandits.policies.base import POLICIES
from structured_bandits.protocols import PolicyLike
from structured_bandits.simulation.compatibility import check_together
from structured_bandits.worlds.gaussian import Gaussian

KEYS = {
    "title": str,
    "caption": str,
    "figure": str,
    "same_as": str,
    "structure": (str, dict),
    "truth": (str, int, float, list, dict),
    "rewards": str,
    "sigma": (int, float),
    "spread": (int, float),
    "delay": (int, float, list, dict),
    "delay_failures": (int, float, list, dict),
    "horizon": int,
    "runs": int,
    "checkpoints": int,
    "policies": dict,
    "presets": dict,
}
#: The keys, besides those that have a field of their own, that decide the numbers.
DECIDING = ("truth", "rewards", "sigma", "spread", "delay", "delay_failures", "structure")
FIGURES = ("regret", "pulls", "structure")
NOTHING_NAMED: NamedStructures = MappingProxyType({})


@dataclass(frozen=True)
class Experiment:
    """An experiment: a problem, or one drawn in each run, and the policies on it."""

    path: Path
    id: str
    preset: str
    has_presets: bool  # was one of the file's presets chosen?
    title: str
    caption: str
    figure: str  # "regret", "pulls" or "structure"
    data: str  # the experiment whose runs it shows, mostly itself
    horizon: int
    runs: int
    checkpoints: int
    problem: Problem | RandomProblems
    specs: dict[str, dict[str, Any]]  # policies as written
    plain: dict[str, Any]  # all that decides the numbers, for the key of saved results
    code: dict[str, list[str]]  # of policies of the user's own: hashes of their sources

    @property
    def fixed(self) -> Problem | None:
        """The problem of all runs; None if each run draws its own."""
        return self.problem if isinstance(self.problem, Problem) else None

    def policies(self, problem: Problem) -> dict[str, PolicyLike]:
        """Return the policies for a problem."""
        return {name: self.policy(name, problem) for name in self.specs}

    def policy(self, name: str, problem: Problem) -> PolicyLike:
        """Return a policy for a problem; on Gaussian rewards it has no bounds but a sigma."""
        usual: dict[str, Any] = {}
        if isinstance(problem.world, Gaussian):
            usual = {"reward_range": None, "sigma": problem.world.sigma}
        with _in_table(self.path, name):
            return build_policy(self.specs[name], problem.structure, self.horizon, usual)


def read_experiment(
    path: Path,
    preset: str | None = None,
    named: NamedStructures = NOTHING_NAMED,
    allow_code: bool = False,
) -> Experiment:
    """Read an experiment; `preset` names one of its `[presets]`, whose values replace its own.

    `named` are the structures that the file may name. With `allow_code` it may name Python modules with
    policies of its own, which are then imported.
    """
    return build_experiment(path, read_content(path), preset, named, allow_code)


def build_experiment(
    path: Path,
    content: dict[str, Any],
    preset: str | None = None,
    named: NamedStructures = NOTHING_NAMED,
    allow_code: bool = False,
) -> Experiment:
    """Return the experiment that `content` describes; `path` is where it stands, for its errors."""
    try:
        chosen = _with_preset(path, content, preset)
        _check_keys(path, chosen)
        return _experiment(path, chosen, preset, named, allow_code)
    except (FileFormatError, MissingExtraError):
        raise  # a missing package is no fault of the file
    except StructuredBanditsError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except RecursionError:
        raise FileFormatError(f"{path}: tables or lists are nested too deeply") from None


def read_content(path: Path, including: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return what is written in a file; with `same_as`, on top of what is written in that one."""
    content = read_toml(path)
    if "same_as" not in content:
        return content
    name = content["same_as"]
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise FileFormatError(
            f"{path}, same_as={name!r}: expected the name of a file beside this one, without .toml"
        )
    other = path.with_name(f"{name}.toml")
    if not os.path.isfile(other):  # False for names that no file can have
        raise FileFormatError(f"{path}, same_as={name!r}: there is no file {other}")
    if other in (path, *including):
        raise FileFormatError(f"{path}, same_as={name!r}: the files include each other")
    return _merged(read_content(other, (path, *including)), content)


def _with_preset(path: Path, content: dict[str, Any], preset: str | None) -> dict[str, Any]:
    presets = content.pop("presets", {})
    if preset is None:
        return content
    if not isinstance(presets, dict) or preset not in presets:
        known = presets if isinstance(presets, dict) else ()
        accepted = ", ".join(map(repr, known)) or "none, the file has no [presets]"
        raise FileFormatError(f"{path}: preset {preset!r} is unknown; accepted are {accepted}")
    if not isinstance(presets[preset], dict):
        raise FileFormatError(
            f"{path}, presets.{preset}={presets[preset]!r}: expected a table of values to replace"
        )
    return _merged(content, presets[preset])


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _check_keys(path: Path, content: dict[str, Any]) -> None:
    if "sweep" in content:
        raise FileFormatError(
            f"{path} has a [sweep]: structured-bandits sweep {path} plays all its points"
        )
    check_keys(content, str(path), (), tuple(sorted(KEYS)))
    for key, value in content.items():
        if not isinstance(value, KEYS[key]) or isinstance(value, bool):  # type: ignore[arg-type]
            raise FileFormatError(f"{path}, {key}={value!r}: expected {_kind(KEYS[key])}")
    played = content.get("figure", "regret") != "structure"
    needed = ("structure", "horizon", *(("policies",) if played else ()))
    check_keys(content, str(path), needed, tuple(KEYS))


def _kind(types: Any) -> str:
    words = {str: "text", int: "a whole number", float: "a number", list: "a list", dict: "a table"}
    several = types if isinstance(types, tuple) else (types,)
    return " or ".join(words[each] for each in several)


def _experiment(
    path: Path,
    content: dict[str, Any],
    preset: str | None,
    named: NamedStructures,
    allow_code: bool,
) -> Experiment:
    horizon = checked_count("horizon", content["horizon"])
    figure = content.get("figure", "regret")
    if figure not in FIGURES:
        raise FileFormatError(f"{path}, figure={figure!r}: accepted are {', '.join(FIGURES)}")
    specs = _checked_specs(path, content.get("policies", {}), allow_code)
    if figure != "structure" and not specs:
        raise FileFormatError(f"{path}, policies: expected a table for each policy, found none")
    problem = read_problem(
        path,
        content["structure"],
        content.get("truth"),
        read_rewards(path, content),
        Delays(content.get("delay"), content.get("delay_failures")),
        named,
    )
    if figure == "structure" and isinstance(problem, RandomProblems):
        raise FileFormatError(f"{path}, figure='structure': each run draws its own structure")
    experiment = Experiment(
        path=path,
        id=path.stem,
        preset=preset or "as given",
        has_presets=preset is not None,
        title=content.get("title", path.stem),
        caption=content.get("caption", ""),
        figure=figure,
        data=content.get("same_as", path.stem),
        horizon=horizon,
        runs=checked_count("runs", content.get("runs", 100)),
        checkpoints=checked_count("checkpoints", content.get("checkpoints", 200)),
        problem=problem,
        specs=specs,
        plain={key: content.get(key) for key in DECIDING},
        code=_load_code(path, specs),
    )
    with warnings.catch_warnings():  # random structures leave [0, 1] on purpose
        warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)
        example = problem if isinstance(problem, Problem) else problem.draw(default_rng(0))
        for name, policy in experiment.policies(example).items():  # raises if a parameter is wrong
            if name in experiment.code:
                _check_own(path, name, policy, example, horizon)
    return experiment


def _load_code(path: Path, specs: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """Import the code of policies of the user's own; return the hashes of their sources."""
    hashes: dict[str, list[str]] = {}
    for name, spec in specs.items():
        for code in own_code(spec):
            with _in_table(path, name):
                hashes.setdefault(name, []).append(load_code(code, path.parent))
    return hashes


def _check_own(path: Path, name: str, policy: PolicyLike, problem: Problem, horizon: int) -> None:
    """Raise unless a policy of the user's own has the form of one, plans, and fits the world."""
    with _in_table(path, name), errors_of_code("the first plan"):
        check_together("policy", policy, problem.played, horizon)


@contextmanager
def _in_table(path: Path, name: str) -> Iterator[None]:
    """Name the table of a policy in errors."""
    try:
        yield
    except StructuredBanditsError as error:
        raise FileFormatError(f"{path}, policies.{name}: {error}") from None


def _checked_specs(
    path: Path, policies: dict[str, Any], allow_code: bool
) -> dict[str, dict[str, Any]]:
    specs = {}
    for name, spec in policies.items():
        checked = _checked_spec(path, f"policies.{name}", spec, name, allow_code)
        if "guard" in checked:
            _check_guard(path, f"policies.{name}.guard", checked["guard"], allow_code)
        specs[name] = checked
    return specs


def _checked_spec(
    path: Path, place: str, spec: Any, default: str | None, allow_code: bool
) -> dict[str, Any]:
    """Return the table of a policy, with its kind unless it is one of the user's own."""
    if not isinstance(spec, dict):
        raise FileFormatError(f"{path}, {place}={spec!r}: expected a table")
    if "policy" in spec:
        _check_own_spec(path, place, spec, allow_code)
        return spec
    kind = spec.get("kind", default)
    if kind not in POLICIES:
        accepted = ", ".join(POLICIES)
        raise FileFormatError(
            f"{path}, {place}: kind={kind!r} is unknown; accepted are {accepted}; one of your own is "
            'named by policy = "module:Class"'
        )
    keys = ("kind", *keys_of(POLICIES[kind]), *(("guard",) if default is not None else ()))
    check_keys(spec, f"{path}, {place}", (), keys)
    return {**spec, "kind": kind}


def _check_own_spec(path: Path, place: str, spec: dict[str, Any], allow_code: bool) -> None:
    """Raise unless a table may name a policy of the user's own, and names one."""
    if "kind" in spec:
        raise FileFormatError(
            f"{path}, {place}: kind={spec['kind']!r} and policy={spec['policy']!r} exclude each other: "
            "kind is a policy of the library, policy one of your own"
        )
    try:
        checked_name(spec["policy"], allow_code)
    except ParameterError as error:
        raise FileFormatError(f"{path}, {place}, {error}") from None


def _check_guard(path: Path, place: str, guard: Any, allow_code: bool) -> None:
    """Raise unless this is a table that describes a guard."""
    if not isinstance(guard, dict):
        raise FileFormatError(f"{path}, {place}={guard!r}: expected a table, {{}} for the defaults")
    check_keys(guard, f"{path}, {place}", (), ("fallback", "level", "explore"))
    if "fallback" in guard:
        _checked_spec(path, f"{place}.fallback", guard["fallback"], None, allow_code)
