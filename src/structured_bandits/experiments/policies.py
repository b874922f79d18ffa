"""Policies by name, as experiment files write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from structured_bandits.errors import ParameterError
from structured_bandits.policies.asae import ASAE
from structured_bandits.policies.base import PolicyLike
from structured_bandits.policies.greedy_mle import GreedyMLE
from structured_bandits.policies.improved_ucb import ImprovedUCB
from structured_bandits.policies.reading import Reading
from structured_bandits.policies.sae import SAE
from structured_bandits.policies.sucb import SUCB
from structured_bandits.policies.ucb import UCB
from structured_bandits.policies.wagp import WAGP
from structured_bandits.structures.base import Structure

COMMON = ("reward_range", "sigma")


class Kind(NamedTuple):
    """How a kind of policy is built, and which parameters it takes."""

    build: Callable[..., Any]
    keys: tuple[str, ...]
    needs_horizon: bool = False


POLICIES = {
    "UCB": Kind(UCB, ("alpha", *COMMON)),
    "ImprovedUCB": Kind(ImprovedUCB, COMMON, needs_horizon=True),
    "SUCB": Kind(SUCB, ("alpha", *COMMON)),
    "SAE": Kind(SAE, ("alpha", "beta", *COMMON), needs_horizon=True),
    "ASAE": Kind(ASAE, ("alpha", "beta", "eta", "reading", *COMMON)),
    "WAGP": Kind(WAGP, COMMON),
    "GreedyMLE": Kind(GreedyMLE, COMMON),
}


def build_policy(spec: dict[str, Any], structure: Structure, horizon: int) -> PolicyLike:
    """Return the policy that a table of an experiment file describes."""
    kind = POLICIES[spec["kind"]]
    values = {key: value for key, value in spec.items() if key != "kind"}
    if isinstance(values.get("reward_range"), list):
        values["reward_range"] = tuple(values["reward_range"])
    if values.get("reward_range") == "unbounded":
        values["reward_range"] = None
    if isinstance(values.get("reading"), dict):
        try:
            values["reading"] = Reading(**values["reading"])
        except TypeError:
            accepted = ", ".join(Reading._fields)
            raise ParameterError(f"reading={spec['reading']!r}: a table takes {accepted}") from None
    if kind.needs_horizon:
        values["horizon"] = horizon
    policy: PolicyLike = kind.build(structure, **values)
    return policy
