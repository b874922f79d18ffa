"""`reproduce`, `compare` and `init`: what they write, resume, refuse and decide."""

from __future__ import annotations

import hashlib
import random
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from support.browser import need_browser, open_page

import structured_bandits as sb
from structured_bandits.cli.commands import main
from structured_bandits.display.verdicts import CAPPED, FAILS, HOLDS, SAME, Verdict
from structured_bandits.experiments.claims import decide
from structured_bandits.experiments.paper.claim_list import CLAIMS
from structured_bandits.experiments.paper.page_texts import PRESETS
from structured_bandits.experiments.paper.reproduce import FOLDER, IDS, experiments
from structured_bandits.experiments.saved_runs import RunOptions, gather
from structured_bandits.experiments.settings import read_experiment
from structured_bandits.policies.base import POLICIES

ROOT = Path(__file__).parent.parent.parent
SMALL = ["reproduce", "fig2a", "fig3a", "fig1-left", "--preset", "fitted", "--runs", "4"]
SMALL += ["--most-runs", "4"]


def command(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def digests(folder: Path) -> dict[str, str]:
    """Contents of the numbers, without what may differ (time taken, file metadata)."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.csv"))
    }


# ------------------------------------------------------------------------------ the experiments


def test_every_figure_of_the_paper_has_settings() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(IDS)
    for preset in PRESETS:
        chosen = {each.id: each for each in experiments((), preset)}
        assert len(chosen) == len(IDS)
        for each in chosen.values():
            assert each.runs == 100
            for name, spec in each.specs.items():
                wide = preset == "fitted" and name in ("UCB", "SUCB")
                assert spec.get("alpha", 2.0) == (4.0 if wide else 2.0)
    assert chosen["fig2c"].horizon == 500_000
    assert chosen["fig2a"].specs["ASAE"]["eta"] == 0.1
    assert chosen["fig2c"].specs["ASAE"]["eta"] == 0.01
    assert [each.id for each in experiments(("wagp",), "fitted")] == [
        "wagp-left",
        "wagp-flat",
        "wagp-right",
    ]
    several = [each.id for each in experiments(("fig2", "fig2b", "fig1"), "fitted")]
    assert several == [each for each in IDS if each[:4] == "fig2"] + ["fig1-left", "fig1-right"]
    assert [each.id for each in experiments(("fig2a",), "fitted")] == ["fig2a"]


def test_claims_are_complete_and_distinct() -> None:
    assert len(CLAIMS) >= 15
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert {claim.experiment for claim in CLAIMS} <= set(IDS)


def test_policies_meet_the_same_random_structures(tmp_path: Path) -> None:
    (experiment,) = experiments(("fig2d",), "equal-widths")
    together = {}
    for seed in (1, 2):
        result = gather(experiment, RunOptions(tmp_path, runs=2, seed=seed))
        together[seed] = result
    assert not np.array_equal(together[1].pulls["SAE"], together[2].pulls["SAE"])
    best = together[1].pulls["SAE"].argmax(axis=1)
    assert (best == together[1].pulls["SUCB"].argmax(axis=1)).all()


# ------------------------------------------------------------------------ run, resume, refuse


def test_a_second_call_plays_nothing_and_changes_nothing(tmp_path: Path) -> None:
    first = command(*SMALL, "--out", str(tmp_path))
    assert first.exit_code == 0, first.output
    assert "left-sae-much-lower" in first.output
    assert f"page: {tmp_path / 'report.html'}" in first.output
    before, data = digests(tmp_path), sorted((tmp_path / "data").rglob("*"))
    again = command(*SMALL, "--out", str(tmp_path))
    assert "4 of 4 results are there already" in again.output
    assert digests(tmp_path) == before
    assert sorted((tmp_path / "data").rglob("*")) == data
    other = command(*SMALL, "--out", str(tmp_path), "--seed", "1")
    assert "already" not in other.output
    both = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert len(both) == 2 * sum(path.is_file() for path in data)


def test_what_is_written(tmp_path: Path) -> None:
    assert command(*SMALL, "--out", str(tmp_path)).exit_code == 0
    page = (tmp_path / "report.html").read_text()
    for text in (
        "What came out",
        "Every claim",
        "Errata that matter here",
        "I-12",
        "seed",
        "numba",
        "fitted",
    ):
        assert text in page, text
    assert page.count("<svg") == 3
    assert not re.search(r'(src|href)="https?:', page)  # nothing from a network
    for name in ("fig2a-fitted", "fig3a-fitted", "fig1-left-fitted"):
        for suffix in ("svg", "png"):
            assert (tmp_path / "figures" / f"{name}.{suffix}").stat().st_size > 1000
    curves = pd.read_parquet(tmp_path / "numbers" / "fig2a-fitted.parquet")
    assert list(curves.columns) == ["policy", "t", "mean", "low", "high", "median"]
    pulls = pd.read_csv(tmp_path / "numbers" / "fig3a-fitted.csv")
    assert pulls.groupby("policy")["mean"].sum().round().tolist() == [10_000] * 4


DIES = """
import os, signal, sys
usual, left = os.replace, int(sys.argv.pop(1))
def replace(part, target):
    global left
    usual(part, target)
    left -= str(target).endswith(".parquet")
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
from structured_bandits.cli.commands import main
main()
"""


def killed_after(files: int, arguments: Sequence[str]) -> bool:
    """Run the command, which is killed when it has written so many results more; was it?"""
    command = [sys.executable, "-c", DIES, str(files), *arguments]
    return subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGKILL


def test_killed_at_any_moment_it_continues_bit_identical(tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "structured_bandits", *SMALL, "fig2b"]
    begin = time.perf_counter()
    subprocess.run([*arguments, "--out", str(tmp_path / "calm")], check=True, capture_output=True)
    whole = time.perf_counter() - begin
    for files in (1, 2):
        assert killed_after(files, [*arguments[3:], "--out", str(tmp_path / "rough")])
    assert len(list((tmp_path / "rough" / "data").rglob("*.parquet"))) == 3
    random.seed(7)
    for _ in range(3):  # and at a moment that depends on the machine, perhaps after its end
        process = subprocess.Popen(
            [*arguments, "--out", str(tmp_path / "rough")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(random.uniform(0.3, 1.0) * whole)
        process.send_signal(signal.SIGKILL)
        process.wait()
    (tmp_path / "rough" / "data" / "fig2a").mkdir(parents=True, exist_ok=True)
    left = tmp_path / "rough" / "data" / "fig2a" / "SAE-0000000000000000.parquet.999999.part"
    left.write_text("half a file of a killed process")
    subprocess.run([*arguments, "--out", str(tmp_path / "rough")], check=True, capture_output=True)
    assert digests(tmp_path / "rough") == digests(tmp_path / "calm")
    assert not list((tmp_path / "rough").rglob("*.part"))


def test_corrupt_and_foreign_files_are_named_and_left_alone(tmp_path: Path) -> None:
    assert command(*SMALL, "--out", str(tmp_path)).exit_code == 0
    files = sorted((tmp_path / "data" / "fig2a").glob("*.parquet"))
    (tmp_path / "data" / "notes.txt").write_text("mine")
    good, other = files[0].read_bytes(), files[1].read_bytes()
    for content in (b"", b"nonsense", good[: len(good) // 2], other):
        files[0].write_bytes(content)
        result = command(*SMALL, "--out", str(tmp_path))
        assert result.exit_code == 2
        assert str(files[0]) in result.output
        assert "left alone" in result.output
        assert files[0].read_bytes() == content
    files[0].write_bytes(good)
    result = command(*SMALL, "--out", str(tmp_path))
    assert f"not ours, left alone: {tmp_path / 'data' / 'notes.txt'}" in result.output
    (tmp_path / "report.html").write_text("my own page")
    result = command(*SMALL, "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "was not written by this program" in result.output
    assert (tmp_path / "report.html").read_text() == "my own page"


def test_unknown_ids_say_what_is_accepted(tmp_path: Path) -> None:
    result = command("reproduce", "fig9", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "experiment 'fig9' is unknown; accepted are fig1-left" in result.output
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------- one's own


def test_the_example_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("init").exit_code == 0
    result = command("compare", "experiment.toml", "--runs", "5")
    assert result.exit_code == 0, result.output
    for name in ("UCB", "SUCB", "SAE", "ASAE, slow periods"):
        assert f"\n{name} " in result.output
    assert "page: results/experiment/report.html" in result.output
    page = Path("results/experiment/report.html").read_text()
    assert "5 runs" in page
    for figure in ("experiment", "experiment-pulls", "experiment-structure"):
        assert f'id="{figure}"' in page
    assert (
        "4 of 4 results are there already"
        in command("compare", "experiment.toml", "--runs", "5").output
    )
    refused = command("init")
    assert refused.exit_code == 2
    assert "experiment.toml is there already; nothing was written" in refused.output


def test_gaussian_curves_and_presets(tmp_path: Path) -> None:
    (tmp_path / "curve.toml").write_text(
        "[[pieces]]\nstart=0\nend=1\nat_start=[2.0,5.0]\nat_end=[5.0,2.0]\n"
    )
    text = """structure = "curve.toml"
truth = 0.25
rewards = "gaussian"
sigma = 1.0
horizon = 500
[policies.SUCB]
[policies.ASAE]
sigma = 1.5
reading = {clock = "time"}
[presets.long]
horizon = 1_000
"""
    (tmp_path / "own.toml").write_text(text)
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        experiment = read_experiment(tmp_path / "own.toml", "long")
    assert experiment.horizon == 1000
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the command itself does not warn
        result = command(
            "compare", str(tmp_path / "own.toml"), "--runs", "3", "--out", str(tmp_path / "out")
        )
    assert result.exit_code == 0, result.output


OWN = 'structure = "models.csv"\ntruth = "families"\nhorizon = 100\n[policies.SAE]\nalpha = 2.0\n'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon = 100", 'horizon = "long"', "horizon='long': expected a whole number"),
        ("horizon = 100", "", "'horizon' is missing"),
        ("horizon = 100", "horizon = 0", "horizon=0: expected a whole number >= 1"),
        (
            "horizon = 100",
            "horizont = 100",
            "'horizont': unknown; accepted are caption, checkpoints",
        ),
        ('truth = "families"', "", "'truth' is missing; it names the true model"),
        ('truth = "families"', "truth = 1", "truth=1: give the name of the true model, in quotes"),
        ("alpha = 2.0", 'alpha = "2"', "policies.SAE: alpha='2': expected a finite number > 0"),
        (
            "[policies.SAE]",
            "[policies.WAGP]\n[policies.SAE]",
            "policies.WAGP: WAGP cannot play on structure=",
        ),
        ('truth = "families"', 'truth = "x"', "model='x' is unknown; known are 'students'"),
        ('"models.csv"', '"no.csv"', "structure='no.csv': there is no file"),
        (
            '"models.csv"',
            '"paper:x"',
            "structure='paper:x': accepted are files, paper:figure1-left",
        ),
        (
            "[policies.SAE]",
            "[policies.SAEE]",
            f"kind='SAEE' is unknown; accepted are {', '.join(POLICIES)}",
        ),
        (
            "alpha = 2.0",
            "alfa = 2.0",
            "policies.SAE, 'alfa': unknown; accepted are kind, alpha, beta",
        ),
        ("alpha = 2.0", "alpha = -1", "alpha=-1: expected a finite number > 0"),
        ("alpha = 2.0", 'kind = "ASAE"\nreading = {pace = 1}', "a table takes init, clock"),
        ("horizon = 100", 'horizon = 100\nrewards = "poisson"', "rewards='poisson': accepted are"),
        ("horizon = 100", 'horizon = 100\nfigure = "pie"', "figure='pie': accepted are regret"),
        ("horizon = 100", "horizon = ", "(at line 3"),
        ("horizon = 100", 'horizon = 100\nsame_as = "other"', "same_as='other': there is no file"),
    ],
)
def test_errors_in_an_experiment_name_the_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    command("init", str(tmp_path))
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(old, new))
    result = command("compare", str(path), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert str(path) in result.output
    assert not (tmp_path / "out").exists()


def test_a_preset_must_exist(tmp_path: Path) -> None:
    command("init", str(tmp_path))
    result = command("compare", str(tmp_path / "experiment.toml"), "--preset", "x")
    assert "preset 'x' is unknown; accepted are none, the file has no [presets]" in result.output


# ------------------------------------------------------------------------- the whole paper

FEW = 400  # runs in the tests; `make verdicts` plays all that claims need, for five seeds


def documented() -> dict[str, tuple[str, ...]]:
    """Return the verdicts as docs/reproduce.md lists them, without the mark of asymptotic ones."""
    table = (ROOT / "docs" / "reproduce.md").read_text().split("```text\n")[2].split("\n\n")[0]
    rows = [re.split(r"  +", line.rstrip()) for line in table.splitlines()[2:]]
    return {claim: tuple(cell.removesuffix(" ≈") for cell in cells) for claim, *cells in rows}


def verdicts_of(seed: int, out: Path, most_runs: int) -> dict[str, tuple[Verdict, ...]]:
    """Run everything with a seed and return the verdicts of both presets."""
    options = RunOptions(out, seed=seed)
    found = [decide(CLAIMS, experiments((), preset), options, most_runs) for preset in PRESETS]
    return {claim.id: tuple(each[claim.id] for each in found) for claim in CLAIMS}


def test_the_whole_paper(tmp_path: Path) -> None:
    """All figures, both presets: verdicts that contradict no listed one, and the page in a browser."""
    known = documented()
    assert list(known) == [claim.id for claim in CLAIMS]
    decided = 0
    for claim, verdicts in verdicts_of(0, tmp_path, FEW).items():
        for verdict, expected in zip(verdicts, known[claim], strict=True):
            assert verdict.outcome in (CAPPED, expected), claim
            assert expected in (HOLDS, FAILS, SAME)
            decided += verdict.outcome != CAPPED
    assert decided >= 20  # that few runs suffice for these, with seed 0
    result = command("reproduce", "--out", str(tmp_path), "--most-runs", str(FEW))
    assert result.exit_code == 0, result.output
    assert "results are there already" in result.output
    listed = (ROOT / "docs" / "reproduce.md").read_text()
    for claim in CLAIMS:
        assert f"| `{claim.id}` | {claim.statement} | {claim.where} |" in listed
    figures = {f"{each}-{preset}" for each in IDS for preset in PRESETS}
    if not need_browser():
        return
    for width in (1280, 390):
        seen = open_page(tmp_path / "report.html", width, tmp_path / "shots")
        assert seen.console == []
        assert set(seen.figures) == figures
        assert seen.scroll_width <= width
        assert seen.smallest_font >= 12
