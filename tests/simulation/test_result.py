"""Results: summaries, tables, files, figures."""

from __future__ import annotations

import random
import re
import warnings
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from scipy import stats
from support.full_disk import full_disk

import structured_bandits as sb
from structured_bandits.display.regret import regret_curves
from structured_bandits.experiments.paper.structures import figure1_right

matplotlib.use("Agg")

DATA = Path(__file__).parent / "data"
TABLES = ("regret", "pulls", "plans", "empty", "arms")
R = figure1_right()


@cache
def played() -> sb.Result:
    """A small result; not played when tests are collected, which every worker does."""
    return sb.simulate(
        {"SUCB": sb.SUCB.paper(R), "SAE": sb.SAE.paper(R, 2000)},
        sb.Bernoulli(R.means(0)),
        2000,
        runs=30,
        checkpoints=20,
        record_arms=True,
    )


def test_summary_against_scipy() -> None:
    summary = played().summary()
    for name in ("SUCB", "SAE"):
        regret = played().regret[name][:, -1]
        low, high = stats.t.interval(0.95, 29, regret.mean(), stats.sem(regret))
        row = summary.loc[name]
        assert row["mean"] == pytest.approx(regret.mean())
        assert (row["low"], row["high"]) == pytest.approx((low, high))
        assert row["median"] == np.median(regret)
        assert row["q05"] == np.quantile(regret, 0.05)
        assert row["q95"] == np.quantile(regret, 0.95)
        assert row["plans"] == played().plans[name].mean()
    assert summary.loc["SUCB", "width"] == "sqrt(2 log t / T)"


def test_summary_at_a_checkpoint() -> None:
    assert played().summary(t=100).loc["SAE", "mean"] == played().regret["SAE"][:, 0].mean()
    with pytest.raises(sb.ParameterError, match="t=150: expected one of the checkpoints"):
        played().summary(t=150)


def test_results_beyond_a_horizon_warn_and_the_table_says_so() -> None:
    """At a checkpoint before it there is nothing to be said. A guard has the horizon of its policy."""
    for policy in (sb.SAE.paper(R, 5), sb.Guarded(sb.SAE.paper(R, 5))):
        with pytest.warns(sb.HorizonWarning, match="SAE is tuned for horizon=5 and will be played"):
            result = sb.simulate(
                {"SAE": policy},
                sb.Delayed(sb.Bernoulli(R.means(0)), 2),
                10,
                runs=1,
                checkpoints=[5, 10],
                engine="python",
            )
        said = "SAE is tuned for horizon=5 and was played for 10 pulls. Beyond its horizon nothing"
        with pytest.warns(sb.HorizonWarning, match=said):
            result.summary()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result.summary(t=5)
            assert said in repr(result)


def test_one_run_has_no_interval() -> None:
    single = sb.simulate(sb.UCB(2), sb.Bernoulli([0.5, 0.6]), 10, runs=1)
    assert np.isnan(single.summary().loc["UCB", "low"])


def test_at_the_prompt_a_result_is_a_short_table() -> None:
    """Its numbers are those of the summary; the array of regrets, 1,200 numbers, is not dumped."""
    lines = repr(played()).splitlines()
    assert lines[0] == "Regret after 2,000 pulls, 30 runs of each policy"
    assert re.split(r"  +", lines[2]) == [
        "policy", "mean regret", "95 % interval", "median", "empty sets", "width",
    ]  # fmt: skip
    for name, line in zip(("SUCB", "SAE"), lines[4:], strict=True):
        row = played().summary().loc[name]
        interval = f"{row['low']:.1f} to {row['high']:.1f}"
        cells = [name, f"{row['mean']:.1f}", interval, f"{row['median']:.1f}", "0.0", row["width"]]
        assert re.split(r"  +", line) == cells


def test_in_a_notebook_the_lowest_regret_is_bold() -> None:
    page = played()._repr_html_()
    mean = played().summary()["mean"]
    assert f"<td>SUCB</td><td><b>{mean['SUCB']:.1f}</b></td>" in page
    assert f"<td>SAE</td><td>{mean['SAE']:.1f}</td>" in page


def test_names_cannot_break_the_table() -> None:
    result = small_result()
    for table in TABLES:
        rows = getattr(result, table)
        rows["<b>\n"] = rows.pop("SUCB")
    assert "<b>\ufffd " in repr(result)
    assert "<td>&lt;b&gt;\ufffd</td>" in result._repr_html_()


