"""Files are written whole, under safe names, or refused before the work with a message."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import namedtuple
from functools import partial
from pathlib import Path

import pytest
from support.full_disk import full_disk

from structured_bandits import OutputError
from structured_bandits.base.writing import (
    check_file,
    check_files,
    make_folder,
    safe_name,
    sweep_unfinished,
    write_whole,
)
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.testing.requirements import in_threads

HOSTILE = [
    "../../../x",
    "/etc/passwd",
    "..",
    ".",
    "",
    " ",
    "a" * 300,
    "a" * 301,
    "ü" * 300,
    "nul\0inside",
    "nul",
    "new\nline",
    "a/b",
    "a\\b",
    "A",
    "a",
    "a b",
    "a-b",
    "a_b",
    "-rf",
    "~",
    "$HOME",
    "\ud800",
]


def test_hostile_names_stay_in_their_folder_and_apart(tmp_path: Path) -> None:
    names = {safe_name(text) for text in HOSTILE}
    assert len({name.lower() for name in names}) == len(HOSTILE)  # also where case does not count
    for name in names:
        (tmp_path / f"{name}.svg").write_text(name)
    assert len(list(tmp_path.iterdir())) == len(HOSTILE)


def test_a_name_made_safe_is_not_the_name_of_another() -> None:
    made = safe_name("a b")
    assert safe_name(made) != made


def test_ordinary_names_are_kept() -> None:
    for name in ("fig2a-figures", "experiment", "my_experiment-2"):
        assert safe_name(name) == name


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "file.txt"
    write_whole(path, "before")
    monkeypatch.setattr("os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("before")
    with full_disk(1000), pytest.raises(OutputError, match=r"file\.txt cannot be written: .+") as e:
        write_whole(path, bytes(5000))
    assert isinstance(e.value, StructuredBanditsError)
    assert isinstance(e.value, OSError)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "page.html"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"page\.html cannot be written"):
        check_file(folder)
    with pytest.raises(OutputError, match=r"page\.html cannot be written"):
        write_whole(folder, "page")
    assert [path.name for path in tmp_path.rglob("*")] == ["page.html", "inside"]


def test_a_file_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    with pytest.raises(OutputError, match="data/fig2a cannot be made a folder: Not a directory"):
        make_folder(tmp_path / "data" / "fig2a")
    with pytest.raises(OutputError, match="data cannot be made a folder: File exists"):
        check_files([tmp_path / "data" / "x.parquet"], 0)
    assert (tmp_path / "data").read_text() == "mine"


@pytest.mark.parametrize("path", ["nul\0.svg", "a" * 300, "no/such/folder.svg"])
def test_paths_that_cannot_be(path: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written: "):
        check_file(tmp_path / path)
    with pytest.raises(OutputError, match="cannot be written: "):
        write_whole(tmp_path / path, "text")
    assert not list(tmp_path.iterdir())


def test_a_read_only_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(OutputError, match=r"x\.svg cannot be written: Read-only file system"):
        check_file(tmp_path / "x.svg")


def test_too_little_space_is_seen_in_advance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 2_000_000))
    check_files([tmp_path / "x"], 1_000_000)
    with pytest.raises(OutputError, match=r"has 2\.0 MB left, this needs about 3\.0 MB"):
        check_files([tmp_path / "x"], 3_000_000)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "real" / "file.txt")
    write_whole(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real" / "file.txt").read_text() == "new"


def test_many_writers_of_one_file_do_not_collide(tmp_path: Path) -> None:
    path = tmp_path / "page.html"

    def write(letter: str) -> None:
        for _ in range(50):
            write_whole(path, letter * 10_000)
            assert len(set(path.read_text())) == 1  # whoever wrote it wrote all of it
            assert path.stat().st_size == 10_000

    in_threads([partial(write, letter) for letter in "abcd"])
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_processes_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from structured_bandits.base.writing import write_whole\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_whole(sys.argv[1], 'a page')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "page.html")], check=False)
    (left,) = tmp_path.iterdir()
    assert left.suffix == ".part"
    kept = [tmp_path / "my.part", tmp_path / "film.1.part"]
    for path in kept:
        path.write_text("mine")
    alive = tmp_path / left.name.replace(left.name.split(".")[-2], str(os.getpid()))
    alive.write_text("of a process that lives")
    sweep_unfinished(tmp_path.iterdir())
    assert sorted(tmp_path.iterdir()) == sorted([*kept, alive])
