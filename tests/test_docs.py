"""Every example in README and docs runs, in the order of its page.

Blocks marked `python` must run, `pycon` must print what they say, and the commands of `console` blocks
too; a line with only "…" stands for any lines. A page is run beside the files of its folder.
"""

from __future__ import annotations

import doctest
import inspect
import re
import shlex
import shutil
from functools import cache
from pathlib import Path

import matplotlib
import pytest
from click.testing import CliRunner

import structured_bandits as sb
from structured_bandits.cli.commands import main
from structured_bandits.policies.base import POLICIES
from structured_bandits.structures.questions import Cells, FittingCells

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
SOURCES = sorted(
    path
    for room in ("src", "tests", "tools", "benchmarks")
    for path in (ROOT / room).rglob("*")
    if path.suffix in (".py", ".toml", ".md") and path != Path(__file__)
)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
        assert anchor in anchors(page.parent / target if target else page), f"{target}#{anchor}"


def test_every_erratum_is_listed() -> None:
    text = (ROOT / "docs" / "notes" / "errata.md").read_text()
    for number in range(1, 37):
        assert re.search(rf"^## I-{number}\b", text, re.MULTILINE), number


def test_the_citation_file_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^version: (\S+)$", text, re.MULTILINE) == [sb.__version__]
    for author in ("Tirinzoni", "Lazaric", "Restelli"):
        assert f"family-names: {author}\n" in text


# ------------------------------------------------------------------------ what the code cites

#: `docs/notes/lookahead.md 3.2`, or several: `docs/notes/lookahead.md 1.2, 7.2 and 9`.
NUMBER = r"\d+(?:\.\d+)?(?![\d.]*\d)"
CITATION = re.compile(rf"docs/notes/(lookahead|mathematics)\.md ((?:{NUMBER}(?:, | and )?)+)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
NUMBERED = re.compile(rf"(?:Lemma |Theorem )?({NUMBER})\b")


@cache
def headings(page: Path) -> list[str]:
    """The headings of a page; lines of code blocks are none."""
    return HEADING.findall(
        re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    )


@cache
def anchors(page: Path) -> set[str]:
    """What links may name after the #, as GitHub and the site make it from headings."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings(page))
    return {heading.replace(" ", "-") for heading in plain}


@cache
def sections(page: str) -> set[str]:
    """The numbers of the sections of a page."""
    found = (
        NUMBERED.match(heading) for heading in headings(ROOT / "docs" / "notes" / f"{page}.md")
    )
    return {match[1] for match in found if match}


def flowing(path: Path) -> str:
    """The text of a file with its lines joined, since a citation may run over an end of line."""
    return re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text())


def cited(text: str) -> set[tuple[str, str]]:
    """Pages and numbers of the sections that a text cites."""
    return {
        (page, number)
        for page, numbers in CITATION.findall(text)
        for number in re.findall(NUMBER, numbers)
    }


def test_citations_are_recognised() -> None:
    text = "(docs/notes/lookahead.md 1.2, 7.2), docs/notes/mathematics.md 3, 4 and 5.10. docs/notes/lookahead.md says"
    planning, mathematics = {"1.2", "7.2"}, {"3", "4", "5.10"}
    assert cited(text) == {
        *(("lookahead", number) for number in planning),
        *(("mathematics", number) for number in mathematics),
    }


def test_sections_are_recognised() -> None:
    assert {"3", "3.1", "3.2", "5.2", "11.4"} <= sections("lookahead")
    assert not {"3.9", "0.5", "99"} & sections("lookahead")


def test_every_cited_section_exists() -> None:
    found = {place for path in [*SOURCES, *PAGES] for place in cited(flowing(path))}
    missing = {(page, number) for page, number in found if number not in sections(page)}
    assert not missing
    assert len(found) >= 20


def test_every_cited_erratum_exists() -> None:
    listed = set(
        re.findall(
            r"^## (I-\d+)\b", (ROOT / "docs" / "notes" / "errata.md").read_text(), re.MULTILINE
        )
    )
    cited_errata = {name for path in SOURCES for name in re.findall(r"\bI-\d+\b", path.read_text())}
    assert cited_errata <= listed
    assert len(cited_errata) >= 10


def test_every_cited_page_exists() -> None:
    """Also `docs/design.md#planning-ahead`; a section of such a page is cited by its anchor."""
    for path in SOURCES:
        for page, anchor in re.findall(r"\bdocs/([\w/-]+\.md)(?:#([\w-]+))?", path.read_text()):
            assert (ROOT / "docs" / page).exists(), (path, page)
            assert not anchor or anchor in anchors(ROOT / "docs" / page), (path, page, anchor)


def test_nothing_cites_notes_that_are_not_here() -> None:
    notes = re.compile(r"\b(?:PLANNING|ALGORITHMS|FIELD|PRACTICE|SERVICE)\b|\bshared/")
    for path in [
        *SOURCES,
        *PAGES,
        ROOT / "CHANGELOG.md",
        ROOT / "Makefile",
        ROOT / "pyproject.toml",
    ]:
        assert not notes.findall(path.read_text()), path


# --------------------------------------------------------------------- how to add a structure


def signatures(protocol: type) -> list[str]:
    """The signature of each method of a protocol, without self and types; of a property its name."""
    lines = []
    for name, member in vars(protocol).items():
        if isinstance(member, property):
            lines.append(name)
        elif inspect.isfunction(member) and not name.startswith("_"):
            lines.append(f"{name}({', '.join([*inspect.signature(member).parameters][1:])})")
    return lines


def test_the_page_on_structures_shows_the_questions_as_they_are() -> None:
    """A block ```text of docs/add-a-structure.md has a line for each question, in order."""
    page = (ROOT / "docs" / "add-a-structure.md").read_text()
    blocks = re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    wanted = [*signatures(Cells), signatures(FittingCells)[-1]]
    assert "arm_count()" in wanted
    shown = [[line.split("  ")[0].rstrip() for line in block.splitlines()] for block in blocks]
    assert wanted in shown, "the page should show\n" + "\n".join(wanted)


def test_the_page_on_policies_shows_its_experiment_file_as_it_is() -> None:
    page = (ROOT / "docs" / "add-a-policy.md").read_text()
    file = (ROOT / "docs" / "own-policy" / "experiment.toml").read_text()
    assert f"```toml\n{file}```" in page


def test_everything_exported_is_on_the_page_of_the_api() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    assert page.count(".. EVERY REGISTERED POLICY (conf.py puts them here)\n") == 1
    for name in sb.__all__:
        assert name in POLICIES or re.search(rf"\b{name}\b", page), name
    ours = [kind for kind in POLICIES.values() if kind.__module__.startswith("structured_bandits.")]
    assert ours == [getattr(sb, kind.__name__) for kind in ours]
