"""From an experiment file with a `[sweep]` to its points: a policy and a value of every axis.

An *axis* is a key of the experiment with a list of values. Axes of the whole experiment (`horizon`,
`structure`, `seed`) concern every policy. `policies.SAE.alpha` concerns SAE only, and
`policies.*.alpha` all policies that have such a parameter. A policy is played once for each combination
of the values that concern it, so nothing is played twice.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from structured_bandits.base.checks import checked_count
from structured_bandits.base.input_files import check_keys
from structured_bandits.errors import FileFormatError
from structured_bandits.experiments.policies import keys_of
from structured_bandits.experiments.saved_runs import RunOptions, key
from structured_bandits.experiments.settings import (
    KEYS,
    NOTHING_NAMED,
    Experiment,
    build_experiment,
    read_content,
)
from structured_bandits.experiments.worlds import NamedStructures
from structured_bandits.policies.base import POLICIES

CHECKPOINTS = 20  # of a point, unless the file says otherwise: there are many points
FIXED = ("title", "caption", "figure", "same_as", "presets", "policies", "runs", "checkpoints")
VARIED = tuple(sorted(set(KEYS) - set(FIXED)))
CASES = "cases"  # the axis whose values are tables of several keys
SEED = "seed"


@dataclass(frozen=True)
class Axis:
    """A key and its values; `policy` is the name of the policy that it concerns, None for all."""

    name: str
    values: tuple[Any, ...]
    policy: str | None = None
    parameter: str = ""

    def concerns(self, policy: str, spec: Mapping[str, Any]) -> bool:
        """Return whether a policy plays differently for different values."""
        if not self.parameter:
            return True
        if self.policy is not None:
            return self.policy == policy
        kind = POLICIES.get(str(spec.get("kind", policy)))
        key = self.parameter.partition(".")[0]
        return kind is None or key in keys_of(kind) or key in spec  # such as a guard

    def places(self, policy: str) -> list[list[str]]:
        """Return the keys that it sets for a policy, each as the tables that lead to it."""
        if self.name == CASES:
            return [[key] for key in sorted({key for value in self.values for key in value})]
        if self.parameter:
            return [["policies", policy, *self.parameter.split(".")]]
        return [self.name.split(".")]


@dataclass(frozen=True)
class Point:
    """A policy with a value for each axis that concerns it."""

    number: int
    policy: str
    values: dict[str, Any]  # by axis: numbers, and texts for what is no number
    experiment: Experiment  # with this policy alone
    seed: int

    @cached_property  # the structure may be large
    def key(self) -> str:
        """A hash of all that decides its runs."""
        return key(self.experiment, self.policy, RunOptions(Path(), runs=1, seed=self.seed))


@dataclass(frozen=True)
class SweepGrid:
    """All points of a sweep."""

    title: str
    runs: int
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]


def read_grid(
    source: Path | Mapping[str, Any],
    runs: int | None = None,
    seed: int = 0,
    named: NamedStructures = NOTHING_NAMED,
    allow_code: bool = False,
) -> SweepGrid:
    """Read an experiment with a `[sweep]`: a file, or what would be in it."""
    if isinstance(source, Mapping):
        path, content = Path("sweep"), copy.deepcopy(dict(source))
    else:
        path, content = source, read_content(source)
    table = content.pop("sweep", None)
    if not isinstance(table, dict) or not table:
        raise FileFormatError(
            f"{path}: there is no [sweep] with the keys to vary, such as horizon = [1000, 10000]"
        )
    if SEED in content:
        raise FileFormatError(f"{path}, seed: unknown; it is an option, or a list in [sweep]")
    content.setdefault("checkpoints", CHECKPOINTS)
    axes = tuple(_axis(path, name, values, content) for name, values in table.items())
    points = list(_points(path, content, axes, seed, named, allow_code))
    if not points:
        raise FileFormatError(f"{path}, policies: expected a table for each policy, found none")
    _check_different(path, axes, points)
    known = points[0].experiment
    wanted = known.runs if runs is None else checked_count("runs", runs)
    return SweepGrid(known.title, wanted, axes, tuple(points))


def _axis(path: Path, name: str, values: Any, content: Mapping[str, Any]) -> Axis:
    """Return an axis, checked as far as that is possible without its values."""
    if isinstance(values, dict) and set(values) == {"files"}:
        values = _files(path, name, values["files"])
    if isinstance(values, tuple):
        values = list(values)
    if not isinstance(values, list) or not values:
        raise FileFormatError(
            f'{path}, sweep.{name}={values!r}: expected a list of values, or {{files = "*.csv"}}'
        )
    labels = [label(value) for value in values]
    twice = [each for each in labels if labels.count(each) > 1]
    if twice:
        raise FileFormatError(f"{path}, sweep.{name}: {twice[0]!r} is there twice")
    parts = name.split(".")
    if parts[0] == "policies" and len(parts) >= 3:
        policy, parameter = parts[1], ".".join(parts[2:])
        if policy != "*" and policy not in content.get("policies", {}):
            raise FileFormatError(f"{path}, sweep.{name}: there is no policy {policy!r}")
        return Axis(name, tuple(values), None if policy == "*" else policy, parameter)
    if name == CASES:
        _check_cases(path, values)
    elif name != SEED and parts[0] not in VARIED:
        raise FileFormatError(
            f"{path}, sweep.{name}: accepted are {', '.join((*VARIED, CASES, SEED))}, keys in their "
            "tables, and policies.NAME.PARAMETER, with * for all policies"
        )
    return Axis(name, tuple(values))


def _check_cases(path: Path, cases: Sequence[Any]) -> None:
    """Raise unless these are tables of keys that may vary."""
    for case in cases:
        if not isinstance(case, dict):
            raise FileFormatError(f"{path}, sweep.{CASES}: expected tables of keys and values")
        check_keys(case, f"{path}, sweep.{CASES}", (), ("name", *VARIED, SEED))


def _check_different(path: Path, axes: Sequence[Axis], points: Sequence[Point]) -> None:
    """Raise if an axis changes nothing, or if two points have different values but play the same."""
    for axis in axes:
        if not any(axis.name in each.values for each in points):
            raise FileFormatError(f"{path}, sweep.{axis.name}: no policy has this parameter")
    seen: dict[str, Point] = {}
    for point in points:
        other = seen.setdefault(point.key, point)
        if other is not point:
            raise FileFormatError(
                f"{path}, sweep: {point.policy} would play the same for {other.values} and "
                f"{point.values}"
            )


def _files(path: Path, name: str, pattern: Any) -> list[str]:
    if not isinstance(pattern, str):
        raise FileFormatError(f"{path}, sweep.{name}.files={pattern!r}: expected a text")
    try:
        found = sorted(each for each in path.parent.glob(pattern) if each.is_file())
    except (NotImplementedError, ValueError):  # absolute, or empty
        found = []
    if not found:
        raise FileFormatError(
            f"{path}, sweep.{name}.files={pattern!r}: there is no such file in {path.parent}"
        )
    return [str(each.relative_to(path.parent)) for each in found]


def label(value: Any) -> Any:
    """Return a value as tables and figures show it: a number, or a text.

    >>> label(0.5), label("types/a.csv"), label({"name": "late", "delay": 10}), label([1, 2])
    (0.5, 'types/a.csv', 'late', '[1, 2]')
    """
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return value["name"]
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        return value
    return json.dumps(value, default=str)


def _points(
    path: Path,
    content: dict[str, Any],
    axes: Sequence[Axis],
    seed: int,
    named: NamedStructures,
    allow_code: bool,
) -> Iterator[Point]:
    """Yield the points policy by policy, the last axis changing fastest."""
    problems: dict[str, Any] = {}  # points with the same problem share it
    number = 0
    policies = content.get("policies", {})
    for policy in policies if isinstance(policies, dict) else ():
        spec = policies[policy] if isinstance(policies[policy], dict) else {}
        own = [axis for axis in axes if axis.concerns(policy, spec)]
        _check_apart(path, policy, own)
        for values in product(*(axis.values for axis in own)):
            chosen = list(zip(own, values, strict=True))
            varied = _varied(path, content, policy, chosen)
            own_seed = checked_count(SEED, varied.pop(SEED, seed), least=0)
            experiment = build_experiment(path, varied, None, named, allow_code)
            same = json.dumps(experiment.plain, sort_keys=True, default=str)
            shared = problems.setdefault(same, experiment.problem)
            experiment = replace(experiment, path=path.absolute(), problem=shared)
            said = {axis.name: label(value) for axis, value in chosen}
            yield Point(number, policy, said, experiment, own_seed)
            number += 1


def _check_apart(path: Path, policy: str, axes: Sequence[Axis]) -> None:
    """Raise if two axes set the same key: one of them would not say what was played."""
    for number, axis in enumerate(axes):
        for other in axes[:number]:
            both = product(axis.places(policy), other.places(policy))
            if any(
                a[: len(b)] == b[: len(a)] for a, b in both
            ):  # the same, or one inside the other
                raise FileFormatError(
                    f"{path}, sweep.{other.name} and sweep.{axis.name} vary the same key of {policy}"
                )


def _varied(
    path: Path, content: dict[str, Any], policy: str, chosen: Sequence[tuple[Axis, Any]]
) -> dict[str, Any]:
    """Return what an experiment file for one point would say."""
    varied = copy.deepcopy(content)
    varied["policies"] = {policy: varied["policies"][policy]}
    for axis, value in chosen:
        if axis.name == CASES:
            varied.update({name: each for name, each in value.items() if name != "name"})
        elif axis.parameter:
            _put(path, varied, ["policies", policy, *axis.parameter.split(".")], value)
        else:
            _put(path, varied, axis.name.split("."), value)
    return varied


def _put(path: Path, content: dict[str, Any], places: Sequence[str], value: Any) -> None:
    """Set a value in tables inside tables."""
    table: Any = content
    for place in places[:-1]:
        table = table.setdefault(place, {})
        if not isinstance(table, dict):
            raise FileFormatError(
                f"{path}, sweep.{'.'.join(places)}: {place} is {table!r}, expected a table"
            )
    table[places[-1]] = value
