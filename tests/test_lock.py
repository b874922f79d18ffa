"""requirements.lock, which `make` installs, fits pyproject.toml: whoever edits one is told of the other."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PLACES = [
    {"python_version": version, "python_full_version": f"{version}.5", "sys_platform": system}
    for version in ("3.11", "3.12", "3.13", "3.14")
    for system in ("linux", "darwin")
]
LINE = re.compile(
    r"^(?P<needs>\S+==[^\\]+?) \\\n(?P<hashes>(?: {4}--hash=sha256:\w{64}(?: \\)?\n)+)"
)
COMMENT = re.compile(r"^ *#.*\n", re.MULTILINE)


def entries(text: str) -> Iterator[Requirement]:
    """Yield what a lock says, each entry with a hash; raises if it says anything else."""
    text = COMMENT.sub("", text)
    while text:
        found = LINE.match(text)
        assert found is not None, (
            f"requirements.lock: expected name==version and hashes: {text[:80]}"
        )
        yield Requirement(found["needs"])
        text = text[found.end() :]


def needed(project: dict[str, Any]) -> Iterator[Requirement]:
    """Yield what the package needs with all its extras, and what builds it."""
    own = canonicalize_name(project["project"]["name"])
    extras = project["project"]["optional-dependencies"].values()
    for text in (
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(each for extra in extras for each in extra),
    ):
        requirement = Requirement(text)
        if canonicalize_name(requirement.name) != own:
            yield requirement


def faults(project: dict[str, Any], lock: str) -> list[str]:
    """Say what a lock lacks, for any Python and system that we name."""
    locked = list(entries(lock))
    found = []
    for place in PLACES:
        here = {
            canonicalize_name(each.name): str(each.specifier).removeprefix("==")
            for each in locked
            if each.marker is None or each.marker.evaluate(place)
        }
        for each in needed(project):
            if each.marker is not None and not each.marker.evaluate(place):
                continue
            version = here.get(canonicalize_name(each.name))
            if version is None or version not in each.specifier:
                found.append(f"{each}: {version} is locked for {place}")
    return found


def test_the_lock_fits_the_project() -> None:
    said = faults(PROJECT, (ROOT / "requirements.lock").read_text())
    assert said == [], "run `make lock`, then `make test`, and commit requirements.lock"


def test_the_lock_says_one_version_of_each_and_no_place_to_get_it_from() -> None:
    """With hashes a package may come from any index; the host of one must not be in the lock."""
    text = (ROOT / "requirements.lock").read_text()
    names = [canonicalize_name(each.name) for each in entries(text)]
    assert len(names) == len(set(names)) > 100
    assert "://" not in text


@pytest.mark.parametrize("added", ["no-such-package>=1", "numpy>=99", "hatchling<1", "uvloop>=99"])
def test_a_lock_that_was_forgotten_is_noticed(added: str) -> None:
    project = PROJECT["project"]
    changed = PROJECT | {"project": project | {"dependencies": [*project["dependencies"], added]}}
    said = faults(changed, (ROOT / "requirements.lock").read_text())
    assert len(said) == len(PLACES)
    assert all(line.startswith(added) for line in said)


@pytest.mark.parametrize(
    "line", ["numpy==2.4.6\n", "numpy>=2\n", "--index-url https://example.org\n", "-e .\n"]
)
def test_a_line_that_pins_nothing_is_no_lock(line: str) -> None:
    with pytest.raises(AssertionError, match="expected name==version and hashes"):
        list(entries(line))