def test_small_regrets_show_digits_and_one_run_has_no_interval() -> None:
    result = sb.Result(np.array([10]), {"A": np.array([[0.01234]])}, {}, {}, {"A": np.array([0])})
    assert re.split(r"  +", repr(result).splitlines()[4]) == ["A", "0.0123", "0.0123", "0.0", "?"]
    nothing = sb.Result(np.array([10]), {}, {}, {}, {})
    assert repr(nothing) == "A result without policies."


def test_to_frame_is_long() -> None:
    frame = played().to_frame()
    assert list(frame.columns) == ["policy", "run", "t", "regret"]
    assert len(frame) == 2 * 30 * 20
    row = frame[(frame.policy == "SAE") & (frame.run == 3) & (frame.t == 2000)]
    assert row.regret.item() == played().regret["SAE"][3, -1]


def test_save_and_load_give_the_same_result(tmp_path: Path) -> None:
    path = tmp_path / "result.parquet"
    played().save(path)
    loaded = sb.load_result(path)
    assert loaded.info == played().info
    assert (loaded.checkpoints == played().checkpoints).all()
    for table in ("regret", "pulls", "plans", "empty", "arms"):
        for name in ("SUCB", "SAE"):
            ours, theirs = getattr(played(), table)[name], getattr(loaded, table)[name]
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs)
    assert [file.name for file in tmp_path.iterdir()] == ["result.parquet"]


def test_a_result_says_what_made_it() -> None:
    info = played().info
    assert (info["seed"], info["runs"], info["horizon"]) == (0, 30, 2000)
    assert {"structured_bandits", "numpy", "numba", "python", "platform"} <= set(info["versions"])
    assert "SAE(" in info["policies"]["SAE"]["policy"]
    assert info["means"] == R.means(0).tolist()
    assert info["policies"]["SAE"]["parameters"]["alpha"] == 2.0
    assert info["policies"]["SAE"]["structure"] == R.fingerprint


def test_foreign_files_are_named(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    text, foreign = tmp_path / "text.parquet", tmp_path / "foreign.parquet"
    text.write_text("hello")
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), foreign)
    for path in (text, foreign):
        with pytest.raises(sb.FileFormatError, match=f"{path.name}: not a result"):
            sb.load_result(path)
    with pytest.raises(FileNotFoundError):
        sb.load_result(tmp_path / "nothing.parquet")


def small_result() -> sb.Result:
    """A result with every table, made by hand."""
    rng = np.random.default_rng(3)
    names = ("SUCB", "SAE, slow")
    return sb.Result(
        np.array([5, 10]),
        {name: rng.random((4, 2)) for name in names},
        {name: rng.integers(10, size=(4, 3)) for name in names},
        {name: rng.integers(10, size=4) for name in names},
        {name: np.zeros(4, np.int64) for name in names},
        {name: rng.integers(3, size=(4, 10)) for name in names},
        {"seed": 0, "means": [0.5, 0.25, 0.125], "versions": {"numpy": "2.0"}},
    )


def content(result: sb.Result) -> str:
    """All that a result holds, as a text."""
    tables = {
        table: {name: rows.tolist() for name, rows in getattr(result, table).items()}
        for table in TABLES
    }
    return repr((result.checkpoints.tolist(), tables, result.info))


def damaged(original: bytes, rng: random.Random) -> bytes:
    """The bytes of a file with one thing wrong: changed, lost, added, cut off or swapped."""
    place = rng.randrange(len(original))
    end = min(len(original), place + rng.choice((1, 1, 2, 8, 64)))
    noise = rng.randbytes(end - place)
    return rng.choice(
        [
            original[:place]
            + bytes([original[place] ^ 1 << rng.randrange(8)])
            + original[place + 1 :],
            original[:place] + noise + original[end:],
            original[:place] + bytes(end - place) + original[end:],
            original[:place] + original[end:],
            original[:place] + noise + original[place:],
            original[:place],
            original[place:],
        ]
    )


def test_a_damaged_result_is_refused_or_the_same(tmp_path: Path) -> None:
    path, rng = tmp_path / "result.parquet", random.Random(12)
    small_result().save(path)
    original, expected = path.read_bytes(), content(small_result())
    refused = 0
    for _ in range(3000):
        path.write_bytes(damaged(original, rng))
        try:
            loaded = content(sb.load_result(path))
        except sb.FileFormatError as error:
            loaded = str(error)
        refused += str(path) in loaded
        assert str(path) in loaded or loaded == expected
    assert refused > 2900  # what is left changed nothing


