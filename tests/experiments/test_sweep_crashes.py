"""Sweeps that are killed, interrupted or lose their workers: the same results, and nothing twice."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import termios
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.slow_sweep import SLOW_POINTS, SlowSweep

import structured_bandits as sb
from structured_bandits.experiments.sweeps import sweep as play
from structured_bandits.experiments.sweeps.executors import Crew
from structured_bandits.experiments.sweeps.scheduler import FIRST

RUNS = 60
PAUSE = 0.02  # seconds of a run
ENOUGH = (
    2 * FIRST + 1
)  # runs, of which some are in a file: first come a few of each of two horizons
LOST = "workers were lost (BrokenProcessPool); going on with what is missing"


@pytest.fixture
def slow(tmp_path: Path) -> SlowSweep:
    return SlowSweep(tmp_path, RUNS, PAUSE)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the sweep where nobody disturbs it."""
    return SlowSweep(tmp_path_factory.mktemp("undisturbed"), RUNS, PAUSE).undisturbed()


def test_a_sweep_that_is_killed_twice_and_interrupted_once(
    slow: SlowSweep, undisturbed: str
) -> None:
    rng = np.random.default_rng(17)
    left = SLOW_POINTS * RUNS
    for end in ("killed", "killed again", "interrupted"):
        missing, played = slow.missing(), slow.count()
        moment = played + int(rng.integers(ENOUGH, left // 3))
        slow.hold(played + left // 2)  # the sweep must not end before
        with slow.process("--workers", "2") as process:
            before = slow.files()
            process.until(lambda moment=moment: slow.count() >= moment)
            assert len(process.workers()) == 2
            if end == "interrupted":
                assert process.interrupt() == 130
            else:
                process.kill()
        files = slow.files()
        assert {name: files[name] for name in before} == before  # nothing was written again
        assert 0 < slow.missing() < missing
        left = slow.missing_slow()
        with pytest.raises(
            sb.FileFormatError, match="are not complete; start the sweep again, it goes"
        ):
            sb.load_sweep(slow.out)
    said = slow.said.read_text()
    assert said.count("stopped; the same command goes on with the runs that are missing") == 1
    assert "Traceback" not in said
    played = slow.count()
    slow.release()
    with slow.process("--workers", "2") as process:
        assert process.wait() == 0, slow.said.read_text()
    assert slow.count() - played == left  # just the runs that had no file
    assert sb.load_sweep(slow.out).digest == undisturbed
    assert sorted(slow.files()) == [
        f"point={point}/runs-0-{RUNS - 1}.parquet" for point in range(6)
    ]
    assert list(slow.out.rglob("*.part")) == []
    assert (slow.out / "report.html").is_file()


def test_in_a_terminal_there_is_one_bar(tmp_path: Path) -> None:
    """Also while workers, whose standard error is the same terminal, play for a while."""
    slow = SlowSweep(tmp_path, 10, 0.1)
    main, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    seen = b""
    with slow.process("--workers", "2", terminal=terminal) as process:
        os.close(terminal)
        with suppress(OSError):  # the other end is closed
            while read := os.read(main, 65536):
                seen += read
        os.close(main)
        assert process.wait() == 0
    bars = {
        line.split(":")[0] for line in seen.decode().split("\r") if "/" in line and "%|" in line
    }
    assert {re.sub(r"[\d.]+", "N", bar.strip()) for bar in bars} <= {
        "preparing",
        "compiling",
        "about N s left",
        "gathering",
    }
    assert "/60 " in seen.decode()
    assert re.search(r"\d/(1|2|8) ", seen.decode()) is None  # a worker's own


def test_a_worker_that_is_killed(slow: SlowSweep, undisturbed: str) -> None:
    slow.hold(2 * ENOUGH)
    with slow.process("--workers", "2") as process:
        process.until(lambda: slow.missing() < 6 * RUNS)
        finished = slow.files()
        process.workers()[0].kill()
        process.until(lambda: LOST in slow.said.read_text())
        files = slow.files()
        assert {name: files[name] for name in finished} == finished
        slow.release()
        assert process.wait() == 0, slow.said.read_text()
    assert slow.said.read_text().count(LOST) == 1
    assert sb.load_sweep(slow.out).digest == undisturbed
    lost = slow.count() - SLOW_POINTS * RUNS  # of the tasks that two workers had at hand
    assert 0 <= lost < SLOW_POINTS * RUNS
    assert list(slow.out.rglob("*.part")) == []


def test_workers_that_die_at_once_are_not_tried_for_ever(
    slow: SlowSweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "LOSSES", 1)
    monkeypatch.setattr(play, "PAUSE", 0.0)
    module = slow.folder / "slow_policy.py"
    ending = (
        "import os\nfrom multiprocessing import parent_process\nif parent_process(): os._exit(3)\n"
    )
    module.write_text(ending + module.read_text())
    said: list[str] = []
    with pytest.raises(
        sb.OutputError, match="2 times in a row all workers ended before they had pl"
    ):
        sb.sweep(slow.file, slow.out, workers=1, allow_code=True, say=said.append)
    assert said[1:] == [LOST, LOST]


def test_losses_with_something_played_in_between_do_not_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine where a worker is killed now and then, all night."""
    monkeypatch.setattr(play, "LOSSES", 1)
    monkeypatch.setattr(play, "PAUSE", 0.0)
    slow = SlowSweep(tmp_path, 30, 0.0)

    class Fragile(ThreadPoolExecutor):
        """Is lost after its second task."""

        tasks = 0

        def submit(self, *work: Any) -> Any:  # type: ignore[override]
            self.tasks += 1
            if self.tasks > 2:
                raise BrokenExecutor("lost")
            return super().submit(*work)

    def crew(_: object) -> AbstractContextManager[Crew]:
        @contextmanager
        def one() -> Iterator[Crew]:
            with Fragile(1) as pool:
                yield Crew(pool, lambda: 1)

        return one()

    monkeypatch.setattr(play.Workers, "crew", crew)
    said: list[str] = []
    assert sb.sweep(slow.file, slow.out, allow_code=True, say=said.append).runs == 30
    assert len(said) > 3
