"""Specifications with values of any kind in any place are refused in a sentence, and never by a bug."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest
from support.owned import answered
from support.replayed import SMALL, spec_of_case

from structured_bandits.experiments.policies import keys_of
from structured_bandits.policies.base import POLICIES
from structured_bandits.service.spec import build_spec
from structured_bandits.structures.files.toml import COMMON, KINDS

ODD: tuple[Any, ...] = (
    None, True, 0, 1, -1, 3, 10**18, 10**30, 0.5, -0.5, 1e308, -1e308, 5e-324, "", "x", "structure",
    "kl", [], [0.5], [0, 1], [1, 0], [[]], [None], ["a", "b", "c"], ["a", "a", "b"], {}, {"a": 1},
    {"kind": "finite"}, {"kind": "finite", "means": [[0.5, 0.5, 0.5]]}, [[1, 2, 3], [1, 2]],
    [1e308] * 3, [[1e308] * 3, [-1e308] * 3], [[0, 0, 0]], [[0.0, 1.0, 0.5]] * 2,
)  # fmt: skip
OTHERS = ("horizon", "order", "seed", "default_arm", "reward", "control", "audit", "alarm", "start")


def odd_spec(rng: Random) -> dict[str, Any]:
    """Return a right specification in which one to three values were replaced."""
    policy, kind = rng.choice([*POLICIES]), rng.choice([*SMALL])
    spec = copy.deepcopy(spec_of_case(policy, kind))
    places: list[tuple[dict[str, Any], Any]] = [
        (spec["policy"], keys_of(POLICIES[policy])),
        (spec["structure"], (*KINDS[kind].needed, *KINDS[kind].optional, *COMMON[1:])),
        (spec, OTHERS),
    ]
    for _ in range(rng.choice((1, 1, 2, 3))):
        table, keys = rng.choice(places)
        table[rng.choice([*keys])] = copy.deepcopy(rng.choice(ODD))
    return spec


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_odd_values_are_refused_in_a_sentence(seed: int) -> None:
    rng = Random(seed)
    for _ in range(500):
        spec = odd_spec(rng)
        status, _ = answered(lambda spec=spec: build_spec(spec))  # type: ignore[misc]
        assert status in (200, 422), spec


@pytest.mark.parametrize(
    "structure",
    [
        {"kind": "union", "parts": None},
        {"kind": "concave", "positions": [[1, 2, 3], [1, 2]]},
        {"kind": "mixtures", "table": [[1e308] * 3, [-1e308] * 3]},
    ],
    ids=["no parts", "ragged", "huge"],
)
@pytest.mark.filterwarnings("ignore")
def test_these_were_answered_with_500(structure: dict[str, Any]) -> None:
    spec = {"structure": structure, "policy": {"kind": "UCBC"}, "horizon": 5000}
    assert answered(lambda: build_spec(spec)).status == 422