def test_each_byte_of_a_result_is_guarded(tmp_path: Path) -> None:
    path = tmp_path / "result.parquet"
    small_result().save(path)
    original = path.read_bytes()
    for place in range(len(original)):
        path.write_bytes(original[:place] + bytes([original[place] ^ 1]) + original[place + 1 :])
        with pytest.raises(sb.FileFormatError, match=r"result\.parquet"):
            sb.load_result(path)


def test_results_of_0_1_0_still_load() -> None:
    """Format 1, without a checksum, as that version wrote it."""
    result = sb.load_result(DATA / "result-0.1.0.parquet")
    assert result.policies == ("SUCB", "SAE, slow")
    assert result.checkpoints.tolist() == [15, 30, 45, 60]
    assert result.regret["SAE, slow"][:, -1] == pytest.approx([3.0] * 3)
    assert result.pulls["SUCB"].tolist() == [[60, 0]] * 3
    assert result.plans["SUCB"].tolist() == [10, 10, 10]
    assert result.arms["SUCB"].shape == (3, 60)
    assert result.info["versions"]["structured_bandits"] == "0.1.0"


def test_a_damaged_result_of_0_1_0_raises_no_raw_error(tmp_path: Path) -> None:
    path, rng = tmp_path / "old.parquet", random.Random(5)
    original = (DATA / "result-0.1.0.parquet").read_bytes()
    refused = 0
    for _ in range(1000):
        path.write_bytes(damaged(original, rng))
        try:
            sb.load_result(path)
        except sb.FileFormatError:
            refused += 1
    assert refused > 500


def test_a_file_says_why_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.parquet"
    small_result().save(path)
    original = path.read_bytes()
    path.write_bytes(original.replace(b"sha-256 of this file", b"nothing of any sort."))
    with pytest.raises(sb.FileFormatError, match="checksum and its format do not go together"):
        sb.load_result(path)
    path.write_bytes(original[:200] + b"x" + original[201:])
    with pytest.raises(sb.FileFormatError, match="does not match its checksum"):
        sb.load_result(path)


@pytest.mark.parametrize(
    "name", ["nul at the end\0", "\0", "../x", "", "sha-256 of this file: " + "0" * 64, "ü$_\\"]
)
def test_any_name_of_a_policy_survives_a_file(name: str, tmp_path: Path) -> None:
    result = small_result()
    for table in TABLES:
        rows = getattr(result, table)
        rows[name] = rows.pop("SUCB")
    result.info["policies"] = {name: {"width": "?"}}
    result.save(tmp_path / "result.parquet")
    assert content(sb.load_result(tmp_path / "result.parquet")) == content(result)


def test_info_keeps_its_values(tmp_path: Path) -> None:
    result = small_result()
    result.info = {"sigma": float("inf"), "prior": np.array([0.5, 1.0]), "n": np.int64(3)}
    result.save(tmp_path / "result.parquet")
    info = sb.load_result(tmp_path / "result.parquet").info
    assert info == {"sigma": float("inf"), "prior": [0.5, 1.0], "n": 3}
    result.info = {"nan": float("nan")}
    result.save(tmp_path / "result.parquet")
    assert np.isnan(sb.load_result(tmp_path / "result.parquet").info["nan"])
    result.info = {"policy": object()}
    with pytest.raises(sb.ParameterError, match=r"info: <object object .* cannot be saved"):
        result.save(tmp_path / "result.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["result.parquet"]


def test_a_full_disk_leaves_the_result_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "result.parquet"
    small_result().save(path)
    before = path.read_bytes()
    with full_disk(1000), pytest.raises(sb.OutputError, match=r"result\.parquet cannot be written"):
        played().save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["result.parquet"]


def test_curves_and_figure() -> None:
    curves = regret_curves(played())
    assert curves["SAE"].mean[1:] == pytest.approx(played().regret["SAE"].mean(axis=0))
    assert (curves["SAE"].t[0], curves["SAE"].mean[0]) == (0, 0)
    assert (curves["SAE"].low <= curves["SAE"].mean).all()
    axes = played().plot()
    assert {text.get_text() for text in axes.texts} == {"SUCB", "SAE"}  # at the ends of their lines
    assert axes.get_xlabel() == "pulls"
    assert played().plot(axes) is axes
