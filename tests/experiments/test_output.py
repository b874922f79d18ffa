"""What `compare`, `reproduce`, `analyse` and `init` do to files: safe names, whole files, no surprises."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import namedtuple
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from support.browser import need_browser, open_page
from support.full_disk import full_disk

from structured_bandits import OutputError
from structured_bandits import Result as Runs
from structured_bandits.cli.commands import main
from structured_bandits.display.figures import draw_figure, save_figure, save_numbers
from structured_bandits.display.page import Page, write_page
from structured_bandits.display.verdicts import Shown
from structured_bandits.experiments import saved_runs
from structured_bandits.experiments.paper.reproduce import experiments
from structured_bandits.experiments.run import figure_name
from structured_bandits.experiments.saved_runs import RunOptions, result_path
from structured_bandits.experiments.settings import read_experiment
from structured_bandits.testing.requirements import in_threads

HOSTILE = [
    "../../../x",
    "/tmp/structured-bandits-x",
    "..",
    "a" * 300,
    "a" * 299 + "b",
    r"nul\u0000",
    r"new\nline",
    "",
    "$x$ <b>",
    "</svg><script>1",
    "#000000",
    "_x",
    "UCB",
    "ucb",
]


def command(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A file of one's own with hostile names of policies; all of them are UCB."""
    folder = tmp_path / "deep" / "deeper"
    folder.mkdir(parents=True)
    (folder / "models.csv").write_text("model,$a,_b\none,0.6,0.4\ntwo,0.4,0.6\n")
    lines = ['structure = "models.csv"', 'truth = "one"', "horizon = 20", "runs = 2"]
    lines += [f'[policies."{name}"]\nkind = "UCB"' for name in HOSTILE]
    (folder / "own.toml").write_text("\n".join(lines))
    return folder / "own.toml"


@pytest.fixture
def nothing_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    def played(*_: object, **__: object) -> None:
        raise AssertionError("an arm was pulled")

    monkeypatch.setattr(saved_runs, "simulate", played)
    monkeypatch.setattr(saved_runs, "simulate_random", played)


