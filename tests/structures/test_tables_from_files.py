"""Estimated and mixed tables from TOML files, in the command and in pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import structured_bandits as sb
from structured_bandits.cli.commands import main

TYPES = "model,tea,milk\nA,0.75,0.25\nB,0.25,0.5\n"
TABLE = [[0.75, 0.25], [0.25, 0.5]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "types.csv").write_text(TYPES)
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "structure.toml"
    path.write_text(text)
    return path


NAMED = 'arms = ["tea", "milk"]\nmodels = ["A", "B"]\ntable = [[0.75, 0.25], [0.25, 0.5]]\n'


@pytest.mark.parametrize(
    "table",
    [
        NAMED,
        'table = {file = "types.csv"}\n',
        'table = {kind = "finite", means = [[0.75, 0.25], [0.25, 0.5]], arms = ["tea", "milk"], '
        'models = ["A", "B"]}\n',
    ],
    ids=["rows", "file", "table"],
)
def test_both_kinds(folder: Path, table: str) -> None:
    names = {"arms": ["tea", "milk"], "models": ["A", "B"]}
    loaded = sb.load_structure(written(folder, f'kind = "around"\nmargins = [0.0, 0.125]\n{table}'))
    assert loaded == sb.around(TABLE, [0.0, 0.125], **names)
    assert loaded.model_name("B") == "B"
    loaded = sb.load_structure(written(folder, f'kind = "mixtures"\n{table}'))
    assert loaded == sb.mixtures(TABLE, **names)
    assert loaded.model_name(loaded.at([0.5, 0.5])) == "50 % A, 50 % B"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "around"\ntable = [[0.5]]', "'margins' is missing"),
        ('kind = "around"\nmargins = -1\ntable = [[0.5]]', "expected finite numbers >= 0"),
        ('kind = "around"\nmargins = 1\nmeans = [[0.5]]', "'means': unknown"),
        (
            'kind = "mixtures"\ntable = {file = "none.csv"}',
            "structure.toml, table, file='none.csv'",
        ),
        (
            'kind = "mixtures"\ntable = {kind = "unimodal", n_arms = 2}',
            "expected a table of models",
        ),
        ('kind = "mixtures"\ntable = 3', "expected models × arms"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, text: str, message: str) -> None:
    with pytest.raises(sb.FileFormatError, match="structure") as error:
        sb.load_structure(written(folder, text))
    assert message in str(error.value)


@pytest.mark.parametrize(
    "kind", ['"around"\nmargins = 0.0625', '"mixtures"'], ids=["around", "mixtures"]
)
def test_the_command_analyses_them(folder: Path, kind: str) -> None:
    path = written(folder, f"kind = {kind}\n{NAMED}")
    figure = folder / "figure.svg"
    for truth in ("A", "0.75,0.25"):
        run = CliRunner().invoke(
            main, ["analyse", str(path), "--truth", truth, "--figure", str(figure)]
        )
        assert run.exit_code == 0, run.output
        assert "best arm: tea" in run.output
    assert "possible means" in figure.read_text()
    run = CliRunner().invoke(main, ["analyse", str(path), "--truth", "C"])
    assert "model='C' is unknown; known are 'A', 'B'" in run.output


def test_shown_as_ranges() -> None:
    shown = sb.around(TABLE, [0.25, 0.0], models=["A", "B"])
    assert (
        repr(shown)
        == "BoxStructure(2 models × 2 arms, margins up to 0.25, 2 arms best in some model)"
    )
    assert "<td>A</td><td><b>0.5 – 1</b></td><td>0.25</td>" in shown._repr_html_()
