"""`simulate(executor=…)`: the same to the last bit, and clear words where something is no executor."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.simulation.result import TABLES
from structured_bandits.simulation.workers import IN_FLIGHT, slots_of, spread

TABLE = sb.FiniteStructure([[0.8, 0.3, 0.1], [0.8, 0.9, 0.1], [0.1, 0.2, 0.9]])
WORLD = sb.Bernoulli(TABLE.means(0))
HORIZON, RUNS = 100, 25
POLICIES = {"UCB": sb.UCB(TABLE), "SAE": sb.SAE.paper(TABLE, horizon=HORIZON)}


def draw(rng: np.random.Generator) -> tuple[Mapping[str, Any], Any]:
    """A problem of its own for each run."""
    table = sb.FiniteStructure(rng.uniform(size=(4, 3)))
    policies = {"UCB": sb.UCB(table), "SAE": sb.SAE.paper(table, horizon=HORIZON)}
    return policies, sb.Bernoulli(table.means(int(rng.integers(4))))


class Counting(Executor):
    """Plays with two threads, and notes what is under way."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(2)
        self.futures: list[Future[Any]] = []
        self.most = 0

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future = self.pool.submit(function, *arguments, **named)
        self.futures.append(future)
        self.most = max(self.most, sum(not each.done() for each in self.futures))
        return future


@pytest.fixture(scope="module", params=["processes", "threads", "dask"])
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "dask":
        from distributed import Client

        with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
            yield client.get_executor(pure=False)
        return
    pool: Executor = ThreadPoolExecutor(2)
    if request.param == "processes":
        pool = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    with pool:
        yield pool


def check_equal(ours: sb.Result, theirs: sb.Result) -> None:
    for key in TABLES:
        left, right = getattr(ours, key), getattr(theirs, key)
        assert left.keys() == right.keys()
        for name in left:
            assert left[name].tobytes() == right[name].tobytes()
    assert ours.info == theirs.info


def test_simulate_is_the_same_on_an_executor(executor: Any) -> None:
    how: dict[str, Any] = {"runs": RUNS, "seed": 3, "first_run": 5, "record_arms": True}
    plain = sb.simulate(POLICIES, WORLD, HORIZON, **how)
    check_equal(sb.simulate(POLICIES, WORLD, HORIZON, executor=executor, **how), plain)
    check_equal(sb.simulate(POLICIES, WORLD, HORIZON, executor=executor, workers=7, **how), plain)


def test_simulate_random_is_the_same_on_an_executor(executor: Any) -> None:
    plain = sb.simulate_random(draw, HORIZON, runs=RUNS, seed=3)
    check_equal(sb.simulate_random(draw, HORIZON, runs=RUNS, seed=3, executor=executor), plain)


def test_python_runs_are_the_same_on_an_executor(executor: Any) -> None:
    how: dict[str, Any] = {"runs": 3, "engine": "python"}
    plain = sb.simulate(POLICIES, WORLD, HORIZON, **how)
    check_equal(sb.simulate(POLICIES, WORLD, HORIZON, executor=executor, **how), plain)


def test_only_a_few_blocks_for_each_slot_are_under_way() -> None:
    counting = Counting()
    with counting.pool:
        sb.simulate(POLICIES, WORLD, HORIZON, runs=200, executor=counting, workers=2)
    assert len(counting.futures) == len(spread(range(200), 2)) > IN_FLIGHT * 2
    assert 1 <= counting.most <= IN_FLIGHT * 2


def test_slots() -> None:
    with ThreadPoolExecutor(3) as pool:
        assert slots_of(pool) == 3
    assert slots_of(Counting()) >= 1


class Wrong:
    """Its `submit` returns no future."""

    def submit(self, function: Any, *arguments: Any) -> int:
        return 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "executor=3: expected something with submit"),
        ("local", "executor='local': expected something with submit"),
        (ThreadPoolExecutor, "expected something with submit"),
        (
            Wrong(),
            r"its submit returned 3; expected a future of concurrent.futures \(of a dask client",
        ),
    ],
    ids=["number", "text", "class", "no future"],
)
def test_what_is_no_executor_is_refused(given: Any, message: str) -> None:
    with pytest.raises(sb.ParameterError, match=message):
        sb.simulate(POLICIES, WORLD, HORIZON, runs=2, executor=given)
    with pytest.raises(sb.ParameterError, match=message):
        sb.simulate_random(draw, HORIZON, runs=2, executor=given)


@pytest.mark.parametrize("workers", [0, -1])
def test_wrong_numbers_of_workers_are_refused(workers: int) -> None:
    with pytest.raises(sb.ParameterError, match=f"workers={workers}"):
        sb.simulate(POLICIES, WORLD, HORIZON, executor=Counting(), workers=workers)


def test_what_cannot_be_sent_is_refused() -> None:
    def local(rng: np.random.Generator) -> tuple[Mapping[str, Any], Any]:
        return draw(rng)

    with pytest.raises(
        sb.ParameterError, match="define it at the top level of a module, or play it"
    ):
        sb.simulate_random(local, HORIZON, runs=2, executor=Counting())


failed, heard = threading.Event(), threading.Event()


class Failing(NamedTuple):
    """Fails in one run of four, soon after its beginning; then all others wait until that was heard."""

    n_arms: int
    compiles = False

    def init(self) -> tuple[Any, ...]:
        return (np.zeros(1),)

    def plan(self, state: Any, now: Any, quota: Any, rng: np.random.Generator) -> int:
        if failed.is_set():
            assert heard.wait(300.0)
        elif now.t == 5 and rng.integers(4) == 0:
            failed.set()
            raise ArithmeticError("a run fails")
        quota[:] = 0
        quota[0] = 1
        return 0

    def observe(self, state: Any, seen: Any) -> None:
        pass


def test_an_error_in_a_run_is_raised_and_the_rest_is_cancelled() -> None:
    counting = Counting()
    failed.clear()
    heard.clear()
    with counting.pool:
        with pytest.raises(ArithmeticError, match="a run fails"):
            sb.simulate(Failing(3), WORLD, 10, runs=200, executor=counting, workers=2)
        heard.set()
    assert len(counting.futures) < len(spread(range(200), 2))  # the rest was not handed over
    assert any(each.cancelled() for each in counting.futures)
