"""An upgrade never stops an experiment: logs of other code are restored, continued and checked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support import first_store
from support.owned import NAME, Shop
from support.told_life import SPEC, play, snapshot

from structured_bandits.policies import sae
from structured_bandits.service.experiment import replay
from structured_bandits.service.experiment.replay import LogVerdict
from structured_bandits.service.running.lifecycle import bring_back
from structured_bandits.service.store.checking import check_store, exit_code
from structured_bandits.service.store.sqlite import SqliteStore

OLD, OLDER = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture
def code_is(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what lets the code of the library be another."""
    return lambda sources: monkeypatch.setattr(replay, "SOURCES_HASH", sources)


def asks(shop: Shop) -> int:
    rows = shop.registry.store.events(shop.registry.find(NAME).current.row.id)
    return sum(row.kind == "ask" for row in rows)


def counts(shop: Shop) -> tuple[list[int], list[float], int]:
    agent = shop.life().agent
    return agent.pulls.tolist(), agent.sums.tolist(), agent.pending_count


def checked(shop: Shop) -> LogVerdict:
    (verdict,) = shop.verdicts()
    assert not verdict.damages
    assert not verdict.differs
    return verdict


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("saved", [True, False])
def test_a_log_of_other_code_goes_on(
    tmp_path: Path, code_is: Callable[[str], None], in_order: bool, saved: bool
) -> None:
    here = replay.SOURCES_HASH
    code_is(OLD)
    shop = Shop(tmp_path)
    shop.create(SPEC)
    play(shop, 5)
    if saved:
        snapshot(shop)
    play(shop, 5)
    shop.ask(key="a visitor")
    before, old = counts(shop), asks(shop)
    assert checked(shop).exit_code == 0  # that code could check all of it
    code_is(here)
    shop.restart(in_order)
    assert shop.registry.find(NAME).warnings == []
    assert counts(shop) == before
    assert shop.ask(key="a visitor").content.repeated
    play(shop, 10, 1.0)
    found = checked(shop)
    assert (found.exit_code, found.taken, found.derived) == (2, old, asks(shop) - old)
    shop.restart(in_order)
    play(shop, 3)
    found = checked(shop)
    assert (found.exit_code, found.taken, found.derived) == (2, old, asks(shop) - old)
    shop.close()


def test_several_upgrades_and_one_back(tmp_path: Path, code_is: Callable[[str], None]) -> None:
    here = replay.SOURCES_HASH
    shop = Shop(tmp_path)
    shop.create(SPEC)
    play(shop, 4)
    for sources in (OLD, OLDER, OLD, here):
        code_is(sources)
        shop.restart(in_order=sources == OLDER)
        play(shop, 4, 1.0)
    found = checked(shop)
    assert (found.exit_code, found.derived, found.taken) == (
        2,
        8,
        12,
    )  # the first part and the last
    shop.close()


def test_accounting_needs_no_certain_code(tmp_path: Path, code_is: Callable[[str], None]) -> None:
    code_is(OLD)
    shop = Shop(tmp_path)
    shop.create(SPEC)
    play(shop, 4)
    code_is(OLDER)
    assert [each.exit_code for each in shop.verdicts(decisions=False)] == [0]
    assert [each.exit_code for each in shop.verdicts(decisions=True)] == [2]
    shop.close()


@pytest.mark.parametrize("known", [True, False], ids=["another hash", "the same hash"])
@pytest.mark.parametrize("what", ["how it plans", "a default"])
def test_a_policy_that_decides_otherwise_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code_is: Callable[[str], None],
    what: str,
    known: bool,
) -> None:
    here = replay.SOURCES_HASH
    shop = Shop(tmp_path)
    alpha = {} if what == "a default" else {"alpha": 0.03}  # of which phases are short
    shop.create({**SPEC, "policy": {"kind": "SAE", **alpha}})
    play(shop, 4)
    snapshot(shop)
    play(shop, 40)
    before = counts(shop)
    if what == "how it plans":
        plain = sae.width_budget
        monkeypatch.setattr(sae, "width_budget", lambda *given: 5.0 * plain(*given))
    else:
        # what an experiment has that names no alpha
        monkeypatch.setattr(sae.SAE, "former_defaults", {**sae.SAE.former_defaults, "alpha": 0.03})
    code_is(OLD if known else here)
    shop.restart(in_order=False)
    warned = any("taken as they were logged" in each for each in shop.registry.find(NAME).warnings)
    assert warned == (not known)  # the same code must not decide otherwise, so somebody should look
    assert counts(shop) == before
    old = asks(shop)
    play(shop, 20, 1.0)
    if known:
        found = checked(shop)
        assert (found.exit_code, found.taken, found.derived) == (2, old, asks(shop) - old)
    shop.restart()
    play(shop, 3)
    shop.close()


def test_a_backup_of_the_first_schema_is_restored(tmp_path: Path) -> None:
    """It has no seal; what is there is sealed when it is brought up to date."""
    done = bring_back(first_store.STORE, tmp_path / "bandits.db")
    assert done == [
        "shop: version 3 begins with 16 rewards",
        "prices: version 2 begins with 2 rewards",
    ]
    assert sorted(path.name for path in tmp_path.iterdir() if "-" not in path.name) == [
        "bandits.db",
        "bandits.db.lock",
    ]
    store = SqliteStore(tmp_path / "bandits.db", readonly=True)
    assert store.faults() == []
    assert exit_code([each.verdict for each in check_store(store, (), decisions=False)]) == 0


def test_the_first_store_can_still_be_read(tmp_path: Path) -> None:
    shutil.copy(first_store.STORE, tmp_path / "bandits.db")
    shop = Shop(tmp_path)
    assert first_store.said(shop) == json.loads(first_store.SAYS.read_text())
    for verdict in shop.verdicts():
        assert not verdict.damages
        assert not verdict.differs
    play(shop, 5)
    shop.restart()
    assert shop.life().agent.rewards > 16
    for verdict in shop.verdicts():
        assert verdict.exit_code in (0, 2)
    shop.close()