def everything(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


# ------------------------------------------------------------------------------------- names


def test_names_of_policies_never_leave_the_folder(own: Path, tmp_path: Path) -> None:
    before, out = everything(tmp_path), own.parent / "out"
    result = command("compare", str(own), "--out", str(out), "--workers", "1")
    assert result.exit_code == 0, result.output
    assert all(out in path.parents or path == out for path in everything(tmp_path) - before)
    assert not Path("/tmp/structured-bandits-x").exists()
    assert len(list((out / "data" / "own").iterdir())) == len(HOSTILE)  # none shares its file
    page = (out / "report.html").read_text()
    assert "<td>$x$ &lt;b&gt;</td>" in page
    assert "\0" not in page
    assert "<script" not in page
    assert page.count("#000000") == 4  # names in figure and table of regret, and of pulls
    assert page.count("</svg>") == 3
    if need_browser():
        seen = open_page(out / "report.html", 390, tmp_path / "shots")
        assert seen.console == []
        assert seen.figures == ["own", "own-pulls", "own-structure"]
        assert seen.scroll_width == 390
    shown = pd.read_parquet(out / "numbers" / "own.parquet")["policy"].unique()
    assert len(shown) == len(HOSTILE)
    again = command("compare", str(own), "--out", str(out))
    assert f"{len(HOSTILE)} of {len(HOSTILE)} results are there already" in again.output


@pytest.mark.parametrize("preset", ["../../../x", "/tmp/x", "a" * 300, "nul\0", "two words"])
def test_names_of_presets_and_shared_runs_never_leave_the_folder(
    own: Path, preset: str, tmp_path: Path
) -> None:
    written = preset.replace("\0", r"\u0000")
    text = 'same_as = "own"\n' + f'[presets."{written}"]\nhorizon = 30\n'
    path = own.parent / "shares.toml"
    path.write_text(text)
    experiment = read_experiment(path, preset)
    options = RunOptions(tmp_path / "out")
    for name in experiment.specs:
        file = result_path(experiment, name, options)
        assert file.resolve().parent.parent == (tmp_path / "out" / "data").resolve()
    name = figure_name(experiment)
    assert Path(name).name == name
    assert len(name) < 100
    assert name != figure_name(read_experiment(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('same_as = "../deeper/own"', "expected the name of a file beside this one"),
        ('same_as = "/etc/own"', "expected the name of a file beside this one"),
        ('same_as = ""', "expected the name of a file beside this one"),
        ("same_as = 3", "expected the name of a file beside this one"),
        ('same_as = "bad"', "the files include each other"),
        ('same_as = "round"', "the files include each other"),
        (r'same_as = "a\u0000b"', "there is no file"),
        (f'same_as = "{"a" * 5000}"', "there is no file"),
        (f'structure = "{"a" * 5000}"', "the name of the file is too long"),
        (r'structure = "a\u0000b.csv"', "no file has a NUL character in its name"),
        (f"truth = {'[' * 5000}", "nested too deeply"),
        (f"structure.{'.'.join('a' * 3000)} = 1", "structure, kind=None: accepted are"),
        ("presets = 3", "preset 'x' is unknown"),
        ("presets.x = 3", "presets.x=3: expected a table"),
        ('figure = "structure"\nstructure = "paper:random"', "each run draws its own structure"),
        ("policies = {}", "expected a table for each policy, found none"),
    ],
)
def test_files_that_lead_nowhere_are_refused_with_the_place(
    own: Path, text: str, message: str
) -> None:
    whole = {"horizon": "20", "structure": '"models.csv"', "truth": '"one"'}
    lines = [text, *(f"{key} = {value}" for key, value in whole.items() if key not in text)]
    lines += ["[policies.UCB]"] if "policies" not in text else []
    bad = own.with_name("bad.toml")
    bad.write_text("\n".join(lines))
    own.with_name("round.toml").write_text('same_as = "bad"')
    preset = ["--preset", "x"] if "presets" in text else []
    result = command("compare", str(bad), *preset)
    assert result.exit_code == 2, result.output
    assert str(own.parent) in result.output
    assert message in result.output


@pytest.mark.parametrize("name", ["..toml", "...toml", "....toml"])
def test_a_file_of_dots_writes_below_results(own: Path, name: str) -> None:
    (own.parent / name).write_text(own.read_text().split("[policies")[0] + "[policies.UCB]\n")
    result = command("compare", str(own.parent / name), "--workers", "1")
    assert result.exit_code == 0, result.output
    (page,) = own.parent.rglob("report.html")
    assert page.parent.parent == own.parent / "results"


def test_tasks_for_the_compiling_process_survive_the_way(own: Path) -> None:
    chosen = [read_experiment(own), *experiments(("fig2d", "fig2a"), "fitted")]
    for experiment in chosen:
        for name in experiment.specs:
            copied, same = pickle.loads(pickle.dumps((experiment, name)))
            options = RunOptions(Path())
            assert result_path(copied, same, options) == result_path(experiment, name, options)


# ------------------------------------------------------------ what cannot be written is said first


def in_the_way(out: Path, kind: str) -> None:
    """Put something where the program wants to write."""
    out.mkdir(exist_ok=True)
    if kind == "page is a folder":
        (out / "report.html").mkdir()
    elif kind == "data is a file":
        (out / "data").write_text("mine")
    elif kind == "data of the experiment is a file":
        (out / "data").mkdir()
        (out / "data" / "own").write_text("mine")
    elif kind == "figures is a file":
        (out / "figures").write_text("mine")
    elif kind == "a figure is a folder":
        (out / "figures" / "own.svg").mkdir(parents=True)
    elif kind == "numbers is a file":
        (out / "numbers").write_text("mine")
    elif kind == "numbers of the figure are a folder":
        (out / "numbers" / "own.csv").mkdir(parents=True)
    else:
        (out / "report.html").symlink_to(out / "no" / "such" / "folder.html")


@pytest.mark.usefixtures("nothing_is_played")
@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("page is a folder", "report.html"),
        ("data is a file", "data"),
        ("data of the experiment is a file", "own"),
        ("figures is a file", "figures"),
        ("a figure is a folder", "own.svg"),
        ("numbers is a file", "numbers"),
        ("numbers of the figure are a folder", "own.csv"),
        ("the page leads nowhere", "report.html"),
    ],
)
def test_what_is_in_the_way_is_named_before_the_first_pull(
    own: Path, tmp_path: Path, kind: str, named: str
) -> None:
    out = tmp_path / "out"
    in_the_way(out, kind)
    before = everything(out)
    result = command("compare", str(own), "--out", str(out))
    assert result.exit_code == 2, result.output
    assert result.output.startswith("Error: ")
    assert named in result.output
    assert "cannot be" in result.output
    assert "Traceback" not in result.output
    assert all(path.is_dir() for path in everything(out) - before)  # folders, and no file


@pytest.mark.usefixtures("nothing_is_played")
def test_a_result_that_is_a_folder_is_named_before_the_first_pull(
    own: Path, tmp_path: Path
) -> None:
    experiment, options = read_experiment(own), RunOptions(tmp_path / "out")
    result_path(experiment, HOSTILE[-1], options).mkdir(parents=True)
    result = command("compare", str(own), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2, result.output
    assert "it is there and is not a file" in result.output


@pytest.mark.usefixtures("nothing_is_played")
def test_no_space_is_said_before_the_first_pull(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**9, 10**9, 100_000))
    for arguments in (["compare", str(own)], ["reproduce", "fig2d"]):
        result = command(*arguments, "--out", str(tmp_path / "out"))
        assert result.exit_code == 2, result.output
        assert "the disk has 0.1 MB left, this needs about" in result.output


