"""Experiments as TOML files: a structure, its truth, policies, a horizon.

The paper's own experiments and those of a user have the same form and run through the same code.
"""

from __future__ import annotations

import copy
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structured_bandits.checks import checked_above, checked_count
from structured_bandits.environments.gaussian import Gaussian
from structured_bandits.errors import (
    FileFormatError,
    MeansOutsideUnitIntervalWarning,
    MissingExtraError,
    StructuredBanditsError,
)
from structured_bandits.experiments.policies import POLICIES, build_policy
from structured_bandits.experiments.worlds import Problem, draw_random, named_problem
from structured_bandits.policies.base import PolicyLike

KEYS = {
    "title": str,
    "caption": str,
    "figure": str,
    "same_as": str,
    "structure": (str, dict),
    "truth": (str, int, float, list, dict),
    "rewards": str,
    "sigma": (int, float),
    "horizon": int,
    "runs": int,
    "checkpoints": int,
    "policies": dict,
    "presets": dict,
}
FIGURES = ("regret", "pulls", "structure")


@dataclass(frozen=True)
class Experiment:
    """What is played: a problem, or one drawn in each run, and the policies on it."""

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
    problem: Problem | None  # None: drawn afresh in each run
    specs: dict[str, dict[str, Any]]  # policies as written
    plain: dict[str, Any]  # all that decides the numbers, for the key of saved results

    def policies(self, problem: Problem) -> dict[str, PolicyLike]:
        """Return the policies for a problem."""
        return {name: self.policy(name, problem) for name in self.specs}

    def policy(self, name: str, problem: Problem) -> PolicyLike:
        """Return a policy for a problem; on Gaussian rewards it has no bounds but a sigma."""
        usual: dict[str, Any] = {}
        if isinstance(problem.world, Gaussian):
            usual = {"reward_range": "unbounded", "sigma": problem.world.sigma}
        try:
            return build_policy({**usual, **self.specs[name]}, problem.structure, self.horizon)
        except StructuredBanditsError as error:
            raise FileFormatError(f"{self.path}, policies.{name}: {error}") from None


def read_experiment(path: Path, preset: str | None = None) -> Experiment:
    """Read an experiment; `preset` names one of its `[presets]`, whose values replace its own."""
    chosen = _with_preset(path, _content(path), preset)
    _check_keys(path, chosen)
    try:
        return _experiment(path, chosen, preset)
    except (FileFormatError, MissingExtraError):
        raise  # a missing package is no fault of the file
    except StructuredBanditsError as error:
        raise FileFormatError(f"{path}: {error}") from None


def _content(path: Path) -> dict[str, Any]:
    """Return what is written in a file; with `same_as`, on top of what is written in that one."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{path}: {error}; expected TOML") from None
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}, byte {error.start}: expected text in UTF-8") from None
    if "same_as" not in content:
        return content
    other = path.with_name(f"{content['same_as']}.toml")
    if not other.is_file() or other == path:
        raise FileFormatError(f"{path}, same_as={content['same_as']!r}: there is no file {other}")
    return _merged(_content(other), content)


def _with_preset(path: Path, content: dict[str, Any], preset: str | None) -> dict[str, Any]:
    presets = content.pop("presets", {})
    if preset is None:
        return content
    if preset not in presets:
        accepted = ", ".join(map(repr, presets)) or "none, the file has no [presets]"
        raise FileFormatError(f"{path}: preset {preset!r} is unknown; accepted are {accepted}")
    return _merged(content, presets[preset])


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _check_keys(path: Path, content: dict[str, Any]) -> None:
    for key, value in content.items():
        if key not in KEYS:
            accepted = ", ".join(sorted(KEYS))
            raise FileFormatError(f"{path}, {key!r}: unknown; accepted are {accepted}")
        if not isinstance(value, KEYS[key]) or isinstance(value, bool):  # type: ignore[arg-type]
            raise FileFormatError(f"{path}, {key}={value!r}: expected {_kind(KEYS[key])}")
    needed = ["structure", "horizon"]
    if content.get("figure", "regret") != "structure":
        needed.append("policies")
    for key in needed:
        if key not in content:
            raise FileFormatError(f"{path}: {key!r} is missing")


def _kind(types: Any) -> str:
    words = {str: "text", int: "a whole number", float: "a number", list: "a list", dict: "a table"}
    several = types if isinstance(types, tuple) else (types,)
    return " or ".join(words[each] for each in several)


def _experiment(path: Path, content: dict[str, Any], preset: str | None) -> Experiment:
    horizon = checked_count("horizon", content["horizon"])
    figure = content.get("figure", "regret")
    if figure not in FIGURES:
        raise FileFormatError(f"{path}, figure={figure!r}: accepted are {', '.join(FIGURES)}")
    specs = _checked_specs(path, content.get("policies", {}))
    problem = named_problem(
        path,
        content["structure"],
        content.get("truth"),
        content.get("rewards", "bernoulli"),
        checked_above("sigma", content.get("sigma", 0.5), 0.0),
    )
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
        plain={key: content.get(key) for key in ("truth", "rewards", "sigma", "structure")},
    )
    with warnings.catch_warnings():  # random structures leave [0, 1] on purpose (errata, I-11)
        warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)
        experiment.policies(problem or draw_random(0))  # raises now if a parameter is wrong
    return experiment


def _checked_specs(path: Path, policies: dict[str, Any]) -> dict[str, dict[str, Any]]:
    specs = {}
    for name, spec in policies.items():
        if not isinstance(spec, dict):
            raise FileFormatError(f"{path}, policies.{name}={spec!r}: expected a table")
        kind = spec.get("kind", name)
        if kind not in POLICIES:
            accepted = ", ".join(POLICIES)
            raise FileFormatError(
                f"{path}, policies.{name}: kind={kind!r} is unknown; accepted are {accepted}"
            )
        unknown = [key for key in spec if key != "kind" and key not in POLICIES[kind].keys]
        if unknown:
            accepted = ", ".join(("kind", *POLICIES[kind].keys))
            raise FileFormatError(
                f"{path}, policies.{name}, {unknown[0]!r}: unknown; accepted are {accepted}"
            )
        specs[name] = {**spec, "kind": kind}
    return specs
