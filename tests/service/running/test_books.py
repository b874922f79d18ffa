"""Every status and every count is what a clerk would write down: nothing is lost, nothing counts twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.clerked import clerked_life
from support.owned import NAME, TABLE, Shop

from structured_bandits.service import wire
from structured_bandits.service.running.lifecycle import new_version

LIVES = 15  # in each test; `support.clerked.soak_books` lives as many as time allows
SPEC = {"structure": TABLE, "policy": {"kind": "SAE"}, "horizon": 10**6}
LATE = {
    "reward": {"window": "60s", "missing": "cancel", "late": "learn"},
    "alarm": {"fallback": "none"},  # the structure is not tested then
}


@pytest.mark.parametrize("block", range(10))
def test_random_lives_have_the_counts_of_the_clerk(block: int) -> None:
    for seed in range(LIVES * block, LIVES * (block + 1)):
        clerked_life(seed)


def test_a_late_reward_is_known_after_its_version_was_closed(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.create({**SPEC, **LATE})
    first, second = (shop.ask_one().id for _ in range(2))
    shop.time.pass_by(61)
    shop.settle()
    assert shop.tell((first, 1.0)).content.outcomes[0].status == "recorded"
    shop.call(lambda registry: new_version(registry.find(NAME), wire.NewVersion(spec=SPEC)))
    again = shop.tell((first, 1.0))
    assert (again.status, again.content.outcomes[0].status) == (200, "duplicate")
    other = shop.tell((first, 0.5))
    assert (other.status, other.content.recorded) == (409, 1.0)
    assert shop.tell((second, 1.0)).status == 409  # nothing is out any more, and nobody learned it
    shop.close()


def test_rewards_of_several_versions_count_together_or_not_at_all(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.create(SPEC)
    old = shop.ask_one().id
    shop.call(lambda registry: new_version(registry.find(NAME), wire.NewVersion(spec=SPEC)))
    new = shop.ask_one().id
    assert shop.tell((old, 1.0), (new, 1.0), (old, 0.5)).status == 409
    assert shop.life().agent.rewards == 0
    assert shop.tell((new, 1.0), (old, 1.0)).status == 200
    assert shop.life().agent.rewards == 2  # its own, and the one that was forwarded
    assert all(verdict.exit_code == 0 for verdict in shop.verdicts())
    shop.close()


def test_a_late_reward_of_an_older_version_is_forwarded(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.create({**SPEC, **LATE})
    late = shop.ask_one()
    shop.time.pass_by(61)
    shop.settle()
    shop.ask()  # is out, so the version is not closed
    shop.call(lambda registry: new_version(registry.find(NAME), wire.NewVersion(spec=SPEC)))
    assert shop.tell((late.id, 0.5)).content.outcomes[0].status == "recorded"
    assert shop.life().agent.pulls[late.arm] == 1
    assert shop.life().agent.sums[late.arm] == 0.5
    shop.close()
