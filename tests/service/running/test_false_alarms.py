"""No alarm by handing over: each version tests its own decisions, in the order of asking.

In all lives the structure is right, nothing drifts, and rewards come the later the worse they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.first_store import STORE, WINDOWED
from support.handed_over import (
    LATE_SPEC,
    LONGER,
    MODELS,
    SPEC,
    WAYS,
    ask_many,
    hand_over,
    life_with_late_failures,
    lives_handed_over,
)
from support.owned import NAME, Shop, in_memory

from structured_bandits.service import wire
from structured_bandits.service.running.alarms import alarms_of
from structured_bandits.service.running.lifecycle import new_version
from structured_bandits.service.running.views import misfit_of

LIVES = 20
WRONG = (0.9, 0.9)  # no model has this mean for both arms


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A store without experiments."""
    shop = Shop(tmp_path)
    yield shop
    shop.drop()


def renew(shop: Shop, spec: dict[str, Any] = LONGER, **more: Any) -> None:
    """Make a new version."""
    request = wire.NewVersion(spec=spec, **more)
    assert shop.call(lambda registry: new_version(registry.find(NAME), request)).status == 200


def play(shop: Shop, means: tuple[float, ...], rewards: int, seed: int = 1) -> None:
    """Ask and tell at once, so that nothing is out."""
    rng = np.random.default_rng(seed)
    for _ in range(rewards):
        decision = shop.ask_one()
        shop.tell((decision.id, float(rng.random() < means[decision.arm])))


@pytest.mark.parametrize("way", WAYS)
def test_handing_over_while_failures_are_out_does_not_ring(way: str) -> None:
    with in_memory() as folder:
        before, after = lives_handed_over(folder, way, range(LIVES), rounds=3)
    assert (before, after) == (set(), set())


def test_late_failures_that_are_learned_do_not_ring() -> None:
    lives = [life_with_late_failures(number, rounds=30) for number in range(LIVES)]
    learned = [(one.state.agent.rewards, one.state.agent.sums.sum()) for one in lives]
    assert all(rewards > total for rewards, total in learned)  # failures, which are all late
    assert sum(one.state.fallen_at is not None for one in lives) == 0


@pytest.mark.parametrize("missing", [False, True], ids=["told later", "never told"])
def test_parts_of_a_batch_by_their_rewards_do_not_ring(missing: bool) -> None:
    """Successes as one part, failures as the next: a part counted as soon as it came, and nearly all rang."""
    lives = [told_in_parts(number, missing) for number in range(LIVES)]
    assert all(agent.waiting_count == 0 for agent in lives) or missing
    assert sum(agent.log_e_value > np.log(1e4) for agent in lives) == 0


def told_in_parts(number: int, missing: bool) -> Any:
    """Return the agent of a life of twelve batches; the failures of the last may be missing."""
    rng = np.random.default_rng([3, number])
    with in_memory() as folder:
        shop = Shop(folder)
        shop.create({**SPEC, "policy": {"kind": "SAE"}})
        experiment = shop.registry.find(NAME)
        for day in range(12):
            batch = shop.call(lambda _: experiment.hand_out(wire.HandOut(limit=60))).content
            ones = rng.binomial(batch.pulls, MODELS[0])
            parts = {"successes": ones, "failures": np.array(batch.pulls) - ones}
            for part, pulls in parts.items():
                if pulls.any() and not (missing and day == 11 and part == "failures"):
                    sums = (ones if part == "successes" else 0 * ones).astype(float)
                    told = wire.BatchResults(
                        pulls=pulls.tolist(), sums=sums.tolist(), key=f"{part} {day}"
                    )
                    name = batch.id
                    answer = shop.call(lambda _, n=name, t=told: experiment.results(n, t))
                    assert answer.status == 200, answer.content
        agent = shop.life().agent
        shop.drop()
    return agent


# --- what is handed on


def test_the_evidence_goes_on_in_a_version_with_the_same_structure(shop: Shop) -> None:
    shop.create(SPEC)
    play(shop, (0.5, 0.3), 100)
    old = shop.life()
    renew(shop, {**LONGER, "policy": {"kind": "UCB"}})
    new = shop.life().agent
    assert [each.tolist() for each in new.tested] == [each.tolist() for each in old.agent.tested]
    assert new.tested.pulls.sum() == 100
    shop.restart(in_order=False)
    assert shop.life().agent.tested.pulls.sum() == 100
    assert {each.exit_code for each in shop.verdicts()} == {0}


