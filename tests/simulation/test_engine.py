"""The engine: order of play, regret inside plans, seeds, workers, interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structured_bandits as sb
from structured_bandits.base.progress import COMPILING, note_compilation
from structured_bandits.base.round_robin import first_pulls, write_order
from structured_bandits.experiments.paper.structures import (
    figure1_left,
    figure1_right,
    random_structure,
)
from structured_bandits.simulation import workers

R = figure1_right()
WORLD = sb.Bernoulli(R.means(0))
POLICIES = {
    "UCB": sb.UCB(R),
    "ImprovedUCB": sb.ImprovedUCB(R, 3000),
    "SUCB": sb.SUCB.paper(R),
    "SAE": sb.SAE.paper(R, 3000),
    "ASAE": sb.ASAE.paper(R),
    "GreedyMLE": sb.GreedyMLE(R),
}
TABLES = ("regret", "pulls", "plans", "empty", "arms")


def same(one: sb.Result, other: sb.Result, name: str, runs: int) -> bool:
    """Are the first `runs` runs of a policy the same to the last bit?"""
    return all(
        np.array_equal(getattr(one, table)[name][:runs], getattr(other, table)[name][:runs])
        for table in TABLES
        if getattr(one, table)
    )


def round_robin(quota: list[int]) -> Iterator[int]:
    """The definition: rounds over the arms, one pull each, until each has had its quota."""
    for turn in range(max(quota)):
        for arm, count in enumerate(quota):
            if count > turn:
                yield arm


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=6), st.integers(0, 80))
def test_first_pulls_of_a_plan_against_the_definition(quota: list[int], count: int) -> None:
    order = list(round_robin(quota))[:count]
    plan, pulled = np.array(quota), np.zeros(len(quota), np.int64)
    assert first_pulls(plan, count, pulled) == len(order)
    assert pulled.tolist() == [order.count(arm) for arm in range(len(quota))]
    written = np.zeros(sum(quota), np.int64)
    write_order(plan, written)
    assert written.tolist() == list(round_robin(quota))
    first_pulls(plan, count, plan)  # in place
    assert (plan == pulled).all()


def test_first_pulls_of_a_huge_plan() -> None:
    pulled = np.zeros(3, np.int64)
    assert first_pulls(np.array([2**61, 5, 2**60]), 2**60, pulled) == 2**60
    assert pulled.sum() == 2**60
    assert pulled[1] == 5
    assert pulled[0] - pulled[2] in (0, 1)


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_regret_at_every_pull_is_the_sum_of_the_gaps_played(engine: str) -> None:
    """Checkpoints at every pull, most of them inside plans."""
    result = sb.simulate(
        POLICIES, WORLD, 3000, runs=3, checkpoints=range(1, 3001), record_arms=True, engine=engine
    )
    gaps = WORLD.means.max() - WORLD.means
    for name in POLICIES:
        summed = np.cumsum(gaps[result.arms[name]], axis=1)
        assert np.allclose(result.regret[name], summed, rtol=1e-12, atol=1e-12)
        for run in range(3):
            counts = np.bincount(result.arms[name][run], minlength=4)
            assert (counts == result.pulls[name][run]).all()


@pytest.mark.parametrize(
    "world", [WORLD, sb.Gaussian(R.means(0), 0.5)], ids=["Bernoulli", "Gaussian"]
)
def test_python_and_compiled_agree_to_the_last_bit(world: object) -> None:
    unbounded = {"reward_range": None, "sigma": 0.5}
    policies = POLICIES
    if isinstance(world, sb.Gaussian):
        policies = {
            "UCB": sb.UCB(R, **unbounded),
            "SUCB": sb.SUCB.paper(R, **unbounded),
            "SAE": sb.SAE.paper(R, 3000, **unbounded),
            "ASAE": sb.ASAE.paper(R, **unbounded),
        }
    results = [
        sb.simulate(policies, world, 3000, runs=3, record_arms=True, engine=engine)
        for engine in ("python", "compiled")
    ]
    assert all(same(*results, name, 3) for name in policies)


def test_python_and_compiled_agree_on_curves() -> None:
    left = figure1_left()
    policies = {"SUCB": sb.SUCB.paper(left), "SAE": sb.SAE.paper(left, 2000), "WAGP": sb.WAGP(left)}
    world = sb.Bernoulli(left.means(0.165))
    results = [
        sb.simulate(policies, world, 2000, runs=3, record_arms=True, engine=engine)
        for engine in ("python", "compiled")
    ]
    assert all(same(*results, name, 3) for name in policies)


def test_workers_more_runs_and_more_policies_change_nothing() -> None:
    base = sb.simulate({"SUCB": POLICIES["SUCB"]}, WORLD, 3000, runs=20, seed=7, workers=1)
    wide = sb.simulate(POLICIES, WORLD, 3000, runs=33, seed=7, workers=3)
    slow = sb.simulate(
        {"SUCB": POLICIES["SUCB"]}, WORLD, 3000, runs=20, seed=7, workers=2, engine="python"
    )
    assert same(base, wide, "SUCB", 20)
    assert same(base, slow, "SUCB", 20)
    other_seed = sb.simulate({"SUCB": POLICIES["SUCB"]}, WORLD, 3000, runs=20, seed=8)
    assert not same(base, other_seed, "SUCB", 20)


def test_a_run_draws_from_the_seed_that_the_documentation_says() -> None:
    """A world that pays its generator's first numbers shows which generator it was."""
    from zlib import crc32

    result = sb.simulate(
        {"UCB": sb.UCB(1)}, sb.Bernoulli([0.5]), 50, runs=3, seed=11, planning=False
    )
    assert result.pulls["UCB"].tolist() == [[50]] * 3
    seeds = [np.random.SeedSequence(11, spawn_key=(run, crc32(b"P"))) for run in range(3)]
    first = [np.random.Generator(np.random.PCG64(seed)).random() for seed in seeds]
    left = figure1_left()
    played = sb.simulate(
        {"P": sb.WAGP(left)}, sb.Bernoulli(left.means(0)), 1, runs=3, seed=11, record_arms=True
    )
    assert played.arms["P"][:, 0].tolist() == [int(3 * number) for number in first]


