"""Policies by name, as experiment files write them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from structured_bandits.experiments.own_policies import build_own
from structured_bandits.policies.base import POLICIES, Policy
from structured_bandits.policies.guarded import Guarded
from structured_bandits.protocol import PolicyLike
from structured_bandits.structures.base import Structure

#: The keys of a table that are no parameters.
NO_PARAMETERS = ("kind", "policy", "guard")
NOTHING: Mapping[str, Any] = MappingProxyType({})


def keys_of(kind: type[Policy]) -> tuple[str, ...]:
    """Return what a table may say of a policy: its parameters; the horizon is the experiment's."""
    return tuple(name for name in kind.parameter_names() if name != "horizon")


def build_policy(
    spec: dict[str, Any],
    structure: Structure,
    horizon: int,
    usual: Mapping[str, Any] = NOTHING,
) -> PolicyLike:
    """Return the policy that a table of an experiment file describes.

    A file that names no value of a parameter means the default which it had first, so that it plays the
    same rule for ever: of SUCB, SAE and ASAE that of the paper. `usual` are parameters for which the
    table need not give values; one's own policies get those that they have.
    """
    values = {key: value for key, value in spec.items() if key not in NO_PARAMETERS}
    if values.get("reward_range") == "unbounded":  # TOML has no word for None
        values["reward_range"] = None
    policy: PolicyLike
    if "policy" in spec:
        policy = build_own(spec["policy"], values, structure, horizon, usual)
    else:
        kind = POLICIES[spec["kind"]]
        newer = values.get("confidence") == "likelihood"  # sets that have one default only
        former = {} if newer else kind.former_defaults
        policy = library_policy(kind, structure, horizon, {**former, **usual, **values})
    return _guarded(policy, spec["guard"], structure, horizon) if "guard" in spec else policy


def library_policy(
    kind: Any, structure: Structure, horizon: int, values: Mapping[str, Any]
) -> PolicyLike:
    """Return a policy of the library with these parameters, and the horizon if it takes one."""
    if "horizon" in kind.parameter_names():
        values = {**values, "horizon": horizon}
    policy: PolicyLike = kind(structure, **values)
    return policy


def own_code(spec: Mapping[str, Any]) -> list[str]:
    """Return the names of one's own policies in a table: itself, or the fallback of its guard."""
    fallback = spec.get("guard", {}).get("fallback", {})
    return [each["policy"] for each in (spec, fallback) if "policy" in each]


def _guarded(policy: Any, guard: dict[str, Any], structure: Structure, horizon: int) -> PolicyLike:
    """Return a policy with the guard that a table describes: level, explore and a fallback."""
    values = dict(guard)
    if "fallback" in values:
        values["fallback"] = build_policy(values["fallback"], structure, horizon)
    return Guarded(policy, **values)
