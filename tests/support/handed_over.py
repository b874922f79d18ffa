"""Lives whose structure is right and whose delays depend on the rewards, handed over in every way.

Successes are told at once and failures later, so whatever has come is no fair sample: a test of the
structure that counts it rings in nearly every life.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from support.bare_life import BareLife
from support.owned import Shop

from structured_bandits.service import wire
from structured_bandits.service.experiment.judging import judge
from structured_bandits.service.rows import CANCEL, EXPIRE, LATE, TELL, Event
from structured_bandits.service.running.lifecycle import bring_back, new_version
from structured_bandits.service.store.backups import back_up
from structured_bandits.service.store.sqlite import SqliteStore

MODELS = [[0.5, 0.3], [0.3, 0.5]]
SPEC: dict[str, Any] = {
    "structure": {"kind": "finite", "means": MODELS},
    "policy": {"kind": "SUCB"},
    "horizon": 100_000,
}
LONGER = {**SPEC, "horizon": 200_000}
LATE_SPEC = {**SPEC, "reward": {"window": "1h", "missing": "cancel", "late": "learn"}}
WAYS = ("new version", "up to a row", "restore")


def ask_many(
    shop: Shop, name: str, means: Sequence[float], rng: np.random.Generator, rounds: int
) -> list[tuple[str, float]]:
    """Ask for 50 decisions at a time and tell the successes; return the failures, which are out."""
    failures = []
    for _ in range(rounds):
        decisions = shop.ask(name, n=50).content.decisions
        drawn = [(each.id, float(rng.random() < means[each.arm])) for each in decisions]
        assert shop.tell(*(each for each in drawn if each[1]), name=name).status == 200
        failures += [each for each in drawn if not each[1]]
    return failures


def rung(shop: Shop, names: Sequence[str]) -> set[str]:
    """Return the experiments whose current version has rung."""
    return {name for name in names if shop.life(name).fallen_at is not None}


def hand_over(shop: Shop, names: Sequence[str], way: str) -> None:
    """Begin a version of each experiment while rewards are out, or bring all back from a backup."""
    if way == "restore":
        shop.close()
        copy = shop.path.with_suffix(".copy")
        back_up(SqliteStore(shop.path, readonly=True), copy)
        shop.path.unlink()
        bring_back(copy, shop.path)
        copy.unlink()
        shop.begin()
        return
    for name in names:
        more: dict[str, Any] = {}
        if way == "up to a row":
            more = {"carry": wire.Carry(up_to=shop.life(name).seq)}
        request = wire.NewVersion(spec=LONGER, **more)
        assert (
            shop.call(lambda registry, n=name, r=request: new_version(registry.find(n), r)).status
            == 200
        )


def lives_handed_over(
    folder: Path, way: str, seeds: Sequence[int], rounds: int
) -> tuple[set[str], set[str]]:
    """Play lives that are handed over twice; return those that rang before, and those after.

    After the first time the failures come, are forwarded, and the new version is asked; then all of it
    happens once more.
    """
    shop = Shop(folder)
    names = {f"life-{seed}": np.random.default_rng([seed, 17]) for seed in seeds}
    failures = {}
    for name, rng in names.items():
        shop.create(SPEC, name)
        failures[name] = ask_many(shop, name, MODELS[0], rng, rounds)
    before, after = rung(shop, [*names]), set()
    for _ in range(2):
        hand_over(shop, [*names], way)
        after |= rung(shop, [*names])
        for name, rng in names.items():
            new = ask_many(shop, name, MODELS[0], rng, 1)
            assert shop.tell(*failures[name], name=name).status == 200
            failures[name] = new
        after |= rung(shop, [*names])
    shop.close()
    return before, after


class Remembered:
    """What became of decisions, kept in memory."""

    def __init__(self) -> None:
        self._outcomes: dict[int | None, Event] = {}
        self._late: dict[int | None, Event] = {}

    def note(self, events: Sequence[Event]) -> None:
        """Remember what rows say."""
        for event in events:
            if event.kind in (TELL, CANCEL, EXPIRE):
                self._outcomes[event.decision] = event
            if event.kind == LATE:
                self._late[event.decision] = event

    def outcome(self, decision: int) -> Event | None:
        """Return what became of a decision."""
        return self._outcomes.get(decision)

    def late(self, decision: int) -> Event | None:
        """Return the late reward of a cancelled decision."""
        return self._late.get(decision)

    def by_key(self, key: str) -> Event | None:
        """Return nothing: no keys are used."""
        return None


def life_with_late_failures(number: int, rounds: int) -> BareLife:
    """Play a life in which failures come after the window of an hour, and are learned."""
    one, past = BareLife(LATE_SPEC, number), Remembered()
    rng = np.random.default_rng([number, 9])
    coming: list[tuple[float, int, float]] = []
    for _ in range(rounds):
        one.now += 600.0
        at = int(1000 * one.now)
        due = [(decision, reward) for time, decision, reward in coming if time <= one.now]
        coming = [each for each in coming if each[0] > one.now]
        one.state.tell(judge(one.state, due, past), at)
        while one.state.settle(at):
            pass
        past.note(one.state.take_fresh())
        for decision, choice in one.ask(10):
            reward = float(rng.random() < MODELS[0][choice.arm])
            coming.append((one.now + (60.0 if reward else 10_800.0), decision, reward))
    return one