@pytest.mark.usefixtures("nothing_is_played")
def test_a_read_only_folder_is_said_before_the_first_pull(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    result = command("compare", str(own), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2, result.output
    assert "report.html cannot be written: Permission denied" in result.output


@pytest.mark.usefixtures("nothing_is_played")
def test_a_folder_below_a_file(own: Path, tmp_path: Path) -> None:
    result = command("compare", str(own), "--out", str(own / "out"))
    assert result.exit_code == 2, result.output
    assert "cannot be made a folder: Not a directory" in result.output
    result = command("init", str(own / "out"))
    assert result.exit_code == 2, result.output
    assert "cannot be made a folder: Not a directory" in result.output


def test_a_disk_that_fills_up_meanwhile(own: Path, tmp_path: Path) -> None:
    with full_disk(6000):
        result = command("compare", str(own), "--out", str(tmp_path / "out"), "--workers", "1")
    assert result.exit_code == 2, result.output
    assert "cannot be written: File too large" in result.output
    assert "Traceback" not in result.output
    whole = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert not [name for name in whole if not name.endswith(".parquet")]
    again = command("compare", str(own), "--out", str(tmp_path / "out"), "--workers", "1")
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_figures_of_analyse_are_whole_or_not_there(own: Path, suffix: str) -> None:
    folder = own.parent / "figures"
    folder.mkdir()
    figure = folder / f"figure.{suffix}"
    arguments = ("analyse", str(own.with_name("models.csv")), "--truth", "one", "--figure")
    with full_disk(5000):
        result = command(*arguments, str(figure))
    assert result.exit_code == 2, result.output
    assert f"{figure} cannot be written: File too large" in result.output
    assert not list(folder.iterdir())
    assert command(*arguments, str(figure)).exit_code == 0
    assert list(folder.iterdir()) == [figure]
    long = folder / f"{'x' * 300}.{suffix}"
    result = command(*arguments, str(long))
    assert result.exit_code == 2
    assert "cannot be written: File name too long" in result.output
    assert "horizon" not in result.output  # said before the report


# ------------------------------------------------------------------------- whole files, two writers


def shown() -> Shown:
    zeros = {"UCB": np.zeros(2, np.int64)}
    rising = {"UCB": np.arange(4.0).reshape(2, 2)}
    result = Runs(np.array([5, 10]), rising, {"UCB": np.ones((2, 2), int)}, zeros, zeros)
    result.info["policies"] = {"UCB": {}}
    return Shown("own", "Own", "", "regret", 10, "bernoulli", None, result, 1.0)


def test_no_half_written_figure_table_or_page(tmp_path: Path) -> None:
    for folder in ("figures", "numbers"):
        (tmp_path / folder).mkdir()
    frame = pd.DataFrame({"policy": ["UCB"] * 1000, "mean": np.arange(1000)})
    page = Page("title", "lead" * 1000, {"as given": ""})
    with full_disk(2000):
        with pytest.raises(OutputError, match=r"own\.svg cannot be written"):
            save_figure(draw_figure(shown()), tmp_path, "own")
        with pytest.raises(OutputError, match=r"own\.csv cannot be written"):
            save_numbers(frame, tmp_path, "own")
        with pytest.raises(OutputError, match=r"report\.html cannot be written"):
            write_page(page, tmp_path / "report.html")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    save_figure(draw_figure(shown()), tmp_path, "own")
    save_numbers(frame, tmp_path, "own")
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "own.svg",
        "own.png",
        "own.csv",
        "own.parquet",
    }


def test_two_writers_of_one_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"

    def write(title: str) -> None:
        page = Page(title, title * 20_000, {"as given": ""})
        for _ in range(30):
            write_page(page, path)
            text = path.read_text()
            assert text.endswith("</html>\n")
            assert text.count("x" * 20_000) + text.count("y" * 20_000) == 1

    in_threads([partial(write, title) for title in "xyxy"])
    assert list(tmp_path.iterdir()) == [path]


def test_two_programs_write_the_same_results_at_once(own: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [sys.executable, "-m", "structured_bandits", "compare", str(own), "--out", str(out)]
    both = [
        subprocess.Popen(
            [*arguments, "--workers", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for _ in range(2)
    ]
    for process in both:
        said, _ = process.communicate(timeout=1800)
        assert process.returncode == 0, said.decode()
    assert (out / "report.html").read_text().endswith("</html>\n")
    assert not list(out.rglob("*.part"))
    assert len(list((out / "data" / "own").iterdir())) == len(HOSTILE)