def draw(rng: np.random.Generator) -> tuple[dict[str, object], sb.Bernoulli]:
    structure, truth = random_structure(rng, clip=True)
    policies = {"SUCB": sb.SUCB.paper(structure), "SAE": sb.SAE.paper(structure, 2000)}
    return policies, sb.Bernoulli(structure.means(truth))


class Coin(NamedTuple):
    """Plays an arm at random, with draws that leave half a number in the generator."""

    n_arms: int

    def init(self) -> CoinState:
        return CoinState(np.zeros(1, np.int64))

    def plan(self, state: CoinState, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 0
        quota[rng.integers(0, self.n_arms, dtype=np.uint32)] = 1
        return 0

    def observe(self, state: CoinState, seen: sb.Seen) -> None:
        state.pulls[0] += 1


class CoinState(NamedTuple):
    pulls: Any


def test_runs_that_share_a_generator_do_not_see_each_other() -> None:
    """Also what 32-bit draws leave behind is gone when the next run begins."""
    few, many = (
        sb.simulate({"P": Coin(4)}, WORLD, 5, runs=runs, engine="python", record_arms=True)
        for runs in (3, 11)
    )
    assert (few.arms["P"] == many.arms["P"][:3]).all()
    for run in range(3):
        sequence = np.random.SeedSequence(0, spawn_key=(run, crc32(b"P")))
        rng = np.random.Generator(np.random.PCG64(sequence))
        arms = []
        for _ in range(5):
            arms.append(int(rng.integers(0, 4, dtype=np.uint32)))
            rng.binomial(1, WORLD.means[arms[-1]])
        assert few.arms["P"][run].tolist() == arms


def test_random_structures_are_drawn_afresh_and_reproducibly() -> None:
    base = sb.simulate_random(draw, 2000, runs=12, seed=3, workers=1)
    more = sb.simulate_random(draw, 2000, runs=20, seed=3, workers=2)
    slow = sb.simulate_random(draw, 2000, runs=4, seed=3, workers=2, engine="python")
    for name in ("SUCB", "SAE"):
        assert same(base, more, name, 12)
        assert same(slow, base, name, 4)
        assert len(np.unique(base.regret[name][:, -1])) > 6
    assert "drawn by draw" in base.info["world"]


def test_checkpoints_are_spread_or_given() -> None:
    spread = sb.simulate(sb.UCB(R), WORLD, 1000, runs=1, checkpoints=4)
    assert spread.checkpoints.tolist() == [250, 500, 750, 1000]
    few = sb.simulate(sb.UCB(R), WORLD, 3, runs=1)
    assert few.checkpoints.tolist() == [1, 2, 3]
    given = sb.simulate(sb.UCB(R), WORLD, 1000, runs=1, checkpoints=[1, 10, 100])
    assert given.regret["UCB"].shape == (1, 3)


def test_a_very_long_run_of_sae() -> None:
    result = sb.simulate(sb.SAE.paper(R, 10**12), WORLD, 10**12, runs=3)
    assert (result.pulls["SAE"].sum(axis=1) == 10**12).all()
    assert (result.plans["SAE"] < 40).all()


def test_no_bar_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    sb.simulate(sb.UCB(R), WORLD, 100, runs=2)
    assert capfd.readouterr().err == ""
    sb.simulate(sb.UCB(R), WORLD, 200_000, runs=200, progress=True, planning=False)
    assert "simulating" in capfd.readouterr().err


def test_the_bar_says_when_something_is_compiled(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never on what is no terminal; a compilation that lasts until it is noticed stands for a real one."""
    played, usual = workers.play_block, workers.doing
    noticed = threading.Event()

    def slowly_compiled(*arguments: Any) -> Any:
        note_compilation(True)
        assert noticed.wait(300.0)
        note_compilation(False)
        return played(*arguments)

    def doing(words: str) -> str:
        words = usual(words)
        if words == COMPILING:
            noticed.set()
        return words

    monkeypatch.setattr(workers, "play_block", slowly_compiled)
    monkeypatch.setattr(workers, "doing", doing)
    for progress, said in ((None, False), (True, True)):
        noticed.clear()
        sb.simulate(sb.UCB(R), WORLD, 10, runs=1, engine="python", progress=progress)
        assert ("compiling, once" in capfd.readouterr().err) == said


def wait_until_it_plays(pid: int, helpers: int) -> None:
    """Until it, or each of the processes that help it, has computed for more than a start takes."""
    program = psutil.Process(pid)
    begun = program.cpu_times().user
    for _ in range(3000):
        time.sleep(0.1)
        busy = [program.cpu_times().user - begun]
        if helpers:
            busy = [child.cpu_times().user - 0.5 for child in program.children()]
        if sum(seconds > 1.0 for seconds in busy) >= max(helpers, 1):
            return
    pytest.fail("it does not play")


@pytest.mark.parametrize(("engine", "workers"), [("compiled", 1), ("compiled", 2), ("python", 2)])
def test_ctrl_c_ends_cleanly(tmp_path: Path, engine: str, workers: int) -> None:
    """An endless simulation, interrupted: KeyboardInterrupt, nothing left behind."""
    script = tmp_path / "endless.py"
    script.write_text(
        textwrap.dedent(f"""
            import signal
            import structured_bandits as sb
            if __name__ == "__main__":
                signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may have it ignored
                world = sb.Bernoulli([0.5, 0.6])
                models = sb.FiniteStructure([[0.5, 0.6]])
                policy = sb.GreedyMLE(models, reward_range=None, sigma=0.5)  # a pull, a plan
                sb.simulate(policy, world, 10, runs=2)
                print("playing", flush=True)
                try:
                    sb.simulate(policy, world, 10**15, runs=4, engine={engine!r}, workers={workers})
                except KeyboardInterrupt:
                    print("stopped", flush=True)
        """)
    )
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "playing\n"
    wait_until_it_plays(process.pid, workers if engine == "python" else 0)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the group
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # it is endless; leave no load behind
        raise
    assert out == "stopped\n"
    assert err == ""
    assert process.returncode == 0
    for _ in range(600):  # nobody of the group is left
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("processes are left behind")


class PlansItself(sb.UCB):
    """A policy of the library with a plan of one's own."""

    def plan(self, state: Any, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 0
        quota[1] = 1
        return 0


class Fading(sb.Bernoulli):
    """A world of the library with rewards of one's own."""

    def draw(self, arm: int, pulls: int, count: int, rng: Any) -> sb.Paid:
        ones = float(max(0, min(count, 10 - pulls)))
        return sb.Paid(count, ones, ones)


def test_what_a_subclass_overwrites_counts() -> None:
    """Found in review: streaks and misses of the parent would be used instead."""
    means = WORLD.means
    played = sb.simulate(PlansItself(R), WORLD, 50, runs=1, engine="python")
    assert played.pulls["PlansItself"][0].tolist() == [0, 50] + [0] * (len(means) - 2)
    arms = [
        sb.simulate(
            sb.UCB(R),
            Fading(means),
            200,
            runs=1,
            engine="python",
            planning=planning,
            record_arms=True,
        ).arms["UCB"]
        for planning in (True, False)
    ]
    assert np.array_equal(*arms)  # nothing is random in that world
