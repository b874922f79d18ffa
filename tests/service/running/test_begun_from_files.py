"""Experiments begun from files: what the server says of each, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.owned import TABLE, Shop

from structured_bandits.errors import FileFormatError
from structured_bandits.service.experiment.replay import spec_of, verify
from structured_bandits.service.experiment.spec import read_spec
from structured_bandits.service.server import begin_experiments

SPEC: dict[str, Any] = {"structure": TABLE, "policy": {"kind": "SAE"}, "horizon": 10_000}
FLAT = SPEC | {"structure": TABLE | {"means": [[0.01, 0.02, 0.01], [0.02, 0.01, 0.01]]}}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A store without experiments."""
    shop = Shop(tmp_path)
    yield shop
    shop.drop()


def earn(shop: Shop, name: str, visitors: int) -> None:
    """Let visitors come who all click."""
    for _ in range(visitors):
        shop.tell((shop.ask_one(name).id, 1.0), name=name)


def test_all_experiments_are_named_also_those_of_the_store(shop: Shop) -> None:
    assert begin_experiments(shop.registry, [("a", SPEC)], update=False) == ["a: version 1 created"]
    lines = begin_experiments(shop.registry, [("b", SPEC)], update=False)
    assert lines == ["a: version 1 goes on", "b: version 1 created"]


def test_a_new_version_that_its_rewards_refute_is_told(shop: Shop) -> None:
    begin_experiments(shop.registry, [("a", SPEC)], update=False)
    earn(shop, "a", 15)
    (line,) = begin_experiments(shop.registry, [("a", FLAT)], update=True)
    assert line == (
        "a: version 2 created, but the 15 rewards that it begins with refute its structure"
    )


def test_a_fresh_version_begins_without_rewards(shop: Shop) -> None:
    begin_experiments(shop.registry, [("a", SPEC)], update=False)
    earn(shop, "a", 15)
    out = shop.ask_one("a")
    assert begin_experiments(shop.registry, [("a", FLAT)], update=True, fresh=True) == [
        "a: version 2 created"
    ]
    shop.tell((out.id, 1.0), name="a")
    assert shop.life("a").agent.rewards == 0


PRICES = "arm a,arm b\n12,8.5\n3,14\n"


@pytest.mark.parametrize(
    ("structure", "policy", "accepted"),
    [
        ('"prices.csv"', '{kind = "SAE"}', False),
        ('{file = "prices.csv", reward_range = [0, 15]}', '{kind = "SAE"}', True),
        ('"prices.csv"', '{kind = "SAE", reward_range = [0, 15]}', True),
    ],
    ids=["nothing said", "said of the structure", "said of the policy"],
)
@pytest.mark.filterwarnings("error")
def test_means_that_no_reward_can_have_are_refused(
    tmp_path: Path, structure: str, policy: str, accepted: bool
) -> None:
    (tmp_path / "prices.csv").write_text(PRICES)
    file = tmp_path / "shop.toml"
    file.write_text(f"structure = {structure}\npolicy = {policy}\nhorizon = 1000\n")
    if accepted:
        read_spec(file)
        return
    with pytest.raises(FileFormatError, match=r"Divide percentages by 100.*reward_range"):
        read_spec(file)


def test_a_log_is_checked_while_a_server_writes(shop: Shop) -> None:
    shop.create(SPEC, "a")
    earn(shop, "a", 5)
    store = shop.registry.store
    (row,) = store.versions()
    earn(shop, "a", 5)
    found = verify(store, row, spec_of(store, row), decisions=True)
    assert (found.exit_code, found.rows) == (0, row.head)
    assert [each.exit_code for each in shop.verdicts()] == [0]
