"""Every example in README and docs runs, in the order of its page.

Blocks marked `python` must run, `pycon` must print what they say, and the commands of `console` blocks
too; a line with only "…" stands for any lines. A page is run beside the files of its folder.
"""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path

import matplotlib
import pytest
from click.testing import CliRunner

from structured_bandits.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```(python|pycon|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib.use("Agg")
    folder = tmp_path / "page"
    if page.parent == ROOT:
        folder.mkdir()
    else:
        shutil.copytree(page.parent, folder)
    monkeypatch.chdir(folder)
    names: dict[str, object] = {"__name__": "__main__"}
    for number, (kind, block) in enumerate(BLOCK.findall(page.read_text()), start=1):
        name = f"{page.name}, example {number}"
        if kind == "python":
            exec(compile(block, name, "exec"), names)
        elif kind == "pycon":
            run_session(block, name, names)
        else:
            run_commands(block)


def run_session(block: str, name: str, names: dict[str, object]) -> None:
    example = doctest.DocTestParser().get_doctest(block, names, name, name, 0)
    said: list[str] = []
    doctest.DocTestRunner().run(example, out=said.append, clear_globs=False)
    names.update(example.globs)
    assert not said, "".join(said)


def run_commands(block: str) -> None:
    for text in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, expected = text.split("\n", 1)
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
        wanted = r"(?:.*\n)*".join(map(re.escape, re.split(r"^…\n", expected, flags=re.MULTILINE)))
        assert re.fullmatch(wanted, result.stdout), f"{command}\n{result.stdout}"


def test_there_are_examples() -> None:
    assert BLOCK.search((ROOT / "README.md").read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_erratum_is_listed() -> None:
    text = (ROOT / "docs" / "errata.md").read_text()
    for number in range(1, 37):
        assert re.search(rf"^## I-{number}\b", text, re.MULTILINE), number
