"""What a new version takes over from the one before: rewards, pause, parked arms, what was refuted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.owned import NAME, TABLE, Shop

from structured_bandits.service import wire
from structured_bandits.service.running.lifecycle import bring_back, new_version
from structured_bandits.service.store.backups import back_up
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store_protocol import StoreError

SPEC: dict[str, Any] = {"structure": TABLE, "policy": {"kind": "SAE"}, "horizon": 10_000}
START = {"pulls": [4, 4, 4], "sums": [3.0, 1.0, 2.0], "squares": [3.0, 1.0, 2.0]}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """An experiment that has just begun."""
    shop = Shop(tmp_path)
    shop.create(SPEC)
    yield shop
    shop.drop()


def renew(shop: Shop, spec: dict[str, Any] = SPEC, **more: Any) -> int:
    """Make a new version; return the status."""
    return shop.call(
        lambda registry: new_version(registry.find(NAME), wire.NewVersion(spec=spec, **more))
    ).status


def test_a_pause_and_parked_arms_last_over_a_new_version(shop: Shop) -> None:
    shop.call(lambda registry: registry.find(NAME).park(wire.Park(arm="coffee")))
    shop.call(lambda registry: registry.find(NAME).pause(True))
    without_tea = {
        "kind": "finite",
        "arms": ["coffee", "cocoa"],
        "means": [[0.75, 0.5], [0.2, 0.5]],
    }
    assert renew(shop, SPEC | {"structure": without_tea}) == 200
    shop.restart()
    assert shop.life().paused
    assert shop.ask().status == 409
    shop.call(lambda registry: registry.find(NAME).pause(False))
    assert {shop.ask_one().name for _ in range(20)} == {"cocoa"}


def test_a_version_of_parked_arms_only_is_refused(shop: Shop) -> None:
    shop.call(lambda registry: registry.find(NAME).park(wire.Park(arm="coffee")))
    shop.call(lambda registry: registry.find(NAME).park(wire.Park(arm="tea")))
    parked = {"kind": "finite", "arms": ["tea", "coffee"], "means": [[0.75, 0.5], [0.25, 0.5]]}
    seq = shop.life().seq
    assert renew(shop, SPEC | {"structure": parked}) == 422
    assert shop.life().seq == seq
    assert len(shop.registry.find(NAME).versions) == 1


def test_rewards_of_several_versions_are_told_together_or_not_at_all(shop: Shop) -> None:
    first, second = shop.ask_one(), shop.ask_one()
    renew(shop)
    third = shop.ask_one()
    refused = shop.tell((first.id, 1.0), (third.id, 7.0))
    assert refused.status == 422
    assert shop.life().agent.rewards == 0
    assert shop.registry.find(NAME).versions[0].state is not None
    told = shop.tell((third.id, 1.0), (first.id, 1.0), (second.id, 0.0), (third.id, 1.0))
    assert [each.status for each in told.content.outcomes] == [*["recorded"] * 3, "duplicate"]
    assert shop.life().agent.rewards == 3  # two of them were forwarded
    assert shop.registry.find(NAME).versions[0].state is None  # and nothing is out any more
    again = shop.tell((first.id, 1.0), (third.id, 1.0))
    assert [each.status for each in again.content.outcomes] == ["duplicate", "duplicate"]
    shop.restart(in_order=False)
    assert shop.life().agent.rewards == 3
    assert {each.exit_code for each in shop.verdicts()} == {0}


@pytest.mark.parametrize(("carry", "rewards"), [(None, 12), (wire.Carry(), 1)], ids=["null", "all"])
def test_what_to_begin_with_is_used_where_nothing_is_carried(
    shop: Shop, carry: wire.Carry | None, rewards: int
) -> None:
    shop.tell((shop.ask_one().id, 1.0))
    assert renew(shop, SPEC | {"start": START}, carry=carry) == 200
    assert shop.life().agent.rewards == rewards


def test_a_horizon_that_is_over_is_refused(shop: Shop) -> None:
    assert renew(shop, SPEC | {"horizon": 12, "start": START}, carry=None) == 422
    assert shop.create(SPEC | {"horizon": 12, "start": START}, name="other").status == 422


def wrong_rewards(shop: Shop) -> None:
    """Tell each arm what no model expects, until the alarm rings."""
    while shop.life().fallen_at is None:
        decision = shop.ask_one()
        shop.tell((decision.id, 1.0))


def test_a_restored_backup_goes_on_beyond_its_horizon_and_stays_refuted(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.create(SPEC | {"horizon": 10, "audit": {"share": 0.3}})
    wrong_rewards(shop)
    rewards = shop.life().agent.rewards
    assert rewards > 10
    shop.close()
    copy = tmp_path / "copy.db"
    back_up(SqliteStore(shop.path, readonly=True), copy)
    shop.path.unlink()
    bring_back(copy, shop.path)
    shop.begin()
    assert shop.life().agent.rewards == rewards
    assert shop.life().fallen_at is not None
    assert "KLUCB" in repr(shop.life().agent.policy)
    assert {each.exit_code for each in shop.verdicts()} == {0}
    shop.drop()


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE version SET spec = replace(spec, '10000', '20000')",
        "UPDATE structure SET body = replace(body, '0.875', '0.75')",
        "UPDATE structure SET body = replace(body, 'cocoa', 'water')",
    ],
    ids=["the horizon", "a mean", "a name"],
)
def test_an_edited_specification_is_found(shop: Shop, edit: str) -> None:
    assert {each.exit_code for each in shop.verdicts()} == {0}
    shop.close()
    with sqlite3.connect(shop.path) as connection:
        assert connection.execute(edit).rowcount == 1
    shop.begin()
    assert "specification" in shop.registry.find(NAME).warnings[0]  # which the dashboard shows
    found = shop.verdicts()
    assert {each.exit_code for each in found} == {1}
    assert "specification" in found[0].differs[0]


def test_the_store_needs_its_structures(shop: Shop) -> None:
    shop.close()
    with sqlite3.connect(shop.path) as connection:
        connection.execute("DELETE FROM structure")
    with pytest.raises(StoreError, match="is missing"):
        shop.begin()


def test_versions_that_differ_in_names_of_models_only_keep_theirs(shop: Shop) -> None:
    named = SPEC | {"structure": TABLE | {"models": ["a", "b", "c", "d"]}}
    assert renew(shop, named) == 200
    shop.restart()
    assert shop.life().spec.structure.model_names == ("a", "b", "c", "d")
    assert shop.create(SPEC).status == 409
    assert shop.create(named).status == 200
    assert {each.exit_code for each in shop.verdicts()} == {0}
