"""Policies by name, as experiment files write them."""

from __future__ import annotations

from typing import Any

from structured_bandits.policies.base import POLICIES, Policy
from structured_bandits.policies.guarded import Guarded
from structured_bandits.protocol import PolicyLike
from structured_bandits.structures.base import Structure


def keys_of(kind: type[Policy]) -> tuple[str, ...]:
    """Return what a table may say of a policy: its parameters; the horizon is the experiment's."""
    return tuple(name for name in kind.parameter_names() if name != "horizon")


def build_policy(spec: dict[str, Any], structure: Structure, horizon: int) -> PolicyLike:
    """Return the policy that a table of an experiment file describes."""
    kind: Any = POLICIES[spec["kind"]]
    values = {key: value for key, value in spec.items() if key not in ("kind", "guard")}
    if values.get("reward_range") == "unbounded":  # TOML has no word for None
        values["reward_range"] = None
    if "horizon" in kind.parameter_names():
        values["horizon"] = horizon
    policy: PolicyLike = kind(structure, **values)
    return _guarded(policy, spec["guard"], structure, horizon) if "guard" in spec else policy


def _guarded(policy: Any, guard: dict[str, Any], structure: Structure, horizon: int) -> PolicyLike:
    """Return a policy with the guard that a table describes: level, explore and a fallback."""
    values = dict(guard)
    if "fallback" in values:
        values["fallback"] = build_policy(values["fallback"], structure, horizon)
    return Guarded(policy, **values)
