"""[stop]: an experiment says when it is decided which arm is best, and may play that arm from then on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.owned import NAME, Shop

from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service.client.view import describe
from structured_bandits.service.experiment.spec import build_spec, read_spec
from structured_bandits.service.running.metrics import server_reading
from structured_bandits.service.running.views import state_of

ROWS = [[0.75, 0.25, 0.5], [0.25, 0.75, 0.5], [0.5, 0.25, 0.875]]
TABLE = {"kind": "finite", "means": ROWS, "arms": ["tea", "milk", "juice"]}


def spec(then: str | None, **more: Any) -> dict[str, Any]:
    stop = {} if then is None else {"stop": {"level": 0.02, "then": then}}
    policy = {"kind": "ModelTS"}
    return {"structure": TABLE, "policy": policy, "horizon": 5000, "seed": 4, **stop, **more}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    shop.drop()


def live(shop: Shop, decisions: int, row: int = 0, rng: random.Random | None = None) -> list[str]:
    """Let visitors come; return the names of the arms that they were shown."""
    draw, shown = rng or random.Random(6), []
    for _ in range(decisions):
        decision = shop.ask_one()
        shown.append(decision.name)
        mean = ROWS[row][decision.arm]
        shop.tell((decision.id, float(draw.random() < mean)))
    return shown


def stop_of(shop: Shop) -> Any:
    return state_of(shop.registry.find(NAME)).stop


def decided(shop: Shop) -> bool | None:
    (reading,) = server_reading(shop.registry).experiments
    return reading.decided


def test_a_decided_experiment_plays_its_winner_and_learns_on(shop: Shop) -> None:
    assert shop.create(spec("freeze")).status == 200
    assert stop_of(shop) == (stop_of(shop).__class__)(
        level=0.02, then="freeze", arm=None, rewards=None
    )
    live(shop, 120)
    found = stop_of(shop)
    assert (found.arm, found.then) == ("tea", "freeze")
    assert 0 < found.rewards < 120
    assert set(live(shop, 40, row=2)) == {"tea"}  # whatever comes
    assert shop.life().agent.rewards == 160
    assert stop_of(shop) == found
    state = state_of(shop.registry.find(NAME))
    said = describe("http://shop", state).text()
    assert f"decided after {found.rewards} rewards that 'tea' is best" in said
    assert "and plays it" in said
    assert decided(shop) is True


def test_to_notify_changes_no_decision(tmp_path: Path) -> None:
    shown = []
    for number, then in enumerate((None, "notify")):
        shop = Shop(_folder(tmp_path, number))
        shop.create(spec(then))
        shown.append(live(shop, 150))
        found = stop_of(shop)
        shop.drop()
    assert shown[0] == shown[1]
    assert found.arm == "tea"


def _folder(path: Path, number: int) -> Path:
    folder = path / str(number)
    folder.mkdir()
    return folder


@pytest.mark.parametrize("in_order", [True, False], ids=["restarted", "power lost"])
def test_what_was_decided_survives(shop: Shop, in_order: bool) -> None:
    shop.create(spec("freeze"))
    rng = random.Random(2)
    for _ in range(6):
        live(shop, 25, rng=rng)
        before, agent = stop_of(shop), shop.life().agent.to_json()
        shop.restart(in_order)
        assert stop_of(shop) == before
        assert shop.life().agent.to_json() == agent
    assert before.arm == "tea"
    assert not any(verdict.damages or verdict.differs for verdict in shop.verdicts())


def test_late_rewards_count_in_the_order_of_asking(shop: Shop) -> None:
    """Clicks come at once, and that nobody clicked never: nothing is decided by clicks alone."""
    shop.create(spec("freeze"))
    rng = random.Random(3)
    for _ in range(200):
        decision = shop.ask_one()
        if rng.random() < ROWS[0][decision.arm]:
            shop.tell((decision.id, 1.0))
    assert shop.life().agent.rewards > 50
    assert stop_of(shop).arm is None


def test_a_fallback_decides_nothing(shop: Shop) -> None:
    """Once the structure is refuted, what follows from it does not count."""
    shop.create(spec("freeze", alarm={"level": 0.1}))
    rng = random.Random(5)
    while not shop.life().refuted:
        decision = shop.ask_one()
        shop.tell((decision.id, float(rng.random() < 0.02)))
    assert stop_of(shop) is None
    assert decided(shop) is False


@pytest.mark.parametrize("fallback", ["none", "control"])
def test_a_refuted_table_freezes_nothing(shop: Shop, fallback: str) -> None:
    """With all arms at 2 % no row is right; the policy goes on, and decides nothing."""
    more = {"alarm": {"level": 0.1, "fallback": fallback}, "control": {"arm": 1}}
    shop.create(spec("freeze", policy={"kind": "ModelTS", "trust": 0.5}, **more))
    rng = random.Random(5)
    for _ in range(400):
        decision = shop.ask_one()
        shop.tell((decision.id, float(rng.random() < 0.02)))
    assert shop.life().refuted
    assert stop_of(shop) is None
    assert decided(shop) is False
    shop.restart()
    assert stop_of(shop) is None
    assert not any(verdict.damages or verdict.differs for verdict in shop.verdicts())


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        ({}, "'level' is missing"),
        ({"level": 2}, r"stop\.level=2: expected a probability"),
        ({"level": 0.05, "then": "shout"}, r"stop\.then='shout'"),
        ({"level": 0.05, "share": 2}, r"stop\.share=2: expected a number from 0 to 1"),
        ({"level": 0.05, "arm": "tea"}, "arm"),
        (0.05, r"stop=0.05: expected a section: write \[stop\]"),
    ],
)
def test_what_is_refused(stop: Any, message: str) -> None:
    with pytest.raises(StructuredBanditsError, match=message):
        build_spec(spec(None) | {"stop": stop})


def test_rewards_that_lateness_has_sorted_out_decide_nothing() -> None:
    late = {"reward": {"window": "60s", "missing": "cancel", "late": "learn"}}
    with pytest.raises(StructuredBanditsError, match=r"^stop: with reward\.late='learn'"):
        build_spec(spec("notify", alarm={"fallback": "none"}, **late))


def test_policies_that_cannot_become_certain_say_so(tmp_path: Path) -> None:
    for policy in ({"kind": "SAE"}, {"kind": "ModelTS", "switching": True}):
        with pytest.raises(StructuredBanditsError, match=r"^stop: policy="):
            build_spec(spec("notify") | {"policy": policy})
    file = tmp_path / "shop.toml"
    file.write_text(
        'horizon = 100\nstructure = {kind = "finite", means = [[0.5, 0.25], [0.25, 0.5]]}\n'
        '[policy]\nkind = "ISAE"\n[stop]\nlevel = 0.05\nshare = 0.1\n'
    )
    built = build_spec(read_spec(file))
    assert (built.stop, built.policy.share, built.policy.settles) == ("notify", 0.1, False)