@pytest.mark.parametrize("change", ["a reward is out", "another structure", "some rows only"])
def test_else_the_test_begins_anew_and_the_policy_knows_everything(shop: Shop, change: str) -> None:
    shop.create(SPEC)
    play(shop, (0.5, 0.3), 100)
    spec, more = LONGER, {}
    if change == "a reward is out":
        late = shop.ask_one().id
    elif change == "another structure":
        spec = {**LONGER, "structure": {"kind": "finite", "means": [[0.5, 0.3], [0.3, 0.6]]}}
    else:
        more = {"carry": wire.Carry(without=[(1, 1)])}
    renew(shop, spec, **more)
    assert (shop.life().agent.rewards, shop.life().agent.tested.pulls.sum()) == (100, 0)
    if change == "a reward is out":
        assert shop.tell((late, 1.0)).status == 200
        assert (shop.life().agent.rewards, shop.life().agent.tested.pulls.sum()) == (101, 0)
    play(shop, (0.5, 0.3), 10)
    assert shop.life().agent.tested.pulls.sum() == 10
    agent = shop.life().agent
    shop.restart()  # from a snapshot
    assert shop.life().agent.to_json() == agent.to_json()
    shop.restart(in_order=False)
    assert {each.exit_code for each in shop.verdicts()} == {0}


# --- a wrong structure is still found


def test_a_wrong_structure_rings_in_a_version_whose_test_began_anew(shop: Shop) -> None:
    shop.create(SPEC)
    failures = ask_many(shop, NAME, WRONG, np.random.default_rng(3), 1)
    assert failures
    hand_over(shop, [NAME], "new version")
    play(shop, WRONG, 60)
    assert shop.life().fallen_at is not None


def test_the_alarm_of_an_older_version_rings_in_the_newer_one(shop: Shop) -> None:
    """The rewards of the first version refute the structure as soon as the last of them is told."""
    shop.create(SPEC)
    first, *others = shop.ask(n=100).content.decisions
    shop.tell(*((each.id, 1.0) for each in others))
    renew(shop)
    renew(shop, SPEC)
    assert shop.life().fallen_at is None
    shop.tell((first.id, 1.0))
    assert shop.life().fallen_at is not None
    assert "KLUCB" in repr(shop.life().agent.policy)
    shop.restart(in_order=False)
    assert shop.life().fallen_at is not None
    assert {each.exit_code for each in shop.verdicts()} == {0}


@pytest.mark.parametrize(
    ("change", "more", "rings"),
    [
        ({}, {}, True),
        ({"alarm": {"level": 1e-9}}, {}, False),
        ({"structure": {"kind": "finite", "means": [[0.9, 0.9], [0.3, 0.6]]}}, {}, False),
        ({"structure": {"kind": "finite", "means": [[0.5, 0.3], [0.3, 0.6]]}}, {}, True),
        ({}, {"carry": wire.Carry(without=[(1, 1)])}, False),
        ({}, {"carry": None}, False),
    ],
    ids=[
        "the same",
        "a lower level",
        "a better structure",
        "another that is wrong",
        "some rows only",
        "nothing carried",
    ],
)
def test_what_the_rewards_refute_is_refuted_when_a_version_begins(
    shop: Shop, change: dict[str, Any], more: dict[str, Any], rings: bool
) -> None:
    """The last reward is out, so the test of the new version begins anew."""
    shop.create(SPEC)
    play(shop, (1.0, 1.0), 25)
    assert shop.life().fallen_at is not None
    shop.ask()
    renew(shop, {**LONGER, **change}, **more)
    assert (shop.life().fallen_at is not None) == rings
    assert shop.life().agent.tested.pulls.sum() == 0
    shop.restart(in_order=False)
    assert (shop.life().fallen_at is not None) == rings
    assert {each.exit_code for each in shop.verdicts()} == {0}


# --- late rewards that are learned


def test_learning_late_rewards_beside_an_alarm_is_refused(shop: Shop) -> None:
    refused = shop.create(LATE_SPEC)
    assert refused.status == 422
    assert "alarm for the structure could be false" in refused.content.detail
    assert shop.create(SPEC).status == 200
    request = wire.NewVersion(spec=LATE_SPEC)
    assert shop.call(lambda registry: new_version(registry.find(NAME), request)).status == 422
    without = {**LATE_SPEC, "alarm": {"fallback": "none"}}
    assert shop.create(without, "other").status == 200
    assert misfit_of(shop.life("other")) is None
    assert alarms_of(shop.registry.find("other")) == []


def test_a_store_that_learns_late_rewards_loads_and_says_that_nothing_is_tested(
    tmp_path: Path,
) -> None:
    shutil.copy(STORE, tmp_path / "bandits.db")
    shop = Shop(tmp_path)
    assert misfit_of(shop.life(WINDOWED)) is None
    assert "untested" in {each.kind for each in alarms_of(shop.registry.find(WINDOWED))}
    shop.close()
    hand_over(shop, [NAME, WINDOWED], "restore")
    assert shop.life(WINDOWED).spec.rewards.late == "learn"
    shop.drop()
