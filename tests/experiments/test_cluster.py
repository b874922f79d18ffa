"""Sweeps on clusters of dask: bit by bit what processes play, whoever is killed meanwhile."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from distributed import KilledWorker
from support.dask_cluster import DaskCluster
from support.slow_sweep import SLOW_POINTS, SOURCES, SlowSweep

import structured_bandits as sb
from structured_bandits.experiments.sweeps import executors
from structured_bandits.experiments.sweeps import sweep as play
from structured_bandits.experiments.sweeps.executors import is_loss
from structured_bandits.experiments.sweeps.tasks import Task

RUNS = 60
PAUSE = 0.03  # seconds of a run
FEW = 30  # runs of which some are in a file
MORE = (
    2 * RUNS
)  # runs of which more are in files; as many are left, so no sweep ends before it is let


@pytest.fixture
def slow(tmp_path: Path) -> SlowSweep:
    return SlowSweep(tmp_path, RUNS, PAUSE)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the sweep where nobody disturbs it."""
    return SlowSweep(tmp_path_factory.mktemp("undisturbed"), RUNS, PAUSE).undisturbed()


def test_a_cluster_of_this_machine_whose_worker_is_killed(
    slow: SlowSweep, undisturbed: str
) -> None:
    slow.hold(FEW)
    with slow.process("--cluster", "local", "--workers", "2") as process:
        process.until(lambda: slow.missing() < 6 * RUNS)
        process.until(lambda: len(process.workers()) == 2)
        finished = slow.files()
        process.workers()[0].kill()
        slow.hold(MORE)
        process.until(lambda: len(slow.files()) > len(finished))
        files = slow.files()
        assert {name: files[name] for name in finished} == finished
        slow.release()
        assert process.wait() == 0, slow.said.read_text()
    assert sb.load_sweep(slow.out).digest == undisturbed
    assert list(slow.out.rglob("*.part")) == []
    assert slow.count() < 2 * SLOW_POINTS * RUNS


def test_a_cluster_at_an_address_whose_worker_and_whose_scheduler_are_killed(
    slow: SlowSweep, undisturbed: str
) -> None:
    slow.hold(FEW)
    with (
        DaskCluster(slow.folder, slow.environment, workers=2) as cluster,
        slow.process("--cluster", cluster.address) as process,
    ):
        process.until(lambda: slow.missing() < 6 * RUNS)
        finished = slow.files()
        cluster.kill_worker()
        slow.hold(MORE)
        process.until(lambda: len(slow.files()) > len(finished))
        with process.stopped():  # it would give up if the next scheduler took long to start
            cluster.kill_scheduler()
            slow.release()
            cluster.replace_scheduler()
        left, played, finished = slow.missing_slow(), slow.count(), slow.files()
        assert left > 0
        cluster.add_workers(2)
        assert process.wait() == 0, slow.said.read_text() + cluster.said.read_text()
    assert slow.count() - played == left  # just the runs that had no file
    assert "workers were lost (BrokenExecutor); going on with what is" in slow.said.read_text()
    assert "Traceback" not in slow.said.read_text()
    assert sb.load_sweep(slow.out).digest == undisturbed
    assert sorted(slow.files()) == [
        f"point={point}/runs-0-{RUNS - 1}.parquet" for point in range(6)
    ]


def test_workers_that_come_late_or_cannot_play(
    slow: SlowSweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    elsewhere = slow.folder / "elsewhere"
    elsewhere.mkdir()
    environment = {**slow.environment, "PYTHONPATH": SOURCES}  # the policy is not on its path
    with DaskCluster(elsewhere, environment, workers=0) as cluster:
        how: dict[str, Any] = {"cluster": cluster.address, "runs": 2, "allow_code": True}

        def say(text: str) -> None:
            said.append(text)
            if "no workers yet" in text:
                cluster.add_workers(1)

        out = sb.sweep(slow.file, slow.out, say=say, **how)
        assert said.count("the cluster has no workers yet; waiting for them") == 1
        assert out.runs == 2
        how["runs"] = 3
        with monkeypatch.context() as patch:
            patch.setattr(play, "Task", partial(Task, sources="another"))
            with pytest.raises(
                sb.StructuredBanditsError, match="this worker has another version of structured"
            ):
                sb.sweep(slow.file, slow.out, **how)
        with monkeypatch.context() as patch:
            patch.setattr(play, "Task", lambda out, work: Task(out / "elsewhere", work))
            with pytest.raises(
                sb.StructuredBanditsError, match="elsewhere: this worker does not see the folder"
            ):
                sb.sweep(slow.file, slow.out, **how)
        assert sb.sweep(slow.file, slow.out, **how).runs == 3
        module = slow.folder / "slow_policy.py"
        module.write_text(module.read_text().replace("self.start + ", "self.start + 1 + "))
        changed = sb.sweep(
            slow.file, slow.folder / "changed", **how
        )  # by a worker that knew the old one
    with ThreadPoolExecutor(4) as threads:
        how |= {"cluster": None, "executor": threads}
        again = sb.sweep(slow.file, slow.folder / "again", **how)
    assert changed.digest == again.digest
    assert changed.digest != sb.load_sweep(slow.out).digest


@pytest.mark.parametrize("address", ["nobody", "nonsense", "foo://127.0.0.1:1", ""])
def test_addresses_where_nobody_listens(
    address: str, slow: SlowSweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "PATIENCE", 0.3)
    with socket.socket() as bound:  # but does not listen
        bound.bind(("127.0.0.1", 0))
        if address == "nobody":
            address = f"tcp://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(
            sb.ParameterError, match=f"cluster='{address}': no scheduler answers there"
        ):
            sb.sweep(slow.file, slow.out, cluster=address, allow_code=True)


@pytest.mark.parametrize("lost", [OSError("closed"), asyncio.CancelledError()], ids=repr)
def test_whoever_waits_for_a_task_hears_of_its_loss(lost: BaseException) -> None:
    """Also where the answer was on its way when the scheduler died."""

    class Client:
        status = "finished"

        async def gather(self, sent: object, asynchronous: bool) -> None:
            raise lost

    future: Future[Any] = Future()
    asyncio.run(executors._Sender(Client())._answer(Client(), future))
    assert isinstance(future.exception(timeout=0), BrokenExecutor)


def test_which_errors_say_that_workers_are_lost() -> None:
    killed = KilledWorker("task", "worker", 3)  # type: ignore[no-untyped-call]
    for error in (BrokenProcessPool(), BrokenExecutor(), CancelledError(), killed):
        assert is_loss(error)
    for other in (sb.OutputError("full"), OSError(), RuntimeError(), ValueError()):
        assert not is_loss(other)
