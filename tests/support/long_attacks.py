"""Attacks that take long: memory under load for very many events, and alarms in very many lives."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from statistics import median
from threading import Event, Thread

import numpy as np
from support.bare_life import NoPast
from support.service_process import MEANS, SHOP, Client, ServiceProcess
from support.siege import Findings

from structured_bandits.service.experiment.choosing import Wanted
from structured_bandits.service.experiment.experiment_state import ExperimentState
from structured_bandits.service.experiment.judging import judge
from structured_bandits.service.experiment.replay import code_here
from structured_bandits.service.experiment.saved_state import saved_content
from structured_bandits.service.experiment.spec import build_spec

SHOPS = "/v1/experiments/shop"
AT_ONCE = 200  # decisions that a client has out
SAMPLES = 40  # of the memory
MEBIBYTE = 2**20
MOST_GROWTH = 8 * MEBIBYTE  # of the memory, from the second quarter of the time to the last
LEVEL = 0.05  # of the alarm in simulated lives
PULLS = 500  # in a life


class Shopper(Thread):
    """A client that always has the same number of decisions out, and looks at pages now and then."""

    def __init__(self, client: Client, stop: Event, name: str) -> None:
        super().__init__(name=name)
        self.told = 0
        self.wrong: list[str] = []
        self._client, self._stop_asked = client, stop
        self._random = Random(name)

    def run(self) -> None:
        """Ask and tell until `stop`."""
        with self._client as client:
            try:
                for number in count():
                    if self._stop_asked.is_set():
                        return
                    self._shop(client, number)
            except Exception as error:  # whatever ends a client is a finding
                self.wrong.append(repr(error))

    def _shop(self, client: Client, number: int) -> None:
        asked = client.post(f"{SHOPS}/ask", {"n": AT_ONCE, "key": f"{self.name}-{number}"})
        rewards = [
            {"id": each["id"], "reward": float(self._random.random() < MEANS[1][each["arm"]])}
            for each in asked.content["decisions"]
        ]
        answers = [asked, client.post(f"{SHOPS}/tell", rewards)]
        self.told += len(rewards)
        if number % 10 == 0:
            pages = (SHOPS, "/metrics", "/experiments/shop", f"{SHOPS}/events?after=0&limit=9")
            answers += [client.get(page) for page in pages]
        self.wrong += [str(each)[:300] for each in answers if each.status != 200]


def steady_load(folder: Path, seconds: float, most: int) -> tuple[Findings, list[tuple[int, int]]]:
    """Load the service for a time, or until it has so many rewards; return rewards and memory.

    The number of decisions that are out stays the same, so the memory must, too.
    """
    found, curve, stop = Findings(cycles=1), [(0, 0)], Event()
    with ServiceProcess(folder) as service:
        with service.client() as client:
            client.call("PUT", SHOPS, {"spec": SHOP})
        shoppers = [Shopper(service.client(), stop, f"shopper-{place}") for place in range(3)]
        for shopper in shoppers:
            shopper.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and curve[-1][0] < most:
            time.sleep(min(seconds / SAMPLES, 10.0))
            curve.append((sum(each.told for each in shoppers), service.memory()))
        stop.set()
        for shopper in shoppers:
            shopper.join()
            found.problems += [f"refused: {each}" for each in shopper.wrong]
        with service.client() as client:
            state = client.get(SHOPS).content
        found.acknowledged = sum(each.told for each in shoppers)
        if state["rewards"] != found.acknowledged or state["pending"]:
            found.problems.append(f"sums: {found.acknowledged} were told, shown is {state}")
        found.replays = 1
        found.problems += [
            f"replay: {each.differs}" for each in service.verdicts() if each.exit_code
        ]
    found.problems += _growth([memory for _, memory in curve[1:]])
    return found, curve[1:]


def _growth(memory: list[int]) -> Iterator[str]:
    """Compare the second quarter with the last one: before it, caches fill."""
    quarter = len(memory) // 4
    early, late = median(memory[quarter : 2 * quarter]), median(memory[-quarter:])
    if late > early + MOST_GROWTH:
        yield f"memory: it grew from {early / MEBIBYTE:.1f} to {late / MEBIBYTE:.1f} MiB"


def live(seed: int, right: bool) -> tuple[bool, bool]:
    """Play a life on a random table, whose truth is a model or not; did the alarm ring?

    Also return whether a replay of its rows leads to the same state.
    """
    rng = np.random.default_rng([2031, seed, right])
    models, arms = rng.integers(2, 8, size=2)
    means = np.round(rng.uniform(0.05, 0.95, (models, arms)), 3)
    truth = means[rng.integers(models)]
    if not right:  # beyond all models, on every arm
        truth = np.where(means.mean(axis=0) < 0.5, 1.0, 0.0)
    spec = build_spec(
        {
            "structure": {"kind": "finite", "means": means.tolist()},
            "policy": {"kind": str(rng.choice(["SAE", "SUCB", "UCB"]))},
            "horizon": 10 * PULLS,
            "alarm": {"level": LEVEL, "fallback": "none"},
        }
    )
    life, rows = ExperimentState(spec, "0123456789ab"), []
    life.start({"code": code_here()}, 1)
    for at in range(1, PULLS + 1):
        asked = life.ask(Wanted(1, None, None, defer=False), at)
        reward = float(rng.random() < truth[asked.arm])
        life.tell(judge(life, [(asked.decision or 0, reward)], NoPast()), at)
        rows += life.take_fresh()
        if life.refuted:
            break
    again = ExperimentState(spec, "0123456789ab")
    for row in rows:
        again.replay(row, derive=True)
    return life.refuted, saved_content(again) == saved_content(life)
