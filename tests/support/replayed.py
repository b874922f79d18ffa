"""Lives with rows of all kinds, restarted at random points: what is restored is what was running.

For every policy that a specification can name, on a small structure of every kind that it accepts.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from support.owned import NAME, Shop, in_memory

from structured_bandits.errors import StructuredBanditsError
from structured_bandits.policies.base import POLICIES
from structured_bandits.service import wire
from structured_bandits.service.experiment.experiment_state import ExperimentState
from structured_bandits.service.experiment.saved_state import saved_content
from structured_bandits.service.experiment.spec import build_spec
from structured_bandits.service.running.lifecycle import new_version
from structured_bandits.service.store_protocol import all_events
from structured_bandits.structures.files.toml import KINDS

ROWS = [[0.75, 0.25, 0.5], [0.25, 0.75, 0.5], [0.5, 0.25, 0.875]]
CURVE = [
    {"start": 0.0, "end": 0.5, "at_start": [0.25, 0.5, 0.75], "at_end": [0.5, 0.5, 0.25]},
    {"start": 0.5, "end": 1.0, "at_start": [0.5, 0.5, 0.25], "at_end": [0.875, 0.25, 0.25]},
]
SMALL: dict[str, dict[str, Any]] = {
    "unstructured": {"n_arms": 3},
    "linear": {"features": [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], "bounds": [0.0, 1.0]},
    "lipschitz": {"positions": [0.0, 0.5, 1.0], "constant": 0.5},
    "monotone": {"n_arms": 3},
    "concave": {"positions": [0.0, 0.5, 1.0]},
    "unimodal": {"n_arms": 3},
    "known_best_mean": {"n_arms": 3, "value": 0.75},
    "finite": {"means": ROWS},
    "around": {"table": ROWS, "margins": 0.125},
    "mixtures": {"table": ROWS},
    "curves": {"pieces": CURVE},
    "polyhedral": {"pieces": [{"slopes": [[1.0], [0.5], [-0.5]], "intercepts": [0, 0.25, 0.75], "rows": [[1.0]], "lower": [0], "upper": [1]}]},
    "union": {"parts": [{"kind": "finite", "means": ROWS[:2]}, {"kind": "finite", "means": ROWS[2:]}]},
    "product": {"parts": [{"kind": "finite", "means": [[0.75, 0.25]]}, {"kind": "finite", "means": [[0.5], [0.875]]}]},
    "intersection": {"parts": [{"kind": "monotone", "n_arms": 3}, {"kind": "unimodal", "n_arms": 3}]},
}  # fmt: skip
assert set(SMALL) >= set(KINDS), "each kind needs a small example"


@cache
def accepted() -> tuple[tuple[str, str], ...]:
    """Return the policies, each with the kinds of structures on which it can be served."""
    found = []
    for policy in (name for name in POLICIES if name != "Guarded"):
        for kind in KINDS:
            try:
                build_spec(spec_of_case(policy, kind))
                found.append((policy, kind))
            except StructuredBanditsError as error:
                if "cannot play on" not in str(error):
                    raise
    return tuple(found)


def spec_of_case(policy: str, kind: str, order: str = "turn") -> dict[str, Any]:
    """Return a specification of a policy on a small structure."""
    return {
        "structure": {"kind": kind, **SMALL[kind]},
        "policy": {"kind": policy},
        "horizon": 5000,
        "order": order,
    }


def stopping(spec: dict[str, Any], rng: Random) -> dict[str, Any]:
    """Return a [stop] in half of the cases in which it is accepted."""
    stop = {"level": 0.2, "then": rng.choice(("notify", "freeze")), "share": rng.choice((0.0, 0.2))}
    with suppress(StructuredBanditsError):
        build_spec(spec | {"stop": stop})
        return {"stop": stop} if rng.random() < 0.5 else {}
    return {}


class Replayed:
    """One life; each restart is checked against the state before it."""

    def __init__(self, folder: Path, policy: str, kind: str, order: str, seed: int) -> None:
        self.rng = Random(f"{policy} {kind} {order} {seed}")
        self.shop = Shop(folder)
        self.spec = {**spec_of_case(policy, kind, order), "seed": seed, "alarm": {"level": 0.1}}
        self.spec |= self._draw_rest()
        self.spec |= stopping(self.spec, Random(f"stop {policy} {kind} {seed}"))
        created = self.shop.create(self.spec)
        assert created.status == 200, created
        self.truth = [self.rng.random() for _ in self.shop.life().spec.arm_names]
        self.out: list[tuple[str, int]] = []  # ids of decisions with their arms
        self.batches: list[tuple[str, list[int]]] = []

    def _draw_rest(self) -> dict[str, Any]:
        """Return the part of a specification about windows, control, audit and pauses."""
        rng = self.rng
        rest: dict[str, Any] = {"default_arm": 0, "seed": rng.randint(0, 9)}
        if rng.random() < 0.5:
            rest["control"] = {"arm": 1, "share": 0.1}
        if rng.random() < 0.5:
            rest["audit"] = {"share": 0.1}
        if rng.random() < 0.4:
            missing = rng.choice((0.0, "cancel"))
            rest["reward"] = {"window": "60s", "missing": missing}
            if missing == "cancel":
                rest["reward"] |= {"late": "learn"}
                rest["alarm"] = {
                    "level": 0.1,
                    "fallback": "none",
                }  # the structure is not tested then
        return rest

    def run(self, commands: int) -> None:
        """Let this much happen, and restart in between."""
        weights = {
            self._ask: 10,
            self._tell: 10,
            self._cancel: 1,
            self._activate: 1,
            self._batch: 2,
            self._results: 2,
            self._learn: 1,
            self._park: 1,
            self._pause: 0.5,
            self._version: 0.8,
            self._wait: 2,
            self._snapshot: 1,
            self._restart: 1.5,
        }
        for act in self.rng.choices(list(weights), list(weights.values()), k=commands):
            act()
        self._restart()

    def end(self) -> set[str]:
        """Derive all decisions again; what the whole log leads to is what is running."""
        self.shop.registry.writer.write_now()
        verdicts = self.shop.verdicts()
        assert all(verdict.exit_code == 0 for verdict in verdicts), verdicts
        store = self.shop.registry.store
        for version in self.shop.registry.find(NAME).versions:
            if version.state is not None:
                fresh = ExperimentState(version.state.spec, version.uid)
                for event in all_events(store, version.row.id):
                    fresh.replay(event, derive=True)
                assert encoded(saved_content(fresh)) == encoded(saved_content(version.state))
        rows = [each for row in store.versions() for each in all_events(store, row.id)]
        self.shop.close()
        return {each.kind for each in rows}

    # --- what happens

    def _ask(self) -> None:
        rng = self.rng
        arms = len(self.truth)
        available = rng.sample(range(arms), rng.randint(1, arms)) if rng.random() < 0.3 else None
        key = f"unit {rng.randint(0, 30)}" if rng.random() < 0.3 else None
        n, defer = rng.choice((1, 1, 4)), rng.random() < 0.2
        found = self.shop.ask(n=n, available=available, key=key, defer=defer)
        if found.status == 200 and not found.content.repeated:
            self.out += [(each.id, each.arm) for each in found.content.decisions]

    def _tell(self) -> None:
        self.rng.shuffle(self.out)
        told, self.out = self.out[:6], self.out[6:]
        for public, arm in told:
            assert self.shop.tell((public, self._reward(arm))).status in (200, 409)

    def _reward(self, arm: int) -> float:
        return float(self.rng.random() < self.truth[arm % len(self.truth)])

    def _cancel(self) -> None:
        self._named("cancel")

    def _activate(self) -> None:
        self._named("activate")

    def _named(self, verb: str) -> None:
        if self.out:
            request = wire.Named(id=self.rng.choice(self.out)[0])
            found = self.shop.call(lambda registry: getattr(registry.find(NAME), verb)(request))
            assert found.status in (200, 409)

    def _batch(self) -> None:
        request = wire.HandOut(limit=self.rng.choice((1, 7, 40)))
        found = self.shop.call(lambda registry: registry.find(NAME).hand_out(request))
        if found.status == 200:
            self.batches.append((found.content.id, found.content.pulls))

    def _results(self) -> None:
        if not self.batches:
            return
        public, pulls = self.batches.pop()
        part = [self.rng.randint(0, count) for count in pulls]
        rest = [a - b for a, b in zip(pulls, part, strict=True)]
        if any(rest):
            self.batches.append((public, rest))
        request = wire.BatchResults(**self._drawn(part), key=f"part {self.rng.random()}")
        assert (
            self.shop.call(lambda registry: registry.find(NAME).results(public, request)).status
            == 200
        )

    def _learn(self) -> None:
        pulls = [self.rng.randint(0, 9) for _ in self.truth]
        request = wire.Learn(**self._drawn(pulls), key=f"log {self.rng.random()}")
        assert self.shop.call(lambda registry: registry.find(NAME).learn(request)).status == 200

    def _drawn(self, pulls: list[int]) -> dict[str, Any]:
        sums = [
            float(sum(self._reward(arm) for _ in range(count))) for arm, count in enumerate(pulls)
        ]
        return {"pulls": pulls, "sums": sums, "squares": sums}

    def _park(self) -> None:
        request = wire.Park(arm=self.rng.randrange(len(self.truth)), parked=self.rng.random() < 0.5)
        assert self.shop.call(lambda registry: registry.find(NAME).park(request)).status in (
            200,
            409,
        )

    def _pause(self) -> None:
        paused = not self.shop.life().paused
        assert self.shop.call(lambda registry: registry.find(NAME).pause(paused)).status == 200

    def _version(self) -> None:
        carry = self.rng.choice((wire.Carry(), wire.Carry(up_to=10), None))
        spec = {**self.spec, **self._draw_rest()}
        if spec.get("reward", {}).get("late") == "learn":
            spec.pop("stop", None)  # which such rewards cannot decide
        request = wire.NewVersion(spec=spec, carry=carry)
        assert (
            self.shop.call(lambda registry: new_version(registry.find(NAME), request)).status == 200
        )

    def _wait(self) -> None:
        self.shop.time.pass_by(self.rng.choice((1, 30, 61)))
        self.shop.settle()

    def _snapshot(self) -> None:
        registry = self.shop.registry
        registry._snapshot(registry.find(NAME).current)
        registry.writer.write_now()

    def _restart(self) -> None:
        before = self._states()
        self.shop.restart(in_order=self.rng.random() < 0.4)
        assert self.shop.registry.find(NAME).warnings == []
        assert self._states() == before

    def _states(self) -> list[bytes]:
        """Return all versions as they would be saved, but for the rows that a restart adds."""
        found = []
        for version in self.shop.registry.find(NAME).versions:
            if version.state is not None:
                content = saved_content(version.state)
                found.append(encoded({**content, "seq": 0, "at": 0, "chain": ""}))
        return found


def encoded(content: dict[str, Any]) -> bytes:
    """Return a state as bytes: floats are equal only to the last bit."""
    return msgspec.json.encode(content)


def replayed_life(
    policy: str, kind: str, order: str, seed: int = 0, commands: int = 18
) -> set[str]:
    """Live one life; raises AssertionError if a replay leads to another state or decision.

    Returns the kinds of rows that its log has.
    """
    with in_memory() as folder:
        life = Replayed(folder, policy, kind, order, seed)
        try:
            life.run(commands)
            return life.end()
        finally:
            life.shop.drop()


def soak_replays(seconds: float, first_seed: int = 0, commands: int = 120) -> int:
    """Live lives of all policies on all kinds of structures for some time; return how many."""
    lives, until = 0, time.monotonic() + seconds
    while True:
        for policy, kind in accepted():
            for order in ("turn", "drawn"):
                if time.monotonic() > until:
                    return lives
                replayed_life(policy, kind, order, first_seed + lives, commands)
                lives += 1
