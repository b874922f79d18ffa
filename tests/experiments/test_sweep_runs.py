"""Sweeps that are played: every point as `sb.simulate` plays it, whoever plays, and what is told of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import structured_bandits as sb
from structured_bandits.experiments.sweeps import sweep as play
from structured_bandits.experiments.sweeps.folder import missing_runs, part_path, rows_of, save_part
from structured_bandits.experiments.sweeps.grid import read_grid
from structured_bandits.experiments.sweeps.loaded import Sweep
from structured_bandits.experiments.sweeps.scheduler import (
    DEARER,
    FIRST,
    PIECES,
    SECONDS,
    TAIL,
    Schedule,
)
from structured_bandits.experiments.sweeps.tasks import PointRuns, TimedRuns
from structured_bandits.simulation.result import TABLES, load_result

RUNS = 50
MEANS = [[0.8, 0.3, 0.1], [0.8, 0.9, 0.1], [0.1, 0.2, 0.9]]
WIDE = [[0.5, 0.9, 0.2, 0.3, 0.1], [0.9, 0.5, 0.2, 0.3, 0.1]]
TABLES_OF_MEANS = {"narrow": MEANS, "wide": WIDE}
ALPHAS, HORIZONS, SEEDS = (0.5, 2.0), (150, 200), (3, 4)


def structure(means: Any) -> dict[str, Any]:
    models = ["one", "two", "three"][: len(means)]
    return {"kind": "finite", "means": means, "models": models}


SMALL: dict[str, Any] = {
    "title": "Small",
    "structure": structure(MEANS),
    "truth": "one",
    "horizon": 200,
    "runs": RUNS,
    "policies": {"SAE": {}, "UCB": {}},
    "sweep": {
        "cases": [
            {"name": name, "structure": structure(each)} for name, each in TABLES_OF_MEANS.items()
        ],
        "horizon": list(HORIZONS),
        "policies.SAE.alpha": list(ALPHAS),
    },
}


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """The small sweep, played by threads of this process."""
    with ThreadPoolExecutor(2) as pool:
        return sb.sweep(SMALL, tmp_path_factory.mktemp("sweeps") / "played", executor=pool)


def expected() -> Iterator[tuple[str, dict[str, Any], sb.Result]]:
    """All points in order, as `sb.simulate` plays them in this process."""
    for name in ("SAE", "UCB"):
        for case, horizon, alpha in product(
            TABLES_OF_MEANS, HORIZONS, ALPHAS if name == "SAE" else (None,)
        ):
            table = sb.FiniteStructure(TABLES_OF_MEANS[case])
            own = {} if alpha is None else {"alpha": alpha}
            policy: Any = sb.UCB(table)
            if name == "SAE":
                policy = sb.SAE.paper(table, horizon=horizon, **own)
            world = sb.Bernoulli(table.means(0))
            result = sb.simulate({name: policy}, world, horizon, RUNS, seed=0, checkpoints=20)
            values = {"cases": case, "horizon": horizon}
            yield name, values | {f"policies.SAE.{key}": each for key, each in own.items()}, result


def check_equal(ours: sb.Result, theirs: sb.Result) -> None:
    assert np.array_equal(ours.checkpoints, theirs.checkpoints)
    for key in TABLES:
        left, right = getattr(ours, key), getattr(theirs, key)
        assert left.keys() == right.keys()
        for name in left:
            assert left[name].dtype == right[name].dtype
            assert left[name].tobytes() == right[name].tobytes()


# --------------------------------------------------------------------------------- what is played


def test_every_point_is_what_simulate_gives(played: Sweep) -> None:
    points = list(expected())
    assert len(points) == len(played.about) == 12
    for number, (policy, values, result) in enumerate(points):
        assert played.about[number]["policy"] == policy
        assert played.about[number]["values"] == values
        check_equal(played.result(number), result)


def test_seeds_are_a_sweep_of_their_own(tmp_path: Path, threads: Executor) -> None:
    axes = {"seed": list(SEEDS)}
    out = sb.sweep({**SMALL, "sweep": axes}, tmp_path / "out", runs=5, seed=9, executor=threads)
    table = sb.FiniteStructure(MEANS)
    policy = sb.UCB(table)
    for point, seed in zip((2, 3), SEEDS, strict=True):
        world = sb.Bernoulli(table.means(0))
        again = sb.simulate({"UCB": policy}, world, 200, 5, seed=seed, checkpoints=20)
        check_equal(out.result(point), again)


def test_random_structures_are_drawn_again_by_whoever_plays(tmp_path: Path) -> None:
    from structured_bandits.experiments.paper.structures import STRUCTURES

    content = {
        "structure": "paper:random",
        "horizon": 60,
        "policies": {"UCB": {}},
        "sweep": {"policies.UCB.alpha": [1.0, 2.0]},
    }
    how: dict[str, Any] = {"executor": Odd(), "named": STRUCTURES}
    first = sb.sweep(content, tmp_path / "parts", runs=5, **how)
    first = sb.sweep(content, tmp_path / "parts", runs=11, **how)
    assert first.digest == sb.sweep(content, tmp_path / "whole", runs=11, **how).digest


class Odd(Executor):
    """Plays at once, in this process; has no number of workers."""

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **named))
        return future


@pytest.mark.parametrize("who", ["one process", "two processes", "a pool", "odd"])
def test_whoever_plays_the_digest_is_the_same(played: Sweep, who: str, tmp_path: Path) -> None:
    if who == "a pool":
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            other = sb.sweep(SMALL, tmp_path / "out", executor=pool)
    elif who == "odd":
        other = sb.sweep(SMALL, tmp_path / "out", executor=Odd())
    else:
        other = sb.sweep(SMALL, tmp_path / "out", workers=1 if who == "one process" else 2)
    assert other.digest == played.digest
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [
        "best.csv", "data", "figures", "points.parquet", "report.html", "summary.csv", "sweep.json",
    ]  # fmt: skip


def test_parts_that_are_missing_are_played_again(
    played: Sweep, tmp_path: Path, threads: Executor
) -> None:
    out = tmp_path / "out"
    shutil.copytree(played.out, out)
    kept = load_result(part_path(out, 1, range(RUNS)))
    shutil.rmtree(out / "data" / "point=0")
    part_path(out, 1, range(RUNS)).unlink()
    for rows in (slice(3, 9), slice(20, 31), slice(5, 20)):  # some overlap, some are missing
        save_part(rows_of(kept, rows), part_path(out, 1, range(rows.start, rows.stop)))
    said: list[str] = []
    again = sb.sweep(SMALL, out, executor=threads, say=said.append)
    assert again.digest == played.digest
    there = 12 * RUNS - RUNS - 22
    assert said == [
        "12 points, 50 runs of each",
        f"{there} of 600 runs are there already, in {out}/data",
    ]
    assert [each.name for each in (out / "data" / "point=1").iterdir()] == ["runs-0-49.parquet"]


def test_a_sweep_that_was_interrupted_goes_on(
    played: Sweep, tmp_path: Path, threads: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = play.submit_to, [5]

    def submit(*arguments: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(play, "submit_to", submit)
        with pytest.raises(KeyboardInterrupt):
            sb.sweep(SMALL, tmp_path / "out", executor=threads)
    assert sb.sweep(SMALL, tmp_path / "out", executor=threads).digest == played.digest


def test_more_runs_are_added_to_those_that_are_there(
    played: Sweep, tmp_path: Path, threads: Executor
) -> None:
    first = sb.sweep(SMALL, tmp_path / "out", runs=20, executor=threads)
    assert first.runs == 20
    said: list[str] = []
    more = sb.sweep(SMALL, tmp_path / "out", runs=RUNS, executor=threads, say=said.append)
    assert f"240 of 600 runs are there already, in {tmp_path}/out/data" in said
    assert more.digest == played.digest
    assert len(list((tmp_path / "out" / "data").rglob("*.*"))) == 12


def test_what_killed_processes_left_is_swept_away(
    played: Sweep, tmp_path: Path, threads: Executor
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    process = 2**22 + 1  # more than the system gives
    (out / f"sweep.json.{'0' * 16}.{process}.part").write_text("{")
    sb.sweep(SMALL, out, runs=2, executor=threads)
    unfinished = out / "data" / "point=0" / f"runs-0-9.parquet.{'0' * 16}.{process}.part"
    unfinished.write_bytes(b"PAR1")
    sb.sweep(SMALL, out, runs=3, executor=threads)
    assert list(out.rglob("*.part")) == []


# -------------------------------------------------------------------------------- what is refused


def refused(message: str, out: Path, content: Any = SMALL, **how: Any) -> None:
    before = {path: path.stat().st_mtime_ns for path in (out / "data").rglob("*")}
    with pytest.raises(sb.StructuredBanditsError, match=message):
        sb.sweep(content, out, executor=Odd(), **how)
    assert {path: path.stat().st_mtime_ns for path in (out / "data").rglob("*")} == before


def test_another_sweep_in_the_folder(played: Sweep) -> None:
    fewer = {**SMALL, "sweep": {"horizon": [10, 20]}}
    refused(
        "has another sweep: it has 12 points, this one 4; use another folder", played.out, fewer
    )
    other = {**SMALL, "sweep": {**SMALL["sweep"], "policies.SAE.alpha": [0.5, 3.0]}}
    refused(r"another sweep: point 1 \(SAE, .*'policies.SAE.alpha': 2.0}\) is", played.out, other)
    refused("point 0 .* is another one", played.out, seed=1)
    refused("it has 50 runs of each point, more than 20", played.out, runs=20)
    assert sb.load_sweep(played.out).runs == RUNS


def test_a_foreign_folder(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear")
    refused("is not empty, and no sweep is there; use another folder", tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["letter.txt"]
    refused("cannot be", tmp_path / "letter.txt")
    with pytest.raises(sb.FileFormatError, match="there is no sweep in this folder"):
        sb.load_sweep(tmp_path)
    with pytest.raises(sb.FileFormatError, match="there is no sweep in this folder"):
        sb.load_sweep(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not what a sweep writes"),
        ("[]", "is not what a sweep writes"),
        ("{}", "is not what a sweep writes"),
        ('{"format": 1}', "is not what a sweep writes"),
        ('{"format": 2}', "format 2, expected 1"),
    ],
)
def test_a_manifest_that_is_none(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(content)
    refused(message, tmp_path)
    with pytest.raises(sb.FileFormatError, match=message):
        sb.load_sweep(tmp_path)


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "part"])
def test_a_damaged_part_is_named_and_left_alone(
    played: Sweep, tmp_path: Path, whole: bool, threads: Executor
) -> None:
    out = tmp_path / "out"
    shutil.copytree(played.out, out)
    path = part_path(out, 3, range(RUNS))
    if not whole:
        kept = load_result(path)
        path.unlink()
        path = part_path(out, 3, range(10))
        save_part(rows_of(kept, slice(0, 10)), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(sb.FileFormatError, match=f"{path} is damaged: its content does not match"):
        sb.sweep(SMALL, out, executor=threads)
    assert path.read_bytes() == content
    path.unlink()  # as the user does
    assert sb.sweep(SMALL, out, executor=threads).digest == played.digest


def test_a_part_under_another_name_is_named_and_left_alone(played: Sweep, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(played.out, out)
    own = part_path(out, 3, range(RUNS))
    words = "was not written under this name, or by other settings or another version"
    shutil.copy(part_path(out, 2, range(RUNS)), own)  # of another point
    refused(f"{own} {words}", out)
    shutil.copy(part_path(played.out, 3, range(RUNS)), own)
    own.rename(longer := part_path(out, 3, range(RUNS + 10)))  # runs that it does not have
    refused(f"{longer} {words}", out)
    assert longer.exists()
    longer.rename(own)
    assert sb.sweep(SMALL, out, executor=Odd()).digest == played.digest


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"workers": 0}, "workers=0"),
        ({"workers": -1}, "workers=-1"),
        ({"executor": 3}, "executor=3: expected something with submit"),
        ({"executor": Odd}, "expected something with submit"),
        ({"executor": Odd(), "cluster": "local"}, "cluster and executor: expected one of the two"),
        ({"runs": 0}, "runs=0"),
        ({"seed": -1}, "seed=-1"),
    ],
    ids=["none", "less than none", "a number", "a class", "two", "no runs", "seed"],
)
def test_wrong_arguments_are_refused_before_anything_is_written(
    how: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(sb.ParameterError, match=message):
        sb.sweep(SMALL, tmp_path / "out", **how)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_a_run_is_raised(tmp_path: Path) -> None:
    (tmp_path / "failing_policy.py").write_text(
        "class Failing:\n    compiles = False\n    def __init__(self, n_arms): self.n = n_arms\n"
        "    def init(self): return ()\n    def observe(self, state, seen): pass\n"
        "    def plan(self, state, now, quota, rng):\n"
        "        quota[:] = 0\n        quota[0] = 1\n        return 1 // (0 if now.t == 7 else 1)\n"
    )
    (tmp_path / "own.toml").write_text(
        'structure = "t.csv"\ntruth = "a"\nhorizon = 10\n[policies.F]\npolicy = "failing_policy:Failing"\n'
        "[sweep]\nhorizon = [5, 10]\n"
    )
    (tmp_path / "t.csv").write_text("model,x,y\na,0.6,0.4\nb,0.4,0.6\n")
    with pytest.raises(Exception, match="by zero"):
        sb.sweep(tmp_path / "own.toml", tmp_path / "out", runs=9, workers=1, allow_code=True)
    done = list((tmp_path / "out" / "data").rglob("*.parquet"))
    assert {path.parent.name for path in done} <= {"point=0"}


# ----------------------------------------------------------------------------- what is told of it


def test_pandas_and_duckdb_read_all_runs_as_one_table(played: Sweep) -> None:
    frame = pd.read_parquet(played.out / "data")
    assert len(frame) == 12 * RUNS
    rows = duckdb.sql(
        f"select point, run, policy, regret[-1] as regret, len(pulls) as arms from "
        f"read_parquet('{played.out}/data/*/*.parquet', hive_partitioning=true) order by point, run"
    ).fetchall()
    own = played.frame()
    assert [row[:3] for row in rows] == list(
        zip(own["point"], own["run"], own["policy"], strict=True)
    )
    assert np.array_equal([row[3] for row in rows], own["regret"])
    assert {row[4] for row in rows} == {3, 5}
    frame = frame.assign(point=frame["point"].astype(int)).sort_values(["point", "run"])
    assert np.array_equal([each[-1] for each in frame["regret"]], own["regret"])
    points = pd.read_parquet(played.out / "points.parquet").set_index("point")
    assert points.columns.tolist() == ["policy", "cases", "horizon", "policies.SAE.alpha", "pulls"]
    assert points["pulls"].tolist() == [150, 150, 200, 200] * 2 + [150, 200] * 2


def test_frame_and_points(played: Sweep) -> None:
    frame = played.frame()
    regrets = np.concatenate([result.regret[name][:, -1] for name, _, result in expected()])
    assert np.array_equal(frame["regret"], regrets)
    assert frame["run"].tolist() == list(range(RUNS)) * 12
    assert frame.groupby("policy").size().to_dict() == {"SAE": 8 * RUNS, "UCB": 4 * RUNS}
    assert frame["policies.SAE.alpha"].isna().sum() == 4 * RUNS
    assert repr(played).startswith("Sweep('Small': 12 points of 50 runs over cases, horizon, pol")
    with pytest.raises(sb.ParameterError, match="point=12: expected 0 to 11"):
        played.result(12)
    with pytest.raises(sb.ParameterError, match="point=-1"):
        played.result(-1)


def test_summary_against_plain_numbers(played: Sweep) -> None:
    summary = played.summary()
    for number, (name, _, result) in enumerate(expected()):
        regret, row = result.regret[name][:, -1], summary.loc[number]
        half = 2.0095752371 * regret.std(ddof=1) / np.sqrt(RUNS)  # Student's t, 49 degrees
        assert row["mean"] == pytest.approx(regret.mean())
        assert row["low"] == pytest.approx(regret.mean() - half)
        assert row["high"] == pytest.approx(regret.mean() + half)
        assert row["median"] == pytest.approx(np.median(regret))
        assert row["q95"] == pytest.approx(np.quantile(regret, 0.95))
        assert row["empty"] == pytest.approx(result.empty[name].mean())
    again = pd.read_csv(played.out / "summary.csv", index_col=0)
    assert np.allclose(again["mean"], summary["mean"])


def test_best_against_plain_numbers(played: Sweep) -> None:
    means: dict[tuple[str, float | None], list[float]] = {}
    spans: dict[tuple[str, float | None], list[tuple[float, float]]] = {}
    for name, values, result in expected():
        row = result.summary().loc[name]
        key = name, values.get("policies.SAE.alpha")
        means.setdefault(key, []).append(row["mean"])
        spans.setdefault(key, []).append((row["low"], row["high"]))
    best = played.best().set_index("policy")
    alpha = min(ALPHAS, key=lambda each: np.mean(means["SAE", each]))
    assert best.loc["SAE", "policies.SAE.alpha"] == alpha
    assert best.loc["SAE", "mean"] == pytest.approx(np.mean(means["SAE", alpha]))
    first = 0
    for place in range(4):
        winner = min(ALPHAS, key=lambda each: means["SAE", each][place])
        first += spans["SAE", alpha][place][0] <= spans["SAE", winner][place][1]
    assert best.loc["SAE", ["first", "settings"]].tolist() == [first, 4]
    assert best.loc["UCB", "mean"] == pytest.approx(np.mean(means["UCB", None]))
    assert np.isnan(best.loc["UCB", "policies.SAE.alpha"])
    assert best["mean"].is_monotonic_increasing
    assert best.loc["UCB", ["first", "settings"]].tolist() == [4, 4]


@pytest.mark.parametrize(
    "axes",
    [
        {"policies.*.alpha": [0.5, 2.0]},  # no setting
        {"truth": ["one", "two"]},  # no parameter, no number
        {"horizon": [10, 20]},
        {"policies.*.alpha": [0.5, 2.0], "policies.SAE.beta": [1.0, 2.0], "truth": ["one", "two"]},
        {"policies.SAE.confidence": ["hoeffding"]},
        {"truth": ["one", [0.8, 0.3, 0.1]]},
    ],
    ids=lambda axes: ", ".join(axes),
)
def test_every_kind_of_sweep_has_its_tables_and_its_page(
    axes: dict[str, Any], tmp_path: Path
) -> None:
    """With a single run, which has no intervals."""
    out = sb.sweep(
        {**SMALL, "horizon": 30, "sweep": axes}, tmp_path / "out", runs=1, executor=Odd()
    )
    best = out.best()
    assert set(best["policy"]) == {"SAE", "UCB"}
    settings = len(axes.get("truth", axes.get("horizon", [1])))
    assert best["settings"].tolist() == [settings] * 2
    assert (best["first"] >= 1).all()
    page = (tmp_path / "out" / "report.html").read_text()
    assert out.digest in page
    assert page.count("<svg") == 2  # for screens and for phones
    assert "nan" not in page.split('id="settings"')[0]


def test_the_figure_has_a_panel_for_each_setting_and_a_line_for_each_policy(played: Sweep) -> None:
    figure = played.plot()
    summary = played.summary()
    panels = [ax for ax in figure.axes if ax.get_title()]
    assert [ax.get_title() for ax in panels] == [
        f"{case}, {n}" for case in TABLES_OF_MEANS for n in HORIZONS
    ]
    for ax in panels:
        case, horizon = ax.get_title().split(", ")
        mine = summary[(summary["cases"] == case) & (summary["horizon"] == int(horizon))]
        sae, ucb = (mine[mine["policy"] == name] for name in ("SAE", "UCB"))
        lines = {line.get_label(): line for line in ax.lines}
        assert lines.keys() == {"SAE", "UCB"}
        assert lines["SAE"].get_xdata().tolist() == list(ALPHAS)
        assert lines["SAE"].get_ydata().tolist() == sae["mean"].tolist()
        assert set(lines["UCB"].get_ydata()) == set(ucb["mean"])  # a level line


# ------------------------------------------------------------------------------------ the schedule


def test_a_schedule_hands_out_every_run_once() -> None:
    points = read_grid(SMALL).points
    missing = {0: [range(3, 40), range(45, 50)], 5: [range(50)], 9: [range(7)]}
    schedule = Schedule(points, missing, slots=2)
    total = sum(len(runs) for several in missing.values() for runs in several)
    assert schedule.runs_left == total
    assert schedule.seconds_left() is None
    seen: list[tuple[int, int]] = []
    first = schedule.take()
    assert [len(piece.runs) for piece in first] == [FIRST]  # nobody knows how long a run takes
    pieces = first
    while pieces:
        seen += [(piece.point, run) for piece in pieces for run in piece.runs]
        schedule.learn([TimedRuns(piece, 0.01 * len(piece.runs)) for piece in pieces])
        pieces = schedule.take()
    assert sorted(seen) == sorted(
        (point, run) for point, several in missing.items() for runs in several for run in runs
    )
    assert len(seen) == total
    assert (schedule.runs_left, schedule.seconds_left()) == (0, 0.0)


def test_a_schedule_knows_how_long_it_takes() -> None:
    points = read_grid(SMALL).points
    schedule = Schedule(points, {0: [range(1000)], 1: [range(1000)]}, slots=2)
    (first,) = schedule.take()
    assert schedule.seconds_left() is None
    schedule.learn([TimedRuns(first, 0.1 * FIRST)])  # both points are of one kind
    assert schedule.seconds_left() == pytest.approx(0.1 * (2000 - FIRST) / 2)
    (next_one,) = schedule.take()
    assert len(next_one.runs) == int(SECONDS / 0.1)
    assert schedule.seconds_left() == pytest.approx(0.1 * (2000 - FIRST) / 2)  # it is being played
    schedule.learn([TimedRuns(next_one, 0.0)])  # was there already: says nothing about time
    assert schedule.seconds_left() == pytest.approx(0.1 * (2000 - FIRST - 20) / 2)
    (third,) = schedule.take()
    schedule.learn([TimedRuns(third, 0.3 * len(third.runs))])
    assert schedule.seconds_left() == pytest.approx(0.2 * (2000 - FIRST - 40) / 2)
    schedule.slots = 20
    assert schedule.seconds_left() == pytest.approx(0.2 * (2000 - FIRST - 40) / 20)


def test_a_schedule_begins_with_a_few_runs_of_each_kind() -> None:
    points = read_grid(SMALL).points  # two policies, two horizons
    schedule = Schedule(points, {each.number: [range(100)] for each in points}, slots=2)
    first = [schedule.take() for _ in range(4)]
    assert [[piece.runs for piece in task] for task in first] == [[range(FIRST)]] * 4
    assert [task[0].point for task in first] == [0, 2, 8, 9]
    assert schedule.seconds_left() is None
    schedule.learn([TimedRuns(task[0], 0.01 * FIRST) for task in first])
    assert schedule.seconds_left() == pytest.approx(0.01 * (1200 - 4 * FIRST) / 2)


def test_tasks_hold_many_short_pieces_and_get_smaller_at_the_end() -> None:
    points = read_grid({**SMALL, "sweep": {"seed": list(range(400))}}).points[:400]
    schedule = Schedule(points, {each.number: [range(2)] for each in points}, slots=1)
    (first,) = schedule.take()
    schedule.learn([TimedRuns(first, 1e-6)])
    assert len(schedule.take()) == PIECES
    assert len(schedule.take()) == 400 - PIECES - 1
    long = Schedule(points, {0: [range(100)]}, slots=4)
    long.learn([TimedRuns(PointRuns(0, range(1)), 0.5)])
    sizes = []
    while pieces := long.take():
        sizes.append(sum(len(piece.runs) for piece in pieces))
    assert sizes[0] == SECONDS / 0.5
    assert sizes[-1] == 1
    assert sum(sizes) == 100
    for place, size in enumerate(sizes):  # at most a quarter of what each of four workers has left
        assert size <= max(1, TAIL * (100 - sum(sizes[:place])) / 4)


def test_the_first_task_of_a_point_is_short_since_its_runs_may_be_dear() -> None:
    """A sweep of growing alphas ended with tasks that took five times as long as was thought."""
    points = read_grid(SMALL).points  # 0 and 1 are of one kind
    schedule = Schedule(points, {0: [range(2000)], 1: [range(8000)]}, slots=2)
    sizes: dict[int, list[int]] = {0: [], 1: []}
    while schedule.runs_left:
        pieces = schedule.take()
        for piece in pieces:
            sizes[piece.point].append(len(piece.runs))
        schedule.learn(
            [TimedRuns(piece, (0.01 + 0.01 * piece.point) * len(piece.runs)) for piece in pieces]
        )
    assert sizes[0][1] == pytest.approx(SECONDS / 0.01, abs=1)  # its first runs have told
    assert sizes[1][0] <= SECONDS / 0.01 / DEARER
    assert sizes[1][1] == pytest.approx(SECONDS / 0.02, abs=1)


def test_runs_that_end_at_once_are_tried_again_until_they_tell() -> None:
    """Eight runs of a cheap policy took as long as a task does; a sweep ended with a long dear task.

    All of the cheap runs seemed to be left, and so the dear ones were not cut any shorter.
    """
    points = read_grid(SMALL).points
    dear, cheap = 0, 8  # of two kinds
    costs = {dear: 1e-3, cheap: 1e-6}
    schedule = Schedule(points, {dear: [range(4000)], cheap: [range(24_000)]}, slots=2)
    sizes: dict[int, list[int]] = {dear: [], cheap: []}
    while pieces := schedule.take():
        for piece in pieces:
            sizes[piece.point].append(len(piece.runs))
        schedule.learn(
            [TimedRuns(piece, 2e-3 + costs[piece.point] * len(piece.runs)) for piece in pieces]
        )
    assert sizes[cheap][:2] == [FIRST, 199]  # 2 ms, so in 50 ms there would be 199 runs
    assert sizes[dear][-1] <= 100  # a tenth of a second


def test_missing_runs() -> None:
    out = Path("nowhere")
    assert list(missing_runs(out, 0, 5)) == [range(5)]


@pytest.mark.parametrize(
    ("parts", "runs", "missing"),
    [
        ([(0, 9)], 10, []),
        ([(0, 4), (7, 9)], 10, [range(5, 7)]),
        ([(2, 3), (3, 7), (4, 5)], 10, [range(2), range(8, 10)]),
        ([(0, 19), (30, 39)], 10, []),
        ([(0, 4), (30, 39)], 10, [range(5, 10)]),
        ([(12, 14)], 10, [range(10)]),
        ([(9, 3)], 10, [range(10)]),
    ],
)
def test_missing_runs_of_files(
    parts: list[tuple[int, int]], runs: int, missing: list[range], tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "point=2"
    folder.mkdir(parents=True)
    for first, last in parts:
        (folder / f"runs-{first}-{last}.parquet").touch()
    for other in ("runs-0-9.parquet.part", "runs-a-9.parquet", "notes.txt"):
        (folder / other).touch()
    assert list(missing_runs(tmp_path, 2, runs)) == missing


def test_the_manifest_is_plain(played: Sweep) -> None:
    content = json.loads((played.out / "sweep.json").read_text())
    assert content["points"][0]["values"] == {
        "cases": "narrow",
        "horizon": 150,
        "policies.SAE.alpha": 0.5,
    }
