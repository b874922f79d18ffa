"""Specifications with values of any kind in any place are refused in a sentence, and never by a bug."""

from __future__ import annotations

import copy
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.owned import Shop, answered
from support.replayed import SMALL, spec_of_case

import structured_bandits as sb
from structured_bandits.experiments.policies import keys_of
from structured_bandits.policies.base import POLICIES
from structured_bandits.service.experiment.spec import build_spec
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


SHOP = {
    "structure": {"kind": "finite", "means": [[0.7, 0.3], [0.2, 0.6]]},
    "policy": {"kind": "SUCB"},
    "horizon": 1000,
}


@pytest.mark.parametrize(
    ("key", "table", "said"),
    [
        (
            "reward",
            {"window": "24h", "missing": [1]},
            "reward.missing=[1]: expected a number in [0,",
        ),
        (
            "reward",
            {"window": "24h", "missing": 7},
            "reward.missing=7: expected a number in [0, 1]",
        ),
        ("start", {"pulls": 1, "sums": None}, "start.pulls=1: expected a list"),
        ("start", {"pulls": "shop.csv", "sums": None}, "start.pulls='shop.csv': expected a list"),
        ("start", {"pulls": [1, 1], "sums": None}, "start.sums=None: expected a list"),
        (
            "start",
            {"pulls": [1, 1], "sums": [1, 1], "squares": 2},
            "start.squares=2: expected a list",
        ),
        ("start", {"pulls": [1, 1], "sums": [1, 5]}, "start.sums[1]=5: 1 rewards in [0, 1] sum to"),
        ("start", {"pulls": [1, "x"], "sums": [1, 1]}, "start.pulls and sums: expected one number"),
        ("start", {"pulls": [1], "sums": [1]}, "start.pulls and sums: shapes (1,) and (1,)"),
    ],
)
def test_a_value_that_is_wrong_is_named_with_its_table(
    tmp_path: Path, key: str, table: dict[str, Any], said: str
) -> None:
    """They were answered as `reward=[1]`, `learn: got int alone` and `sums[1]=5`.

    A text as `pulls` was opened as a file of the server, and answered with what was wrong in it.
    """
    shop = Shop(tmp_path)
    found = shop.create({**SHOP, key: table})
    shop.close()
    assert found.status == 422
    assert found.content.detail.startswith(said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"horizn": 10},
            "the specification, 'horizn': unknown; accepted are .*; did you mean horizon",
        ),
        (
            {"policy": {"kind": "sucb"}},
            "kind='sucb' is unknown; accepted are .*; did you mean SUCB",
        ),
        ({"policy": {"kind": "SUCB", "alhpa": 1}}, "'alhpa': unknown; .*; did you mean alpha"),
        ({"policy": {"kind": "SUCB", "alpha ": 1}}, "'alpha ': unknown; .*; did you mean alpha"),
        ({"reward": {"windw": "24h"}}, "reward, 'windw': unknown; .*; did you mean window"),
        ({"alarm": {"levl": 0.1}}, "alarm, 'levl': unknown; .*; did you mean level"),
        (
            {"structure": {"kind": "finite", "mean": [[1, 0]]}},
            "'mean': unknown; .*did you mean means",
        ),
    ],
)
def test_a_misspelt_key_is_told_what_it_may_have_meant(change: dict[str, Any], said: str) -> None:
    with pytest.raises(sb.StructuredBanditsError, match=said):
        build_spec({**SHOP, **change})
