"""Results: summaries, tables, files, figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pytest
from scipy import stats

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.plots.regret import regret_curves

matplotlib.use("Agg")

R = figure1_right()
RESULT = sb.simulate(
    {"SUCB": sb.SUCB(R), "SAE": sb.SAE(R, 2000)},
    sb.Bernoulli(R.means(0)),
    2000,
    runs=30,
    checkpoints=20,
    record_arms=True,
)


def test_summary_against_scipy() -> None:
    summary = RESULT.summary()
    for name in ("SUCB", "SAE"):
        regret = RESULT.regret[name][:, -1]
        low, high = stats.t.interval(0.95, 29, regret.mean(), stats.sem(regret))
        row = summary.loc[name]
        assert row["mean"] == pytest.approx(regret.mean())
        assert (row["low"], row["high"]) == pytest.approx((low, high))
        assert row["median"] == np.median(regret)
        assert row["q05"] == np.quantile(regret, 0.05)
        assert row["q95"] == np.quantile(regret, 0.95)
        assert row["plans"] == RESULT.plans[name].mean()
    assert summary.loc["SUCB", "width"] == "sqrt(2 log t / T)"


def test_summary_at_a_checkpoint() -> None:
    assert RESULT.summary(t=100).loc["SAE", "mean"] == RESULT.regret["SAE"][:, 0].mean()
    with pytest.raises(sb.ParameterError, match="t=150: expected one of the checkpoints"):
        RESULT.summary(t=150)


def test_one_run_has_no_interval() -> None:
    single = sb.simulate(sb.UCB(2), sb.Bernoulli([0.5, 0.6]), 10, runs=1)
    assert np.isnan(single.summary().loc["UCB", "low"])


def test_to_frame_is_long() -> None:
    frame = RESULT.to_frame()
    assert list(frame.columns) == ["policy", "run", "t", "regret"]
    assert len(frame) == 2 * 30 * 20
    row = frame[(frame.policy == "SAE") & (frame.run == 3) & (frame.t == 2000)]
    assert row.regret.item() == RESULT.regret["SAE"][3, -1]


def test_save_and_load_give_the_same_result(tmp_path: Path) -> None:
    path = tmp_path / "result.parquet"
    RESULT.save(path)
    loaded = sb.load_result(path)
    assert loaded.info == RESULT.info
    assert (loaded.checkpoints == RESULT.checkpoints).all()
    for table in ("regret", "pulls", "plans", "empty", "arms"):
        for name in ("SUCB", "SAE"):
            ours, theirs = getattr(RESULT, table)[name], getattr(loaded, table)[name]
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs)
    assert [file.name for file in tmp_path.iterdir()] == ["result.parquet"]


def test_a_result_says_what_made_it() -> None:
    info = RESULT.info
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


def test_curves_and_figure() -> None:
    curves = regret_curves(RESULT)
    assert curves["SAE"].mean[1:] == pytest.approx(RESULT.regret["SAE"].mean(axis=0))
    assert (curves["SAE"].t[0], curves["SAE"].mean[0]) == (0, 0)
    assert (curves["SAE"].low <= curves["SAE"].mean).all()
    axes = RESULT.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["SUCB", "SAE"]
    assert axes.get_xlabel() == "pulls"
    assert RESULT.plot(axes) is axes
