"""No command ends in a traceback for files, folders, rights, a full disk, or what is somebody else's."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from support.command_cases import USES, Case, cases, make_removable
from support.full_disk import full_disk
from support.no_leave import give_up_leave, hand_over
from support.owned import Shop
from support.service_process import SHOP

from structured_bandits.cli.commands import main
from structured_bandits.service.running import lifecycle as restoring
from structured_bandits.service.running.lifecycle import bring_back
from structured_bandits.service.store_protocol import StoreError

TESTS = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent / 'src'}"}


def commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command that can be typed, with its name."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def paths_of(command: click.Command) -> list[str]:
    """Return the parameters of a command that name a file, a folder or a store."""
    return [
        str(each.name)
        for each in command.params
        if isinstance(each.type, click.Path) or each.name == "store"
    ]


def test_every_path_of_every_command_is_in_the_table() -> None:
    wanted = set()
    for name, command in commands(main):
        wanted |= {f"{name} {each}" for each in paths_of(command)} or {name}
    assert set(USES) == wanted


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Case, dict[str, Any]]]]:
    """What all commands say on all bad paths; one process plays them, without root's leave."""
    place = tmp_path_factory.mktemp("commands")
    listed = list(cases(place))
    done = subprocess.run(
        [sys.executable, "-m", "support.commands_without_leave"],
        input=json.dumps([case._asdict() for case in listed]),
        env=ENVIRONMENT,
        cwd=place,
        preexec_fn=give_up_leave,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    yield list(zip(listed, map(json.loads, done.stdout.splitlines()), strict=True))
    make_removable(place)


#: What `verify` finds is its verdict and no error: a damaged head looks like a file of somebody else.
DAMAGED = ("verify store: garbage", "verify store: foreign")


def names(case: Case, sentence: str) -> bool:
    """Does a sentence name what is wrong? On a full disk, the file that there was no room for."""
    files = [case.path] if case.room is None else [case.path, "bandits.db", "/tmp"]
    return any(each in sentence for each in files)


def test_every_fault_is_a_sentence_that_names_it(played: list[tuple[Case, Any]]) -> None:
    wrong = []
    for case, found in played:
        said = found["said"].strip().splitlines()
        sentence = said[-1] if said else ""
        verdict = case.name in DAMAGED
        expected = (1,) if verdict else (2, 3)
        problems = [
            found["raised"],
            "" if found["code"] in expected else f"exit code {found['code']}",
            "" if verdict or sentence.startswith("Error: ") else "no sentence",
            "" if re.search(case.says, sentence) else f"expected {case.says!r}",
            "" if names(case, sentence) else f"does not name {case.path}",
            "" if re.search("; |expected |Try '", found["said"]) else "does not say what to do",
        ]
        if any(problems):
            wrong.append("\n".join([f"## {case.name}", *filter(None, problems), *said]))
    assert not wrong, f"{len(wrong)} of {len(played)}\n" + "\n".join(wrong)


def typed(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run the real command without root's leave; return its exit code and what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "structured_bandits", *arguments],
        env=ENVIRONMENT,
        cwd=folder,
        preexec_fn=give_up_leave,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_what_is_typed_ends_with_one_line(tmp_path: Path) -> None:
    Shop(tmp_path).close()
    hand_over(tmp_path / "bandits.db")
    code, printed, said = typed(tmp_path, "verify")
    assert (code, printed) == (2, "")
    assert re.fullmatch(r"Error: .*/bandits\.db: Permission denied; ask its owner .*\n", said)


@pytest.mark.parametrize("command", ["serve", "demo --no-browser", "explore types.csv"])
def test_an_address_in_use_is_a_sentence(command: str, tmp_path: Path) -> None:
    (tmp_path / "types.csv").write_text("model,A,B\none,0.8,0.2\ntwo,0.3,0.7\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, said = typed(tmp_path, *command.split(), "--port", port)
    assert code == 2
    assert re.fullmatch(rf"Error: .*{port}.*Address already in use.*; choose another.*\n", said)


def test_a_store_that_is_restored_in_part_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Served as it is, it would hand out the ids again that were handed out after the backup."""

    def refuse(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    shop = Shop(tmp_path)
    shop.create(SHOP)
    shop.close()
    target = tmp_path / "new.db"
    with full_disk(40_000), pytest.raises(StoreError, match=r"/new\.db: .*; if the disk is full"):
        bring_back(shop.path, target)
    assert not [*tmp_path.glob("new*")]
    monkeypatch.setattr(restoring, "new_version", refuse)
    with pytest.raises(StoreError, match="the disk is full"):
        bring_back(shop.path, target)
    assert not [*tmp_path.glob("new*")]
